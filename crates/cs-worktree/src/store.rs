//! The store: one bare repository per codebase, written by nobody but us.
//!
//! Its refs are `refs/cs-panel/base/<branch>` (the user's branches as last fetched), `refs/cs-panel/remote/<remote>/<branch>`
//! (the remote's that cards began at), `refs/cs-panel/card/<card>/{head,base}`
//! (where a card stands and where it began), `refs/cs-panel/run/<run>/...` (everything an attempt left, kept) and
//! `refs/cs-panel/land/<landing>` (commits on their way to a base). Every ref moves with its old value or is made once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::Upstream;
use crate::borders::{Border, Borders};
use crate::error::{GitError, WorktreeError};
use crate::keys::{BranchName, CardKey, LandingKey, Oid, RunKey};
use crate::parse;
use crate::procs::{self, Users};
use crate::repository::{self, Repository};
use crate::runner::{COPY_LIMIT, Call, Git, World};
use crate::upkeep;

/// Settings of the store: no collection of garbage, and a refusal of any command that would drop objects.
const SETTINGS: &str =
    "[gc]\n\tauto = 0\n[extensions]\n\tpreciousObjects = true\n[core]\n\tlogAllRefUpdates = always\n";

/// What [`parse::refs`] reads.
pub(crate) const FORMAT: &str = "--format=%(objectname) %(refname)";

/// The store of one codebase.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) git: Git,
    pub(crate) borders: Borders,
    /// The bare repository.
    pub(crate) dir: PathBuf,
    /// For temporary indexes and halves of new stores, on the same file system.
    pub(crate) temp: PathBuf,
    /// Where new objects go instead, unsynced, for as long as nothing names them.
    pub(crate) quarantine: Option<PathBuf>,
}

pub(crate) fn base_ref(branch: &BranchName) -> String {
    format!("refs/cs-panel/base/{branch}")
}

pub(crate) fn head_ref(card: &CardKey) -> String {
    format!("refs/cs-panel/card/{card}/head")
}

pub(crate) fn card_base_ref(card: &CardKey) -> String {
    format!("refs/cs-panel/card/{card}/base")
}

/// Below it is what attempts left.
pub(crate) const RUNS: &str = "refs/cs-panel/run";

pub(crate) fn run_ref(run: &RunKey, what: &str) -> String {
    format!("refs/cs-panel/run/{run}/{what}")
}

pub(crate) fn land_ref(landing: &LandingKey) -> String {
    format!("refs/cs-panel/land/{landing}")
}

/// How a ref moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefMove {
    Moved,
    /// The ref did not have the old value.
    Stale,
}

impl Store {
    pub(crate) fn call(&self, op: &'static str) -> Call {
        let call = Call::new(World::Ours, op).git_dir(&self.dir);
        match &self.quarantine {
            None => call,
            // What is soon removed or packed is worth no time.
            Some(dir) => call
                .objects(dir)
                .setting("core.fsync=none")
                .setting("core.looseCompression=0"),
        }
    }

    /// Makes the store if it is missing, clears what a killed git left in it, and fetches the user's branches.
    ///
    /// The caller holds the lock of the codebase.
    pub(crate) async fn refresh(&self, repository: &Repository) -> Result<(), WorktreeError> {
        self.make_ready(repository).await?;
        self.fetch_branches(repository).await
    }

    /// The same without the fetch, for a caller that looks itself whether there is anything to fetch.
    pub(crate) async fn make_ready(&self, repository: &Repository) -> Result<(), WorktreeError> {
        self.sweep_temp();
        if !self.dir.exists() {
            self.create(repository).await?;
        }
        upkeep::mend(self)?;
        clear_stale_locks(&self.dir);
        Ok(())
    }

    async fn create(&self, repository: &Repository) -> Result<(), WorktreeError> {
        let ask = repository
            .call("rev-parse")
            .args(["rev-parse", "--show-object-format"]);
        let format = String::from_utf8_lossy(&self.git.ok(ask).await?)
            .trim()
            .to_owned();
        let half = self.temp_dir()?;
        let dir = half.path().join("store.git");
        let init = Call::new(World::Ours, "init").args(["init", "--quiet", "--bare", "--template="]);
        let init = init.arg(format!("--object-format={format}")).arg(&dir);
        self.git.ok(init).await?;
        let config = dir.join("config");
        let mut text = fs::read_to_string(&config).map_err(WorktreeError::io("read", &config))?;
        text.push_str(SETTINGS);
        fs::write(&config, text).map_err(WorktreeError::io("write", &config))?;
        self.borders.reach(Border::StoreHalf);
        fs::rename(&dir, &self.dir).map_err(WorktreeError::io("make", &self.dir))?;
        self.borders.reach(Border::StoreMade);
        Ok(())
    }

