//! Landings that go wrong between their steps, on a git that fails at a chosen act.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cs_daemon::control::{self, Stopped};
use cs_daemon::{
    AgentRules, BasePush, Checkouts, LandingPolicy, Landings, Planned, Preparation, Saved, TreeError, Trees,
    Workplace,
};
use cs_model::{CodebaseId, Epoch, LandingTarget, Publish, RunId};
use cs_record::{Card, LandingBrief};
use cs_worktree::{
    BranchName, BroughtAlong, CodebaseKey, How, LandingKey, LandingPlan, LocalAfterPublish, Move,
    MoveOutcome, MoveRecovery, Oid, PersonCommits, Published, Repository, RunKey, Throwaway, Verdict,
    WorktreeError,
};
use libtest_mimic::Trial;

use crate::record::{Call, Instead};
use crate::world::{World, timed_trial, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a landing whose move git cannot make is refused with the reason, and does not come back for ever",
            not_moved,
        ),
        trial(
            "a landing whose clone git cannot make is refused with the reason",
            no_clone,
        ),
        trial(
            "a landing that rests from trouble is ended by a stop",
            stopped_at_rest,
        ),
        trial(
            "a landing whose result is told by a later pass is published too",
            published_later,
        ),
        trial(
            "a remote that never answers keeps neither a slot nor a stop, and is asked again by the next daemon",
            published_apart,
        ),
        timed_trial(
            "a remote that gives no answer is asked again, ever more rarely, until it answers",
            published_at_last,
        ),
        trial(
            "a landing whose row cannot be read does not keep the others waiting",
            unreadable,
        ),
    ]
}

/// What is asked of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    Plan,
    Move,
    Clone,
    Publish,
}

/// A git that does nothing, and fails as planned: what is left of an act's failures, and whether they may pass.
#[derive(Debug, Default)]
pub(crate) struct FakeGit {
    verify: Option<String>,
    /// Whether the remote never answers.
    hangs: bool,
    /// How often the remote is asked before it gives an answer.
    no_answers: usize,
    fails: Mutex<BTreeMap<Act, (usize, bool)>>,
    met: Mutex<Vec<Act>>,
    codebases: Mutex<Vec<CodebaseId>>,
}

impl FakeGit {
    fn failing(act: Act, times: usize, may_pass: bool) -> Self {
        Self {
            fails: Mutex::new([(act, (times, may_pass))].into()),
            ..Self::default()
        }
    }

    /// Has a checkout of it from now on.
    pub(crate) fn check_out(&self, codebase: CodebaseId) {
        self.codebases.lock().unwrap().push(codebase);
    }

    fn times(&self, act: Act) -> usize {
        self.met.lock().unwrap().iter().filter(|met| **met == act).count()
    }

    fn meet(&self, act: Act) -> Result<(), TreeError> {
        self.met.lock().unwrap().push(act);
        let mut fails = self.fails.lock().unwrap();
        let Some((left, may_pass)) = fails.get_mut(&act).filter(|(left, _)| *left > 0) else {
            return Ok(());
        };
        *left -= 1;
        Err(match may_pass {
            true => WorktreeError::CodebaseBusy.into(),
            false => WorktreeError::TreeChanged.into(),
        })
    }
}

impl Checkouts for FakeGit {
    fn checkout(&self, _: CodebaseId) -> Option<PathBuf> {
        Some("/repository".into())
    }

    fn preparation(&self, _: CodebaseId) -> Preparation {
        Preparation::default()
    }

    fn rules(&self, _: CodebaseId) -> Result<AgentRules, TreeError> {
        Ok(AgentRules::default())
    }

    fn landing(&self, _: CodebaseId) -> Result<LandingPolicy, TreeError> {
        Ok(LandingPolicy {
            verify: self.verify.clone(),
            target: Some(LandingTarget::Local),
            publish: Publish::OnLanding,
            ..LandingPolicy::default()
        })
    }

    fn codebases(&self) -> Vec<CodebaseId> {
        self.codebases.lock().unwrap().clone()
    }
}

#[async_trait]
impl Trees for FakeGit {
    async fn make_ready(&self, card: &Card) -> Result<Option<Workplace>, TreeError> {
        Ok(card.codebase.map(|_| Workplace {
            ahead: 0,
            behind: 0,
            path: "/".into(),
            branch: "cs/card".to_owned(),
            base: "main".to_owned(),
            person: PersonCommits::None,
            brought: BroughtAlong::default(),
            setup: None,
        }))
    }

    async fn save(&self, _: &Card, _: RunId, _: Epoch, _: &str) -> Result<Saved, TreeError> {
        Ok(Saved::NoCodebase)
    }

    async fn is_there(&self, _: &Card) -> Result<bool, TreeError> {
        Ok(false)
    }

    async fn publish_card(&self, _: &Card) -> Result<Published, TreeError> {
        self.meet(Act::Publish)?;
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let is_away = self.times(Act::Publish) <= self.no_answers;
        Ok(Published {
            to: None,
            verdict: if is_away {
                Verdict::Timeout { limit: None }
            } else {
                Verdict::NoRemote
            },
        })
    }

    async fn retire(&self, _: &Card, _: RunId, _: Epoch) -> Result<(), TreeError> {
        Ok(())
    }
}

#[async_trait]
impl Landings for FakeGit {
    async fn plan_landing(&self, brief: &LandingBrief, _: Epoch) -> Result<Planned, TreeError> {
        self.meet(Act::Plan)?;
        Ok(Planned::Plan(LandingPlan::Ready(Move {
            landing: LandingKey::new(brief.landing.id.to_string())?,
            codebase: CodebaseKey::new(brief.landing.codebase.to_string())?,
            repository: Repository {
                toplevel: "/repository".into(),
                common_dir: "/repository/.git".into(),
            },
            base_branch: BranchName::new("main")?,
            old: Oid::new("1".repeat(40))?,
            new: Oid::new("2".repeat(40))?,
            how: How::NotCheckedOut,
            held: None,
        })))
    }

