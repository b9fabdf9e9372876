//! Trees, salvages and landings against plain git on the same files. `cargo xtask bench git` runs it.
//!
//! It takes an empty directory and prints what it measures as lines of JSON, times in milliseconds.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench stands at the edge"
)]

mod landings;

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cs_supervise::command::{self, CommandSpec, Exit};
use cs_worktree::*;
use serde_json::{Value, json};

type Done<T = ()> = Result<T, Box<dyn Error>>;

/// Files of the repository, in directories of a hundred.
const FILES: usize = 20_000;
/// Files that an agent changed before a salvage.
const CHANGED: usize = 1_000;
/// Trees of each side, one after the other.
const ROUNDS: usize = 5;
/// Trees made at once.
const AT_ONCE: usize = 40;

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Done {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| given != "--bench")
        .collect();
    let [directory] = given.as_slice() else {
        return Err("give an empty directory: `cargo xtask bench git` does".into());
    };
    let bench = Bench::new(Path::new(directory)).await?;
    bench.trees_and_salvages().await?;
    println!("{}", landings::measure(&bench).await?);
    println!("{}", bench.many_at_once().await?);
    Ok(())
}

struct Bench {
    dir: PathBuf,
    user: PathBuf,
    worktrees: Worktrees,
    repository: Repository,
    base: BranchName,
}

impl Bench {
    async fn new(dir: &Path) -> Done<Self> {
        let dir = dir.canonicalize()?;
        let user = dir.join("user");
        for n in 0..FILES {
            let file = user.join(format!("dir-{}/file-{n}.txt", n / 100));
            if n % 100 == 0 {
                fs::create_dir_all(file.parent().ok_or("a parent")?)?;
            }
            fs::write(file, content(n, "first"))?;
        }
        let setup = GitSetup::new(search_path(), dir.join("home"), dir.join("state"));
        fs::create_dir(dir.join("home"))?;
        for args in [
            ["init", "-q", "-b", "main", "."].as_slice(),
            &["add", "-A"],
            &["commit", "-q", "-m", "first"],
            &["gc", "-q"],
        ] {
            git(&user, args).await?;
        }
        let found = Git::probe(setup).await?;
        let seen = Repository::inspect(&found, &user).await?;
        Ok(Self {
            worktrees: Worktrees::new(dir.join("state"), found),
            repository: seen.repository,
            base: seen.base_branch,
            dir,
            user,
        })
    }

    async fn tree(&self, card: &str) -> Done<Tree> {
        let spec = TreeSpec::new(
            CodebaseKey::new("code")?,
            CardKey::new(card)?,
            "A title",
            self.base.clone(),
        );
        Ok(self.worktrees.prepare_tree(&self.repository, &spec).await?.tree)
    }

    /// Both sides take turns, so that whatever else the machine does hits both. The first tree makes the store too.
    async fn trees_and_salvages(&self) -> Done {
        let (first, _) = timed(self.tree("first")).await?;
        println!("{}", json!({"line": "first_tree", "time": first}));
        let (mut trees, mut clones) = (Vec::new(), Vec::new());
        let (mut salvages, mut commits, mut cleanups) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let clone = self.dir.join(format!("clone-{round}"));
            let card = format!("c{round}");
            let run = RunKey::new(format!("r{round}"))?;
            let raw = Box::pin(self.raw_tree(&clone));
            let ours = Box::pin(timed(self.tree(&card)));
            let ((raw, ()), (time, tree)) = in_turn(round, raw, ours).await?;
            clones.push(raw);
            trees.push(time);
            change(&clone, round)?;
            change(&tree.path, round)?;
            let raw = Box::pin(async {
                settle_disk().await?;
                raw_commit(&clone).await
            });
            let ours = Box::pin(async {
                settle_disk().await?;
                timed(async { Ok(self.worktrees.salvage(&tree, &run, "a bench").await?) }).await
            });
            let ((raw, ()), (time, salvage)) = in_turn(round, raw, ours).await?;
            commits.push(raw);
            salvages.push(time);
            let proof = salvage.proof().ok_or("a salvage was not complete")?;
            let (time, _) = timed(async { Ok(self.worktrees.discard(proof).await?) }).await?;
            cleanups.push(time);
        }
        println!(
            "{}",
            json!({"line": "trees", "files": FILES, "ours": trees, "raw": clones})
        );
        println!(
            "{}",
            json!({"line": "salvages", "files": CHANGED, "ours": salvages, "raw": commits})
        );
        println!("{}", json!({"line": "cleanups", "times": cleanups}));
        Ok(())
    }

    async fn raw_tree(&self, clone: &Path) -> Done<(f64, ())> {
        let target = clone.display().to_string();
        timed(git(&self.dir, &["clone", "-q", "user", &target])).await
    }

    async fn many_at_once(&self) -> Done<Value> {
        // Forty trees of twenty thousand files would measure the disk: these have a small base.
        let small = "small";
        git(&self.user, &["switch", "-q", "--orphan", small]).await?;
        fs::write(self.user.join("file"), "x")?;
        git(&self.user, &["add", "-A"]).await?;
        git(&self.user, &["commit", "-q", "-m", small]).await?;
        let mut tasks = tokio::task::JoinSet::new();
        let started = Instant::now();
        for n in 0..AT_ONCE {
            let (worktrees, repository) = (self.worktrees.clone(), self.repository.clone());
            let spec = TreeSpec::new(
                CodebaseKey::new("code")?,
                CardKey::new(format!("m{n}"))?,
                "One of many",
                BranchName::new(small)?,
            );
            tasks.spawn(async move { worktrees.prepare_tree(&repository, &spec).await });
        }
        let made = tasks.join_all().await;
        let errors: Vec<String> = made
            .iter()
            .filter_map(|made| made.as_ref().err().map(ToString::to_string))
            .collect();
        Ok(json!({"line": "at_once", "trees": AT_ONCE, "errors": errors, "time": ms(started.elapsed())}))
    }
}

