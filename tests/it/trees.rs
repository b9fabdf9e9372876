//! What a person does about the trees of cards: go there, look, bring back what was saved, and clean up.
#![expect(
    clippy::disallowed_methods,
    reason = "a test starts programs at a terminal of its own"
)]

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cs_daemon::{Leftovers, MachineLeftovers, StateDir, What};
use cs_model::{Clock, SystemClock, SystemIds, Time};
use cs_record::Record;
use cs_sqlite::SqliteStore;
use cs_worktree::{Git, GitSetup, Worktrees};
use serde_json::{Value, json};

use crate::desk::Desk;

/// The last digits of a card's id, as people see it.
fn short(card: &str) -> &str {
    &card[card.len() - 8..]
}

/// An agent that commits one file and leaves another one.
fn leaves_a_note(desk: &Desk) -> String {
    if !desk.path("script.json").exists() {
        desk.script(&json!([{"when": "first", "steps": [
            {"write_file": {"path": "done.txt", "text": "done\n"}},
            {"commit": "Do it"},
            {"write_file": {"path": "note.txt", "text": "half\n"}},
            {"final": "Half done."}]}]));
    }
    let card = desk.send("Do half of it");
    desk.run_once();
    card
}

/// Where a card's files are, by the binary.
fn opened(desk: &Desk, card: &str) -> PathBuf {
    PathBuf::from(desk.ok(&["open", card]).trim_end())
}

fn of_kind<'a>(kept: &'a Value, kind: &str) -> &'a Value {
    let mut all = kept.as_array().expect("a list").iter();
    all.rfind(|one| one["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind} in {kept}"))
}

#[test]
fn what_was_not_committed_comes_back_as_a_directory_and_as_a_branch() {
    let desk = Desk::new();
    assert_eq!(desk.json(&["salvage", "list"]), json!([]));
    let card = leaves_a_note(&desk);
    let kept = desk.json(&["salvage", "list", &card]);
    let saved = of_kind(&kept, "snapshot");
    assert_eq!(
        (&saved["card"], &saved["reason"]),
        (&json!(card), &json!("an attempt ended"))
    );
    let name = saved["name"].as_str().expect("a name");
    let commit = saved["commit"].as_str().expect("a commit");
    assert!(name.len() == 8 && commit.starts_with(name), "{saved}");
    let told = desk.ok(&["salvage", "list"]);
    assert!(told.contains(name) && told.contains(short(&card)), "{told}");
    assert!(
        told.contains(&format!("cs-panel salvage restore {name} --to DIR")),
        "{told}"
    );
    let shown = desk.json(&["salvage", "show", name]);
    assert_eq!(
        shown["files"],
        json!([{"path": "note.txt", "kind": "new"}]),
        "{shown}"
    );
    assert_eq!(shown["complete"], true, "{shown}");

    let to = desk.path("outside/back");
    desk.ok(&["salvage", "restore", &commit[..4], "--to", &to.to_string_lossy()]);
    assert_eq!(
        fs::read_to_string(to.join("note.txt")).expect("restored"),
        "half\n"
    );
    assert_eq!(
        fs::read_to_string(to.join("done.txt")).expect("restored"),
        "done\n"
    );
    let again = desk.fails(3, &["salvage", "restore", name, "--to", &to.to_string_lossy()]);
    assert!(again.contains("exists already"), "{again}");

    let reference = saved["ref"].as_str().expect("a ref");
    desk.ok(&["salvage", "restore", reference, "--branch", "mine/back"]);
    assert_eq!(desk.git(&["show", "mine/back:note.txt"]), "half\n");
    let start = &of_refs(&shown, "/start");
    desk.ok(&["salvage", "restore", start, "--branch", "mine/start"]);
    assert_eq!(
        desk.git(&["rev-parse", "mine/start"]),
        desk.git(&["rev-parse", "main"])
    );

    let said = desk.fails(2, &["salvage", "restore", name, "--tree"]);
    assert!(said.contains("--to DIR"), "{said}");
    let said = desk.fails(1, &["salvage", "show", "ffffffff"]);
    assert!(said.contains("cs-panel salvage list"), "{said}");
    desk.fails(2, &["salvage", "restore", name]);
    let said = desk.fails(1, &["salvage", "list", "--codebase", "nowhere"]);
    assert!(said.contains("codebase list"), "{said}");
}

