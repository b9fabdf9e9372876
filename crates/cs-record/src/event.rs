//! The record's own journal of what happened: an event for everything that changed on a card.

use std::fmt::{self, Display};
use std::str::FromStr;

use cs_journal::Woke;
use cs_model::{
    AgentName, AskId, AskTo, AttachmentId, Author, CardId, Epoch, FailureClass, LandingId, LandingState,
    MachineId, Person, RunId, RunKind, Time, TurnId, TurnSeq,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Something that happened to a card. It is written in the transaction of what it tells of and never changes: there is an event exactly
/// where there is the write. It holds no body, no local path and no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The card.
    pub card: CardId,
    /// The run that did it, or to which it happened.
    pub run: Option<RunId>,
    /// The attempt of that run; of a landing its life.
    pub epoch: Option<Epoch>,
    /// The machine of that attempt or landing.
    pub machine: Option<MachineId>,
    /// When, by the record's clock.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "details", rename_all = "snake_case")]
pub enum What {
    /// The card was made.
    Made {
        /// By whom.
        #[serde(with = "text")]
        by: Person,
    },
    /// A turn was said.
    Said {
        /// The turn.
        turn: TurnId,
        /// Its place on the card.
        seq: TurnSeq,
        /// Who said it.
        #[serde(with = "author")]
        by: Author,
    },
    /// A file was attached.
    Attached {
        /// The attachment.
        attachment: AttachmentId,
    },
    /// A file was taken away.
    Detached {
        /// The attachment.
        attachment: AttachmentId,
    },
    /// A machine took work: an attempt begins.
    Claimed {
        /// What job it does.
        job: RunKind,
        /// The agent that is to run it.
        #[serde(with = "text")]
        agent: AgentName,
        /// The model that was chosen for it.
        model: Option<String>,
        /// The effort that was chosen for it.
        effort: Option<String>,
        /// What woke it.
        woke: Option<Woke>,
    },
    /// Its process runs.
    Started {
        /// The process id.
        pid: u32,
    },
    /// Its processes are proven gone.
    Gone,
    /// Some of its processes could not be ended.
    LeftBehind {
        /// Their names.
        what: String,
    },
    /// The attempt is over: its run has said what it wanted and is done.
    Finished,
    /// The attempt is over: its run waits for the answer to a question.
    WaitsForAnswer,
    /// The attempt failed.
    Failed {
        /// Why.
        class: Option<FailureClass>,
        /// The reason for people.
        reason: Option<String>,
        /// From when its run may go on by itself; nothing: it does not.
        again_at: Option<Time>,
    },
    /// The attempt was cut short through no fault of its own.
    Interrupted {
        /// From when its run may go on by itself; nothing: it does not.
        again_at: Option<Time>,
    },
    /// The attempt used up a budget, or ended in a way that has no more to say than its name.
    Ended {
        /// The ending, as the record stores it.
        ending: String,
    },
    /// The run was stopped by a person.
    Stopped,
    /// A run asked.
    Asked {
        /// The question.
        ask: AskId,
        /// Whom.
        to: AskTo,
        /// Whether it offers to land the card's work.
        offer: bool,
    },
    /// A question got its answer.
    Answered {
        /// The question.
        ask: AskId,
        /// Who answered.
        #[serde(with = "author")]
        by: Author,
    },
    /// A question that its parent left goes to a person.
    PassedOn {
        /// The question.
        ask: AskId,
    },
    /// A question needs no answer any more.
    Withdrawn {
        /// The question.
        ask: AskId,
    },
    /// The offer to land was accepted.
    OfferAccepted {
        /// The offer.
        ask: AskId,
    },
    /// The offer to land is open again: its landing came to nothing.
    OfferOpen {
        /// The offer.
        ask: AskId,
    },
    /// A person wants the card's work landed.
    LandingAccepted {
        /// The landing.
        landing: LandingId,
        /// Who.
        #[serde(with = "text")]
        by: Person,
        /// The branch that it is to land on.
        onto: Option<String>,
    },
    /// A machine took the landing.
    LandingTaken {
        /// The landing.
        landing: LandingId,
    },
    /// The machine gave the landing back; it is taken again.
    LandingReleased {
        /// The landing.
        landing: LandingId,
    },
    /// The landing is over.
    LandingOver {
        /// The landing.
        landing: LandingId,
        /// How it ended.
        state: LandingState,
        /// The commit that the base holds now, if it landed.
        commit: Option<String>,
    },
    /// The card failed: it waits for a retry or a turn.
    CardFailed {
        /// The reason for people.
        reason: Option<String>,
    },
    /// A person stopped the card.
    CardStopped {
        /// Who.
        #[serde(with = "text_opt")]
        by: Option<Person>,
    },
    /// The card's work is in its base.
    CardLanded,
    /// A person closed the card.
    CardClosed {
        /// Who.
        #[serde(with = "text_opt")]
        by: Option<Person>,
    },
    /// A card that had failed, was stopped, has landed or was closed is open again.
    Reopened {
        /// Who opened it.
        #[serde(with = "text_opt")]
        by: Option<Person>,
    },
    /// A person wants the card tried again now.
    Retried {
        /// Who.
        #[serde(with = "text_opt")]
        by: Option<Person>,
    },
    /// The card's work was given free for another agent or machine.
    HandedBack {
        /// Who did.
        #[serde(with = "text_opt")]
        by: Option<Person>,
        /// The agent that is to go on.
        #[serde(with = "text")]
        agent: AgentName,
        /// Whether any machine may.
        to_any_machine: bool,
    },
}

/// What a store keeps of [`What`].
#[derive(Serialize, Deserialize)]
struct Stored {
    kind: String,
    #[serde(default)]
    details: serde_json::Value,
}

impl What {
    /// Returns the text that a store keeps as the kind, and the JSON text that it keeps as the details.
    ///
    /// # Errors
    /// Never for values that the rules make.
    pub fn to_stored(&self) -> Result<(String, String), StoreError> {
        let stored = serde_json::to_value(self).and_then(serde_json::from_value::<Stored>);
        let stored =
            stored.map_err(|error| StoreError::Corrupt(format!("an event cannot be written: {error}")))?;
        Ok((stored.kind, stored.details.to_string()))
    }

    /// Reads what a store kept.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a kind or details that this binary does not know.
    pub fn from_stored(kind: &str, details: &str) -> Result<Self, StoreError> {
        let corrupt = |error| StoreError::Corrupt(format!("event of kind `{kind}`: {error}"));
        let details: serde_json::Value = serde_json::from_str(details).map_err(corrupt)?;
        let mut stored = serde_json::json!({ "kind": kind });
        if !details.is_null() {
            stored["details"] = details;
        }
        serde_json::from_value(stored).map_err(corrupt)
    }
}

/// Where a reader of events is: after one event, or before the first. An opaque text for whoever keeps it.
///
/// It goes on to be good when the record is copied, restored or moved with everything that it held. One that names an event that
/// the record does not hold is refused, so that nothing is skipped unseen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Cursor(Option<EventPlace>);

/// The place of an event among all of the record, in the order in which they are read, and its time, by which a place of another
/// record is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventPlace {
    /// How often the numbers of transactions began anew. A store without such numbers has 0.
    pub era: u32,
    /// The transaction that wrote it. A store without such numbers has 0.
    pub transaction: u64,
    /// Its number.
    pub number: u64,
    /// The event's time.
    pub at: Time,
}

