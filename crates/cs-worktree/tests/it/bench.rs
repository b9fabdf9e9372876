//! A user's repository, our state directory and an agent, all in one temporary directory.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use cs_supervise::command::{self, CommandSpec, Exit, Finished};
use cs_worktree::*;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

/// Where git is looked up: as for whoever runs the tests.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests look git up where their caller does"
)]
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").expect("a PATH")
}

/// What the lock of the index says while landing `l1` holds it.
pub(crate) const OUR_LOCK: &str = "cs-panel holds the index for landing l1.\n";

pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) user: PathBuf,
    pub(crate) worktrees: Worktrees,
    pub(crate) repository: Repository,
    pub(crate) base: BranchName,
}

pub(crate) fn temp_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    let builder = tempfile::Builder::new();
    if memory.is_dir() {
        builder.tempdir_in(memory).unwrap()
    } else {
        builder.tempdir().unwrap()
    }
}

/// Runs a program in a directory with an empty home and no git identity in its environment.
pub(crate) async fn run_in(dir: &Path, home: &Path, program: &str, args: &[&OsStr]) -> Finished {
    let path = search_path();
    let env = [
        ("PATH", path.as_os_str()),
        ("HOME", home.as_os_str()),
        ("LC_ALL", OsStr::new("C")),
    ];
    let spec = CommandSpec {
        program: program.into(),
        args: args.iter().map(|a| (*a).to_owned()).collect(),
        env: env.map(|(k, v)| (k.into(), v.to_owned())).into(),
        cwd: dir.to_owned(),
        stdin: Vec::new(),
        timeout: Duration::from_secs(60),
        stdout_cap_bytes: 32 << 20,
        stderr_cap_bytes: 1 << 20,
    };
    command::run(&spec).await.unwrap()
}

/// A program that works in a directory until it is ended.
pub(crate) struct Staying(tokio::process::Child);

impl Staying {
    /// It runs, in the directory, when this returns.
    #[expect(clippy::disallowed_methods, reason = "a stranger to us: nobody supervises it")]
    pub(crate) fn start(dir: &Path, program: &str, args: &[&str]) -> Self {
        let mut command = tokio::process::Command::new(program);
        command.args(args);
        Self::started(command, dir)
    }

    /// Git, waiting for input, with this variable in its environment.
    #[expect(clippy::disallowed_methods, reason = "a stranger to us: nobody supervises it")]
    pub(crate) fn git_with(dir: &Path, (name, value): (&str, &str)) -> Self {
        let mut command = tokio::process::Command::new("git");
        command.args(["cat-file", "--batch"]).env(name, value);
        Self::started(command, dir)
    }

    fn started(mut command: tokio::process::Command, dir: &Path) -> Self {
        let started = command
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        // A starter goes on a moment before the system calls the new program by its own name.
        let ours = fs::read("/proc/thread-self/comm").unwrap();
        let comm = format!("/proc/{}/comm", started.id().unwrap());
        while fs::read(&comm).unwrap() == ours {
            std::thread::yield_now();
        }
        Self(started)
    }

    /// A process that holds a file open, and does so when this returns.
    pub(crate) async fn holding(file: &Path) -> Self {
        let script = "exec 3< \"$0\"; echo it is held; exec sleep 600 >&-";
        let args = ["-c", script, file.to_str().unwrap()];
        let mut staying = Self::start(file.parent().unwrap(), "sh", &args);
        let mut said = String::new();
        let mut stdout = staying.0.stdout.take().unwrap();
        stdout.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "it is held\n");
        staying
    }

    /// Whether it has ended by now.
    pub(crate) fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Nothing of it is open any more when this returns: it has been waited for.
    pub(crate) async fn end(mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "it did not stay");
        self.0.kill().await.unwrap();
    }
}

pub(crate) async fn try_git(dir: &Path, args: &[&str]) -> Finished {
    let home = dir.join("../home");
    let identity = [
        "-c",
        "user.name=User",
        "-c",
        "user.email=user@example.org",
        "-c",
        "commit.gpgSign=false",
    ];
    let args: Vec<&OsStr> = identity.iter().chain(args).map(OsStr::new).collect();
    run_in(dir, &home, "git", &args).await
}

