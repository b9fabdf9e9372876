//! Every state of a checked-out base by every method, with everything in the user's configuration that could do harm (G9).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use cs_worktree::*;

use crate::bench::*;

/// What a plain merge would stash, refuse, sign, or overwrite by.
const CONFIG: &str = "[merge]\n\tautoStash = true\n\tff = false\n\tverifySignatures = true\n[rebase]\n\tautoStash = true\n\
                      [pull]\n\trebase = true\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = /nonexistent\n";

const METHODS: [LandMethod; 3] = [LandMethod::Merge, LandMethod::Squash, LandMethod::Rebase];

/// What the user has in the checkout of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Clean,
    UnstagedElsewhere,
    StagedElsewhere,
    UntrackedElsewhere,
    IgnoredElsewhere,
    UnstagedOverlap,
    StagedOverlap,
    DeletedOverlap,
    UntrackedOverlap,
    UntrackedWithTheSameBytes,
    IgnoredOverlap,
    AssumeUnchangedOverlap,
    SkipWorktreeOverlap,
    IndexLock,
    MergeUnderWay,
    SecondWorktree,
}

const STATES: [State; 16] = [
    State::Clean,
    State::UnstagedElsewhere,
    State::StagedElsewhere,
    State::UntrackedElsewhere,
    State::IgnoredElsewhere,
    State::UnstagedOverlap,
    State::StagedOverlap,
    State::DeletedOverlap,
    State::UntrackedOverlap,
    State::UntrackedWithTheSameBytes,
    State::IgnoredOverlap,
    State::AssumeUnchangedOverlap,
    State::SkipWorktreeOverlap,
    State::IndexLock,
    State::MergeUnderWay,
    State::SecondWorktree,
];

impl State {
    async fn make(self, user: &std::path::Path) {
        let put = |file: &str, text: &str| {
            let file = user.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        match self {
            Self::Clean => {}
            Self::UnstagedElsewhere => put("README", "mine\n"),
            Self::StagedElsewhere => {
                put("src/b.txt", "mine\n");
                git(user, &["add", "-A"]).await;
            }
            Self::UntrackedElsewhere => put("mine", "mine\n"),
            Self::IgnoredElsewhere => put("mine.ignored", "mine\n"),
            Self::UnstagedOverlap => put("src/a.txt", "mine\n"),
            Self::StagedOverlap => {
                put("src/a.txt", "mine\n");
                git(user, &["add", "-A"]).await;
            }
            Self::DeletedOverlap => fs::remove_file(user.join("src/a.txt")).unwrap(),
            Self::UntrackedOverlap => put("added/new.txt", "mine\n"),
            Self::UntrackedWithTheSameBytes => put("added/new.txt", "landed\n"),
            Self::IgnoredOverlap => put(".env", "SECRET\n"),
            Self::AssumeUnchangedOverlap | Self::SkipWorktreeOverlap => {
                let flag = if self == Self::SkipWorktreeOverlap {
                    "--skip-worktree"
                } else {
                    "--assume-unchanged"
                };
                git(user, &["update-index", flag, "src/a.txt"]).await;
                put("src/a.txt", "mine\n");
            }
            Self::IndexLock => put(".git/index.lock", ""),
            Self::MergeUnderWay => put(".git/MERGE_HEAD", ""),
            Self::SecondWorktree => {
                git(user, &["worktree", "add", "-q", "-f", "../second", "main"]).await;
            }
        }
    }

    /// Why the landing is refused; `None` where it goes through.
    fn refusal(self) -> Option<Refusal> {
        let files = |name: &str| vec![RepoPath::from_bytes(name)];
        let of_card = || files("src/a.txt");
        match self {
            Self::Clean
            | Self::UnstagedElsewhere
            | Self::StagedElsewhere
            | Self::UntrackedElsewhere
            | Self::IgnoredElsewhere => None,
            Self::UnstagedOverlap
            | Self::StagedOverlap
            | Self::DeletedOverlap
            | Self::AssumeUnchangedOverlap
            | Self::SkipWorktreeOverlap => Some(Refusal::DirtyOverlap { files: of_card() }),
            Self::UntrackedOverlap | Self::UntrackedWithTheSameBytes => Some(Refusal::UntrackedOverlap {
                files: files("added/new.txt"),
            }),
            Self::IgnoredOverlap => Some(Refusal::IgnoredOverlap { files: files(".env") }),
            Self::IndexLock => Some(Refusal::BaseBusy(BusyWith::IndexLock)),
            Self::MergeUnderWay => Some(Refusal::BaseBusy(BusyWith::Merge)),
            Self::SecondWorktree => Some(Refusal::CheckedOutTwice),
        }
    }
}

/// The card changes one file and adds two, one of which the user's repository ignores.
async fn card(bench: &Bench) -> (Tree, Oid) {
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join(".env"), "landed\n").unwrap();
    git(&tree.path, &["add", "-f", ".env"]).await;
    bench.agent_commits(&tree, "src/a.txt", "landed\n").await;
    bench.agent_commits(&tree, "added/new.txt", "landed\n").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    (tree, tip)
}