    /// The fetch reads the user's configuration because git checks there whether it may read the repository.
    pub(crate) async fn fetch_branches(&self, repository: &Repository) -> Result<(), WorktreeError> {
        let fetch = Call::new(World::User, "fetch")
            .git_dir(&self.dir)
            .limit(COPY_LIMIT);
        let fetch = fetch.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--prune",
            "--no-write-fetch-head",
        ]);
        let fetch = fetch
            .args(["--update-shallow", "--no-recurse-submodules"])
            .arg(&repository.common_dir);
        self.take_from(repository, fetch.arg("+refs/heads/*:refs/cs-panel/base/*"))
            .await?;
        self.borders.reach(Border::BranchesFetched);
        Ok(())
    }

    /// Fetches from the user's repository. Nothing that a partial clone lacks is downloaded: that is refused with the cure.
    async fn take_from(&self, repository: &Repository, fetch: Call) -> Result<(), WorktreeError> {
        match self.git.ok(fetch).await {
            Ok(_) => Ok(()),
            Err(error) => Err(match repository.promisor(&self.git).await? {
                Some(remote) => WorktreeError::PartialClone {
                    path: repository.toplevel.clone(),
                    remote,
                },
                None => error.into(),
            }),
        }
    }

    /// Fetches the remote's branch as the user's repository has it; no remote is asked.
    pub(crate) async fn fetch_upstream(
        &self,
        repository: &Repository,
        upstream: &Upstream,
    ) -> Result<(), WorktreeError> {
        let fetch = Call::new(World::User, "fetch")
            .git_dir(&self.dir)
            .limit(COPY_LIMIT);
        let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        let fetch = fetch.args(["--update-shallow", "--no-recurse-submodules"]);
        let name = &upstream.name;
        self.make_room_for_remote(name).await?;
        let refspec = format!("+refs/remotes/{name}:refs/cs-panel/remote/{name}");
        self.take_from(repository, fetch.arg(&repository.common_dir).arg(refspec))
            .await
    }

    /// Removes the refs of remotes' branches beside which a new one cannot be: on the remote `a` has given way to `a/b`. Where
    /// a card began there, a ref of its own holds the commit.
    async fn make_room_for_remote(&self, name: &str) -> Result<(), WorktreeError> {
        let list = self
            .call("for-each-ref")
            .args(["for-each-ref", FORMAT, "refs/cs-panel/remote"]);
        let wanted = format!("refs/cs-panel/remote/{name}");
        let inside = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
        let there = parse::refs(&self.git.ok(list).await?);
        let in_the_way = there
            .iter()
            .filter(|(other, _)| inside(other, &wanted) || inside(&wanted, other));
        let input: String = in_the_way
            .map(|(other, oid)| format!("delete {other}\0{oid}\0"))
            .collect();
        if input.is_empty() {
            return Ok(());
        }
        let update = self
            .call("update-ref")
            .args(["update-ref", "-z", "--no-deref", "--stdin"]);
        self.git.ok(update.stdin(input)).await?;
        Ok(())
    }

    /// Removes what a crash left: whoever has a temporary directory here holds the lock of the codebase, as we do now.
    fn sweep_temp(&self) {
        if let Err(error) = fs::remove_dir_all(&self.temp) {
            tracing::debug!(%error, "nothing to sweep");
        }
    }

    pub(crate) fn temp_dir(&self) -> Result<tempfile::TempDir, WorktreeError> {
        fs::create_dir_all(&self.temp).map_err(WorktreeError::io("make", &self.temp))?;
        tempfile::Builder::new()
            .prefix("t-")
            .tempdir_in(&self.temp)
            .map_err(WorktreeError::io("make a directory in", &self.temp))
    }

    pub(crate) async fn commit(&self, rev: &str) -> Result<Option<Oid>, WorktreeError> {
        if !self.dir.exists() {
            return Ok(None);
        }
        repository::commit_of(&self.git, self.call("rev-parse"), rev).await
    }

    /// The value of one ref of ours, read as the file that it is; git is asked only where its refs are packed.
    pub(crate) async fn own_ref(&self, name: &str) -> Result<Option<Oid>, WorktreeError> {
        if let Ok(text) = fs::read_to_string(self.dir.join(name)) {
            if let Ok(oid) = Oid::new(text.trim_ascii()) {
                return Ok(Some(oid));
            }
        } else if self.dir.join("packed-refs").symlink_metadata().is_err() {
            return Ok(None);
        }
        self.commit(name).await
    }

    /// The commits of several refs of ours, in one call; those that do not exist are not in the answer.
    pub(crate) async fn commits_of(&self, names: &[String]) -> Result<BTreeMap<String, Oid>, WorktreeError> {
        let list = self.call("for-each-ref").args(["for-each-ref", FORMAT]);
        let out = self.git.ok(list.args(names)).await?;
        // A pattern stands for what is below it too.
        let mut found = parse::refs(&out);
        found.retain(|name, _| names.contains(name));
        Ok(found)
    }

    /// The tree of a commit.
    pub(crate) async fn tree_of(&self, commit: &Oid) -> Result<Oid, WorktreeError> {
        let ask = self.call("rev-parse");
        let ask = ask.args([
            "rev-parse",
            "--verify",
            "--end-of-options",
            &format!("{commit}^{{tree}}"),
        ]);
        Ok(parse::oid("rev-parse", &self.git.ok(ask).await?)?)
    }

    /// Where the card stands.
    pub(crate) async fn card_head(&self, card: &CardKey) -> Result<Oid, WorktreeError> {
        self.commit(&head_ref(card)).await?.ok_or(WorktreeError::NoCard)
    }

    pub(crate) async fn is_ancestor(&self, older: &Oid, newer: &Oid) -> Result<bool, WorktreeError> {
        let call =
            self.call("merge-base")
                .args(["merge-base", "--is-ancestor", older.as_str(), newer.as_str()]);
        let answer = self.git.run(call).await?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(answer.into_error("merge-base").into()),
        }
    }

    pub(crate) async fn merge_base(&self, a: &Oid, b: &Oid) -> Result<Option<Oid>, WorktreeError> {
        let call = self
            .call("merge-base")
            .args(["merge-base", a.as_str(), b.as_str()]);
        let answer = self.git.run(call).await?;
        match answer.code {
            0 => Ok(Some(parse::oid("merge-base", &answer.stdout)?)),
            1 => Ok(None),
            _ => Err(answer.into_error("merge-base").into()),
        }
    }

    /// Whether everything up to this commit is in what attempts have left.
    pub(crate) async fn is_of_runs(&self, commit: &Oid) -> Result<bool, WorktreeError> {
        let runs = format!("--glob={RUNS}");
        let list = ["rev-list", "--max-count=1", commit.as_str(), "--not", &runs];
        let other = self.git.ok(self.call("rev-list").args(list)).await?;
        Ok(other.is_empty())
    }

    pub(crate) async fn count(&self, from: &Oid, to: &Oid) -> Result<usize, WorktreeError> {
        let range = format!("{from}..{to}");
        let out = self
            .git
            .ok(self.call("rev-list").args(["rev-list", "--count", &range]))
            .await?;
        let count = String::from_utf8_lossy(&out).trim().parse();
        count.map_err(|_| {
            GitError::Unreadable {
                op: "rev-list",
                what: "a number was expected",
            }
            .into()
        })
    }

    /// Moves a ref from `old` to `new`; `None` for a ref that must not exist yet.
    pub(crate) async fn move_ref(
        &self,
        name: &str,
        new: &Oid,
        old: Option<&Oid>,
    ) -> Result<RefMove, WorktreeError> {
        move_ref(
            &self.git,
            self.call("update-ref"),
            name,
            RefChange {
                new,
                old,
                note: "cs-panel",
            },
        )
        .await
    }
}