fn content(n: usize, word: &str) -> String {
    format!("file {n} of a generated repository, {word}\n").repeat(20 + n % 200)
}

/// Does both, and each of them first in every other round: what the first reads, the second finds in memory.
async fn in_turn<A, B>(
    round: usize,
    raw: impl Future<Output = Done<A>>,
    ours: impl Future<Output = Done<B>>,
) -> Done<(A, B)> {
    if round.is_multiple_of(2) {
        let raw = raw.await?;
        return Ok((raw, ours.await?));
    }
    let ours = ours.await?;
    Ok((raw.await?, ours))
}

/// Brings to the disk what was written before. What is saved must be on the disk, and on a file system with a journal that waits for
/// whatever else was just written, here two trees of 110 MB: an agent has worked for minutes since its tree was made.
async fn settle_disk() -> Done {
    tokio::task::spawn_blocking(rustix::fs::sync).await?;
    Ok(())
}

async fn raw_commit(clone: &Path) -> Done<(f64, ())> {
    let add = ["add", "-A"];
    let commit = ["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "x"];
    timed(async {
        git(clone, &add).await?;
        git(clone, &commit).await
    })
    .await
}

/// Other bytes in each round: our store has those of the rounds before, and a fresh clone has none of them.
fn change(root: &Path, round: usize) -> Done {
    for n in 0..CHANGED {
        let n = n * (FILES / CHANGED);
        fs::write(
            root.join(format!("dir-{}/file-{n}.txt", n / 100)),
            content(n, &format!("changed in round {round}")),
        )?;
    }
    Ok(())
}

async fn timed<T>(work: impl Future<Output = Done<T>>) -> Done<(f64, T)> {
    let started = Instant::now();
    let done = work.await?;
    Ok((ms(started.elapsed()), done))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Runs git as a person does.
async fn git(dir: &Path, args: &[&str]) -> Done {
    ask_git(dir, args).await.map(drop)
}

/// The same, and gives the first line of what it wrote.
async fn ask_git(dir: &Path, args: &[&str]) -> Done<String> {
    let spec = CommandSpec {
        program: "git".into(),
        // A collection of garbage in the background would be measured with what comes next.
        args: ["-c", "gc.auto=0", "-c", "maintenance.auto=false"]
            .iter()
            .chain(args)
            .map(Into::into)
            .collect(),
        env: [
            ("PATH", search_path()),
            ("HOME", "/nonexistent".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_AUTHOR_NAME", "A".into()),
            ("GIT_AUTHOR_EMAIL", "a@example.org".into()),
            ("GIT_COMMITTER_NAME", "A".into()),
            ("GIT_COMMITTER_EMAIL", "a@example.org".into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into(),
        cwd: dir.to_owned(),
        stdin: Vec::new(),
        timeout: Duration::from_secs(600),
        stdout_cap_bytes: 1 << 20,
        stderr_cap_bytes: 1 << 20,
    };
    let done = command::run(&spec).await?;
    match done.exit {
        Exit::Code(0) => Ok(String::from_utf8_lossy(&done.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()),
        _ => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&done.stderr)).into()),
    }
}