fn of_refs(shown: &Value, end: &str) -> String {
    let refs = shown["refs"].as_array().expect("refs").iter();
    let mut names = refs.map(|one| one["ref"].as_str().expect("a name"));
    names
        .find(|name| name.ends_with(end))
        .unwrap_or_else(|| panic!("no ref ends with {end}: {shown}"))
        .to_owned()
}

#[test]
fn the_tree_of_a_card_that_is_over_comes_back_from_the_trash() {
    let desk = Desk::new();
    let card = leaves_a_note(&desk);
    let tree = opened(&desk, &card);
    assert_eq!(
        fs::read_to_string(tree.join("note.txt")).expect("it is there"),
        "half\n"
    );
    desk.ok(&["close", &card]);
    desk.run_once();
    assert!(!tree.exists());
    let said = desk.fails(3, &["open", &card]);
    assert!(
        said.contains(&format!("cs-panel salvage list {}", short(&card))),
        "{said}"
    );

    let kept = desk.json(&["salvage", "list", &card]);
    let trashed = of_kind(&kept, "tree");
    let name = format!("t-{}-1", short(&card));
    assert_eq!(
        (&trashed["name"], &trashed["reason"]),
        (&json!(name), &json!("the card is over"))
    );
    let said = desk.fails(2, &["salvage", "restore", &name, "--branch", "mine/back"]);
    let snapshot = of_kind(&kept, "snapshot")["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    assert!(said.contains("--tree") && said.contains(&snapshot), "{said}");
    desk.ok(&["salvage", "restore", &name, "--tree"]);
    assert_eq!(opened(&desk, &card), tree);
    assert_eq!(
        fs::read_to_string(tree.join("note.txt")).expect("it is back"),
        "half\n"
    );
    let said = desk.fails(1, &["salvage", "restore", &name, "--tree"]);
    assert!(said.contains("nothing is kept as"), "{said}");
}

#[test]
fn a_card_is_opened_as_a_path_a_shell_and_a_worktree_of_ones_own() {
    let desk = Desk::new();
    let card = leaves_a_note(&desk);
    let waits = desk.send("Not yet");
    let said = desk.fails(3, &["open", &waits]);
    assert!(said.contains("no agent has worked on card"), "{said}");
    desk.fails(2, &["open", &card, "--shell", "--json"]);

    let tree = opened(&desk, &card);
    let mut shell = desk.panel(&["open", &card, "--shell"]);
    let shell = shell
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut shell = shell.spawn().expect("it starts");
    let mut typed = shell.stdin.take().expect("a pipe");
    typed
        .write_all(b"pwd; echo $CS_PANEL_CARD; exit 5\n")
        .expect("it reads");
    drop(typed);
    let output = shell.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, format!("{}\n{}\n", tree.display(), short(&card)));
    assert_eq!(output.status.code(), Some(5));

    let mine = desk.path("outside/mine");
    let mine_text = mine.to_string_lossy().into_owned();
    let made = desk
        .panel(&["open", &card, "--worktree", &mine_text])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&made.stdout), format!("{mine_text}\n"));
    assert!(
        said.contains("1 file is in the card's tree not committed"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(mine.join("done.txt")).expect("there"),
        "done\n"
    );
    let list = desk.git(&["worktree", "list"]);
    assert!(list.contains(&mine_text), "{list}");
    let said = desk.fails(3, &["open", &card, "--worktree", &mine_text]);
    assert!(said.contains("exists already"), "{said}");
    let other = desk.path("outside/other").to_string_lossy().into_owned();
    let said = desk.fails(3, &["open", &card, "--worktree", &other]);
    assert!(
        said.contains(&mine_text) && said.contains("git worktree remove"),
        "{said}"
    );

    desk.git(&["worktree", "remove", &mine_text]);
    let branch = desk.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cs"]);
    desk.git(&["branch", "-D", branch.trim()]);
    desk.ok(&["open", &card, "--worktree", &other]);
    assert_eq!(desk.git(&["-C", &other, "log", "-1", "--format=%s"]), "Do it\n");
}

#[test]
fn open_says_when_an_agent_is_at_work_there() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [here, wait, {"final": "Done."}]}]));
    let card = desk.send("Wait");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    let output = desk.panel(&["open", &card]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("agent scripted works there"),
        "{said}"
    );
    assert_eq!(desk.json(&["open", &card])["at_work"], true);
    desk.open_gate("gate");
    desk.until("the agent has answered", || {
        (!desk.said_by(&card, "agent").is_empty()).then_some(())
    });
    assert_eq!(desk.json(&["open", &card])["at_work"], false);
    drop(daemon);
}

