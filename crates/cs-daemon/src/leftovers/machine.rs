//! The leftovers of a machine, by its state directory, its stores and the record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use cs_model::{CardId, RunId, Time};
use cs_record::{Card, CardFilter, CardReads};
use cs_supervise::{ExecutionDir, Life, glance};
use cs_worktree::{CodebaseKey, Packed, RunKey, RunRefs, StoreFiles, Worktrees};

use super::{
    EXECUTIONS_KEPT, Leftover, Leftovers, LeftoversError, RUN_REFS_KEPT, Removed, TRASH_KEPT, What, is_past,
    over_since,
};
use crate::executions::{AttemptFile, VerifyFile};
use crate::report::chain;
use crate::state::StateDir;
use crate::trees::tree_spec;

/// What is kept in a state directory.
#[derive(Debug)]
pub struct MachineLeftovers {
    state: StateDir,
    worktrees: Worktrees,
    cards: Arc<dyn CardReads>,
}

/// A card that is over.
#[derive(Debug)]
struct Over {
    card: Card,
    since: Time,
}

impl MachineLeftovers {
    /// Looks in this state directory and these stores, for the cards of this record.
    #[must_use]
    pub fn new(state: StateDir, worktrees: Worktrees, cards: Arc<dyn CardReads>) -> Self {
        Self {
            state,
            worktrees,
            cards,
        }
    }

    async fn cards_over(&self) -> Result<BTreeMap<CardId, Over>, LeftoversError> {
        let cards = self.cards.cards(CardFilter::All).await?.rows;
        let quiet = cards
            .into_iter()
            .filter(|it| it.live.is_none() && it.landing.is_none());
        let over = quiet.filter_map(|summary| {
            let since = over_since(&summary.card)?;
            Some((
                summary.card.id,
                Over {
                    card: summary.card,
                    since,
                },
            ))
        });
        Ok(over.collect())
    }

    fn trees(&self, now: Time) -> Result<Vec<Leftover>, LeftoversError> {
        let trashed = self.worktrees.trashed()?.into_iter().map(|tree| Leftover {
            card: tree.spec.card.as_str().parse().ok(),
            since: time(tree.at),
            what: What::Tree(tree),
        });
        Ok(trashed
            .filter(|tree| is_past(tree.since, TRASH_KEPT, now))
            .collect())
    }

