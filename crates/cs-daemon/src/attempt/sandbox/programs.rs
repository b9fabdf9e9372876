//! What has to be there for a program to run: where it lies, what it lies among, and the interpreter of a script.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cs_worktree::plain;

use super::{HIDDEN, HOME_READABLE, Room, real};

/// So many links on the way to a file, and interpreters of interpreters, are followed.
const LINKS_MAX: usize = 40;
const INTERPRETERS_MAX: usize = 4;
/// The longest first line of a script that is read.
const LINE_MAX_BYTES: u64 = 512;
/// Programs whose first argument that is a file is the script that they run.
const INTERPRETERS: [&str; 12] = [
    "bash", "bun", "dash", "deno", "env", "node", "nodejs", "perl", "python", "ruby", "sh", "tsx",
];

/// What has to be there for a command, of what would be out of sight.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needed {
    /// Places that can be read with all that is in them, those that hold others first.
    pub(super) readable: BTreeSet<PathBuf>,
    /// Links beside these places that lead there, by where they are.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
}

/// Finds what is needed for these commands: their programs, and their scripts where they name an interpreter.
pub(super) fn needed(room: &Room<'_>, commands: &[&[OsString]]) -> Needed {
    let mut all = Needed::default();
    for argv in commands {
        let Some((program, arguments)) = argv.split_first() else {
            continue;
        };
        if let Some(program) = room.look_up(program) {
            follow(room, &program, INTERPRETERS_MAX, &mut all);
        }
        if is_interpreter(program) {
            let mut files = arguments.iter().map(Path::new);
            if let Some(script) = files.find(|path| path.is_absolute() && path.is_file()) {
                follow(room, script, INTERPRETERS_MAX, &mut all);
            }
        }
    }
    let Needed { readable, links } = &mut all;
    let in_sight = HOME_READABLE
        .iter()
        .filter_map(|name| Some(room.variable("HOME")?.join(name)));
    let in_sight: Vec<PathBuf> = in_sight.chain(readable.iter().cloned()).collect();
    links.retain(|at, _| !in_sight.iter().any(|place| at.starts_with(place)));
    all
}

/// Also with a version after it: `python3.12`.
fn is_interpreter(program: &OsStr) -> bool {
    let name = Path::new(program)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name)
}

/// Adds what is needed for a program, and then for its interpreter.
fn follow(room: &Room<'_>, path: &Path, interpreters_left: usize, all: &mut Needed) {
    let Some(program) = walk(room, path, all) else {
        return;
    };
    let place = room.around(&program);
    if room.hides(&place) {
        all.readable.insert(place);
    }
    let Some(left) = interpreters_left.checked_sub(1) else {
        return;
    };
    for interpreter in interpreters(room, &program) {
        follow(room, &interpreter, left, all);
    }
}

/// Goes the way to a file as the system does, and adds the links on it. Returns where it leads; nothing where it leads nowhere.
fn walk(room: &Room<'_>, path: &Path, all: &mut Needed) -> Option<PathBuf> {
    let mut here = PathBuf::from("/");
    let mut rest: Vec<OsString> = reversed(path);
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        let Ok(to) = fs::read_link(&next) else {
            here = next;
            continue;
        };
        links += 1;
        if links > LINKS_MAX {
            return None;
        }
        if to.is_absolute() {
            here = PathBuf::from("/");
        }
        rest.extend(reversed(&to));
        if room.hides(&next) {
            all.links.insert(next, to);
        }
    }
    here.is_file().then_some(here)
}

/// The names on a way, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// The program that the first line of a script names, and the one that `env` is to find there.
fn interpreters(room: &Room<'_>, script: &Path) -> Vec<PathBuf> {
    let mut head = Vec::new();
    let read = plain::open(script).and_then(|file| file.take(LINE_MAX_BYTES).read_to_end(&mut head));
    let Some(line) = head.strip_prefix(b"#!").filter(|_| read.is_ok()) else {
        return Vec::new();
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let words: Vec<&OsStr> = words.map(OsStr::from_bytes).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let mut found = vec![PathBuf::from(program)];
    if Path::new(program).file_name() == Some(OsStr::new("env")) {
        let plain = |word: &&&OsStr| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
        let named = arguments.iter().find(plain);
        found.extend(named.and_then(|name| room.look_up(name)));
    }
    found
}

impl Room<'_> {
    /// Finds a program as the system will; links are not followed.
    pub(super) fn look_up(&self, program: &OsStr) -> Option<PathBuf> {
        let program = Path::new(program);
        if program.components().count() > 1 {
            return program
                .is_absolute()
                .then(|| program.to_owned())
                .filter(|path| path.exists());
        }
        let (_, path) = self.env.iter().find(|(name, _)| name == "PATH")?;
        let mut all = std::env::split_paths(path).map(|dir| dir.join(program));
        all.find(|path| path.is_file())
    }

    /// What has to be there for a program: what it lies among, since many come in pieces, unless that holds more than the program.
    fn around(&self, program: &Path) -> PathBuf {
        let dirs = [
            modules_of(program),
            prefix_of(program),
            program.parent().map(Path::to_owned),
        ];
        let mut dirs = dirs.into_iter().flatten();
        dirs.find(|dir| self.may_open(dir))
            .unwrap_or_else(|| program.to_owned())
    }

    /// Whether a place would be out of sight.
    fn hides(&self, place: &Path) -> bool {
        let own = [self.variable("HOME"), Some(self.state)];
        let own = own.into_iter().flatten().map(real);
        let mut all = HIDDEN.iter().map(PathBuf::from).chain(own);
        all.any(|hidden| place.starts_with(&hidden) && place != hidden)
    }

    /// Whether a directory holds nothing that is to stay out of sight.
    fn may_open(&self, dir: &Path) -> bool {
        let private = [self.variable("HOME"), Some(self.state), Some(self.tree)];
        let holds = |place: &Path| place.starts_with(dir) || real(place).starts_with(real(dir));
        !private.into_iter().flatten().any(holds)
    }
}

