//! Git in two lines: a base is a list of moves, a tree is a mark.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use cs_daemon::{BasePush, Landings, Planned, Saved, TreeError, Trees, Workplace};
use cs_model::{CardId, CodebaseId, Epoch, LandingTarget, RunId};
use cs_record::{Card, LandingBrief};
use cs_worktree::{
    BranchName, BroughtAlong, CodebaseKey, Conflict, How, LandedHow, LandingKey, LandingPlan,
    LocalAfterPublish, Move, MoveOutcome, MoveRecovery, Oid, PersonCommits, Published, Refusal, Repository,
    RunKey, Throwaway, Verdict, WorktreeError,
};

use crate::broken::Mutant;
use crate::invariant::Event;
use crate::machine::{Seat, has_verify};

/// The repositories of a machine, and the trees of cards there.
#[derive(Debug, Default)]
pub(crate) struct Bases {
    bases: BTreeMap<String, Base>,
    trees: BTreeSet<CardId>,
    worked_on: BTreeSet<CardId>,
}

/// A base branch.
#[derive(Debug, Default)]
struct Base {
    at: u64,
    /// Each landing that moved it, with where to.
    moves: Vec<(LandingKey, Oid)>,
}

impl Bases {
    pub(crate) fn of(codebases: &[CodebaseId]) -> Self {
        let base = |codebase: &CodebaseId| (codebase.to_string(), Base::default());
        Self {
            bases: codebases.iter().map(base).collect(),
            ..Self::default()
        }
    }

    /// An agent commits.
    pub(crate) fn work_on(&mut self, card: CardId) {
        self.worked_on.insert(card);
    }

    /// A person commits to every base.
    pub(crate) fn commit(&mut self) {
        self.bases.values_mut().for_each(|base| base.at += 1);
    }

    /// Says where a landing moved its base to, if it did.
    pub(crate) fn moved_to(&self, landing: &str) -> Option<&Oid> {
        let mut moves = self.bases.values().flat_map(|base| &base.moves);
        let moved = moves.find(|(other, _)| other.as_str() == landing);
        moved.map(|(_, commit)| commit)
    }

    /// Lists the landings that moved a base, each as often as it did.
    pub(crate) fn landed(&self) -> impl Iterator<Item = &LandingKey> {
        self.bases
            .values()
            .flat_map(|base| base.moves.iter().map(|(landing, _)| landing))
    }
}

/// The trees of one machine, as one daemon of it sees them.
#[derive(Debug)]
pub(crate) struct FakeTrees(pub(crate) Seat);

impl FakeTrees {
    async fn come_to(&self, what: &'static str) -> Result<(), TreeError> {
        self.0.come_to(what).await;
        self.0.world.delay().await;
        if self.0.fails(what) {
            return Err(WorktreeError::CodebaseBusy.into());
        }
        Ok(())
    }

    /// After something was done.
    async fn leave(&self, what: &'static str) -> Result<(), TreeError> {
        self.0.come_back(what).await;
        if self.0.loses(what) {
            return Err(WorktreeError::CodebaseBusy.into());
        }
        Ok(())
    }
}

#[async_trait]
impl Trees for FakeTrees {
    async fn make_ready(&self, card: &Card) -> Result<Option<Workplace>, TreeError> {
        self.come_to("make ready").await?;
        if card.codebase.is_none() {
            return Ok(None);
        }
        self.0.world.see(&Event::TreeTouched {
            machine: self.0.machine.index,
            card: card.id,
            why: "made ready",
        });
        self.0.machine.bases().trees.insert(card.id);
        self.leave("make ready").await?;
        Ok(Some(Workplace {
            ahead: 0,
            behind: 0,
            path: "/tree".into(),
            branch: "cs/card".to_owned(),
            base: "main".to_owned(),
            person: PersonCommits::None,
            brought: BroughtAlong::default(),
            setup: None,
        }))
    }

    async fn save(&self, card: &Card, _: RunId, _: Epoch, _: &str) -> Result<Saved, TreeError> {
        self.come_to("save").await?;
        self.leave("save").await?;
        Ok(if card.codebase.is_none() {
            Saved::NoCodebase
        } else {
            Saved::Everything {
                history_rewritten: false,
            }
        })
    }

    async fn is_there(&self, card: &Card) -> Result<bool, TreeError> {
        self.come_to("is there").await?;
        self.leave("is there").await?;
        Ok(self.0.machine.bases().trees.contains(&card.id))
    }

    async fn publish_card(&self, _: &Card) -> Result<Published, TreeError> {
        Ok(Published {
            to: None,
            verdict: Verdict::NoRemote,
        })
    }

    async fn retire(&self, card: &Card, _: RunId, _: Epoch) -> Result<(), TreeError> {
        self.come_to("retire").await?;
        self.0.world.see(&Event::TreeTouched {
            machine: self.0.machine.index,
            card: card.id,
            why: "put into the trash",
        });
        self.0.machine.bases().trees.remove(&card.id);
        self.0.world.count("trees put into the trash");
        self.leave("retire").await
    }
}