impl Cursor {
    /// Before the first event.
    pub const START: Self = Self(None);

    /// After the event at this place.
    #[must_use]
    pub const fn after(place: EventPlace) -> Self {
        Self(Some(place))
    }

    /// Returns the place of the event after which it is; nothing before the first.
    #[must_use]
    pub const fn place(self) -> Option<EventPlace> {
        self.0
    }
}

const START: &str = "start";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str(START),
            Some(EventPlace {
                era,
                transaction,
                number,
                at,
            }) => write!(f, "{era}-{transaction}-{number}-{}", at.unix_micros()),
        }
    }
}

/// Says that a text is no resume point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no resume point, expected `start` or one that came with an event")]
pub struct InvalidCursor {
    /// The text that was given.
    pub text: String,
}

impl FromStr for Cursor {
    type Err = InvalidCursor;
    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        if text == START {
            return Ok(Self::START);
        }
        let mut parts = text.splitn(4, '-');
        let mut part = || parts.next().unwrap_or_default();
        let read = (part().parse(), part().parse(), part().parse(), part().parse());
        match read {
            (Ok(era), Ok(transaction), Ok(number), Ok(micros)) => Ok(Self::after(EventPlace {
                era,
                transaction,
                number,
                at: Time::from_unix_micros(micros),
            })),
            _ => Err(InvalidCursor {
                text: text.chars().take(80).collect(),
            }),
        }
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::deserialize(deserializer)
    }
}

