//! A home, a state directory and the binary, with nothing inherited.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// A person's desk.
pub(crate) struct Desk {
    dir: TempDir,
}

impl Desk {
    /// A desk with an empty home and an empty directory to work in.
    pub(crate) fn new() -> Self {
        let root = Path::new("/dev/shm");
        let dir = if root.is_dir() {
            tempfile::tempdir_in(root)
        } else {
            tempfile::tempdir()
        };
        let desk = Self {
            dir: dir.expect("a directory"),
        };
        for name in ["home", "work"] {
            fs::create_dir(desk.path(name)).expect("made");
        }
        desk
    }

    /// The same with an agent that is called `mine`.
    pub(crate) fn with_agent() -> Self {
        let desk = Self::new();
        desk.command(&["agent", "add", "mine", "--", "cat"])
            .assert()
            .success();
        desk
    }

    /// The same with a repository around the directory.
    pub(crate) fn with_repository() -> Self {
        let desk = Self::with_agent();
        desk.git(&["init", "--quiet", "--initial-branch=main"]);
        desk.write("work/README", "one\n");
        desk.git(&["add", "--all"]);
        desk.git(&[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "commit",
            "--quiet",
            "-m",
            "First",
        ]);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, content).expect("written");
    }

    pub(crate) fn git(&self, args: &[&str]) {
        self.plain("git")
            .current_dir(self.path("work"))
            .args(args)
            .assert()
            .success();
    }

    /// The binary in the directory of work.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(assert_cmd::cargo::cargo_bin!("cs-panel"));
        command.args(args);
        command
    }

    /// Any program in the directory of work.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.plain(program);
        command.current_dir(self.path("work"));
        command
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "git is looked up where the tests are started"
    )]
    fn plain(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("COLUMNS", "100")
            .env("USER", "ada");
        command
            .env("PATH", std::env::var_os("PATH").expect("a PATH"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs the binary and writes down what came of it.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.shot(&mut self.command(args), args)
    }

    /// Runs the binary with this on standard input.
    pub(crate) fn run_with(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> String {
        self.shot(self.command(args).write_stdin(stdin), args)
    }

    /// Runs a prepared command and writes down what came of it, with the changing parts replaced.
    pub(crate) fn shot(&self, command: &mut Command, args: &[&str]) -> String {
        let output = command.output().expect("it runs");
        let mut shot = format!(
            "$ cs-panel {}\n[{}]\n",
            args.join(" "),
            output.status.code().unwrap_or(-1)
        );
        for (mark, bytes) in [(" ", &output.stdout), ("!", &output.stderr)] {
            for line in String::from_utf8_lossy(bytes).lines() {
                shot.push_str(format!("{mark} {}", without_ages(line)).trim_end());
                shot.push('\n');
            }
        }
        let root = fs::canonicalize(self.dir.path()).expect("there");
        let shot = shot.replace(&*root.to_string_lossy(), "[DIR]");
        without_ids(&shot.replace(&*self.dir.path().to_string_lossy(), "[DIR]"))
    }

    /// Says whether the record has been made and holds no card.
    pub(crate) fn has_no_cards(&self) -> bool {
        let output = self
            .command(&["cards", "--all", "--json"])
            .output()
            .expect("it runs");
        output.stdout == b"[]\n"
    }
}

/// Replaces ages by the youngest, and the padding of columns that depends on them.
fn without_ages(line: &str) -> String {
    let text = line.trim_start();
    let margin = &line[..line.len() - text.len()];
    let words: Vec<&str> = text.split(' ').collect();
    let mut clean = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_age = words
            .get(at + 1..at + 3)
            .is_some_and(|unit| unit[0] == "s" && unit[1].starts_with("ago"));
        if is_age && words[at].chars().all(|c| c.is_ascii_digit()) {
            clean.push(format!("just now{}", words[at + 2].trim_start_matches("ago")));
            at += 3;
        } else {
            clean.push(words[at].to_owned());
            at += 1;
        }
    }
    let mut text = clean.join(" ");
    while text.contains("   ") {
        text = text.replace("   ", "  ");
    }
    format!("{margin}{text}")
}

/// Replaces ids, long and short.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| {
        let digits = word.replace('-', "");
        [8, 32].contains(&digits.len())
            && digits
                .chars()
                .all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
            && (word.len() == 8 || word.len() == 36)
    };
    let mut clean = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || c == '-' {
            word.push(c);
            continue;
        }
        clean.push_str(if is_id(&word) { "[ID]" } else { &word });
        word.clear();
        if c != '\0' {
            clean.push(c);
        }
    }
    clean
}
