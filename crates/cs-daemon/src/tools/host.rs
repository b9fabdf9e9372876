//! What the tools of one attempt do.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use cs_fence::{FenceError, Fenced};
use cs_model::{AskId, AskTo, RunKind, RunState};
use cs_record::{ErrorClass, RecordError};
use cs_settle::NewAsk;
use cs_tools::{Answer, CallId, Caller, Host, HostError, Offer, Question, Shown, Standing};

use super::said::{Said, Word};
use super::{Of, show};
use crate::borders::Border;
use crate::context::Context;
use crate::executions::{StopLevel, StopSwitch};
use crate::secrets::{NotGiven, Words};

/// The tools of one attempt.
#[derive(Debug)]
pub(super) struct AttemptHost {
    cx: Arc<Context>,
    of: Of,
    said: Mutex<Said>,
    stop: StopSwitch,
}

impl AttemptHost {
    pub(super) fn new(cx: Arc<Context>, of: Of, said: Said, stop: StopSwitch) -> Self {
        if said.word().is_some() {
            // It said so to a daemon before this one.
            stop.raise(StopLevel::WhenDone);
        }
        let said = Mutex::new(said);
        Self { cx, of, said, stop }
    }

    fn said<T>(&self, act: impl FnOnce(&mut Said) -> io::Result<T>) -> Result<T, HostError> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut said).map_err(|error| {
            tracing::warn!(run = %self.of.row.run, %error, "what an agent said through its tools cannot be kept");
            if error.kind() == io::ErrorKind::FileTooLarge {
                HostError::Refused(error.to_string())
            } else {
                HostError::NotNow("it cannot be written down now".to_owned())
            }
        })
    }

    /// What its words become before anybody is told them.
    async fn words(&self) -> Words {
        let (run, epoch) = (self.of.row.run, self.of.row.epoch);
        self.cx.secrets.know_missing(run, epoch).await;
        self.cx.words_of(&self.of.row)
    }

    /// Notes what the agent wants of people, unless it has asked already. Returns the id under which it is noted.
    fn note(&self, word: Word) -> Result<AskId, HostError> {
        self.said(|said| match after(said.word(), &word) {
            Noted::Refused(why) => Ok(Err(HostError::Refused(why.to_owned()))),
            Noted::Before(id) => Ok(Ok(id)),
            Noted::Now => {
                let id = word.id();
                said.say(word)?;
                Ok(Ok(id))
            }
        })?
    }
}

/// What becomes of a word of an agent.
#[derive(Debug, PartialEq, Eq)]
enum Noted {
    /// It is noted, in the place of the one before it.
    Now,
    /// It is the one that is noted already, under this id.
    Before(AskId),
    /// It is not, and this is why.
    Refused(&'static str),
}

/// Decides what becomes of a word. One question at a time: whoever asks is to end its turn. An agent that never got its answer asks the
/// same again under another name of the call; that is the same question.
fn after(before: Option<&Word>, now: &Word) -> Noted {
    match (before, now) {
        (Some(before), now) if before.is_same(now) => Noted::Before(before.id()),
        (None | Some(Word::Offer { .. }), _) => Noted::Now,
        (Some(Word::Question { .. }), Word::Question { .. }) => Noted::Refused(
            "you have asked already. End your turn: you are started again with the answer, and can ask the next one then",
        ),
        (Some(Word::Question { .. }), Word::Offer { .. }) => Noted::Refused(
            "you have asked, and what you offer may hang on the answer. End your turn: offer it when you have the answer",
        ),
    }
}

#[async_trait]
impl Host for AttemptHost {
    async fn standing(&self, _: &Caller) -> Result<Standing, HostError> {
        let standing = self.cx.deps.record.attempts.standing(&self.of.attempt).await;
        let (Fenced::Applied(standing) | Fenced::Stale(standing)) = standing.map_err(of_fence)?;
        Ok(match standing.row {
            // One that has asked may act no more but to end, and may say the same again. What it writes is fenced in any case.
            Some((epoch, RunState::Running | RunState::Asked)) if epoch == self.of.row.epoch => {
                Standing::Current
            }
            Some((epoch, RunState::Ended(_))) if epoch == self.of.row.epoch => Standing::Over,
            Some(_) | None => Standing::Stale,
        })
    }

    async fn recall(&self, _: &Caller, id: &CallId) -> Result<Option<Answer>, HostError> {
        self.cx.deps.borders.reach(Border::T1);
        self.said(|said| Ok(said.answer(id).cloned()))
    }

    async fn keep(&self, _: &Caller, id: &CallId, answer: &Answer) -> Result<(), HostError> {
        self.cx.deps.borders.reach(Border::T3);
        self.said(|said| said.answered(id, answer))?;
        self.cx.deps.borders.reach(Border::T4);
        Ok(())
    }