/// The packages of Node among which a program lies: they find each other by their places.
fn modules_of(program: &Path) -> Option<PathBuf> {
    let mut dirs: Vec<&Path> = program.ancestors().skip(1).collect();
    dirs.reverse();
    let found = dirs
        .into_iter()
        .find(|dir| dir.file_name() == Some(OsStr::new("node_modules")));
    found.map(Path::to_owned)
}

/// Where a program was installed as one of several things: what is in its `bin` reads what is in the `lib` beside it.
fn prefix_of(program: &Path) -> Option<PathBuf> {
    let bin = program
        .parent()
        .filter(|dir| dir.file_name() == Some(OsStr::new("bin")))?;
    let prefix = bin.parent()?;
    let is_one = prefix.join("lib").is_dir() || prefix.join("pyvenv.cfg").is_file();
    (is_one && prefix.parent().is_some()).then(|| prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use cs_harness::HarnessKind;

    use super::*;

    /// A home with programs; `~` is it.
    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            let home = Self(tempfile::tempdir().expect("a directory"));
            fs::create_dir_all(home.path("state")).expect("made");
            fs::create_dir_all(home.path("tree")).expect("made");
            home
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().expect("there").join(name)
        }

        fn file(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(&path, text.replace('~', &self.path("").display().to_string())).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        }

        fn link(&self, name: &str, to: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            symlink(to, path).expect("linked");
        }

        fn needed(&self, argv: &[&str]) -> Vec<String> {
            let path: Vec<PathBuf> = ["links", "bin", "opt/node/bin"]
                .map(|dir| self.path(dir))
                .to_vec();
            let env = [
                ("HOME".into(), self.path("").into()),
                ("PATH".into(), std::env::join_paths(path).expect("plain names")),
            ];
            let (tree, state) = (self.path("tree"), self.path("state"));
            let room = Room {
                kind: HarnessKind::Claude,
                command: &[],
                tree: &tree,
                state: &state,
                execution: &state,
                files: &[],
                attachments: None,
                tools: None,
                has_setup: false,
                env: &env,
            };
            let home = self.path("").display().to_string();
            let home = home.trim_end_matches('/');
            let argv: Vec<OsString> = argv.iter().map(|word| word.replace('~', home).into()).collect();
            let shown = |path: &Path| path.display().to_string().replace(home, "~");
            let all = needed(&room, &[&argv]);
            let readable = all.readable.iter().map(|path| shown(path));
            let links = all
                .links
                .iter()
                .map(|(at, to)| format!("{} -> {}", shown(at), shown(to)));
            readable.chain(links).collect()
        }
    }

    #[test]
    fn a_script_of_node_needs_its_packages_and_node_with_what_it_was_installed_with() {
        let home = Home::new();
        home.file("opt/node/bin/node", "");
        home.file("opt/node/lib/part", "");
        home.file("apps/node_modules/agent/bin/cli.js", "#!/usr/bin/env node\n");
        home.link("links/agent", "../apps/node_modules/agent/bin/cli.js");
        let places = ["~/apps/node_modules", "~/opt/node"];
        let link = "~/links/agent -> ../apps/node_modules/agent/bin/cli.js";
        assert_eq!(home.needed(&["agent"]), [places[0], places[1], link]);
        let by_hand = ["node", "--flag", "~/apps/node_modules/agent/bin/cli.js"];
        assert_eq!(home.needed(&by_hand), places);
    }

    #[test]
    fn a_script_of_python_needs_its_environment_and_what_that_leads_to() {
        let home = Home::new();
        home.file("venvs/1/pyvenv.cfg", "");
        home.file("venvs/1/bin/agent", "#!~/venvs/agent/bin/python\n");
        home.file("apps/python3", "");
        home.link("venvs/1/bin/python", "../../../apps/python3");
        home.link("venvs/agent", "1");
        home.link("bin/agent", "../venvs/agent/bin/agent");
        let expected = [
            "~/apps",
            "~/venvs/1",
            "~/bin/agent -> ../venvs/agent/bin/agent",
            "~/venvs/agent -> 1",
        ];
        assert_eq!(home.needed(&["agent"]), expected);
    }

    #[test]
    fn nothing_but_the_program_is_needed_where_it_lies_among_other_things() {
        let home = Home::new();
        home.file("agent", "#!/bin/sh\n");
        home.link("other", "agent");
        assert_eq!(home.needed(&["~/agent"]), ["~/agent"]);
        assert_eq!(home.needed(&["~/other"]), ["~/agent", "~/other -> agent"]);
        assert_eq!(home.needed(&["sh", "~/agent"]), ["~/agent"]);
        assert_eq!(home.needed(&["cat", "~/agent"]), [""; 0], "no script");
    }

    #[test]
    fn links_in_a_circle_have_an_end_and_interpreters_too() {
        let home = Home::new();
        home.link("links/a", "b");
        home.link("links/b", "a");
        assert_eq!(home.needed(&["~/links/a"]), [""; 0], "there is nothing");
        home.file("bin/self", "#!/usr/bin/env self\n");
        assert_eq!(home.needed(&["self"]), ["~/bin"]);
    }
}
