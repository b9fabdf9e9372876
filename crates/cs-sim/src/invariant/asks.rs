//! Invariant 10: the first answer to a question wins, and reaches the run that asked once.

use std::collections::BTreeMap;

use cs_journal::Woke;
use cs_model::{AskId, AskState};
use cs_record::Ask;

use super::{Event, Invariant, Moment};

/// Invariant 10.
#[derive(Debug, Default)]
pub(super) struct FirstAnswerWins {
    /// What the record was the first time told to be the answer.
    answers: BTreeMap<AskId, String>,
    known: BTreeMap<AskId, Ask>,
}

impl Invariant for FirstAnswerWins {
    fn name(&self) -> &'static str {
        "10. the first answer to a question wins, and reaches the run that asked once"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Answered { ask, body } = moment.event {
            let first = self.answers.entry(*ask).or_insert_with(|| body.clone());
            if first != body {
                return Err(format!("question {} took {first:?}, then {body:?}", ask.short()));
            }
        }
        if let Event::Claimed {
            receipt,
            is_new: true,
            ..
        } = moment.event
        {
            let woke = receipt.runs.iter().map(|row| &row.woke);
            let again = woke.filter_map(|woke| match woke {
                Woke::Answer(ask) => self.known.get(ask).filter(|ask| ask.delivered),
                _ => None,
            });
            if let Some(ask) = again.into_iter().next() {
                return Err(format!("the answer to {} reaches its run again", ask.id.short()));
            }
        }
        for ask in &moment.rows.asks {
            let short = ask.id.short();
            if let Some(first) = self.answers.get(&ask.id)
                && ask.offer.is_none()
                && ask.answer.as_ref() != Some(first)
            {
                return Err(format!(
                    "{short} was answered {first:?} and holds {:?}",
                    ask.answer
                ));
            }
            let Some(before) = self.known.insert(ask.id, ask.clone()) else {
                continue;
            };
            if before.state == AskState::Answered
                && (ask.state != before.state || ask.answer != before.answer)
            {
                return Err(format!("the answer to {short} went from {before:?} to {ask:?}"));
            }
            if before.delivered && !ask.delivered {
                return Err(format!("the answer to {short} is to be delivered again"));
            }
        }
        let mut known = self.known.keys();
        match known.find(|id| !moment.rows.asks.iter().any(|ask| ask.id == **id)) {
            Some(ask) => Err(format!("question {} is gone", ask.short())),
            None => Ok(()),
        }
    }
}