/// Runs the binary at a terminal and returns what it shows there.
fn at_terminal(desk: &Desk, args: &[&str], set: &[(&str, &str)]) -> String {
    let controller = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY);
    let controller = controller.expect("a terminal");
    rustix::pty::grantpt(&controller).expect("granted");
    rustix::pty::unlockpt(&controller).expect("unlocked");
    let name = rustix::pty::ptsname(&controller, Vec::new()).expect("it has a name");
    let terminal = || {
        let path = Path::new(name.to_str().expect("text"));
        let open = fs::OpenOptions::new().read(true).write(true).open(path);
        OwnedFd::from(open.expect("it opens"))
    };
    let mut command = desk.panel(args);
    command
        .envs(set.iter().copied())
        .stdin(terminal())
        .stdout(terminal());
    let mut child = command.spawn().expect("it starts");
    drop(command);
    // The controller reads an error once nobody has the terminal open any more.
    let mut shown = Vec::new();
    let mut controller = fs::File::from(controller);
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = controller.read(&mut part) {
        shown.extend_from_slice(&part[..read]);
    }
    assert!(child.wait().expect("it ends").success(), "{args:?}");
    String::from_utf8_lossy(&shown).replace("\r\n", "\n")
}

#[test]
fn a_diff_is_paged_and_coloured_at_a_terminal_only() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
        {"write_file": {"path": "evil.txt", "text": "\u{1b}[2Jgone\n"}},
        {"append_file": {"path": "README", "text": "two\n"}},
        {"final": "Done."}]}]));
    let card = desk.send("Write");
    desk.run_once();
    let plain = desk.ok(&["diff", &card]);
    assert!(
        plain.contains("+\u{1b}[2Jgone"),
        "a program gets the bytes: {plain:?}"
    );
    let stat = desk.ok(&["diff", "--stat", &card]);
    assert_eq!(
        stat,
        " README   |   1 +\n evil.txt |   1 +\n 2 files changed, 2 insertions(+)\n"
    );
    let files = desk.json(&["diff", &card])["files"].clone();
    assert_eq!(
        (&files[1]["path"], &files[1]["added"]),
        (&json!("evil.txt"), &json!(1))
    );

    let coloured = at_terminal(&desk, &["diff", "--no-pager", &card], &[]);
    assert!(
        coloured.contains("\u{1b}[32m+\\u{1b}[2Jgone\u{1b}[m\n"),
        "{coloured:?}"
    );
    let sober = at_terminal(&desk, &["diff", "--no-pager", &card], &[("NO_COLOR", "1")]);
    assert!(
        sober.contains("+\\u{1b}[2Jgone\n") && !sober.contains('\u{1b}'),
        "{sober:?}"
    );
    let pager = [("PAGER", "sed 's/^/paged: /'"), ("NO_COLOR", "1")];
    let paged = at_terminal(&desk, &["diff", &card], &pager);
    assert!(paged.contains("paged: +two\n"), "{paged:?}");
    let paged = at_terminal(&desk, &["diff", "--stat", &card], &pager);
    assert!(paged.contains("paged:  2 files changed"), "{paged:?}");
    assert!(!at_terminal(&desk, &["diff", "--no-pager", &card], &pager).contains("paged:"));
}

#[test]
fn how_far_the_base_of_a_card_has_gone_on_is_shown() {
    let desk = Desk::new();
    let card = leaves_a_note(&desk);
    assert!(desk.ok(&["show", &card]).contains("  base      main\n"));
    for n in 0..2 {
        let message = format!("of a person {n}");
        let identity = ["-c", "user.name=P", "-c", "user.email=p@example.org"];
        let commit = ["commit", "-q", "--allow-empty", "-m", &message];
        desk.git(&[&identity[..], &commit[..]].concat());
    }
    // The start of another card fetches it.
    leaves_a_note(&desk);
    let told = desk.ok(&["show", &card]);
    let expected = "  base      main, which has gone on by 2 commits (as last fetched)\n";
    assert!(told.contains(expected), "{told}");
    assert_eq!(desk.json(&["show", &card])["behind_base"], json!(2));
}

/// The leftovers of a desk, as `gc` finds them.
async fn leftovers(desk: &Desk) -> MachineLeftovers {
    let state = StateDir::open(&desk.state()).expect("it is there");
    let path = std::env::var_os("PATH").expect("a PATH");
    let git = Git::probe(GitSetup::new(path, desk.path("home"), desk.state())).await;
    let store = SqliteStore::open(&state.record(), Arc::new(SystemClock)).await;
    let record = Record::new(store.expect("the record"), Arc::new(SystemIds));
    let worktrees = Worktrees::new(state.git(), git.expect("git is there"));
    MachineLeftovers::new(state, worktrees, Arc::new(record))
}

