//! The only place that builds a git command.
//!
//! Every call gets an environment made from nothing, no prompt, no hook, no pager, no fsmonitor, no signing, a time
//! limit and output caps. There are two worlds. *Ours* is for the store and for reading trees that an agent wrote: an
//! empty home and our own configuration, so that nothing of the user's or the agent's configuration is read. *User* is
//! for the user's own repository, where the user's filters and line endings belong to the meaning of the files.
//!
//! Lock files of other processes are waited for, a bounded number of times, and never deleted here.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bstr::ByteSlice;
use cs_supervise::command::{self, CommandSpec, Exit};
use serde::{Deserialize, Serialize};

use crate::error::GitError;
use crate::objects::quoted;
use crate::transport::{self, Reach, Transport};

const LIMIT: Duration = Duration::from_secs(120);
/// For calls that copy or check out a whole repository.
pub(crate) const COPY_LIMIT: Duration = Duration::from_secs(1800);
/// What one call of git writes is read up to so many bytes, where nobody says otherwise.
pub const OUTPUT_MAX_BYTES: usize = 64 << 20;
const STDERR_CAP_BYTES: usize = 64 << 10;
/// Waits between tries while another process holds a lock file: about 1.3 s in all.
const LOCK_WAITS_MS: [u64; 6] = [20, 40, 80, 160, 320, 640];

/// Overrides for every call; `-c` wins over every configuration file.
const OVERRIDES: [&str; 19] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "merge.autoStash=false",
    "merge.verifySignatures=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "protocol.ext.allow=never",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
    "advice.diverging=false",
    "log.showSignature=false",
];

/// Overrides where the other side is an agent's tree.
const OURS_OVERRIDES: [&str; 4] = [
    "safe.bareRepository=explicit",
    "transfer.fsckObjects=true",
    // What is saved must survive a power cut, loose objects and refs included.
    "core.fsync=committed,loose-object,reference",
    "core.fsyncMethod=batch",
];

/// Who our own commits are by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The name; an empty one is replaced by `cs-panel`.
    pub name: String,
    /// The address; an empty one is replaced by `cs-panel@localhost`.
    pub email: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            name: "cs-panel".into(),
            email: "cs-panel@localhost".into(),
        }
    }
}

/// What a [`Git`] needs to know; nothing is read from this process's environment.
#[derive(Debug, Clone)]
pub struct GitSetup {
    /// The value of PATH, in which `git` is looked up and which git and the user's filters get.
    pub path: OsString,
    /// The user's home directory.
    pub home: PathBuf,
    /// The value of `XDG_CONFIG_HOME`, where the user has set one.
    pub xdg_config_home: Option<PathBuf>,
    /// Our state directory; it is made if it is missing. The files for git go into its `git` directory.
    pub state_dir: PathBuf,
    /// Who our own commits are by.
    pub identity: Identity,
    /// What of the user's environment counts when one of their remotes is asked.
    pub transport: Transport,
    /// What one call of git writes is read up to so many bytes; a salvage says what is cut.
    pub output_max_bytes: usize,
}

impl GitSetup {
    /// For a user with this home directory who has no `XDG_CONFIG_HOME` and reaches remotes without anything in the environment;
    /// our own commits are by `cs-panel`.
    #[must_use]
    pub fn new(path: impl Into<OsString>, home: impl Into<PathBuf>, state_dir: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            home: home.into(),
            xdg_config_home: None,
            state_dir: state_dir.into(),
            identity: Identity::default(),
            transport: Transport::default(),
            output_max_bytes: OUTPUT_MAX_BYTES,
        }
    }
}

/// The git program, found, measured and hardened. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) setup: GitSetup,
    pub(crate) program: PathBuf,
    pub(crate) version: (u32, u32),
    /// An empty home for our world.
    pub(crate) home: PathBuf,
    /// The configuration of our world: an empty file.
    pub(crate) config: PathBuf,
    /// `core.*` settings of the user that our world takes over, as `key=value`.
    pub(crate) content_settings: Vec<OsString>,
}

/// Whose configuration a call reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// None but ours: for the store and for files that an agent wrote.
    Ours,
    /// The user's: for the user's own repository.
    User,
}

/// One call of git.
#[derive(Debug)]
pub(crate) struct Call {
    op: &'static str,
    world: World,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    index: Option<PathBuf>,
    borrowed: Option<PathBuf>,
    objects: Option<PathBuf>,
    cwd: Option<PathBuf>,
    settings: Vec<OsString>,
    args: Vec<OsString>,
    stdin: Vec<u8>,
    author: Option<Identity>,
    limit: Duration,
    reads_only: bool,
    waits_for_locks: bool,
    literal_paths: bool,
    attributes_of: Option<String>,
    reach: Option<Reach>,
}

