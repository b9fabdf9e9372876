//! What a person does about the trees of cards: go there, look, and bring back what was saved.
#![expect(
    clippy::disallowed_methods,
    reason = "a test starts programs at a terminal of its own"
)]

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

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