fn in_days(days: u32) -> Time {
    SystemClock.now().plus(Duration::from_secs(24 * 60 * 60) * days)
}

#[tokio::test]
async fn what_is_left_of_a_card_goes_long_after_it_is_over() {
    let desk = Desk::new();
    let over = leaves_a_note(&desk);
    desk.ok(&["close", &over]);
    desk.run_once();
    let open = leaves_a_note(&desk);
    let tree = opened(&desk, &open);
    let gc = desk.json(&["gc", "--dry-run"]);
    assert_eq!(
        (&gc["leftovers"], &gc["dry_run"]),
        (&json!([]), &json!(true)),
        "nothing is old yet"
    );

    let left = leftovers(&desk).await;
    let kinds = |found: &[cs_daemon::Leftover]| {
        let (mut trees, mut executions, mut runs) = (0, 0, 0);
        for one in found {
            assert_eq!(
                one.card.map(|card| card.to_string()).as_deref(),
                Some(over.as_str())
            );
            match one.what {
                What::Tree(_) => trees += 1,
                What::Execution { .. } => executions += 1,
                What::RunRefs { .. } => runs += 1,
                What::StoreFiles(_) => panic!("the store is small"),
            }
        }
        [trees, executions, runs]
    };
    let at = |days| left.find(in_days(days));
    assert_eq!(kinds(&at(29).await.expect("found")), [0, 0, 0]);
    let month = at(31).await.expect("found");
    assert_eq!(kinds(&month), [1, 1, 0]);
    let removed = left.remove(&month, in_days(31)).await.expect("removed");
    assert_eq!(
        (removed.trees, removed.executions, removed.kept.len()),
        (1, 1, 0),
        "{removed:?}"
    );
    assert_eq!(kinds(&at(89).await.expect("found")), [0, 0, 0]);
    let kept = desk.json(&["salvage", "list", &over]);
    assert_eq!(
        kept.as_array().map(Vec::len),
        Some(1),
        "the snapshot is still kept: {kept}"
    );
    desk.ok(&["tail", &over]);
    desk.ok(&["show", &over]);

    let quarter = at(91).await.expect("found");
    assert_eq!(kinds(&quarter), [0, 0, 1]);
    let removed = left.remove(&quarter, in_days(91)).await.expect("removed");
    assert_eq!((removed.runs, removed.kept.len()), (1, 0), "{removed:?}");
    assert_eq!(desk.json(&["salvage", "list", &over]), json!([]));
    assert_eq!(kinds(&at(1_000).await.expect("found")), [0, 0, 0]);
    assert!(
        tree.join("note.txt").is_file(),
        "a card that is open keeps its tree"
    );
    assert_eq!(
        desk.json(&["salvage", "list", &open]).as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_daemon_empties_the_trash_by_its_age() {
    let desk = Desk::new();
    for _ in 0..2 {
        let card = leaves_a_note(&desk);
        desk.ok(&["close", &card]);
        desk.run_once();
    }
    let kept = desk.json(&["salvage", "list"]);
    let trees = kept
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["kind"] == "tree");
    let dirs: Vec<PathBuf> = trees
        .map(|one| one["path"].as_str().expect("a path").into())
        .collect();
    let [old, young] = dirs.as_slice() else {
        panic!("{kept}")
    };
    let long_ago = SystemClock.now().unix_micros() - 31 * 86_400 * 1_000_000;
    let long_ago = Duration::from_micros(u64::try_from(long_ago).expect("after 1970"));
    let mark = fs::File::options().write(true).open(old.join("discarded.json"));
    let mark = mark.expect("its mark");
    mark.set_modified(std::time::SystemTime::UNIX_EPOCH + long_ago)
        .expect("set");
    let gc = desk.ok(&["gc", "--dry-run"]);
    assert!(
        gc.contains("in the trash for over 30 days") && old.exists(),
        "{gc}"
    );
    let daemon = desk.daemon();
    desk.until("the old tree is gone", || (!old.exists()).then_some(()));
    assert!(young.exists());
    drop(daemon);
    // The daemon may have been killed between the last file and the directory of what it removed.
    desk.until("there is nothing more to remove", || {
        let gc = desk.ok(&["gc"]);
        gc.contains("removed: 0 trees, 0 executions, the refs of 0 attempts")
            .then_some(())
    });
    assert!(young.exists());
}

#[test]
fn a_tree_gets_files_ports_and_a_setup_before_its_agent() {
    let desk = Desk::new();
    fs::write(desk.path("repo/.gitignore"), ".env\nbuilt/\n").expect("written");
    desk.commit_all("Ignore");
    fs::write(desk.path("repo/.env"), "secret\n").expect("written");
    fs::write(desk.path("repo/loose.txt"), "not ignored\n").expect("written");
    let seen = desk.path("outside/seen");
    let look = format!(
        "cat .env built/it >> '{0}'; echo $CS_PANEL_PORT_BASE $CS_PANEL_CARD >> '{0}'",
        seen.display()
    );
    desk.script(
        &json!([{"when": "first", "steps": [{"run": ["sh", "-c", look]}, {"final": "Seen."}]},
        {"when": "turn", "steps": [{"final": "Again."}]}]),
    );
    desk.ok(&["codebase", "add"]);
    let setup = format!(
        "mkdir -p built; echo $CS_PANEL_CARD > built/it; echo x >> '{}'",
        desk.path("outside/setups").display()
    );
    let set = desk.json(&[
        "codebase",
        "set",
        "repo",
        "--bring",
        ".env",
        "loose.txt",
        "--setup",
        &setup,
    ]);
    assert_eq!(set["bring"], json!([".env", "loose.txt"]));
    let card = desk.send("Look");
    let run = desk.panel(&["run", "--once"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("loose.txt (git does not ignore it"), "{said}");
    let id = short(&card);
    let seen = fs::read_to_string(seen).expect("the agent ran");
    assert_eq!(seen, format!("secret\n{id}\n20000 {id}\n"));
    let shown = desk.ok(&["show", &card]);
    assert!(
        shown.contains("1 file came along") && shown.contains("not brought along: loose.txt"),
        "{shown}"
    );

    desk.ok(&["send", "--card", &card, "Again"]);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Seen.", "Again."]);
    assert_eq!(desk.lines("setups"), 1, "once for a tree");
    assert_eq!(
        desk.json(&["diff", &card])["files"],
        json!([]),
        "nothing of it is the agent's work"
    );
}

#[test]
fn a_setup_that_fails_is_shown_with_its_output_and_goes_on_when_it_is_mended() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [desk.count("ran"), {"final": "Done."}]}]));
    desk.ok(&["codebase", "add"]);
    desk.ok(&[
        "codebase",
        "set",
        "repo",
        "--setup",
        "echo no compiler here; exit 7",
    ]);
    let card = desk.send("Build");
    desk.run_once();
    assert_eq!(desk.lines("ran"), 0, "no agent ran");
    let shown = desk.ok(&["show", &card]);
    assert!(
        shown.contains("setup command of its codebase failed with exit code 7"),
        "{shown}"
    );
    assert!(shown.contains("no compiler here"), "{shown}");
    desk.ok(&["codebase", "set", "repo", "--no-setup"]);
    desk.ok(&["retry", &card]);
    desk.run_once();
    assert_eq!((desk.lines("ran"), desk.said_by(&card, "agent").len()), (1, 1));
    desk.no_process_is_left();
}

