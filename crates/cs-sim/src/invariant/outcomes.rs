//! Invariant 8: what an agent said before it ended well is on the record in the end.

use std::collections::BTreeSet;

use cs_model::CardId;

use super::{Event, Invariant, Moment};

/// Invariant 8. Left out is what a person or a lost ledger may have cut short, since then nobody promises it.
#[derive(Debug, Default)]
pub(super) struct NoOutcomeLost {
    stopped: BTreeSet<CardId>,
    without_ledger: BTreeSet<usize>,
}

impl Invariant for NoOutcomeLost {
    fn name(&self) -> &'static str {
        "8. the answer of an agent that ended well reaches its card"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Stopped { card } = moment.event {
            self.stopped.insert(*card);
        }
        if let Event::LedgerLost { machine } = moment.event {
            self.without_ledger.insert(*machine);
        }
        let Event::AtRest = moment.event else {
            return Ok(());
        };
        self.at_rest(moment)
    }
}

impl NoOutcomeLost {
    fn at_rest(&self, moment: &Moment<'_>) -> Result<(), String> {
        let said: BTreeSet<&str> = moment.rows.turns.iter().map(|turn| turn.body.as_str()).collect();
        for machine in moment.machines {
            if self.without_ledger.contains(&machine.index) {
                continue;
            }
            for execution in machine.processes().values() {
                let card = execution.attempt.row.card;
                if let Some(answer) = execution.answered_well()
                    && !self.stopped.contains(&card)
                    && !said.contains(answer.as_str())
                {
                    return Err(format!("the answer of {answer} is not on card {}", card.short()));
                }
            }
        }
        Ok(())
    }
}