    /// The executions that are proven over, of cards that are. What is not read, or is no execution of ours, stays.
    fn executions(&self, over: &BTreeMap<CardId, Over>, now: Time) -> io::Result<Vec<Leftover>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.state.executions())? {
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            let dir = ExecutionDir::at(self.state.execution(&name));
            let attempt = AttemptFile::read(&dir).map(|attempt| attempt.row.card);
            let card = attempt.or_else(|| Some(VerifyFile::read(&dir)?.card));
            let Some((card, over)) = card.and_then(|card| Some((card, over.get(&card)?))) else {
                continue;
            };
            if is_past(over.since, EXECUTIONS_KEPT, now) && is_over(&dir) {
                found.push(Leftover {
                    what: What::Execution { name },
                    card: Some(card),
                    since: over.since,
                });
            }
        }
        Ok(found)
    }

    /// The refs of attempts and landings of cards that are over and have no tree here.
    async fn run_refs(
        &self,
        over: &BTreeMap<CardId, Over>,
        now: Time,
    ) -> Result<Vec<Leftover>, LeftoversError> {
        let past = || over.values().filter(|it| is_past(it.since, RUN_REFS_KEPT, now));
        let codebases: BTreeSet<_> = past().filter_map(|it| it.card.codebase).collect();
        let mut left: BTreeMap<RunId, Vec<(CodebaseKey, RunRefs)>> = BTreeMap::new();
        for codebase in codebases {
            let Ok(codebase) = CodebaseKey::new(codebase.to_string()) else {
                continue;
            };
            for refs in self.worktrees.run_refs(&codebase).await? {
                if let Some(run) = run_of(&refs.run) {
                    left.entry(run).or_default().push((codebase.clone(), refs));
                }
            }
        }
        let mut found = Vec::new();
        for it in past() {
            if left.is_empty() {
                break;
            }
            if self.has_tree(&it.card)? {
                continue;
            }
            let detail = self.cards.card(it.card.id).await?;
            let landings = detail
                .landings
                .iter()
                .map(|landing| RunId::from_uuid(landing.id.as_uuid()));
            for run in detail.runs.iter().map(|run| run.id).chain(landings) {
                for (codebase, refs) in left.remove(&run).into_iter().flatten() {
                    found.push(Leftover {
                        what: What::RunRefs { codebase, refs },
                        card: Some(it.card.id),
                        since: it.since,
                    });
                }
            }
        }
        Ok(found)
    }

    /// The stores that are in so many files that they are worth packing.
    fn store_files(&self, now: Time) -> Result<Vec<Leftover>, LeftoversError> {
        let many = self
            .worktrees
            .store_files()?
            .into_iter()
            .filter(StoreFiles::are_many);
        let leftover = |files| Leftover {
            what: What::StoreFiles(files),
            card: None,
            since: now,
        };
        Ok(many.map(leftover).collect())
    }

    fn has_tree(&self, card: &Card) -> Result<bool, LeftoversError> {
        // What cannot be named has no tree of ours.
        match tree_spec(card) {
            Ok(Some(spec)) => Ok(self.worktrees.find_tree(&spec)?.is_some()),
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Removes the directory of an execution: it gets a name first under which nobody takes it for one, so that a half-removed one is
    /// never read.
    fn remove_execution(&self, name: &str) -> io::Result<()> {
        let going = self.state.going();
        fs::create_dir_all(&going)?;
        let place = going.join(name);
        match fs::rename(self.state.execution(name), &place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed?,
        }
        fs::remove_dir_all(&place)
    }

    /// Removes what an earlier removal has begun with.
    fn remove_half_removed(&self) -> io::Result<()> {
        let entries = match fs::read_dir(self.state.going()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            fs::remove_dir_all(entry?.path())?;
        }
        Ok(())
    }
}

#[async_trait]
impl Leftovers for MachineLeftovers {
    async fn find(&self, now: Time) -> Result<Vec<Leftover>, LeftoversError> {
        let over = self.cards_over().await?;
        let mut found = self.trees(now)?;
        found.extend(self.executions(&over, now).map_err(LeftoversError::State)?);
        found.extend(self.run_refs(&over, now).await?);
        found.extend(self.store_files(now)?);
        found.sort_by_key(|leftover| leftover.since);
        Ok(found)
    }

    async fn remove(&self, found: &[Leftover], now: Time) -> Result<Removed, LeftoversError> {
        let mut removed = Removed::default();
        if found
            .iter()
            .any(|leftover| matches!(leftover.what, What::Tree(_)))
        {
            let emptied = self.worktrees.empty_trash(TRASH_KEPT, system_time(now)).await?;
            removed.trees = emptied.deleted;
            let kept = emptied
                .kept
                .iter()
                .map(|path| format!("{} cannot be deleted", path.display()));
            removed.kept.extend(kept);
        }
        if let Err(error) = self.remove_half_removed() {
            removed
                .kept
                .push(format!("{}: {error}", self.state.going().display()));
        }
        for leftover in found {
            match &leftover.what {
                What::Tree(_) => {}
                What::Execution { name } => match self.remove_execution(name) {
                    Ok(()) => removed.executions += 1,
                    Err(error) => removed.kept.push(format!("execution {name}: {error}")),
                },
                What::StoreFiles(files) => match self.worktrees.pack_store(&files.codebase).await {
                    Ok(Packed::Done) => removed.packed += 1,
                    Ok(Packed::ByAnother) => {}
                    Err(error) => removed.kept.push(format!(
                        "files of the store {}: {}",
                        files.codebase,
                        chain(&error)
                    )),
                },
                What::RunRefs { codebase, refs } => match self.worktrees.forget_run(codebase, refs).await {
                    Ok(()) => removed.runs += 1,
                    Err(error) => {
                        removed
                            .kept
                            .push(format!("refs of attempt {}: {}", refs.run, chain(&error)))
                    }
                },
            }
        }
        Ok(removed)
    }
}

/// Says whether an execution is proven over, or was never begun.
fn is_over(dir: &ExecutionDir) -> bool {
    match glance(dir).map(|seen| seen.life) {
        Ok(Life::Over(_) | Life::Unheld) => true,
        Ok(Life::Alive(_) | Life::Lost | Life::Incomplete(_)) | Err(_) => false,
    }
}

/// The run, or the landing, whose attempt a name means.
fn run_of(key: &RunKey) -> Option<RunId> {
    key.as_str().rsplit_once('-')?.0.parse().ok()
}

fn time(at: SystemTime) -> Time {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn system_time(at: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(at.unix_micros()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_of_a_run_is_found_by_its_name() {
        let id = "0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b";
        let run = |key: &str| run_of(&RunKey::new(key).expect("a key"));
        assert_eq!(run(&format!("{id}-12")), id.parse().ok());
        assert_eq!(run("other"), None);
    }
}