/// Runs git as a person or an agent would, and gives its output.
pub(crate) async fn git(dir: &Path, args: &[&str]) -> String {
    let done = try_git(dir, args).await;
    assert_eq!(
        done.exit,
        Exit::Code(0),
        "git {args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

impl Bench {
    /// A user's repository with three files on `main`.
    pub(crate) async fn new() -> Self {
        Self::with_config("").await
    }

    /// The same, with something in the user's own git configuration.
    pub(crate) async fn with_config(config: &str) -> Self {
        Self::made(config, &["init", "-q", "-b", "main"]).await
    }

    /// The same, with a repository made in another way.
    pub(crate) async fn made(config: &str, init: &[&str]) -> Self {
        let dir = temp_dir();
        let user = dir.path().canonicalize().unwrap().join("user");
        fs::create_dir(dir.path().join("home")).unwrap();
        fs::write(dir.path().join("home/.gitconfig"), config).unwrap();
        fs::create_dir_all(user.join("src")).unwrap();
        git(&user, init).await;
        fs::write(user.join("README"), "hello\n").unwrap();
        fs::write(user.join("src/a.txt"), "a\n").unwrap();
        fs::write(user.join("src/b.txt"), "b\n").unwrap();
        fs::write(user.join(".gitignore"), "*.ignored\n.env\n").unwrap();
        git(&user, &["add", "-A"]).await;
        git(&user, &["commit", "-q", "-m", "first"]).await;
        let worktrees = Self::open(dir.path()).await;
        let seen = Repository::inspect(worktrees.git(), &user).await.unwrap();
        Self {
            dir,
            user,
            worktrees,
            repository: seen.repository,
            base: seen.base_branch,
        }
    }

    /// What a daemon does at its start.
    pub(crate) async fn open(dir: &Path) -> Worktrees {
        Self::open_with(dir, Borders::none()).await
    }

    /// The same, with a border at which the process ends.
    pub(crate) async fn open_with(dir: &Path, borders: Borders) -> Worktrees {
        let dir = dir.canonicalize().unwrap();
        let setup = GitSetup {
            path: search_path(),
            home: dir.join("home"),
            xdg_config_home: None,
            state_dir: dir.join("state"),
            identity: Identity {
                name: String::new(),
                email: String::new(),
            },
            transport: Transport::default(),
            output_max_bytes: OUTPUT_MAX_BYTES,
        };
        let git = Git::probe(setup).await.unwrap();
        Worktrees::with_borders(dir.join("state"), git, borders)
    }

    pub(crate) fn spec(&self, card: &str) -> TreeSpec {
        let (code, card) = (CodebaseKey::new("code").unwrap(), CardKey::new(card).unwrap());
        TreeSpec::new(code, card, "A title", self.base.clone())
    }

    pub(crate) async fn prepare(&self, card: &str) -> Tree {
        self.worktrees
            .prepare_tree(&self.repository, &self.spec(card))
            .await
            .unwrap()
            .tree
    }

    pub(crate) async fn collect(&self, tree: &Tree, run: &str) -> Collected {
        self.worktrees
            .collect(&self.repository, tree, &run_key(run))
            .await
            .unwrap()
    }

    pub(crate) async fn salvage(&self, tree: &Tree, run: &str) -> Salvage {
        self.worktrees
            .salvage(tree, &run_key(run), "the agent was stopped")
            .await
            .unwrap()
    }

    /// An agent writes a file and commits it.
    pub(crate) async fn agent_commits(&self, tree: &Tree, path: &str, content: &str) {
        let file = tree.path.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        git(&tree.path, &["add", "-A"]).await;
        git(&tree.path, &["commit", "-q", "-m", &format!("change {path}")]).await;
    }

    /// The user writes a file and commits all that is there, on whatever is checked out.
    pub(crate) async fn user_commits(&self, path: &str, content: &str) {
        fs::write(self.user.join(path), content).unwrap();
        git(&self.user, &["add", "-A"]).await;
        git(
            &self.user,
            &["commit", "-q", "-m", &format!("the user changes {path}")],
        )
        .await;
    }

    /// A bare repository beside the user's, known to it by this name.
    pub(crate) async fn remote(&self, name: &str) {
        let dir = format!("../{name}.git");
        git(&self.user, &["init", "-q", "--bare", "-b", "main", &dir]).await;
        git(&self.user, &["remote", "add", name, &dir]).await;
    }

    pub(crate) fn landing_spec(&self, tree: &Tree, head: &Oid, landing: &str) -> LandingSpec {
        LandingSpec {
            landing: LandingKey::new(landing).unwrap(),
            tree: tree.spec.clone(),
            base: tree.spec.base_branch.clone(),
            method: LandMethod::Merge,
            protected: Vec::new(),
            head: head.clone(),
            message: "Land the card".into(),
            author: Identity {
                name: "Person".into(),
                email: "person@example.org".into(),
            },
        }
    }

    pub(crate) async fn plan(&self, tree: &Tree, head: &Oid, landing: &str) -> LandingPlan {
        let spec = self.landing_spec(tree, head, landing);
        self.worktrees
            .plan_landing(&self.repository, &spec)
            .await
            .unwrap()
    }

    pub(crate) async fn ready(&self, tree: &Tree, head: &Oid, landing: &str) -> Move {
        match self.plan(tree, head, landing).await {
            LandingPlan::Ready(ready) => ready,
            other => panic!("not ready: {other:?}"),
        }
    }

    /// A tree whose agent has committed one change of `path`.
    pub(crate) async fn card_with(&self, card: &str, path: &str, content: &str) -> (Tree, Oid) {
        let tree = self.prepare(card).await;
        self.agent_commits(&tree, path, content).await;
        let tip = self.collect(&tree, &format!("run-{card}")).await.tip;
        (tree, tip)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .unwrap()
            .join("state/repos/code/store.git")
    }

    /// Asks the store something.
    pub(crate) async fn in_store(&self, args: &[&str]) -> String {
        let store = self.store();
        let all: Vec<&str> = ["--git-dir", store.to_str().unwrap()]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        git(&self.user, &all).await
    }
}

pub(crate) fn run_key(run: &str) -> RunKey {
    RunKey::new(run).unwrap()
}

/// The time at which something is made now, by the clock of the file system.
pub(crate) fn now(dir: &Path) -> SystemTime {
    let file = tempfile::tempfile_in(dir).unwrap();
    file.metadata().unwrap().modified().unwrap()
}

/// Every file below a directory with its kind, mode and content, except below `.git`.
pub(crate) fn picture(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut picture = Vec::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            if path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            let content = if meta.is_dir() {
                dirs.push(path.clone());
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            picture.push((path, meta.mode(), content));
        }
    }
    picture.sort();
    picture
}