fn files(bench: &Bench) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = picture(&bench.user)
        .into_iter()
        .map(|(path, _, content)| (path, content));
    files.filter(|(path, _)| path.is_file()).collect()
}

/// Lands in one state by one method. Every file of the user is what it was, or was that of the base and is what landed.
async fn check(state: State, method: LandMethod) {
    let bench = Bench::with_config(CONFIG).await;
    let (tree, tip) = card(&bench).await;
    // The base has gone on: no landing is a plain fast-forward of the card.
    bench.user_commits("src/b.txt", "of the base\n").await;
    let spec = LandingSpec {
        method,
        ..bench.landing_spec(&tree, &tip, "l1")
    };
    let plan = async || {
        bench
            .worktrees
            .plan_landing(&bench.repository, &spec)
            .await
            .unwrap()
    };
    let LandingPlan::Ready(ready) = plan().await else {
        panic!("{state:?} {method:?}: not ready")
    };
    let of_base = files(&bench);
    state.make(&bench.user).await;
    let (before, index) = (files(&bench), fs::read(bench.user.join(".git/index")).unwrap());
    let expected = match state.refusal() {
        None => {
            assert_eq!(
                plan().await,
                LandingPlan::Ready(ready.clone()),
                "{state:?} {method:?}"
            );
            MoveOutcome::Moved
        }
        Some(refusal) => {
            let refused = LandingPlan::Refused(refusal.clone());
            assert_eq!(plan().await, refused, "{state:?} {method:?}");
            MoveOutcome::Refused(refusal)
        }
    };
    let outcome = bench.worktrees.execute_move(&ready).await.unwrap();
    assert_eq!(outcome, expected, "{state:?} {method:?}");
    let is_moved = outcome == MoveOutcome::Moved;
    let at = if is_moved { &ready.new } else { &ready.old };
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, at.as_str());
    let after = files(&bench);
    for (path, content) in &before {
        let now = after.get(path);
        let is_landed =
            is_moved && of_base.get(path) == Some(content) && now.is_some_and(|n| n == b"landed\n");
        assert!(
            now == Some(content) || is_landed,
            "{state:?} {method:?}: {path:?} is {now:?}"
        );
    }
    let added = after.keys().filter(|path| !before.contains_key(*path)).count();
    assert_eq!(added, if is_moved { 2 } else { 0 }, "{state:?} {method:?}");
    if !is_moved {
        assert!(
            fs::read(bench.user.join(".git/index")).unwrap() == index,
            "{state:?} {method:?}: the index"
        );
    }
    assert_eq!(
        git(&bench.user, &["stash", "list"]).await,
        "",
        "{state:?} {method:?}"
    );
    assert!(!bench.user.join(".git/MERGE_AUTOSTASH").exists());
}

/// G9. Invariant 12.
#[tokio::test]
async fn g9_no_state_of_a_checked_out_base_costs_the_user_a_byte() {
    for state in STATES {
        for method in METHODS {
            check(state, method).await;
        }
    }
}

/// The control of the test above: what a plain merge does to an ignored file, and to a changed one with these settings.
#[tokio::test]
async fn g9_control_a_plain_merge_overwrites_an_ignored_file_and_stashes() {
    let bench = Bench::with_config("").await;
    let (tree, _) = card(&bench).await;
    fs::write(bench.user.join(".env"), "SECRET\n").unwrap();
    git(
        &bench.user,
        &["merge", "-q", "--ff-only", tree.spec.branch.as_str()],
    )
    .await;
    assert_eq!(fs::read_to_string(bench.user.join(".env")).unwrap(), "landed\n");
    let bench = Bench::with_config("[merge]\n\tautoStash = true\n").await;
    let (tree, _) = card(&bench).await;
    fs::write(bench.user.join("src/a.txt"), "mine\n").unwrap();
    try_git(
        &bench.user,
        &["merge", "-q", "--ff-only", tree.spec.branch.as_str()],
    )
    .await;
    assert_ne!(
        fs::read_to_string(bench.user.join("src/a.txt")).unwrap(),
        "mine\n"
    );
}
