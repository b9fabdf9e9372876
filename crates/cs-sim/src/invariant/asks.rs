//! Invariant 10: the first answer to a question wins.

use std::collections::BTreeMap;

use cs_model::{AskId, AskState};

use super::{Invariant, Moment};

/// Invariant 10.
#[derive(Debug, Default)]
pub(super) struct FirstAnswerWins {
    answers: BTreeMap<AskId, (Option<String>, bool)>,
}

impl Invariant for FirstAnswerWins {
    fn name(&self) -> &'static str {
        "10. the first answer to a question wins, and reaches the run that asked once"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let answered = |ask: &&cs_record::Ask| ask.state == AskState::Answered;
        for ask in moment.rows.asks.iter().filter(answered) {
            let now = (ask.answer.clone(), ask.delivered);
            let before = self.answers.insert(ask.id, now.clone());
            if let Some((answer, _)) = before
                && answer != now.0
            {
                return Err(format!(
                    "the answer to {} went from {answer:?} to {:?}",
                    ask.id.short(),
                    now.0
                ));
            }
        }
        match self
            .answers
            .keys()
            .find(|id| !moment.rows.asks.iter().any(|ask| ask.id == **id))
        {
            Some(ask) => Err(format!("question {} is gone", ask.short())),
            None => Ok(()),
        }
    }
}