#[async_trait]
impl Landings for FakeTrees {
    async fn plan_landing(&self, brief: &LandingBrief, _: Epoch) -> Result<Planned, TreeError> {
        self.come_to("plan").await?;
        self.leave("plan").await?;
        let landing = LandingKey::new(brief.landing.id.to_string())?;
        let codebase = CodebaseKey::new(brief.landing.codebase.to_string())?;
        let bases = self.0.machine.bases();
        let Some(base) = bases.bases.get(codebase.as_str()) else {
            return Err(TreeError::NoCheckout);
        };
        let forgets = self.0.world.is_mutant(Mutant::MoveForgets);
        let known = base.moves.iter().find(|(other, _)| *other == landing);
        if let Some((_, commit)) = known.filter(|_| !forgets) {
            return Ok(Planned::Plan(LandingPlan::AlreadyLanded {
                commit: commit.clone(),
                how: LandedHow::ThisLanding,
            }));
        }
        if !bases.worked_on.contains(&brief.card.id) {
            return Ok(Planned::Plan(LandingPlan::NothingToLand));
        }
        if self.0.world.happens(1_000) {
            return Ok(Planned::Plan(LandingPlan::Conflict(Conflict::default())));
        }
        Ok(Planned::Plan(LandingPlan::Ready(Move {
            landing,
            codebase,
            repository: Repository {
                toplevel: "/repository".into(),
                common_dir: "/repository/.git".into(),
            },
            base_branch: BranchName::new("main")?,
            old: oid(base.at)?,
            new: oid((1 << 40) + self.0.world.dice.number() % (1 << 40))?,
            how: How::NotCheckedOut,
            held: None,
        })))
    }

    async fn execute_move(&self, plan: &Move) -> Result<MoveOutcome, TreeError> {
        self.come_to("move").await?;
        let outcome = self.compare_and_set(plan)?;
        if outcome == MoveOutcome::Moved {
            self.0.world.count("base moves");
        }
        self.0.world.see(&Event::Step);
        self.leave("move").await?;
        Ok(outcome)
    }

    async fn recover_move(&self, plan: &Move) -> Result<MoveRecovery, TreeError> {
        self.come_to("recover").await?;
        self.leave("recover").await?;
        if self.0.world.is_mutant(Mutant::MoveForgets) {
            return Ok(MoveRecovery::NotMoved);
        }
        let bases = self.0.machine.bases();
        let base = bases.bases.get(plan.codebase.as_str());
        let is_there = base.is_some_and(|base| base.moves.iter().any(|(_, new)| *new == plan.new));
        Ok(if is_there {
            MoveRecovery::Done
        } else {
            MoveRecovery::NotMoved
        })
    }

    async fn push_base(&self, _: &Move, _: Option<LandingTarget>) -> Result<BasePush, TreeError> {
        // Every codebase here lands locally.
        Ok(BasePush::Tried(Published {
            to: None,
            verdict: Verdict::NoRemote,
        }))
    }

    async fn local_after_push(&self, _: &Move) -> Result<LocalAfterPublish, TreeError> {
        Ok(LocalAfterPublish::Holds)
    }

    async fn make_throwaway(&self, plan: &Move, _: &RunKey, _: &[String]) -> Result<Throwaway, TreeError> {
        self.come_to("make clone").await?;
        self.leave("make clone").await?;
        Ok(Throwaway {
            path: format!("/verify/{}", plan.new.as_str()).into(),
            brought: BroughtAlong::default(),
        })
    }

    async fn throwaways(&self) -> Result<Vec<RunKey>, TreeError> {
        Ok(Vec::new())
    }

    async fn remove_throwaway(&self, _: &RunKey) -> Result<(), TreeError> {
        Ok(())
    }
}

impl FakeTrees {
    /// What has moved is what a verify has passed on, where its codebase has one.
    fn check_verified(&self, plan: &Move) {
        let codebase = plan.codebase.as_str().parse();
        if !codebase.is_ok_and(has_verify) {
            return;
        }
        let processes = self.0.machine.processes();
        if !processes.values().any(|one| one.has_passed(plan.new.as_str())) {
            self.0.world.fail(
                "13. a base moves only to what its verify has passed on",
                format!("landing {} moved to {}", plan.landing, plan.new),
            );
        }
    }

    fn compare_and_set(&self, plan: &Move) -> Result<MoveOutcome, TreeError> {
        if self.0.world.happens(500) {
            return Ok(MoveOutcome::Refused(Refusal::ByGit));
        }
        let forgets = self.0.world.is_mutant(Mutant::MoveForgets);
        let mut bases = self.0.machine.bases();
        let Some(base) = bases.bases.get_mut(plan.codebase.as_str()) else {
            return Err(TreeError::NoCheckout);
        };
        if base.moves.iter().any(|(_, new)| *new == plan.new) {
            return Ok(MoveOutcome::Moved);
        }
        if oid(base.at)? != plan.old && !forgets {
            return Ok(MoveOutcome::BaseMoved);
        }
        base.at += 1;
        base.moves.push((plan.landing.clone(), plan.new.clone()));
        drop(bases);
        self.check_verified(plan);
        Ok(MoveOutcome::Moved)
    }
}

fn oid(number: u64) -> Result<Oid, TreeError> {
    Ok(Oid::new(format!("{number:040x}"))?)
}
