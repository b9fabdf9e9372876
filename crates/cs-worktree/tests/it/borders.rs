//! The process is killed at every border of create, collect, salvage and clean; what follows on ends as without it (G8).

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

/// What a daemon does for one card, one phase after the other. The record of the daemon, a file here, says which are done.
const PHASES: usize = 4;

async fn phase(worktrees: &Worktrees, bench: &Place, number: usize) {
    let spec = bench.spec();
    match number {
        0 => {
            let repository = bench.repository(worktrees).await;
            worktrees.prepare_tree(&repository, &spec).await.unwrap();
        }
        1 => {
            let Some(tree) = worktrees.find_tree(&spec).unwrap() else {
                return;
            };
            let repository = bench.repository(worktrees).await;
            worktrees
                .collect(&repository, &tree, &run_key("r1"))
                .await
                .unwrap();
            worktrees
                .salvage(&tree, &run_key("r1"), "the agent was stopped")
                .await
                .unwrap();
        }
        2 => {
            let Some(tree) = worktrees.find_tree(&spec).unwrap() else {
                return;
            };
            let salvage = worktrees
                .salvage(&tree, &run_key("r1"), "the card is over")
                .await
                .unwrap();
            worktrees.discard(salvage.proof().unwrap()).await.unwrap();
        }
        _ => {
            let later = now(&bench.dir) + Duration::from_secs(3600);
            let emptied = worktrees
                .empty_trash(Duration::from_secs(60), later)
                .await
                .unwrap();
            assert_eq!(emptied.kept, Vec::<PathBuf>::new());
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
}

impl Place {
    fn of(bench: &Bench) -> Self {
        let dir = bench.dir.path().canonicalize().unwrap();
        Self { dir }
    }

    fn spec(&self) -> TreeSpec {
        let (code, card) = (CodebaseKey::new("code").unwrap(), CardKey::new("c1").unwrap());
        TreeSpec::new(code, card, "A title", BranchName::new("main").unwrap())
    }

    async fn repository(&self, worktrees: &Worktrees) -> Repository {
        let seen = Repository::inspect(worktrees.git(), &self.dir.join("user")).await;
        seen.unwrap().repository
    }

    fn done(&self) -> usize {
        let text = fs::read_to_string(self.dir.join("done")).unwrap_or_default();
        text.parse().unwrap_or(0)
    }

    /// Carries out every phase that is not done.
    async fn live(&self, worktrees: &Worktrees) {
        for number in self.done()..PHASES {
            self.carry_out(worktrees, number).await;
            fs::write(self.dir.join("done"), (number + 1).to_string()).unwrap();
        }
    }

    async fn carry_out(&self, worktrees: &Worktrees, number: usize) {
        if number == 1 && !self.dir.join("agent").exists() {
            let tree = worktrees.find_tree(&self.spec()).unwrap().unwrap();
            agent(&tree.path).await;
            fs::write(self.dir.join("agent"), "").unwrap();
        }
        phase(worktrees, self, number).await;
    }

    /// The same in a process of its own, which is killed at a border.
    async fn killed_at(&self, number: usize) -> Exit {
        self.run(&[(BORDER, OsStr::new(&number.to_string()))]).await
    }

    async fn run(&self, more: &[(&str, &OsStr)]) -> Exit {
        let path = search_path();
        let mut env = vec![
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
        for place in ["state/repos/code/store.git", "user/.git"] {
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
        for place in ["state/cards/c1", "state/trash", "state/repos/code/salvage/r1"] {
            let entries = fs::read_dir(self.dir.join(place));
            let mut names: Vec<String> = entries
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            end.insert(place.to_owned(), names.join(" "));
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
    let place = Place { dir: dir.into() };
    let worktrees = Bench::open_with(&place.dir, borders).await;
    place.live(&worktrees).await;
}

async fn check(from: Border, to: Border) {
    let bench = Bench::new().await;
    let expected = Place::of(&bench);
    expected.live(&bench.worktrees).await;
    let expected = expected.end().await;
    assert!(expected.len() > 10, "{expected:?}");
    let at = |border| Border::ALL.iter().position(|other| *other == border).unwrap();
    for number in at(from)..=at(to) {
        let border = Border::ALL[number];
        let bench = Bench::new().await;
        let place = Place::of(&bench);
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
    check(Border::StoreHalf, Border::TreeMade).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_collection_ends_as_without_it() {
    check(Border::CommitsGathered, Border::BranchMoved).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_salvage_ends_as_without_it() {
    check(Border::Looked, Border::ManifestWritten).await;
}

/// Invariant 11.
#[tokio::test]
async fn a_death_at_any_border_of_a_removal_ends_as_without_it() {
    check(Border::TreeMarked, Border::HalfDeleted).await;
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
        let place = Place::of(&bench);
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
    let place = Place::of(&bench);
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
    assert_eq!(place.done(), PHASES);
    assert!(picture(&git_dir) == before, "the other repository was written to");
}
