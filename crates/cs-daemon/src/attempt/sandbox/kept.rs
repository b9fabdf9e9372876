//! What an agent program keeps of its own, without which it does not work: its sign-in, its conversations, its settings.
//!
//! All of it holds outside of the sandbox as well. An agent can write it, but for the settings: what these name is run wherever the
//! program is started next, and what these say it is told there.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use cs_harness::HarnessKind;

use super::{Arguments, Room};

/// So many entries of a directory can be read in a sandbox.
const SHOWN_MAX: usize = 1000;

/// What the agent program of a kind keeps.
struct Keeps {
    /// The variable that tells it one place for all of it.
    told_by: Option<&'static str>,
    /// Its places in the home.
    at_home: &'static [Kept],
    /// What is in the place that it is told: its settings.
    told: &'static [Setting],
}

/// A place in the home.
#[derive(Debug, Clone, Copy)]
enum Kept {
    /// A directory that is written, but for the settings in it. It is made where it is not there, as its program would: what is written
    /// must not go with the sandbox.
    Written(&'static str, &'static [Setting]),
    /// The same where it is there: it is one of several programs that is started.
    WrittenIfThere(&'static str, &'static [Setting]),
    /// A directory of settings. What is made beside them goes with the sandbox.
    Shown(&'static str),
    /// A file that can be read.
    Read(&'static str),
}

/// Settings in a directory that is written. Where there are none, something that says nothing is put in their place: otherwise an
/// agent could make them.
#[derive(Debug, Clone, Copy)]
enum Setting {
    /// A file, and the one that says nothing.
    File(&'static str, &'static str),
    /// A directory.
    Dir(&'static str),
    /// Something that is held where it is there, and that says nothing by itself.
    IfThere(&'static str),
}

const CLAUDE: &[Setting] = &[
    Setting::File("settings.json", "{}"),
    Setting::File("settings.local.json", "{}"),
    Setting::File("CLAUDE.md", ""),
    Setting::Dir("agents"),
    Setting::Dir("commands"),
    Setting::Dir("rules"),
    Setting::Dir("skills"),
    Setting::IfThere("hooks"),
    Setting::IfThere("local"),
    Setting::IfThere("output-styles"),
    Setting::IfThere("plugins"),
    // Only where it is told its place; in a home this file lies beside the directory.
    Setting::IfThere(".claude.json"),
];
const CODEX: &[Setting] = &[
    Setting::File("config.toml", ""),
    Setting::File("hooks.json", "{}"),
    Setting::File("AGENTS.md", ""),
    Setting::File("AGENTS.override.md", ""),
    Setting::Dir("rules"),
    Setting::Dir("skills"),
    Setting::IfThere("agents"),
    Setting::IfThere("plugins"),
    Setting::IfThere("prompts"),
];
const PI: &[Setting] = &[
    Setting::File("settings.json", "{}"),
    Setting::File("models.json", "{\"providers\":{}}"),
    Setting::File("mcp.json", "{}"),
    Setting::File("SYSTEM.md", ""),
    Setting::File("APPEND_SYSTEM.md", ""),
    Setting::Dir("extensions"),
    Setting::Dir("skills"),
    Setting::Dir("prompts"),
    // Of these it reads the first that is there, whatever it says.
    Setting::IfThere("AGENTS.override.md"),
    Setting::IfThere("AGENTS.md"),
    Setting::IfThere("AGENTS.MD"),
    Setting::IfThere("CLAUDE.md"),
    Setting::IfThere("CLAUDE.MD"),
    Setting::IfThere("bin"),
    // Packages, not the program.
    Setting::IfThere("./git"),
    Setting::IfThere("npm"),
    Setting::IfThere("themes"),
];
const GEMINI: &[Setting] = &[
    Setting::File("settings.json", "{}"),
    Setting::File("GEMINI.md", ""),
    Setting::Dir("agents"),
    Setting::Dir("commands"),
    Setting::Dir("extensions"),
    Setting::Dir("policies"),
    Setting::Dir("skills"),
    Setting::IfThere("hooks"),
];
const QWEN: &[Setting] = &[
    Setting::File("settings.json", "{}"),
    Setting::File("QWEN.md", ""),
    Setting::Dir("agents"),
    Setting::Dir("commands"),
    Setting::Dir("extensions"),
    Setting::Dir("skills"),
    Setting::IfThere("hooks"),
];

const fn kept_by(kind: HarnessKind) -> Keeps {
    let (told_by, told, at_home): (_, &[Setting], &[Kept]) = match kind {
        HarnessKind::Plain | HarnessKind::JsonLines => (None, &[], &[]),
        HarnessKind::Claude => (
            Some("CLAUDE_CONFIG_DIR"),
            CLAUDE,
            &[Kept::Written(".claude", CLAUDE), Kept::Read(".claude.json")],
        ),
        HarnessKind::Codex => (Some("CODEX_HOME"), CODEX, &[Kept::Written(".codex", CODEX)]),
        HarnessKind::Opencode => (
            None,
            &[],
            &[
                Kept::Shown(".config/opencode"),
                Kept::Written(".local/share/opencode", &[]),
                Kept::Written(".local/state/opencode", &[]),
                Kept::Written(".cache/opencode", &[]),
            ],
        ),
        HarnessKind::Pi => (Some("PI_CODING_AGENT_DIR"), PI, &[Kept::Written(".pi/agent", PI)]),
        // Whatever speaks the protocol: the agents that are known to.
        HarnessKind::Acp => (
            None,
            &[],
            &[
                Kept::Shown(".config/goose"),
                Kept::Shown(".config/opencode"),
                Kept::WrittenIfThere(".cache/opencode", &[]),
                Kept::WrittenIfThere(".gemini", GEMINI),
                Kept::WrittenIfThere(".local/share/goose", &[]),
                Kept::WrittenIfThere(".local/share/opencode", &[]),
                Kept::WrittenIfThere(".local/state/goose", &[]),
                Kept::WrittenIfThere(".local/state/opencode", &[]),
                Kept::WrittenIfThere(".qwen", QWEN),
            ],
        ),
    };
    Keeps {
        told_by,
        at_home,
        told,
    }
}

/// Lets what the agent program keeps be in its sandbox.
///
/// # Errors
/// What stands for settings that are not there could not be made.
pub(super) fn bind(room: &Room<'_>, all: &mut Arguments) -> io::Result<()> {
    let keeps = kept_by(room.kind);
    if let Some(told) = keeps.told_by.and_then(|name| room.variable(name)) {
        return written(told, keeps.told, all);
    }
    let Some(home) = room.variable("HOME") else {
        return Ok(());
    };
    for kept in keeps.at_home {
        match kept {
            Kept::Written(dir, settings) => {
                let dir = home.join(dir);
                is_there_now(fs::create_dir_all(&dir))?;
                written(&dir, settings, all)?;
            }
            Kept::WrittenIfThere(dir, settings) => written(&home.join(dir), settings, all)?,
            Kept::Shown(dir) => shown(&home.join(dir), all),
            Kept::Read(file) => all.same("--ro-bind-try", &home.join(file)),
        }
    }
    Ok(())
}

fn written(dir: &Path, settings: &[Setting], all: &mut Arguments) -> io::Result<()> {
    all.same("--bind-try", dir);
    if !dir.is_dir() {
        return Ok(());
    }
    for setting in settings {
        if setting.hold(dir)? {
            all.same("--ro-bind-try", &dir.join(setting.name()));
        }
    }
    Ok(())
}

fn shown(dir: &Path, all: &mut Arguments) {
    all.place("--dir", dir);
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).take(SHOWN_MAX).collect();
    entries.sort();
    for entry in entries {
        all.same("--ro-bind-try", &entry);
    }
}

impl Setting {
    const fn name(self) -> &'static str {
        match self {
            Self::File(name, _) | Self::Dir(name) | Self::IfThere(name) => name,
        }
    }

    /// Makes sure that something is there. Says whether it can be held as it is.
    fn hold(self, dir: &Path) -> io::Result<bool> {
        let path = dir.join(self.name());
        match path.symlink_metadata() {
            // What is mounted on a link is mounted on what it leads to, which may not be in the sandbox.
            Ok(found) => return Ok(!found.is_symlink()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let made = match self {
            Self::IfThere(_) => return Ok(false),
            Self::Dir(_) => fs::create_dir(&path),
            Self::File(_, nothing) => {
                fs::File::create_new(&path).and_then(|mut file| file.write_all(nothing.as_bytes()))
            }
        };
        is_there_now(made)
    }
}

/// Says whether something is there now that was to be made.
fn is_there_now(made: io::Result<()>) -> io::Result<bool> {
    match made.map_err(|error| (error.kind(), error)) {
        Ok(()) => Ok(true),
        // Another attempt begins just now.
        Err((ErrorKind::AlreadyExists, _)) => Ok(true),
        // Then an agent cannot make it either.
        Err((ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotADirectory, _)) => {
            Ok(false)
        }
        Err((_, error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A home; `~` is it.
    struct Home(tempfile::TempDir);

    impl Home {
        fn new(dirs: &[&str]) -> Self {
            let home = Self(tempfile::tempdir().expect("a directory"));
            for dir in dirs {
                fs::create_dir_all(home.path(dir)).expect("made");
            }
            home
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// What is bound, without where: it is the same inside.
        fn bound(&self, kind: HarnessKind, told: Option<(&str, &str)>) -> Vec<String> {
            let mut env: Vec<(OsString, OsString)> = vec![("HOME".into(), self.path("").into())];
            env.extend(told.map(|(name, dir)| (name.into(), self.path(dir).into())));
            let nowhere = self.path("nowhere");
            let room = Room {
                kind,
                command: &[],
                tree: &nowhere,
                state: &nowhere,
                execution: &nowhere,
                files: &[],
                attachments: None,
                tools: None,
                has_setup: false,
                env: &env,
            };
            let mut all = Arguments(Vec::new());
            bind(&room, &mut all).expect("it can be made");
            let home = self.path("").display().to_string();
            let words: Vec<String> = all
                .0
                .iter()
                .map(|word| word.to_string_lossy().replace(&home, "~/"))
                .collect();
            let mut told = Vec::new();
            let mut words = words.iter();
            while let Some(flag) = words.next() {
                let place = words.next().expect("a place");
                if flag != "--dir" {
                    assert_eq!(words.next(), Some(place));
                }
                told.push(format!("{flag} {place}"));
            }
            told
        }
    }

    #[test]
    fn settings_can_only_be_read_and_those_that_are_not_there_cannot_be_made() {
        let home = Home::new(&[".codex/plugins"]);
        fs::write(home.path(".codex/config.toml"), "model = \"x\"\n").expect("written");
        let bound = home.bound(HarnessKind::Codex, None);
        let expected = [
            "--bind-try ~/.codex",
            "--ro-bind-try ~/.codex/config.toml",
            "--ro-bind-try ~/.codex/hooks.json",
            "--ro-bind-try ~/.codex/AGENTS.md",
            "--ro-bind-try ~/.codex/AGENTS.override.md",
            "--ro-bind-try ~/.codex/rules",
            "--ro-bind-try ~/.codex/skills",
            "--ro-bind-try ~/.codex/plugins",
        ];
        assert_eq!(bound, expected);
        let read = |name: &str| fs::read_to_string(home.path(name)).expect("it is there");
        assert_eq!(read(".codex/config.toml"), "model = \"x\"\n");
        assert_eq!(read(".codex/hooks.json"), "{}");
        assert_eq!(read(".codex/AGENTS.md"), "");
        assert_eq!(home.bound(HarnessKind::Codex, None), expected, "again");
    }

    #[test]
    fn a_program_that_was_never_started_gets_its_place_where_it_is_known_which_it_is() {
        let home = Home::new(&[]);
        home.bound(HarnessKind::Acp, None);
        home.bound(HarnessKind::Plain, None);
        let is_empty = |dir: PathBuf| fs::read_dir(dir).expect("it is there").next().is_none();
        assert!(is_empty(home.path("")));
        home.bound(HarnessKind::Codex, None);
        assert!(home.path(".codex").is_dir() && home.path(".codex/config.toml").is_file());
    }

    #[test]
    fn a_place_that_is_told_stands_for_those_in_the_home() {
        let home = Home::new(&[".claude", "mine"]);
        fs::write(home.path("mine/.claude.json"), "{}").expect("written");
        symlink("elsewhere", home.path("mine/CLAUDE.md")).expect("linked");
        let bound = home.bound(HarnessKind::Claude, Some(("CLAUDE_CONFIG_DIR", "mine")));
        assert_eq!(bound[0], "--bind-try ~/mine");
        for held in ["settings.json", "settings.local.json", "skills", ".claude.json"] {
            let held = format!("--ro-bind-try ~/mine/{held}");
            assert!(bound.contains(&held), "{held} of {bound:?}");
        }
        assert!(
            !bound.iter().any(|one| one.contains("CLAUDE.md")),
            "a link: {bound:?}"
        );
        assert!(!bound.iter().any(|one| one.contains("~/.claude")), "{bound:?}");
    }

    #[test]
    fn of_a_directory_of_settings_every_entry_can_be_read() {
        let home = Home::new(&[".config/opencode/plugins"]);
        fs::write(home.path(".config/opencode/opencode.json"), "{}").expect("written");
        let bound = home.bound(HarnessKind::Opencode, None);
        let expected = [
            "--dir ~/.config/opencode",
            "--ro-bind-try ~/.config/opencode/opencode.json",
            "--ro-bind-try ~/.config/opencode/plugins",
            "--bind-try ~/.local/share/opencode",
            "--bind-try ~/.local/state/opencode",
            "--bind-try ~/.cache/opencode",
        ];
        assert_eq!(bound, expected);
    }
}
