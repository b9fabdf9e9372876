//! Invariant 9: no turn is lost, and none is answered twice.

use std::collections::{BTreeMap, BTreeSet};

use cs_model::{Author, TurnId, TurnState};

use super::{Deed, Event, Invariant, Moment, Told, Write};

/// Invariant 9.
#[derive(Debug, Default)]
pub(super) struct NoTurnLost {
    known: BTreeMap<TurnId, TurnState>,
}

impl Invariant for NoTurnLost {
    fn name(&self) -> &'static str {
        "9. a turn is pending, held by one run that goes on, or settled for good"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let mut missing: BTreeSet<TurnId> = self.known.keys().copied().collect();
        for turn in &moment.rows.turns {
            missing.remove(&turn.id);
            let before = self.known.insert(turn.id, turn.state);
            let short = turn.id.short();
            let was_held = matches!(before, Some(TurnState::Pending | TurnState::Leased));
            if was_held && turn.state == TurnState::Settled && !settles(moment.event, turn) {
                return Err(format!("turn {short} was settled by {:?}", moment.event));
            }
            if before == Some(TurnState::Settled) && turn.state != TurnState::Settled {
                return Err(format!("turn {short} was settled and is {}", turn.state));
            }
            if turn.state == TurnState::Leased {
                let holder = moment.rows.runs.iter().find(|run| Some(run.id) == turn.run);
                if !holder.is_some_and(cs_record::Run::goes_on) {
                    return Err(format!("turn {short} is held by {holder:?}"));
                }
            }
        }
        match missing.first() {
            Some(turn) => Err(format!("turn {} is gone", turn.short())),
            None => Ok(()),
        }
    }
}

/// Says whether something may settle a turn that was not: an answer of the run that held it, or a person.
fn settles(event: &Event, turn: &cs_record::Turn) -> bool {
    match event {
        Event::Wrote(Write {
            deed:
                Some(Deed::Told {
                    attempt,
                    told,
                    applied,
                }),
            ..
        }) => *applied && turn.run == Some(attempt.run) && matches!(told, Told::Answer(_)),
        Event::Acted => true,
        _ => false,
    }
}

/// An attempt says its answer once: the agents of a simulation answer with the name of their attempt.
#[derive(Debug, Default)]
pub(super) struct AnsweredOnce;

impl Invariant for AnsweredOnce {
    fn name(&self) -> &'static str {
        "9. an answer is on a card once"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let mut said = BTreeSet::new();
        for turn in &moment.rows.turns {
            if matches!(turn.author, Author::Agent(_)) && !said.insert(turn.body.as_str()) {
                return Err(format!("the answer of {} is there twice", turn.body));
            }
        }
        Ok(())
    }
}