/// A compare-and-set of a ref.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefChange<'a> {
    pub(crate) new: &'a Oid,
    /// The value the ref must have; `None`: it must not exist.
    pub(crate) old: Option<&'a Oid>,
    /// For the reflog.
    pub(crate) note: &'a str,
}

/// Moves a ref in the repository of `call`, always with its old value. After a failure the ref itself says what happened.
pub(crate) async fn move_ref(
    git: &Git,
    call: Call,
    name: &str,
    change: RefChange<'_>,
) -> Result<RefMove, WorktreeError> {
    let old = change
        .old
        .map_or_else(|| change.new.zero_like(), |old| old.as_str().to_owned());
    let update = call.args([
        "update-ref",
        "--no-deref",
        "-m",
        change.note,
        name,
        change.new.as_str(),
        &old,
    ]);
    let look = update.same_repository("rev-parse");
    let answer = git.run(update).await?;
    if answer.code == 0 {
        return Ok(RefMove::Moved);
    }
    let now = repository::commit_of(git, look, name).await?;
    if now.as_ref() == change.old {
        return Err(answer.into_error("update-ref").into());
    }
    Ok(RefMove::Stale)
}

/// Removes lock files of the store's refs whose git died with them: we are the only writer, hold the lock of the
/// codebase, and have looked that no git process works on the store.
fn clear_stale_locks(store: &Path) {
    let mut found = Vec::new();
    collect_locks(store, 0, &mut found);
    if found.is_empty() || procs::users_of(store) != Users::None {
        return;
    }
    for lock in found {
        tracing::warn!(lock = %lock.display(), "removing a lock file that a killed git left in the store");
        if let Err(error) = fs::remove_file(&lock) {
            tracing::warn!(lock = %lock.display(), %error, "the lock file stays");
        }
    }
}

fn collect_locks(dir: &Path, depth: u8, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
        let is_refs = depth > 0 || entry.file_name() == "refs";
        if is_dir && is_refs && depth < 16 {
            collect_locks(&path, depth + 1, found);
        } else if !is_dir && path.extension().is_some_and(|e| e == "lock") {
            found.push(path);
        }
    }
}