#[test]
fn a_codebase_that_has_moved_is_taken_up_where_it_is_now() {
    let desk = Desk::new();
    let card = leaves_a_note(&desk);
    let moved = desk.path("moved");
    fs::rename(desk.path("repo"), &moved).expect("moved");
    fs::create_dir(desk.path("repo")).expect("the tests start there");
    let moved = moved.to_string_lossy().into_owned();
    assert_eq!(desk.json(&["codebase", "list"])[0]["gone"], true);
    fs::create_dir(desk.path("other")).expect("made");
    fs::rename(&moved, desk.path("other/repo")).expect("moved again");
    let moved = desk.path("other/repo").to_string_lossy().into_owned();
    let said = desk.fails(3, &["codebase", "add", &moved]);
    assert!(said.contains("--name repo"), "{said}");
    desk.ok(&["codebase", "add", &moved, "--name", "repo"]);
    let list = desk.json(&["codebase", "list"]);
    assert_eq!(
        (&list[0]["path"], &list[0]["gone"]),
        (&json!(moved), &json!(false)),
        "{list}"
    );
    let to = desk.path("outside/mine").to_string_lossy().into_owned();
    desk.ok(&["open", &card, "--worktree", &to]);
    assert!(Path::new(&to).join("done.txt").is_file());
}

