//! Reads of people and daemons.

use std::fmt;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, Standing, Verdict, judge};
use cs_model::{AskId, AttachmentId, CardId, LandingId, MachineId, RunState, TurnSeq};

use super::Record;
use super::people::no_card;
use crate::store::RowStore;
use crate::{
    Ask, CardDetail, CardFilter, CardReads, CardSummary, Content, DaemonReads, HeldProcess, LandingBrief,
    Listed, Peeked, RecordError, RunBrief, StoppedRun, Turn,
};

/// How many digits a short id has at least.
const MIN_DIGITS: usize = 4;

#[async_trait]
impl<S: RowStore> CardReads for Record<S> {
    async fn find_card(&self, given: &str) -> Result<CardId, RecordError> {
        match digits(given) {
            Some(digits) => the_one("card", given, self.store.cards_ending(&digits).await?),
            None => the_one("card", given, Vec::new()),
        }
    }

    async fn find_ask(&self, given: &str) -> Result<AskId, RecordError> {
        match digits(given) {
            Some(digits) => the_one("question", given, self.store.asks_ending(&digits).await?),
            None => the_one("question", given, Vec::new()),
        }
    }

    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, RecordError> {
        Ok(self.store.cards(filter).await?)
    }

    async fn card(&self, card: CardId) -> Result<CardDetail, RecordError> {
        self.store.card(card).await?.ok_or_else(|| no_card(card))
    }

    async fn turns(&self, card: CardId, after: TurnSeq, limit: u32) -> Result<Vec<Turn>, RecordError> {
        self.store
            .turns(card, after, limit)
            .await?
            .ok_or_else(|| no_card(card))
    }

    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, RecordError> {
        Ok(self.store.open_asks().await?)
    }
}

#[async_trait]
impl<S: RowStore> DaemonReads for Record<S> {
    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, RecordError> {
        Ok(self.store.peek(machine, agents).await?)
    }

    async fn run_brief(&self, attempt: &Attempt) -> Result<Fenced<RunBrief>, RecordError> {
        let run = attempt.run;
        let Some((row, brief)) = self.store.run_brief(run).await? else {
            return Ok(Fenced::Stale(Standing { run, row: None }));
        };
        match judge(&row.fence(), attempt) {
            Verdict::Running => Ok(Fenced::Applied(brief)),
            Verdict::Asked | Verdict::Over | Verdict::Stale => Ok(Fenced::Stale(Standing {
                run,
                row: Some((row.epoch, row.state)),
            })),
        }
    }

    async fn attached(&self, attachment: AttachmentId) -> Result<Content, RecordError> {
        self.content(attachment).await
    }

    async fn landing_brief(&self, landing: LandingId) -> Result<LandingBrief, RecordError> {
        let found = self.store.landing_brief(landing).await?;
        found.ok_or_else(|| RecordError::NotFound {
            what: "landing",
            name: landing.to_string(),
        })
    }

    async fn stopped_runs(&self, machine: MachineId) -> Result<Vec<StoppedRun>, RecordError> {
        let runs = self.store.machine_runs(machine).await?;
        let stopped = runs
            .rows
            .into_iter()
            .filter(|run| run.state != RunState::Running)
            .filter_map(|run| {
                Some(StoppedRun {
                    run: run.id,
                    card: run.card,
                    epoch: run.epoch,
                    state: run.state,
                    process: run.process?,
                })
            });
        Ok(stopped.collect())
    }

    async fn running_runs(&self, machine: MachineId) -> Result<Vec<HeldProcess>, RecordError> {
        let runs = self.store.machine_runs(machine).await?.all()?;
        let held = runs
            .into_iter()
            .filter(|run| run.state == RunState::Running)
            .map(|run| HeldProcess {
                run: run.id,
                card: run.card,
                epoch: run.epoch,
                process: run.process,
            });
        Ok(held.collect())
    }
}

/// Reads the end of an id, however it was copied.
pub(super) fn digits(given: &str) -> Option<String> {
    let digits: String = given
        .trim()
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let good = (MIN_DIGITS..=32).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit());
    good.then_some(digits)
}

/// Whether an id ends with these digits, or its last eight begin with them.
pub(super) fn ends_with(id: &impl fmt::Display, digits: &str) -> bool {
    let id = id.to_string().replace('-', "");
    id.ends_with(digits) || id.get(24..).is_some_and(|last| last.starts_with(digits))
}

pub(super) fn the_one<Id: fmt::Display + Copy>(
    what: &'static str,
    given: &str,
    fits: Vec<Id>,
) -> Result<Id, RecordError> {
    match fits.as_slice() {
        [] => Err(RecordError::NotFound {
            what,
            name: given.chars().take(80).collect(),
        }),
        [id] => Ok(*id),
        several => Err(RecordError::Ambiguous {
            what,
            given: given.to_owned(),
            fits: several.iter().map(ToString::to_string).collect(),
        }),
    }
}
