//! Acts of people.

use async_trait::async_trait;
use cs_model::{CardId, CodebaseId, MachineId, Person};

use super::Record;
use crate::rules::{self, MAX_CODEBASE_NAME_CHARS};
use crate::store::{Facts, Registered, RowStore, Select};
use crate::{
    AcceptLanding, Aggregate, AnswerAsk, Ask, Codebase, Codebases, HandBack, Landing, PeopleActs,
    RecordError, Refusal, Send, SendTo, Sent, Writes,
};

#[async_trait]
impl<S: RowStore> PeopleActs for Record<S> {
    async fn send(&self, send: &Send) -> Result<Sent, RecordError> {
        let (card, new) = match &send.to {
            SendTo::NewCard { card, .. } => (*card, true),
            SendTo::Card(card) => (*card, false),
        };
        let rule = |facts: &Facts| match facts.cards.first() {
            Some(aggregate) => Ok(rules::send_existing(aggregate, send, facts)?),
            None if new => Ok(rules::send_new(send, &facts.earlier, facts.now)?),
            None => Err(no_card(card)),
        };
        let select = Select::Send {
            card,
            turn: send.turn,
            after: send.plan.after.clone(),
            files: !send.attachments.is_empty(),
        };
        self.decide_plain(&select, rule).await?
    }

    async fn answer_ask(&self, answer: &AnswerAsk) -> Result<Ask, RecordError> {
        let rule = |facts: &Facts| {
            let found = facts.cards.first().and_then(|card| {
                let ask = card.asks.iter().find(|ask| ask.id == answer.ask)?;
                Some((card, ask))
            });
            let (card, ask) = found.ok_or_else(|| RecordError::NotFound {
                what: "question",
                name: answer.ask.to_string(),
            })?;
            Ok(rules::answer_ask(card, ask, answer, facts.now)?)
        };
        self.decide_plain(&Select::Ask(answer.ask), rule).await?
    }

    async fn accept_landing(&self, accept: &AcceptLanding) -> Result<Landing, RecordError> {
        let rule = |facts: &Facts| {
            let card = the_card(facts, accept.card)?;
            Ok(rules::accept_landing(card, accept, facts.now)?)
        };
        self.decide_plain(&Select::CardLanding(accept.card, accept.landing), rule)
            .await?
    }

    async fn stop_card(&self, card: CardId, person: &Person) -> Result<bool, RecordError> {
        let rule = |facts: &Facts| {
            let (writes, stopped) = rules::stop_card(the_card(facts, card)?, person, facts.now);
            Ok((by(writes, person), stopped))
        };
        self.decide_plain(&Select::Card(card), rule).await?
    }

    #[tracing::instrument(level = "debug", skip_all, fields(card = %card, person = %person))]
    async fn retry_card(&self, card: CardId, person: &Person) -> Result<bool, RecordError> {
        let rule = |facts: &Facts| {
            let (writes, ready) = rules::retry_card(the_card(facts, card)?, facts.now)?;
            Ok((by(writes, person), ready))
        };
        self.decide_plain(&Select::Card(card), rule).await?
    }

    #[tracing::instrument(level = "debug", skip_all, fields(card = %card, person = %person))]
    async fn close_card(&self, card: CardId, person: &Person) -> Result<(), RecordError> {
        let rule = |facts: &Facts| {
            let writes = rules::close_card(the_card(facts, card)?, facts.now)?;
            Ok((by(writes, person), ()))
        };
        self.decide_plain(&Select::Card(card), rule).await?
    }

    #[tracing::instrument(level = "debug", skip_all, fields(card = %hand_back.card, person = %hand_back.person))]
    async fn hand_back(&self, hand_back: &HandBack) -> Result<(), RecordError> {
        let rule = |facts: &Facts| {
            let card = the_card(facts, hand_back.card)?;
            let writes = rules::hand_back(card, hand_back, facts.now)?;
            Ok((by(writes, &hand_back.person), ()))
        };
        self.decide_plain(&Select::Card(hand_back.card), rule).await?
    }
}

#[async_trait]
impl<S: RowStore> Codebases for Record<S> {
    async fn add_codebase(
        &self,
        id: CodebaseId,
        name: &str,
        machine: MachineId,
    ) -> Result<Codebase, RecordError> {
        let name = name.trim();
        let chars = name.chars().count();
        if chars == 0 || chars > MAX_CODEBASE_NAME_CHARS || name.chars().any(char::is_control) {
            return Err(Refusal::BadCodebaseName { chars }.into());
        }
        match self.store.add_codebase(id, name, machine).await? {
            Registered::Written(codebase) => Ok(codebase),
            Registered::Taken(_) => Err(Refusal::NameTaken {
                what: "codebase",
                name: name.to_owned(),
            }
            .into()),
        }
    }

    async fn codebases(&self) -> Result<Vec<Codebase>, RecordError> {
        Ok(self.store.codebases().await?)
    }
}

/// Says whose act the writes are.
fn by(writes: Writes, person: &Person) -> Writes {
    Writes {
        by: Some(person.clone()),
        ..writes
    }
}

/// The card that was locked.
pub(super) fn the_card(facts: &Facts, card: CardId) -> Result<&Aggregate, RecordError> {
    facts.cards.first().ok_or_else(|| no_card(card))
}

/// The error for a card that the record does not hold.
pub(super) fn no_card(card: CardId) -> RecordError {
    RecordError::NotFound {
        what: "card",
        name: card.to_string(),
    }
}
