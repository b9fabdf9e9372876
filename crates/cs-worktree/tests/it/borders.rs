//! The process is killed at every border of create, collect, salvage, land, restore and clean; what follows on ends as without it (G8).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_supervise::command::{self, CommandSpec, Exit};
use cs_worktree::*;

use crate::bench::*;

/// Tells the child what it shall do: the number of a border, or that of none, and the directory of the bench.
const BORDER: &str = "CS_PANEL_TEST_BORDER";
const DIR: &str = "CS_PANEL_TEST_DIR";

const LIFE: &str = "CS_PANEL_TEST_LIFE";

/// What a daemon, or a person, does with one card, one phase after the other. The record of the daemon, a file here, says which are
/// done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Created, salvaged, discarded, deleted.
    Card,
    /// Landed on a base that nobody has checked out.
    Landing,
    /// Landed on a base that is checked out, beside a file with changes.
    LandingOnCheckout,
    /// Landed on a base that is pushed first.
    LandingWithPush,
    /// A landing whose git died in the middle: undone, then landed.
    HalfLanding,
    /// Salvaged, and restored as a directory.
    Directory,
    /// Salvaged, and restored as a branch.
    Branch,
    /// Discarded, and put back in its place.
    Trash,
    /// Salvaged, and its store packed.
    Upkeep,
}

const LIVES: [Life; 9] = [
    Life::Card,
    Life::Landing,
    Life::LandingOnCheckout,
    Life::LandingWithPush,
    Life::HalfLanding,
    Life::Directory,
    Life::Branch,
    Life::Trash,
    Life::Upkeep,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Prepare,
    CollectAndSalvage,
    Collect,
    Land,
    PlanAndDie,
    Discard,
    EmptyTrash,
    ToDirectory,
    ToBranch,
    PutBack,
    Pack,
}

impl Life {
    fn phases(self) -> &'static [Phase] {
        use Phase::*;
        match self {
            Self::Card => &[Prepare, CollectAndSalvage, Discard, EmptyTrash],
            Self::Landing | Self::LandingOnCheckout | Self::LandingWithPush => &[Prepare, Collect, Land],
            Self::HalfLanding => &[Prepare, Collect, PlanAndDie, Land],
            Self::Directory => &[Prepare, CollectAndSalvage, ToDirectory],
            Self::Branch => &[Prepare, CollectAndSalvage, ToBranch],
            Self::Upkeep => &[Prepare, CollectAndSalvage, Pack, Prepare],
            Self::Trash => &[Prepare, CollectAndSalvage, Discard, PutBack, Prepare],
        }
    }
}

async fn phase(worktrees: &Worktrees, bench: &Place, phase: Phase) {
    let spec = bench.spec();
    let code = &spec.codebase;
    let run = run_key("r1");
    let repository = bench.repository(worktrees).await;
    let tree = worktrees.find_tree(&spec).unwrap();
    match phase {
        Phase::Prepare => {
            worktrees.prepare_tree(&repository, &spec).await.unwrap();
        }
        Phase::CollectAndSalvage => {
            let Some(tree) = tree else { return };
            worktrees.collect(&repository, &tree, &run).await.unwrap();
            worktrees
                .salvage(&tree, &run, "the agent was stopped")
                .await
                .unwrap();
        }
        Phase::Collect => {
            worktrees
                .collect(&repository, &tree.unwrap(), &run)
                .await
                .unwrap();
        }
        Phase::Land => bench.land(worktrees, &repository).await,
        Phase::PlanAndDie => bench.plan_and_die(worktrees, &repository).await,
        Phase::Discard => {
            let Some(tree) = tree else { return };
            let salvage = worktrees.salvage(&tree, &run, "the card is over").await.unwrap();
            worktrees.discard(salvage.proof().unwrap()).await.unwrap();
        }
        Phase::EmptyTrash => {
            let later = now(&bench.dir) + Duration::from_secs(3600);
            let age = Duration::from_secs(60);
            let emptied = worktrees.empty_trash(age, later).await.unwrap();
            assert_eq!(emptied.kept, Vec::<PathBuf>::new());
        }
        Phase::ToDirectory => {
            let to = bench.dir.join("back");
            let saved = worktrees.saved_work(code).await.unwrap();
            let restored = worktrees
                .restore_to_directory(code, &saved[0].reference, &to)
                .await;
            assert!(
                matches!(restored, Ok(_) | Err(WorktreeError::Occupied { .. })),
                "{restored:?}"
            );
        }
        Phase::ToBranch => {
            let saved = worktrees.saved_work(code).await.unwrap();
            let branch = BranchName::new("rescued").unwrap();
            let reference = &saved[0].reference;
            let restored = worktrees
                .restore_to_branch(&repository, code, reference, &branch)
                .await;
            restored.unwrap();
        }
        Phase::Pack => {
            worktrees.pack_store(code).await.unwrap();
        }
        Phase::PutBack => {
            for trashed in worktrees.trashed().unwrap() {
                worktrees.restore_trashed(&trashed).await.unwrap();
            }
        }
    }
}