/// What a call wrote.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Call {
    pub(crate) fn new(world: World, op: &'static str) -> Self {
        Self {
            op,
            world,
            git_dir: None,
            work_tree: None,
            index: None,
            borrowed: None,
            objects: None,
            cwd: None,
            settings: Vec::new(),
            args: Vec::new(),
            stdin: Vec::new(),
            author: None,
            limit: LIMIT,
            reads_only: false,
            waits_for_locks: true,
            literal_paths: true,
            attributes_of: None,
            reach: None,
        }
    }

    /// Begins another call on the same repository.
    pub(crate) fn same_repository(&self, op: &'static str) -> Self {
        let fresh = Self::new(self.world, op);
        Self {
            git_dir: self.git_dir.clone(),
            cwd: self.cwd.clone(),
            ..fresh
        }
    }

    pub(crate) fn git_dir(mut self, path: &Path) -> Self {
        self.git_dir = Some(path.to_owned());
        self
    }

    pub(crate) fn work_tree(mut self, path: &Path) -> Self {
        self.work_tree = Some(path.to_owned());
        self
    }

    pub(crate) fn index(mut self, path: &Path) -> Self {
        self.index = Some(path.to_owned());
        self
    }

    /// Lets the call see the objects in another object directory, whose repository is not opened.
    pub(crate) fn borrow_objects(mut self, path: &Path) -> Self {
        self.borrowed = Some(path.to_owned());
        self
    }

    /// Lets new objects go into this directory, which says by itself where the others are.
    pub(crate) fn objects(mut self, path: &Path) -> Self {
        self.objects = Some(path.to_owned());
        self
    }

    pub(crate) fn cwd(mut self, path: &Path) -> Self {
        self.cwd = Some(path.to_owned());
        self
    }

    pub(crate) fn setting(mut self, setting: &str) -> Self {
        self.settings.push(setting.into());
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    pub(crate) fn author(mut self, author: &Identity) -> Self {
        self.author = Some(author.clone());
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Says that the call must not even refresh an index.
    pub(crate) fn reads_only(mut self) -> Self {
        self.reads_only = true;
        self
    }

    /// For a command that knows no literal paths: each path must begin with `./`, which no pathspec magic does.
    pub(crate) fn dotted_paths(mut self) -> Self {
        self.literal_paths = false;
        self
    }

    /// Takes attributes from a commit, not from the files.
    pub(crate) fn attributes_of(mut self, commit: &str) -> Self {
        self.attributes_of = Some(commit.to_owned());
        self
    }

    /// Says that the call goes to a remote of the user's.
    pub(crate) fn reaching(mut self, reach: Reach) -> Self {
        self.reach = Some(reach);
        self
    }

    /// Says that a foreign lock file is an answer, not something to wait for.
    pub(crate) fn fails_on_locks(mut self) -> Self {
        self.waits_for_locks = false;
        self
    }
}

impl Git {
    /// Runs git and gives its standard output.
    ///
    /// # Errors
    /// Any exit code but 0 is [`GitError::Failed`] or [`GitError::Locked`].
    pub(crate) async fn ok(&self, call: Call) -> Result<Vec<u8>, GitError> {
        let op = call.op;
        let answer = self.run(call).await?;
        if answer.code == 0 {
            Ok(answer.stdout)
        } else {
            Err(answer.into_error(op))
        }
    }

    /// Runs git; an exit code is part of the answer.
    pub(crate) async fn run(&self, call: Call) -> Result<Answer, GitError> {
        let spec = self.spec(&call);
        let mut waits = LOCK_WAITS_MS.into_iter();
        loop {
            let answer = self.once(call.op, &spec).await?;
            let locked = call.waits_for_locks && answer.code != 0 && answer.is_locked();
            match waits.next() {
                Some(wait_ms) if locked => {
                    tracing::debug!(op = call.op, wait_ms, "another git process holds a lock");
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    async fn once(&self, op: &'static str, spec: &CommandSpec) -> Result<Answer, GitError> {
        let done = command::run(spec)
            .await
            .map_err(|source| GitError::Start { op, source })?;
        tracing::debug!(op, exit = ?done.exit, took_ms = done.duration.as_millis(), "git");
        match done.exit {
            Exit::Code(code) => Ok(Answer {
                code,
                stdout: done.stdout,
                stderr: done.stderr,
            }),
            Exit::Signalled(signal) => Err(GitError::Failed {
                op,
                ending: format!("signal {signal}"),
                stderr: tail(&done.stderr),
            }),
            Exit::TimedOut => Err(GitError::TimedOut {
                op,
                limit: spec.timeout,
            }),
            Exit::OutputOverCap => Err(GitError::OverCap {
                op,
                limit_bytes: spec.stdout_cap_bytes,
            }),
        }
    }

    /// Builds the command: the one function through which every git process goes.
    fn spec(&self, call: &Call) -> CommandSpec {
        let mut args: Vec<OsString> = Vec::new();
        let mut set = |setting: &OsStr| args.extend(["-c".into(), setting.to_owned()]);
        OVERRIDES.iter().for_each(|s| set(OsStr::new(s)));
        if call.world == World::Ours {
            OURS_OVERRIDES.iter().for_each(|s| set(OsStr::new(s)));
            self.inner.content_settings.iter().for_each(|s| set(s));
        }
        if call.index.is_some() {
            // An index of ours is one file: git would put the other half of a split one into the repository.
            set(OsStr::new("core.splitIndex=false"));
        }
        call.settings.iter().for_each(|s| set(s));
        args.push("--no-pager".into());
        args.extend(call.literal_paths.then(|| "--literal-pathspecs".into()));
        args.extend(
            call.attributes_of
                .iter()
                .map(|commit| format!("--attr-source={commit}").into()),
        );
        for (flag, path) in [("--git-dir=", &call.git_dir), ("--work-tree=", &call.work_tree)] {
            if let Some(path) = path {
                let mut arg = OsString::from(flag);
                arg.push(path);
                args.push(arg);
            }
        }
        args.extend(call.args.iter().cloned());
        CommandSpec {
            program: self.inner.program.clone(),
            args,
            env: self.environment(call),
            cwd: call.cwd.clone().unwrap_or_else(|| self.inner.home.clone()),
            stdin: call.stdin.clone(),
            timeout: call.limit,
            stdout_cap_bytes: self.inner.setup.output_max_bytes,
            stderr_cap_bytes: STDERR_CAP_BYTES,
        }
    }

    fn environment(&self, call: &Call) -> Vec<(OsString, OsString)> {
        let setup = &self.inner.setup;
        let author = call.author.as_ref().unwrap_or(&setup.identity);
        let fixed = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "false"),
            ("SSH_ASKPASS", "false"),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GIT_NO_LAZY_FETCH", "1"),
            // The refs and reflogs of our stores and clones are read as files.
            ("GIT_DEFAULT_REF_FORMAT", "files"),
            ("GIT_EDITOR", "false"),
            ("GIT_PAGER", "cat"),
            ("LC_ALL", "C.UTF-8"),
            ("LC_MESSAGES", "C"),
            ("LANGUAGE", "C"),
            ("GIT_AUTHOR_NAME", &author.name),
            ("GIT_AUTHOR_EMAIL", &author.email),
            ("GIT_COMMITTER_NAME", &setup.identity.name),
            ("GIT_COMMITTER_EMAIL", &setup.identity.email),
            ("GIT_OPTIONAL_LOCKS", if call.reads_only { "0" } else { "1" }),
        ];
        let mut env: Vec<(OsString, OsString)> = fixed.map(|(k, v)| (k.into(), v.into())).into();
        let mut push = |key: &str, value: &OsStr| env.push((key.into(), value.to_owned()));
        push("PATH", &setup.path);
        match &call.reach {
            Some(reach) => reach
                .variables
                .iter()
                .for_each(|(name, value)| push(&name.to_string_lossy(), value)),
            None => push("GIT_SSH_COMMAND", &transport::own_ssh_command()),
        }
        // A home that is itself a repository must not be found around our state directory.
        push("GIT_CEILING_DIRECTORIES", setup.state_dir.as_os_str());
        match call.world {
            World::Ours => {
                push("HOME", self.inner.home.as_os_str());
                push("GIT_CONFIG_NOSYSTEM", OsStr::new("1"));
                push("GIT_ATTR_NOSYSTEM", OsStr::new("1"));
                push("GIT_CONFIG_GLOBAL", self.inner.config.as_os_str());
                push("GIT_ALLOW_PROTOCOL", OsStr::new("file"));
            }
            World::User => {
                push("HOME", setup.home.as_os_str());
                push("GIT_ALLOW_PROTOCOL", OsStr::new("file:git:http:https:ssh"));
                if let Some(xdg) = &setup.xdg_config_home {
                    push("XDG_CONFIG_HOME", xdg.as_os_str());
                }
            }
        }
        if let Some(objects) = &call.objects {
            push("GIT_OBJECT_DIRECTORY", objects.as_os_str());
        }
        if let Some(objects) = &call.borrowed {
            push("GIT_ALTERNATE_OBJECT_DIRECTORIES", &quoted(objects));
        }
        if let Some(index) = &call.index {
            push("GIT_INDEX_FILE", index.as_os_str());
        }
        env
    }
}

impl Answer {
    pub(crate) fn into_error(self, op: &'static str) -> GitError {
        let stderr = tail(&self.stderr);
        if self.is_locked() {
            return GitError::Locked { op, stderr };
        }
        GitError::Failed {
            op,
            ending: format!("exit code {}", self.code),
            stderr,
        }
    }

    /// Git has no exit code for "somebody holds the lock": its (untranslated) text is all there is.
    fn is_locked(&self) -> bool {
        (self.stderr.contains_str(".lock'") && self.stderr.contains_str("File exists"))
            || self.stderr.contains_str("could not lock config file")
    }
}

fn tail(stderr: &[u8]) -> String {
    let text = stderr.to_str_lossy();
    let text = text.trim();
    let start = text.char_indices().rev().nth(1999).map_or(0, |(at, _)| at);
    text[start..].to_owned()
}
