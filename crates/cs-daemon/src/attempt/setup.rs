//! The setup command of a codebase: it makes a tree ready for its agent.
//!
//! It runs what the agent's repository holds, so it runs where the agent does: in the agent's own execution, before it, under
//! the same shim. A stop, a restart of the daemon and a crash treat it as they treat the agent. Its output goes to the standard
//! error of the execution. It runs once for a tree, and again after it failed or the command was changed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cs_model::FailureClass;

use crate::outcome::Task;

/// The file of an execution that says how its setup command stands.
const STATUS: &str = "setup";

/// `$1` is the file of the status, `$2` the note in the tree, `$3` the command; the rest is the agent.
const SCRIPT: &str = r#"status=$1 note=$2 setup=$3
shift 3
if [ "$(cat "$note" 2>/dev/null)" != "$(printf %s "$setup")" ]; then
    printf running >"$status" || exit 1
    /bin/sh -c "$setup" </dev/null >&2
    code=$?
    printf %s "$code" >"$status" || exit 1
    [ "$code" = 0 ] || exit 1
    printf %s "$setup" >"$note"
fi
exec "$@""#;

/// How a setup command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupStatus {
    /// It runs, or was ended with its execution.
    Running,
    /// It exited with this code; with 0 the agent was started.
    Exited(i32),
}

/// The file in which an execution says how its setup command stands.
pub(super) fn status_file(execution: &Path) -> PathBuf {
    execution.join(STATUS)
}

/// Puts the setup command of a codebase before the command of an agent.
pub(super) fn before(setup: &str, argv: Vec<OsString>, execution: &Path, tree: &Path) -> Vec<OsString> {
    let mut command: Vec<OsString> = ["/bin/sh", "-c", SCRIPT, "cs-panel-setup"]
        .map(OsString::from)
        .into();
    command.push(status_file(execution).into());
    // It goes with the tree, and no diff shows it.
    command.push(tree.join(".git/cs-panel-setup").into());
    command.push(setup.into());
    command.extend(argv);
    command
}

/// Reads how the setup command of an execution stands; nothing when none ran there.
#[must_use]
pub fn setup_status(execution: &Path) -> Option<SetupStatus> {
    let status = fs::read_to_string(status_file(execution)).ok()?;
    match status.trim() {
        "running" => Some(SetupStatus::Running),
        code => code.parse().ok().map(SetupStatus::Exited),
    }
}

/// The agent never ran where its tree could not be made ready: that is nothing that it did. `said` is the end of what the execution
/// wrote to its standard error.
pub(super) fn setup_failed(status: Option<SetupStatus>, said: impl FnOnce() -> String) -> Option<Task> {
    match status {
        Some(SetupStatus::Exited(code)) if code != 0 => {
            Some(Task::failed(FailureClass::Infrastructure, reason(code, said)))
        }
        None | Some(SetupStatus::Running | SetupStatus::Exited(_)) => None,
    }
}

/// Why a setup command failed: of codes, those that every shell gives mean something.
fn reason(code: i32, said: impl FnOnce() -> String) -> String {
    let failed = format!("the setup command of its codebase failed with exit code {code}");
    let found = match code {
        126 => "could not be started: it is not executable",
        127 => "was not found; install it, or name its directory in the PATH of the daemon",
        _ => return failed,
    };
    match program_of(&said()) {
        Some(program) => format!("{failed}: the program {program} {found}"),
        None => format!("{failed}: a program that it needs {found}"),
    }
}

/// The name of the program in the last complaint of a shell, `sh: 1: make: not found` in one or another wording, without its
/// directory: a local path is nothing for the record (WT-4).
fn program_of(said: &str) -> Option<String> {
    let last = said.lines().rev().find(|line| !line.trim().is_empty())?;
    let named = last.rsplit(": ").nth(1)?;
    let program = named.rsplit('/').next()?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    let is_name =
        program.len() <= 64 && program.chars().any(char::is_alphabetic) && program.chars().all(is_plain);
    is_name.then(|| program.to_owned())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test starts what a shim does")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::executions::last_words;

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            fs::create_dir_all(dir.path().join("tree/.git")).expect("made");
            Self { dir }
        }

        /// Runs it as a shim does, with a prompt; returns the exit code and what the agent said.
        fn run(&self, setup: &str) -> (Option<i32>, String) {
            let agent = ["sh", "-c", "cat; printf '%s' \"$1\"", "agent", "a b"]
                .map(OsString::from)
                .into();
            let tree = self.dir.path().join("tree");
            let argv = before(setup, agent, self.dir.path(), &tree);
            fs::write(self.dir.path().join("prompt"), "prompt ").expect("written");
            let prompt = fs::File::open(self.dir.path().join("prompt")).expect("there");
            let output = Command::new(&argv[0])
                .args(&argv[1..])
                .current_dir(&tree)
                .stdin(Stdio::from(prompt))
                .output()
                .expect("it runs");
            fs::write(self.dir.path().join("stderr"), &output.stderr).expect("written");
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            )
        }

        fn reason(&self) -> String {
            let said = || last_words(&self.dir.path().join("stderr")).expect("readable");
            match setup_failed(self.status(), said) {
                Some(Task::Failed { reason, .. }) => reason,
                other => panic!("{other:?}"),
            }
        }

        fn status(&self) -> Option<SetupStatus> {
            setup_status(self.dir.path())
        }
    }

    #[test]
    fn the_command_runs_once_and_the_agent_gets_its_prompt() {
        let place = Place::new();
        assert_eq!(place.status(), None);
        for _ in 0..2 {
            let (code, said) = place.run("cat; echo done; echo ran >> ../ran\n");
            assert_eq!((code, said.as_str()), (Some(0), "prompt a b"));
            assert_eq!(place.status(), Some(SetupStatus::Exited(0)));
        }
        let ran = || fs::read_to_string(place.dir.path().join("ran")).expect("it ran");
        assert_eq!(ran(), "ran\n");
        place.run("echo ran >> ../ran");
        assert_eq!(ran(), "ran\nran\n", "another command");
    }

    #[test]
    fn a_program_that_is_missing_is_named_without_its_directory() {
        let place = Place::new();
        for (setup, expected) in [
            (
                "no-such-tool --fast",
                "exit code 127: the program no-such-tool was not found",
            ),
            (
                "echo more >&2; /no/such/dir/tool",
                "exit code 127: the program tool was not found",
            ),
            (
                ": >../plain; ../plain",
                "exit code 126: the program plain could not be started",
            ),
            (
                "echo odd >&2; exit 127",
                "exit code 127: a program that it needs was not found",
            ),
        ] {
            place.run(setup);
            let reason = place.reason();
            assert!(reason.contains(expected), "{setup}: {reason}");
        }
        place.run("exit 7");
        let plain = "the setup command of its codebase failed with exit code 7";
        assert_eq!(place.reason(), plain);
    }

    #[test]
    fn after_a_failure_no_agent_runs_and_the_command_runs_again() {
        let place = Place::new();
        let setup = "echo ran >> ../ran; exit 7";
        for _ in 0..2 {
            assert_eq!(place.run(setup), (Some(1), String::new()));
            assert_eq!(place.status(), Some(SetupStatus::Exited(7)));
        }
        assert_eq!(
            fs::read_to_string(place.dir.path().join("ran")).expect("it ran"),
            "ran\nran\n"
        );
    }
}