/// What an agent leaves between the first two phases.
async fn agent(tree: &Path) {
    let put = |path: &str, text: &str| {
        let file = tree.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    put("src/a.txt", "committed\n");
    git(tree, &["commit", "-q", "-a", "-m", "by the agent"]).await;
    put("inside/file", "of a repository inside\n");
    git(&tree.join("inside"), &["init", "-q"]).await;
    git(&tree.join("inside"), &["add", "-A"]).await;
    git(&tree.join("inside"), &["commit", "-q", "-m", "inside"]).await;
    put("README", "uncommitted\n");
    put("cache.ignored", "noise");
}

/// A bench that another process can open.
struct Place {
    dir: PathBuf,
    life: Life,
}

impl Place {
    /// A new bench, as the life needs it.
    async fn of(bench: &Bench, life: Life) -> Self {
        let dir = bench.dir.path().canonicalize().unwrap();
        let place = Self { dir, life };
        match life {
            Life::Landing => drop(git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await),
            Life::LandingOnCheckout | Life::HalfLanding => {
                fs::write(bench.user.join("src/b.txt"), "of the user\n").unwrap();
            }
            Life::LandingWithPush => {
                bench.remote("origin").await;
                git(&bench.user, &["push", "-q", "-u", "origin", "main"]).await;
            }
            Life::Card | Life::Directory | Life::Branch | Life::Trash | Life::Upkeep => {}
        }
        place
    }

    /// What a daemon does: the move is noted before it is executed, and a noted one is recovered before anything else.
    async fn land(&self, worktrees: &Worktrees, repository: &Repository) {
        if self.life == Life::LandingWithPush {
            return self.push_and_land(worktrees, repository).await;
        }
        let note = self.dir.join("move");
        if let Ok(text) = fs::read(&note) {
            let noted: Move = serde_json::from_slice(&text).unwrap();
            match worktrees.recover_move(&noted).await.unwrap() {
                MoveRecovery::Done => return,
                MoveRecovery::NotMoved | MoveRecovery::RolledBack => fs::remove_file(&note).unwrap(),
                other => panic!("{other:?}"),
            }
        }
        let planned = match worktrees
            .plan_landing(repository, &self.landing(worktrees).await)
            .await
        {
            Ok(LandingPlan::AlreadyLanded { .. }) => return,
            Ok(LandingPlan::Ready(planned)) => planned,
            other => panic!("{other:?}"),
        };
        fs::write(&note, serde_json::to_vec(&planned).unwrap()).unwrap();
        let moved = worktrees.execute_move(&planned).await.unwrap();
        assert_eq!(moved, MoveOutcome::Moved);
    }

    /// The same with a push before the move. What is noted may be at the remote, and is not planned again.
    async fn push_and_land(&self, worktrees: &Worktrees, repository: &Repository) {
        let note = self.dir.join("move");
        let noted = fs::read(&note).map(|text| serde_json::from_slice::<Move>(&text).unwrap());
        let planned = match noted {
            Ok(noted) => noted,
            Err(_) => match worktrees
                .plan_landing(repository, &self.landing(worktrees).await)
                .await
            {
                Ok(LandingPlan::Ready(planned)) => planned,
                other => panic!("{other:?}"),
            },
        };
        fs::write(&note, serde_json::to_vec(&planned).unwrap()).unwrap();
        let publish = Publish {
            codebase: planned.codebase.clone(),
            commit: planned.new.clone(),
            to: PublishTo::Base {
                base: planned.base_branch.clone(),
            },
            limit: Duration::from_secs(60),
        };
        let published = worktrees.publish(repository, &publish).await.unwrap();
        assert!(published.verdict.is_at_remote(), "{published:?}");
        match worktrees.recover_move(&planned).await.unwrap() {
            MoveRecovery::Done => return,
            MoveRecovery::NotMoved | MoveRecovery::RolledBack => {}
            other => panic!("{other:?}"),
        }
        let LocalAfterPublish::Movable(movable) = worktrees.local_after_publish(&planned).await.unwrap()
        else {
            panic!("the base cannot be moved");
        };
        assert_eq!(
            worktrees.execute_move(&movable).await.unwrap(),
            MoveOutcome::Moved
        );
    }

    async fn landing(&self, worktrees: &Worktrees) -> LandingSpec {
        let spec = self.spec();
        LandingSpec {
            landing: LandingKey::new("l1").unwrap(),
            head: worktrees.card_head(&spec).await.unwrap().unwrap(),
            base: spec.base_branch.clone(),
            tree: spec,
            method: LandMethod::Merge,
            protected: Vec::new(),
            message: "Land the card".into(),
            author: Identity::default(),
        }
    }

    /// Leaves what a git leaves that was killed while it landed: files, an index, a lock.
    async fn plan_and_die(&self, worktrees: &Worktrees, repository: &Repository) {
        let plan = worktrees
            .plan_landing(repository, &self.landing(worktrees).await)
            .await;
        let Ok(LandingPlan::Ready(planned)) = plan else {
            panic!("{plan:?}");
        };
        fs::write(self.dir.join("move"), serde_json::to_vec(&planned).unwrap()).unwrap();
        let user = self.dir.join("user");
        let store = self.dir.join("state/repos/code/store.git");
        let refspec = "+refs/cs-panel/land/l1:refs/cs-panel/land/l1";
        git(&user, &["fetch", "-q", store.to_str().unwrap(), refspec]).await;
        let files = ["src/a.txt", "inside/file", "README"];
        let take = ["checkout", "-q", planned.new.as_str(), "--"];
        git(&user, &[&take[..], &files[..2]].concat()).await;
        fs::write(user.join(".git/index.lock"), OUR_LOCK).unwrap();
    }

    fn spec(&self) -> TreeSpec {
        let (code, card) = (CodebaseKey::new("code").unwrap(), CardKey::new("c1").unwrap());
        TreeSpec::new(code, card, "A title", BranchName::new("main").unwrap())
    }

    async fn repository(&self, worktrees: &Worktrees) -> Repository {
        let seen = Repository::inspect(worktrees.git(), &self.dir.join("user")).await;
        seen.unwrap().repository
    }

    fn is_landing(&self) -> bool {
        matches!(
            self.life,
            Life::Landing | Life::LandingOnCheckout | Life::LandingWithPush | Life::HalfLanding
        )
    }

    fn done(&self) -> usize {
        let text = fs::read_to_string(self.dir.join("done")).unwrap_or_default();
        text.parse().unwrap_or(0)
    }

    /// Carries out every phase that is not done.
    async fn live(&self, worktrees: &Worktrees) {
        for number in self.done()..self.life.phases().len() {
            self.carry_out(worktrees, number).await;
            fs::write(self.dir.join("done"), (number + 1).to_string()).unwrap();
        }
    }

    async fn carry_out(&self, worktrees: &Worktrees, number: usize) {
        if number == 1 && !self.dir.join("agent").exists() {
            let tree = worktrees.find_tree(&self.spec()).unwrap().unwrap();
            agent(&tree.path).await;
            if self.is_landing() {
                git(
                    &tree.path,
                    &["rm", "-q", "--cached", "-f", "--ignore-unmatch", "inside"],
                )
                .await;
                fs::remove_dir_all(tree.path.join("inside/.git")).unwrap();
                git(&tree.path, &["add", "-A"]).await;
                git(&tree.path, &["commit", "-q", "-m", "the rest"]).await;
            }
            fs::write(self.dir.join("agent"), "").unwrap();
        }
        phase(worktrees, self, self.life.phases()[number]).await;
    }

    /// The same in a process of its own, which is killed at a border.
    async fn killed_at(&self, number: usize) -> Exit {
        self.run(&[(BORDER, OsStr::new(&number.to_string()))]).await
    }

    async fn run(&self, more: &[(&str, &OsStr)]) -> Exit {
        let path = search_path();
        let life = LIVES
            .iter()
            .position(|life| *life == self.life)
            .unwrap()
            .to_string();
        let mut env = vec![
            (LIFE, OsStr::new(&life)),
            ("PATH", path.as_os_str()),
            ("HOME", self.dir.as_os_str()),
            (DIR, self.dir.as_os_str()),
        ];
        env.extend_from_slice(more);
        let spec = CommandSpec {
            program: std::env::current_exe().unwrap(),
            args: ["--exact", "borders::a_life_that_a_test_starts", "--nocapture"]
                .map(Into::into)
                .into(),
            env: env.iter().map(|(k, v)| ((*k).into(), (*v).to_owned())).collect(),
            cwd: self.dir.clone(),
            stdin: Vec::new(),
            timeout: Duration::from_secs(120),
            stdout_cap_bytes: 1 << 20,
            stderr_cap_bytes: 1 << 20,
        };
        let done = command::run(&spec).await.unwrap();
        if done.exit == Exit::Code(101) {
            panic!("{}", String::from_utf8_lossy(&done.stderr));
        }
        done.exit
    }

    /// Every ref of the store and of the user, with its commit.
    async fn refs(&self) -> BTreeMap<String, String> {
        self.refs_as("%(refname) %(objectname)").await
    }

    async fn refs_as(&self, format: &str) -> BTreeMap<String, String> {
        let mut refs = BTreeMap::new();
        let format = format!("--format={format}");
        for place in ["state/repos/code/store.git", "user/.git", "origin.git"] {
            let dir = self.dir.join(place);
            if !dir.exists() {
                continue;
            }
            let list = ["--git-dir", dir.to_str().unwrap(), "for-each-ref", &format];
            for line in git(&self.dir.join("user"), &list).await.lines() {
                let (name, value) = line.split_once(' ').unwrap();
                refs.insert(format!("{place} {name}"), value.to_owned());
            }
        }
        refs
    }

    /// What is there at the end, by content: commits carry the time at which they were made.
    async fn end(&self) -> BTreeMap<String, String> {
        let mut end = self.refs_as("%(refname) %(tree)").await;
        let places = [
            "",
            "state/cards/c1",
            "state/cards/c1/code",
            "state/trash",
            "state/repos/code/salvage/r1",
        ];
        for place in places {
            let entries = fs::read_dir(self.dir.join(place));
            let mut names: Vec<String> = entries
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            end.insert(place.to_owned(), names.join(" "));
        }
        let config = fs::read_to_string(self.dir.join("state/repos/code/store.git/config"));
        end.insert("config of the store".to_owned(), config.unwrap());
        for place in ["user", "back"].map(|place| self.dir.join(place)) {
            if place.exists() {
                let files: Vec<_> = picture(&place)
                    .into_iter()
                    .map(|(path, mode, bytes)| (path.strip_prefix(&place).unwrap().to_owned(), mode, bytes))
                    .collect();
                let status = git(&place, &["status", "--porcelain"]).await;
                end.insert(
                    place.file_name().unwrap().to_string_lossy().into_owned(),
                    format!("{status}{files:?}"),
                );
            }
        }
        end
    }
}

/// A process for the tests below; by itself it does nothing.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is what a test gives its child"
)]
async fn a_life_that_a_test_starts() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let border = std::env::var(BORDER)
        .ok()
        .and_then(|text| text.parse::<usize>().ok());
    let borders = border.map_or(Borders::none(), |at| Borders::crash_at(Border::ALL[at]));
    let life: usize = std::env::var(LIFE).unwrap().parse().unwrap();
    let place = Place {
        dir: dir.into(),
        life: LIVES[life],
    };
    let worktrees = Bench::open_with(&place.dir, borders).await;
    place.live(&worktrees).await;
}