/// A value as its text.
mod text {
    use super::{Display, FromStr};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A value as its text, or nothing.
mod text_opt {
    use super::{Display, FromStr};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(ToString::to_string).serialize(serializer)
    }

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(deserializer)?;
        let read = text.map(|text| text.parse()).transpose();
        read.map_err(serde::de::Error::custom)
    }
}

/// An author, with what it is.
mod author {
    use super::{Author, RunId};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Stored {
        Person(String),
        Agent(RunId),
        System,
    }

    pub(super) fn serialize<S: Serializer>(author: &Author, serializer: S) -> Result<S::Ok, S::Error> {
        match author {
            Author::Person(person) => Stored::Person(person.to_string()),
            Author::Agent(run) => Stored::Agent(*run),
            Author::System => Stored::System,
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Author, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Person(name) => Author::Person(name.parse().map_err(serde::de::Error::custom)?),
            Stored::Agent(run) => Author::Agent(run),
            Stored::System => Author::System,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(what: &What, kind: &str, details: &str) {
        let (stored_kind, stored_details) = what.to_stored().expect("it can be written");
        assert_eq!((stored_kind.as_str(), stored_details.as_str()), (kind, details));
        assert_eq!(What::from_stored(kind, details).ok().as_ref(), Some(what));
    }

    #[test]
    fn what_happened_survives_its_stored_form() {
        let ask: AskId = "00000000-0000-7000-8000-000000000007".parse().expect("an id");
        check(&What::Gone, "gone", "null");
        check(&What::Started { pid: 7 }, "started", r#"{"pid":7}"#);
        check(&What::CardStopped { by: None }, "card_stopped", r#"{"by":null}"#);
        let by = Author::Person("Ada".parse().expect("a name"));
        check(
            &What::Answered { ask, by },
            "answered",
            r#"{"ask":"00000000-0000-7000-8000-000000000007","by":{"person":"Ada"}}"#,
        );
        let by = Author::System;
        check(
            &What::Answered { ask, by },
            "answered",
            r#"{"ask":"00000000-0000-7000-8000-000000000007","by":"system"}"#,
        );
    }

    #[test]
    fn an_unknown_event_is_an_error_and_no_default() {
        for (kind, details) in [
            ("flown", "null"),
            ("started", "{}"),
            ("gone", "{"),
            ("started", "null"),
        ] {
            let read = What::from_stored(kind, details);
            assert!(
                matches!(read, Err(StoreError::Corrupt(_))),
                "{kind} {details}: {read:?}"
            );
        }
    }

    #[test]
    fn a_cursor_survives_its_text_and_others_are_refused() {
        let place = EventPlace {
            era: 1,
            transaction: 700,
            number: 42,
            at: Time::from_unix_micros(-5),
        };
        for cursor in [Cursor::START, Cursor::after(place)] {
            assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
            let json = serde_json::to_string(&cursor).expect("it can be written");
            assert_eq!(serde_json::from_str::<Cursor>(&json).ok(), Some(cursor));
        }
        for text in ["", "end", "1-2-3", "1-2-3-x", "1-2-3-4-5", "-1-2-3-4"] {
            let refused = text.parse::<Cursor>().expect_err("it is none");
            assert_eq!(refused.text, text);
        }
    }
}