#[test]
fn a_codebase_and_an_agent_are_forgotten_when_nothing_needs_them() {
    let desk = Desk::new();
    let card = leaves_a_note(&desk);
    let said = desk.fails(3, &["codebase", "remove", "repo"]);
    assert!(
        said.contains(short(&card)) && said.contains("cs-panel close"),
        "{said}"
    );
    let output = desk
        .panel(&["agent", "remove", "scripted"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains(short(&card)) && said.contains("hand-back"),
        "{said}"
    );
    assert_eq!(desk.json(&["agent", "list"]), json!([]));
    desk.fails(2, &["agent", "remove", "scripted"]);
    desk.ok(&["close", &card]);
    desk.ok(&["codebase", "remove", "repo"]);
    assert_eq!(desk.json(&["codebase", "list"])[0]["path"], Value::Null);
    let said = desk.fails(3, &["codebase", "remove", "repo"]);
    assert!(said.contains("not on this machine"), "{said}");
    let kept = desk.json(&["salvage", "list", &card]);
    assert_eq!(
        kept.as_array().map(Vec::len),
        Some(1),
        "what was saved stays: {kept}"
    );
    desk.ok(&["codebase", "add", "--name", "repo"]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_was_set_of_a_codebase_is_not_lost_without_a_word() {
    let desk = Desk::new();
    desk.ok(&["codebase", "add", "--name", "repo"]);
    desk.ok(&["codebase", "set", "repo", "--verify", "make check"]);
    let says = |arguments: &[&str]| {
        let output = desk.panel(arguments).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let command = "cs-panel codebase set repo --verify 'make check'";
    let (_, said) = says(&["codebase", "remove", "repo"]);
    assert!(said.contains(command), "{said}");
    let (code, said) = says(&["codebase", "add"]);
    assert!(code == Some(3) && said.contains("--name repo"), "{said}");
    let (_, said) = says(&["codebase", "add", "--name", "repo"]);
    assert!(said.contains(command), "{said}");
    assert_eq!(
        desk.json(&["codebase", "list"])[0]["landing"]["verify"],
        "make check"
    );
    // The list is lost.
    fs::remove_file(desk.state().join("checkouts.json")).expect("it was there");
    let (_, said) = says(&["codebase", "add", "--name", "repo"]);
    assert!(said.contains(command), "{said}");
    // All of it is.
    fs::remove_file(desk.state().join("checkouts.json")).expect("it was there");
    fs::remove_dir_all(desk.state().join("checkouts.kept")).expect("it was there");
    let (_, said) = says(&["codebase", "add", "--name", "repo"]);
    assert!(said.contains("its landings are not verified"), "{said}");
    let (_, said) = says(&["codebase", "add", "--name", "repo"]);
    assert!(!said.contains("not verified"), "it is said once: {said}");
}

#[test]
fn a_card_is_shown_whatever_is_wrong_with_its_store() {
    let desk = Desk::new();
    let card = leaves_a_note(&desk);
    assert_eq!(desk.card(&card)["behind_base"], 0);
    let stores = desk.state().join("worktrees/repos");
    let broken = desk.shell(&format!(
        "find '{}' -name HEAD -exec sh -c 'echo broken > \"$0\"' {{}} \\;",
        stores.display()
    ));
    assert!({ broken }.status().expect("find runs").success());
    let shown = desk.card(&card);
    assert_eq!(shown["behind_base"], Value::Null, "{shown}");
    assert!(desk.ok(&["show", &card]).contains("base"));
}

#[test]
fn a_branch_of_what_only_the_agent_ignores_is_made_with_a_warning() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "any", "steps": [
        {"write_file": {"path": ".gitignore", "text": ".env\n"}},
        {"write_file": {"path": ".env", "text": "KEY=secret\n"}},
        {"final": "Done."}]}]));
    let card = desk.send("Work");
    desk.run_once();
    let kept = desk.json(&["salvage", "list", &card]);
    let name = of_kind(&kept, "snapshot")["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let restored = desk
        .panel(&["salvage", "restore", &name, "--branch", "mine/back"])
        .output();
    let restored = restored.expect("it runs");
    let said = String::from_utf8_lossy(&restored.stderr);
    assert!(restored.status.success(), "{said}");
    assert!(
        said.contains("look for secrets before you push it: .env"),
        "{said}"
    );
}