    async fn execute_move(&self, _: &Move) -> Result<MoveOutcome, TreeError> {
        self.meet(Act::Move)?;
        Ok(MoveOutcome::Moved)
    }

    async fn recover_move(&self, _: &Move) -> Result<MoveRecovery, TreeError> {
        Ok(MoveRecovery::NotMoved)
    }

    async fn push_base(&self, _: &Move, _: Option<LandingTarget>) -> Result<BasePush, TreeError> {
        Ok(BasePush::Tried(nowhere()))
    }

    async fn local_after_push(&self, _: &Move) -> Result<LocalAfterPublish, TreeError> {
        Ok(LocalAfterPublish::Holds)
    }

    async fn make_throwaway(&self, _: &Move, _: &RunKey, _: &[String]) -> Result<Throwaway, TreeError> {
        self.meet(Act::Clone)?;
        Ok(Throwaway {
            path: "/".into(),
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

fn nowhere() -> Published {
    Published {
        to: None,
        verdict: Verdict::NoRemote,
    }
}

const AGENTS: &[(&str, &str)] = &[("agent", "echo Done.")];

async fn not_moved(world: World) {
    let git = Arc::new(FakeGit::failing(Act::Move, usize::MAX, false));
    let world = world.with_git(Arc::clone(&git));
    world.accepted(AGENTS).await;
    world.run_once(AGENTS).await.unwrap();
    assert_eq!(git.times(Act::Move), 1);
    assert!(world.all_said().contains("refused card"), "{}", world.all_said());
}

async fn no_clone(world: World) {
    let git = Arc::new(FakeGit {
        verify: Some("true".to_owned()),
        ..FakeGit::failing(Act::Clone, usize::MAX, false)
    });
    let world = world.with_git(Arc::clone(&git));
    world.accepted(AGENTS).await;
    world.run_once(AGENTS).await.unwrap();
    assert_eq!(git.times(Act::Clone), 1);
    assert!(world.all_said().contains("refused card"), "{}", world.all_said());
}

async fn stopped_at_rest(world: World) {
    let git = Arc::new(FakeGit::failing(Act::Plan, 3, true));
    let world = world.with_git(Arc::clone(&git));
    let card = world.accepted(AGENTS).await;
    let daemon = world.daemon(AGENTS).await;
    // What the daemon is asked while it starts may end its first rest.
    world.until_said_times("could not be carried on", 3).await;
    let stopped = control::stop(&world.state(), card).await.unwrap();
    assert!(matches!(stopped, Stopped::Closed { .. }), "{stopped:?}");
    assert!(
        world.all_said().contains("the card was stopped"),
        "{}",
        world.all_said()
    );
    assert_eq!(git.times(Act::Move), 0);
    daemon.leave().await;
}

async fn published_later(world: World) {
    let git = Arc::new(FakeGit::default());
    let world = world.with_git(Arc::clone(&git));
    world.accepted(AGENTS).await;
    world.record.plan(Call::SettleLanding, [Instead::Away]);
    world.run_once(AGENTS).await.unwrap();
    assert_eq!((git.times(Act::Move), git.times(Act::Publish)), (1, 1));
}

async fn published_apart(world: World) {
    let git = Arc::new(FakeGit {
        hangs: true,
        ..FakeGit::default()
    });
    let world = world.with_git(Arc::clone(&git));
    let card = world.accepted(AGENTS).await;
    let daemon = world.daemon(AGENTS).await;
    world.until_said_times("landed card", 1).await;
    while git.times(Act::Publish) == 0 {
        tokio::task::yield_now().await;
    }
    daemon.leave().await;
    let daemon = world.daemon(AGENTS).await;
    while git.times(Act::Publish) < 2 {
        tokio::task::yield_now().await;
    }
    let stopped = control::stop(&world.state(), card).await.unwrap();
    assert!(matches!(stopped, Stopped::Closed { .. }), "{stopped:?}");
    daemon.leave().await;
    world.run_once(AGENTS).await.unwrap();
    assert_eq!(git.times(Act::Publish), 2, "a stop ends it for good");
}

async fn published_at_last(world: World) {
    let git = Arc::new(FakeGit {
        no_answers: 6,
        ..FakeGit::default()
    });
    let world = world.with_git(Arc::clone(&git));
    world.accepted(AGENTS).await;
    world.run_once(AGENTS).await.unwrap();
    assert_eq!(git.times(Act::Publish), 1);
    let said = world.all_said();
    assert!(
        said.contains("tries again in 1 min, the next one at once"),
        "{said}"
    );
    // At once, and 1, 3, 7 and 15 minutes later.
    let often = Duration::from_secs(30);
    world.idles(often, Duration::from_mins(20)).await;
    assert_eq!(git.times(Act::Publish), 6);
    world.run_once(AGENTS).await.unwrap();
    world.run_once(AGENTS).await.unwrap();
    assert_eq!(git.times(Act::Publish), 7, "an answer is an answer");
}

async fn unreadable(world: World) {
    let world = world.with_git(Arc::default());
    world.accepted(AGENTS).await;
    world
        .record
        .plan(Call::SettleLanding, [Instead::Away, Instead::Corrupt]);
    // A pass that failed would end a daemon that is to end.
    world.run_once(AGENTS).await.unwrap();
    assert!(world.all_said().contains("landed card"), "{}", world.all_said());
}
