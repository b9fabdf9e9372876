//! The sandbox of a codebase: what an agent that works on it can see and change of its machine.
//!
//! It is put around everything that runs in the tree, the setup command included, since that runs what the repository holds.

mod kept;
mod programs;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cs_harness::{HarnessKind, PrivateFile};
use rustix::thread::CapabilitySet;

use super::setup::status_file;
use crate::tools::{make_place, tools_place, tools_token};
use programs::Needed;

/// What is put around the agents of a codebase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Nothing: an agent may do what its user may.
    #[default]
    None,
    /// bubblewrap. The tree can be written, and what the agent program keeps of its own; the system and a list of places in the
    /// home can be read; the rest of the home, everything of ours and other processes are not there. The network is.
    Bubblewrap,
    /// A command of the person, before that of the agent. It has to end with its parent.
    Wrapper(Vec<String>),
}

/// What a sandbox is built around.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'a> {
    /// Who drives the agent.
    pub(super) kind: HarnessKind,
    /// The command of the agent: where something of ours leads it, it is not what is started first.
    pub(super) command: &'a [String],
    /// Where the agent works.
    pub(super) tree: &'a Path,
    /// Everything of ours.
    pub(super) state: &'a Path,
    /// The directory of the execution.
    pub(super) execution: &'a Path,
    /// Its files that the agent reads.
    pub(super) files: &'a [PrivateFile],
    /// The directory of the files that are attached to its card, where it has any.
    pub(super) attachments: Option<&'a Path>,
    /// The program of the server of its tools, where it has any: the agent starts it.
    pub(super) tools: Option<&'a str>,
    /// Whether a setup command runs in it, which notes there how it stands.
    pub(super) has_setup: bool,
    /// The environment of what runs in it.
    pub(super) env: &'a [(OsString, OsString)],
}

/// Why there is no sandbox; no local path.
#[derive(Debug, thiserror::Error)]
pub(super) enum SandboxTrouble {
    /// The program that makes it is not there.
    #[error(
        "the sandbox of its codebase needs the program `{program}`, which is not in the PATH of the daemon: install it \
         (`bwrap` is in the package bubblewrap), or set another sandbox with `cs-panel codebase set`"
    )]
    NoProgram {
        /// The program, without its directory.
        program: String,
    },
    /// What is written into it could not be made.
    #[error("the files of its sandbox cannot be made")]
    Disk(#[source] io::Error),
}

/// Places that are covered, as the home and everything of ours are.
const HIDDEN: [&str; 3] = ["/dev", "/run", "/tmp"];
/// The variables that name a place for temporary files, which is not there in it.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];
/// Places in the home that tools are read from.
const HOME_READABLE: &[&str] = &[
    ".asdf",
    ".bun",
    ".cargo",
    ".config/git",
    ".config/mise",
    ".gitconfig",
    ".local/bin",
    ".local/lib",
    ".local/share/claude",
    ".local/share/mise",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".rustup",
    ".volta",
];

impl Sandbox {
    /// Puts it around an agent, with what `before` puts before the agent inside of it.
    pub(super) fn around(
        &self,
        agent: Vec<OsString>,
        room: &Room<'_>,
        before: impl FnOnce(Vec<OsString>) -> Vec<OsString>,
    ) -> Result<Vec<OsString>, SandboxTrouble> {
        match self {
            Self::None => Ok(before(agent)),
            Self::Bubblewrap => {
                room.check("bwrap")?;
                let command: Vec<OsString> = room.command.iter().map(OsString::from).collect();
                let server: Vec<OsString> = room.tools.iter().map(OsString::from).collect();
                let needed = programs::needed(room, &[&agent, &command, &server]);
                if room.tools.is_some() {
                    make_place(room.execution).map_err(SandboxTrouble::Disk)?;
                }
                if room.has_setup {
                    // A file that is bound into it has to be there.
                    fs::write(status_file(room.execution), "").map_err(SandboxTrouble::Disk)?;
                }
                bubblewrap(before(agent), room, &needed).map_err(SandboxTrouble::Disk)
            }
            Self::Wrapper(wrapper) => {
                room.check(wrapper.first().map_or("", String::as_str))?;
                Ok(wrapper.iter().map(OsString::from).chain(before(agent)).collect())
            }
        }
    }
}

impl Room<'_> {
    fn variable(&self, name: &str) -> Option<&Path> {
        let found = self.env.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| Path::new(value))
            .filter(|path| path.is_absolute())
    }

    fn check(&self, program: &str) -> Result<(), SandboxTrouble> {
        if self.look_up(OsStr::new(program)).is_some() {
            return Ok(());
        }
        let name = Path::new(program).file_name().unwrap_or_default();
        Err(SandboxTrouble::NoProgram {
            program: name.to_string_lossy().into_owned(),
        })
    }
}

/// The order counts: what is mounted later covers what was before.
fn bubblewrap(argv: Vec<OsString>, room: &Room<'_>, needed: &Needed) -> io::Result<Vec<OsString>> {
    let mut all = Arguments(vec!["bwrap".into()]);
    all.flags(&[
        "--die-with-parent",
        "--unshare-pid",
        "--unshare-ipc",
        "--cap-drop",
        "ALL",
    ]);
    if has_setfcap() {
        // Otherwise nothing of the superuser can make a namespace of its own in it, as Codex does for what it runs. It gives no more than
        // the superuser has over its own files.
        all.flags(&["--cap-add", "CAP_SETFCAP"]);
    }
    all.flags(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    // Sockets in these places lead out: to a container engine, a key ring, a desktop.
    all.flags(&["--tmpfs", "/run", "--tmpfs", "/tmp"]);
    all.same("--ro-bind-try", Path::new("/run/systemd/resolve"));
    if let Some(home) = room.variable("HOME") {
        all.place("--tmpfs", home);
        for name in HOME_READABLE {
            all.same("--ro-bind-try", &home.join(name));
        }
    }
    for path in &needed.readable {
        all.same("--ro-bind-try", path);
    }
    for (at, to) in &needed.links {
        all.place("--symlink", to);
        all.0.push(at.into());
    }
    kept::bind(room, &mut all)?;
    for name in TEMPORARY {
        if room.env.iter().any(|(known, _)| known == name) {
            all.flags(&["--setenv", name, "/tmp"]);
        }
    }
    all.place("--tmpfs", room.state);
    for file in room.files {
        all.same("--ro-bind", &room.execution.join(&file.name));
    }
    if let Some(attachments) = room.attachments {
        all.same("--ro-bind", attachments);
    }
    if room.tools.is_some() {
        for place in [tools_place(room.execution), tools_token(room.execution)] {
            all.same("--ro-bind", &place);
        }
    }
    if room.has_setup {
        all.same("--bind", &status_file(room.execution));
    }
    all.same("--bind", room.tree);
    all.place("--chdir", room.tree);
    all.flags(&["--"]);
    all.0.extend(argv);
    Ok(all.0)
}

/// Whether this daemon may give files capabilities, which only the superuser may.
fn has_setfcap() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SETFCAP))
}

/// A place with links followed, as far as it is there.
fn real(place: &Path) -> PathBuf {
    place.canonicalize().unwrap_or_else(|_| place.to_owned())
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn place(&mut self, flag: &str, place: &Path) {
        self.0.extend([OsString::from(flag), place.into()]);
    }

    /// A place that is at the same path inside.
    fn same(&mut self, flag: &str, place: &Path) {
        self.place(flag, place);
        self.0.push(place.into());
    }
}