    async fn ask(&self, _: &Caller, id: AskId, question: &Question) -> Result<(), HostError> {
        let words = self.words().await;
        let question = Question {
            text: words.free(&question.text),
            choices: words.free_all(&question.choices),
        };
        let id = self.note(Word::Question {
            id,
            text: question.text.clone(),
            choices: question.choices.clone(),
        })?;
        self.cx.deps.borders.reach(Border::T2);
        let ask = NewAsk {
            id,
            question: question.text.clone(),
            choices: question.choices.clone(),
            offer: None,
            to: AskTo::Parent,
        };
        let asked = self.cx.deps.record.agents.ask(&self.of.attempt, &ask).await;
        match asked.map_err(of_record)? {
            Fenced::Stale(_) => Err(HostError::Stale),
            Fenced::Applied(()) => {
                let card = self.of.row.card.short();
                self.cx.out(&format!(
                    "card {card}: run {} attempt {} asks; `cs-panel answer {card} TEXT` answers",
                    self.of.row.run.short(),
                    self.of.row.epoch
                ));
                self.stop.raise(StopLevel::WhenDone);
                Ok(())
            }
        }
    }

    async fn offer_landing(&self, _: &Caller, id: AskId, offer: &Offer) -> Result<(), HostError> {
        match self.of.row.kind {
            RunKind::Owner | RunKind::Issue => {}
            kind @ (RunKind::Launcher | RunKind::Worker) => {
                return Err(HostError::Refused(format!(
                    "a {kind} has no branch of a card to offer: end your turn with a report"
                )));
            }
        }
        if self.of.row.codebase.is_none() {
            let why =
                "your card has no codebase, so there is nothing to land: end your turn with your answer";
            return Err(HostError::Refused(why.to_owned()));
        }
        let text = format!("{}\n\nTried out: {}", offer.summary, offer.evidence);
        let text = self.words().await.free(&text);
        self.note(Word::Offer { id, text })?;
        self.cx.deps.borders.reach(Border::T2);
        self.stop.raise(StopLevel::WhenDone);
        Ok(())
    }

    async fn report_progress(&self, _: &Caller, text: &str) -> Result<(), HostError> {
        let text = self.words().await.free(text);
        self.said(|said| said.progress(&text))
    }

    async fn show(&self, _: &Caller, what: &Shown) -> Result<String, HostError> {
        show::show(&self.cx, &self.of, what).await.map_err(of_record)
    }

    async fn secret(&self, _: &Caller, name: &str) -> Result<String, HostError> {
        let Some(codebase) = self.of.row.codebase else {
            return Err(HostError::Refused(
                "your card has no codebase, and so no secrets".to_owned(),
            ));
        };
        let attempt = (self.of.row.run, self.of.row.epoch);
        let given = self.cx.secrets.give(attempt, &self.of.name, codebase, name);
        match given.await {
            Ok(value) => Ok(value.expose().to_owned()),
            Err(NotGiven::Refused(why)) => Err(HostError::Refused(why)),
            Err(NotGiven::NotNow(why)) => Err(HostError::NotNow(why)),
        }
    }

    async fn last_landing(&self, _: &Caller) -> Result<String, HostError> {
        show::last_landing(&self.cx, &self.of).await.map_err(of_record)
    }
}

/// What an agent is told when the record does not do something. Its errors name rows and columns, and no place on this machine.
fn of_record(error: RecordError) -> HostError {
    match error.class() {
        ErrorClass::Transient | ErrorClass::Conflict => HostError::NotNow(error.to_string()),
        ErrorClass::NotFound | ErrorClass::Invalid | ErrorClass::Corrupt => {
            HostError::Refused(error.to_string())
        }
    }
}

fn of_fence(error: FenceError) -> HostError {
    match error {
        FenceError::Away(_) => HostError::NotNow(error.to_string()),
        FenceError::Corrupt(_) => HostError::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_at_a_time_and_the_last_offer_counts() {
        let id = |number| AskId::from_uuid(uuid::Uuid::from_u128(number));
        let question = |number, text: &str| Word::Question {
            id: id(number),
            text: text.to_owned(),
            choices: Vec::new(),
        };
        let offer = |number, text: &str| Word::Offer {
            id: id(number),
            text: text.to_owned(),
        };
        let is_taken = |before: Option<Word>, now| after(before.as_ref(), &now);
        assert_eq!(is_taken(None, question(1, "a")), Noted::Now);
        assert_eq!(is_taken(None, offer(1, "a")), Noted::Now);
        assert_eq!(
            is_taken(Some(question(1, "a")), question(1, "a")),
            Noted::Before(id(1))
        );
        assert_eq!(
            is_taken(Some(question(1, "a")), question(2, "a")),
            Noted::Before(id(1))
        );
        assert!(matches!(
            is_taken(Some(question(1, "a")), question(2, "b")),
            Noted::Refused(_)
        ));
        assert!(matches!(
            is_taken(Some(question(1, "a")), offer(2, "a")),
            Noted::Refused(_)
        ));
        assert_eq!(is_taken(Some(offer(1, "a")), offer(2, "a")), Noted::Before(id(1)));
        assert_eq!(is_taken(Some(offer(1, "a")), offer(2, "b")), Noted::Now);
        assert_eq!(is_taken(Some(offer(1, "a")), question(2, "a")), Noted::Now);
    }
}