async fn check(life: Life, from: Border, to: Border) {
    let bench = Bench::new().await;
    let expected = Place::of(&bench, life).await;
    expected.live(&bench.worktrees).await;
    let expected = expected.end().await;
    assert!(expected.len() > 10, "{expected:?}");
    let at = |border| Border::ALL.iter().position(|other| *other == border).unwrap();
    for number in at(from)..=at(to) {
        let border = Border::ALL[number];
        let is_passed = match border {
            Border::Published => life == Life::LandingWithPush,
            Border::IndexLocked | Border::BaseMoved => life != Life::Landing,
            _ => true,
        };
        if !is_passed {
            continue;
        }
        let bench = Bench::new().await;
        let place = Place::of(&bench, life).await;
        assert_eq!(place.killed_at(number).await, Exit::Signalled(9), "{border:?}");
        let after_crash = place.refs().await;
        // Two daemons after each other find the phase not done; the second one goes on.
        let done = place.done();
        place.carry_out(&Bench::open(&place.dir).await, done).await;
        let worktrees = Bench::open(&place.dir).await;
        place.live(&worktrees).await;
        assert_eq!(place.end().await, expected, "{border:?}");
        let refs = place.refs().await;
        for (name, commit) in &after_crash {
            let now = refs
                .get(name)
                .unwrap_or_else(|| panic!("{border:?}: {name} is lost"));
            let dir = place.dir.join(name.split(' ').next().unwrap());
            let held = [
                "--git-dir",
                dir.to_str().unwrap(),
                "merge-base",
                "--is-ancestor",
                commit,
                now,
            ];
            git(&bench.user, &held).await;
        }
        bench.in_store(&["fsck", "--strict"]).await;
        let spec = place.spec();
        let repository = place.repository(&bench.worktrees).await;
        bench
            .worktrees
            .ensure_store(&spec.codebase, &repository)
            .await
            .unwrap();
        assert!(
            !place.dir.join("state/repos/code/tmp").exists(),
            "{border:?}: halves are left"
        );
    }
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_creation_ends_as_without_it() {
    check(Life::Card, Border::StoreHalf, Border::TreeMade).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_collection_ends_as_without_it() {
    check(Life::Card, Border::CommitsGathered, Border::BranchMoved).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_salvage_ends_as_without_it() {
    check(Life::Card, Border::Looked, Border::ManifestWritten).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_removal_ends_as_without_it() {
    check(Life::Card, Border::TreeMarked, Border::HalfDeleted).await;
}

/// Invariant 12. Invariant 13.
#[tokio::test]
async fn a_death_at_any_border_of_a_landing_ends_as_without_it() {
    check(Life::Landing, Border::MergeMade, Border::MoveMade).await;
}

/// Invariant 12. Invariant 13.
#[tokio::test]
async fn a_death_at_any_border_of_a_landing_on_a_checkout_ends_as_without_it() {
    check(Life::LandingOnCheckout, Border::MergeMade, Border::MoveMade).await;
}

/// Invariant 12. Invariant 13.
#[tokio::test]
async fn a_death_at_any_border_of_a_landing_with_a_push_ends_as_without_it() {
    check(Life::LandingWithPush, Border::MergeMade, Border::MoveMade).await;
}

/// Invariant 12. Invariant 13. (G13)
#[tokio::test]
async fn a_death_while_a_half_landing_is_undone_ends_as_without_it() {
    check(Life::HalfLanding, Border::AddedRemoved, Border::FilesPutBack).await;
}

#[tokio::test]
async fn a_death_at_any_border_of_a_restore_to_a_directory_ends_as_without_it() {
    check(Life::Directory, Border::RestoreCloned, Border::RestoreMade).await;
}

#[tokio::test]
async fn a_death_at_any_border_of_a_restore_to_a_branch_ends_as_without_it() {
    check(Life::Branch, Border::SnapshotShown, Border::BranchRestored).await;
}

#[tokio::test]
async fn a_death_while_a_trashed_tree_is_put_back_ends_as_without_it() {
    check(Life::Trash, Border::TreePutBack, Border::TreePutBack).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_while_a_store_is_packed_ends_as_without_it() {
    check(Life::Upkeep, Border::UpkeepBegun, Border::UpkeepPacked).await;
}

/// A border that no test comes to shows nothing.
#[test]
fn every_border_is_in_a_test() {
    let tested = [
        Border::StoreHalf..=Border::BranchMoved,
        Border::Looked..=Border::ManifestWritten,
        Border::MergeMade..=Border::TreePutBack,
        Border::TreeMarked..=Border::UpkeepPacked,
    ];
    let at = |border: &Border| Border::ALL.iter().position(|other| other == border).unwrap();
    let count: usize = tested
        .iter()
        .map(|range| at(range.end()) - at(range.start()) + 1)
        .sum();
    assert_eq!(count, Border::ALL.len());
}

/// Invariant 11. The agent must never take the person's changes for its own.
#[tokio::test]
async fn a_death_while_commits_of_the_person_are_taken_in_ends_as_without_it() {
    for border in [Border::FilesBrought, Border::TreeMoved] {
        let bench = Bench::new().await;
        let (tree, _) = bench.card_with("c1", "src/a.txt", "agent\n").await;
        git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
        fs::write(bench.user.join("src/b.txt"), "person\n").unwrap();
        git(&bench.user, &["commit", "-q", "-a", "-m", "by the person"]).await;
        let tip = git(&bench.user, &["rev-parse", "HEAD"]).await;
        git(&bench.user, &["switch", "-q", "main"]).await;
        let place = Place::of(&bench, Life::Card).await;
        let number = Border::ALL.iter().position(|other| *other == border).unwrap();
        assert_eq!(place.killed_at(number).await, Exit::Signalled(9), "{border:?}");
        let prepared = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
        let prepared = prepared.unwrap();
        assert_eq!(prepared.person, PersonCommits::Taken { count: 1 }, "{border:?}");
        assert_eq!(prepared.head.as_str(), tip);
        assert_eq!(git(&tree.path, &["rev-parse", "HEAD"]).await, tip);
        assert_eq!(
            git(&tree.path, &["status", "--porcelain"]).await,
            "",
            "{border:?}"
        );
    }
}

/// G15: a daemon that was started from a hook of git has that repository in its environment.
#[tokio::test]
async fn variables_of_git_in_the_environment_lead_to_no_other_repository() {
    let bench = Bench::new().await;
    let place = Place::of(&bench, Life::Card).await;
    git(&place.dir, &["init", "-q", "victim"]).await;
    let victim = place.dir.join("victim");
    let git_dir = victim.join(".git");
    let before = picture(&git_dir);
    let index = git_dir.join("index");
    let objects = git_dir.join("objects");
    let exit = place
        .run(&[
            ("GIT_DIR", git_dir.as_os_str()),
            ("GIT_WORK_TREE", victim.as_os_str()),
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", objects.as_os_str()),
        ])
        .await;
    assert_eq!(exit, Exit::Code(0));
    assert_eq!(place.done(), Life::Card.phases().len());
    assert!(picture(&git_dir) == before, "the other repository was written to");
}
