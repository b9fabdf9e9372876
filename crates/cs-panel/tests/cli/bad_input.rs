//! What bad input gets: the thing is named, what was expected, and the cure.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use insta::assert_snapshot;

use crate::desk::Desk;

#[test]
fn an_empty_message_is_refused_and_makes_no_card() {
    let desk = Desk::with_agent();
    let mut shots = desk.run(&["send", " "]);
    shots += &desk.run_with(&["send", "-"], "\n");
    shots += &desk.run_with(&["send"], "");
    shots += &desk.run_with(&["send", "-"], b"\xff".as_slice());
    assert_snapshot!("empty_message", shots);
    assert!(desk.has_no_cards());
}

#[test]
fn a_message_over_the_limit_is_refused() {
    let desk = Desk::with_agent();
    assert_snapshot!(
        "long_message",
        desk.run_with(&["send", "-"], vec![b'x'; 1024 * 1024 + 1])
    );
    assert!(desk.has_no_cards());
}

#[test]
fn an_unknown_card_question_or_codebase_is_named() {
    let desk = Desk::with_agent();
    let mut shots = String::new();
    for command in ["show", "tail", "diff", "land", "stop"] {
        shots += &desk.run(&[command, "beefbeef"]);
    }
    shots += &desk.run(&["answer", "beefbeef", "yes"]);
    shots += &desk.run(&["send", "--card", "beefbeef", "hello"]);
    shots += &desk.run(&["send", "--codebase", "parser", "hello"]);
    assert_snapshot!("unknown_things", shots);
}

#[test]
fn a_path_that_is_no_usable_repository_is_refused() {
    let desk = Desk::with_agent();
    fs::create_dir(desk.path("bare.git")).expect("made");
    fs::create_dir(desk.path("empty")).expect("made");
    desk.git(&["-C", "../bare.git", "init", "--quiet", "--bare"]);
    desk.git(&["-C", "../empty", "init", "--quiet"]);
    let mut shots = String::new();
    for path in [".", "../missing", "../bare.git", "../empty"] {
        shots += &desk.run(&["codebase", "add", path]);
    }
    let mut inside = desk.command(&["send", "hello"]);
    shots += &desk.shot(inside.current_dir(desk.path("empty")), &["send", "hello"]);
    shots += &desk.run(&["codebase", "list"]);
    assert_snapshot!("no_repository", shots);
    assert!(desk.has_no_cards());
}

#[test]
fn an_agent_must_be_a_program_with_a_name_of_its_own() {
    let desk = Desk::new();
    desk.write("work/plain.txt", "no program\n");
    let mut shots = desk.run(&["send", "hello"]);
    shots += &desk.run(&["agent", "list"]);
    shots += &desk.run(&["agent", "add", "mine", "--", "./missing"]);
    shots += &desk.run(&["agent", "add", "mine", "--", "./plain.txt"]);
    shots += &desk.run(&["agent", "add", "mine", "--", "no-such-program-anywhere"]);
    shots += &desk.run(&["agent", "add", "Mine!", "--", "cat"]);
    shots += &desk.run(&["agent", "add", "mine", "--", "cat"]);
    shots += &desk.run(&["agent", "add", "mine", "--", "cat"]);
    shots += &desk.run(&["send", "--agent", "yours", "hello"]);
    shots += &desk.run(&["agent", "add", "other", "--json-lines", "--", "cat", "a b"]);
    shots += &desk.run(&["send", "hello"]);
    shots += &desk.run(&["agent", "default", "third"]);
    shots += &desk.run(&["agent", "default", "other"]);
    shots += &desk.run(&["agent", "list"]);
    shots += &desk.run(&["agent", "remove", "other"]);
    assert_snapshot!("agents", shots);
}

#[test]
fn a_person_says_once_what_an_agent_may_do() {
    let desk = Desk::new();
    desk.write("work/claude", "#!/bin/sh\n");
    desk.program("chmod").args(["+x", "claude"]).assert().success();
    let mut shots = desk.run(&["agent", "add", "c", "--harness", "jsonl", "--", "./claude"]);
    shots += &desk.run(&["agent", "add", "c", "--harness", "plain"]);
    shots += &desk.run(&[
        "agent",
        "add",
        "c",
        "--harness",
        "claude",
        "--model",
        "-x",
        "--",
        "./claude",
    ]);
    shots += &desk.run(&[
        "agent",
        "add",
        "c",
        "--harness",
        "claude",
        "--model",
        "opus",
        "--",
        "./claude",
    ]);
    shots += &desk.run(&["send", "hello"]);
    assert!(desk.has_no_cards());
    shots += &desk.run(&["send", "--permissions", "all", "hello"]);
    shots += &desk.run(&["send", "--permissions", "edit", "hello"]);
    shots += &desk.run(&["send", "--permissions", "full", "hello"]);
    shots += &desk.run(&["send", "hello"]);
    shots += &desk.run(&["agent", "list"]);
    assert_snapshot!("permissions", shots);
}

#[test]
fn what_is_set_for_a_codebase_stands_above_what_is_set_for_an_agent() {
    let desk = Desk::new();
    desk.write("work/agent", "#!/bin/sh\n");
    desk.program("chmod").args(["+x", "agent"]).assert().success();
    for harness in ["claude", "pi", "plain"] {
        desk.run(&["agent", "add", harness, "--harness", harness, "--", "./agent"]);
    }
    desk.git(&["init", "--quiet", "--initial-branch=main"]);
    desk.git(&[
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@x",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "First",
    ]);
    desk.run(&["codebase", "add", ".", "--name", "mine"]);
    let mut shots = desk.run(&["codebase", "list"]);
    desk.run(&["codebase", "set", "mine", "--permissions", "edit"]);
    shots += &desk.run(&["send", "--agent", "plain", "hello"]);
    desk.run(&["codebase", "set", "mine", "--sandbox", "bwrap"]);
    shots += &desk.run(&["send", "--agent", "pi", "hello"]);
    shots += &desk.run(&["send", "--agent", "claude", "--permissions", "full", "hello"]);
    shots += &desk.run(&["send", "--agent", "claude", "hello"]);
    shots += &desk.run(&["send", "--agent", "plain", "hello"]);
    shots += &desk.run(&["codebase", "list"]);
    shots += &desk.run(&[
        "agent",
        "add",
        "g",
        "--harness",
        "acp",
        "--settings",
        "shut-out",
        "--",
        "./agent",
    ]);
    assert_snapshot!("codebase_permissions", shots);
}

#[test]
fn a_broken_configuration_file_is_named_with_line_and_column() {
    let desk = Desk::new();
    let mut shots = String::new();
    for text in [
        "person = \n",
        "persons = \"Ada\"\n",
        "[agents.mine]\ncommand = \"cat\"\n",
        "slots = 0\n",
    ] {
        desk.write("home/.config/cs-panel/config.toml", text);
        shots += &desk.run(&["send", "hello"]);
    }
    shots += &desk.run(&["agent", "add", "mine", "--", "cat"]);
    shots += &desk.run(&["--config", "nowhere.toml", "agent", "list"]);
    assert_snapshot!("broken_configuration", shots);
    let kept = fs::read_to_string(desk.path("home/.config/cs-panel/config.toml")).expect("there");
    assert_eq!(kept, "slots = 0\n", "a broken file is left as it is");
}

#[test]
fn a_database_that_cannot_be_used_is_refused_and_left_alone() {
    let desk = Desk::with_agent();
    desk.write("work/notes.db", "this is no database, it is a note\n");
    let mut shots = String::new();
    for url in [
        "postgres://ada:secret@127.0.0.1:1/panel",
        "postgres://ada:secret@127.0.0.1:port/panel",
        "postgres://ada:secret@127.0.0.1/panel?sslmode=sometimes",
        "mysql://db",
        "sqlite:",
        "sqlite:notes.db",
        "sqlite:/no/such/dir/x.db",
    ] {
        shots += &desk.run(&["--database-url", url, "cards"]);
    }
    let mut by_variable = desk.command(&["cards"]);
    shots += &desk.shot(
        by_variable.env("CS_PANEL_DATABASE_URL", "oracle://ada:secret@db"),
        &["cards"],
    );
    assert_snapshot!("database", shots);
    let kept = fs::read_to_string(desk.path("work/notes.db")).expect("there");
    assert_eq!(kept, "this is no database, it is a note\n");
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let desk = Desk::with_agent();
    desk.write("work/file", "");
    let mut shots = desk.run(&["--state-dir", "file", "cards"]);
    shots += &desk.run(&["--state-dir", "file/below", "cards"]);
    let mut by_variable = desk.command(&["cards"]);
    shots += &desk.shot(by_variable.env("CS_PANEL_STATE_DIR", "/proc/none"), &["cards"]);
    assert_snapshot!("state_directory", shots);
}

#[test]
fn a_configuration_that_is_no_plain_file_is_named_with_the_cure() {
    let desk = Desk::with_agent();
    let path = desk.path("home/.config/cs-panel/config.toml");
    let mut shots = String::new();
    fs::rename(&path, path.with_extension("kept")).expect("renamed");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("made");
    shots += &desk.run(&["send", "Do it"]);
    shots += &desk.run(&["agent", "add", "other", "--", "cat"]);
    shots += &desk.run(&["run", "--once"]);
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    shots += &desk.run(&["agents"]);
    fs::remove_dir(&path).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", &path).expect("linked");
    shots += &desk.run(&["agents"]);
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("config.kept", &path).expect("linked");
    shots += &desk.run(&["agents"]);
    assert_snapshot!("configuration_no_file", shots);
}

#[test]
fn a_password_file_that_is_a_pipe_is_not_waited_for() {
    let desk = Desk::new();
    let pipe = desk.path("home/.pgpass");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .expect("made");
    let shown = desk.run(&["--database-url", "postgres://u@127.0.0.1:1/x", "cards"]);
    let told = "the password file [DIR]/home/.pgpass cannot be read: it is a named pipe; put a plain file";
    assert!(shown.contains("[2]") && shown.contains(told), "{shown}");
}

#[test]
fn a_second_daemon_on_a_state_directory_is_refused() {
    let desk = Desk::with_agent();
    desk.command(&["cards"]).assert().success();
    let lock = fs::File::create(desk.path("home/.local/state/cs-panel/lock")).expect("made");
    lock.lock().expect("nobody has it");
    assert_snapshot!("second_daemon", desk.run(&["run", "--once"]));
    drop(lock);
    desk.command(&["run", "--once"]).assert().success();
}

#[test]
fn a_recording_that_cannot_be_explained_is_named_with_the_cure() {
    let desk = Desk::new();
    fs::create_dir(desk.path("work/folder")).expect("made");
    let pipe = desk.path("work/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("made");
    desk.write("work/out", "{\"type\":\"final\",\"text\":\"Done.\"}\n");
    let explain =
        |words: &[&str]| desk.run(&[&["agents", "explain", "--harness", "json-lines"], words].concat());
    let mut shots = String::new();
    for words in [
        &["--exit-code", "-1", "out"][..],
        &["--exit-code", "256", "out"],
        &["--exit-code", "one", "out"],
        &["--signal", "0", "out"],
        &["--signal", "-9", "out"],
        &["--signal", "65", "out"],
        &["--exit-code", "1", "--signal", "9", "out"],
        &["missing"],
        &["folder"],
        &["pipe"],
        &["--stderr", "missing", "out"],
        &["--stderr", "folder", "out"],
        &["--stderr", "pipe", "out"],
        &[],
    ] {
        shots += &explain(words);
    }
    assert_snapshot!("no_recording", shots);
}

#[test]
fn a_recording_that_is_no_text_is_explained_as_far_as_it_goes() {
    let desk = Desk::new();
    fs::write(
        desk.path("work/out"),
        b"\xff\xfe\0\n{\"type\":\"x\xff\"}\n{\"type\":\"final\",\"text\":\"Done.\"}\n",
    )
    .expect("written");
    fs::write(desk.path("work/errors"), b"\xff\xfe").expect("written");
    let words = [
        "agents",
        "explain",
        "--harness",
        "json-lines",
        "--stderr",
        "errors",
        "out",
    ];
    let mut shots = desk.run(&words);
    shots += &desk.run(&[&words[..], &["--json"]].concat());
    assert_snapshot!("no_text_explained", shots);
}

#[test]
fn wrong_usage_shows_what_is_right() {
    let desk = Desk::new();
    let mut shots = desk.run(&["fly"]);
    shots += &desk.run(&["run", "--twice"]);
    shots += &desk.run(&["send", "--card", "beefbeef", "--title", "x", "y"]);
    shots += &desk.run(&["agent", "add", "mine"]);
    shots += &desk.run(&["agent", "add", "mine", "--harness", "acp"]);
    shots += &desk.run(&["agent", "add", "mine", "--json-lines"]);
    shots += &desk.run(&["send", "--in", "soon", "x"]);
    for flag in ["--state-dir", "--database-url", "--config"] {
        shots += &desk.run(&["demo", flag, "mine"]);
    }
    assert!(!desk.path("work/mine").exists());
    assert_snapshot!("usage", shots);
}

#[test]
fn a_bad_argument_is_shown_without_its_control_characters() {
    let desk = Desk::new();
    let evil = "\u{1b}]0;mine\u{7}\u{1b}[2J\u{202e}";
    let mut shots = desk.run(&["send", "--at", evil, "Do it"]);
    shots += &desk.run(&[evil]);
    let shown: String = shots.lines().filter(|line| line.starts_with('!')).collect();
    assert!(
        !shown.contains(|c: char| c.is_control() || c == '\u{202e}'),
        "{shown:?}"
    );
    assert!(
        shown.contains("\\u{1b}]0;mine\\u{7}") && shown.contains("--at"),
        "{shown}"
    );
}

#[test]
fn a_repository_whose_path_is_no_text_is_refused_with_its_name_and_the_cure() {
    let desk = Desk::with_repository();
    let odd = desk.path("work").join(OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).expect("made");
    let clone = desk
        .program("git")
        .args(["clone", "--quiet", "."])
        .arg(&odd)
        .output();
    assert!(clone.expect("git runs").status.success());
    let refused = desk
        .command(&["codebase", "add"])
        .arg(&odd)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("work/odd\u{fffd}") && said.contains("rename"),
        "{said}"
    );
}

#[test]
fn an_emptied_record_is_not_taken_for_a_new_one() {
    let desk = Desk::with_agent();
    desk.command(&["send", "First"]).assert().success();
    let state = desk.path("home/.local/state/cs-panel");
    fs::create_dir(state.join("executions/one")).expect("made");
    for beside in ["record.db-wal", "record.db-shm"] {
        // They go with the last one who has the record open.
        let _ = fs::remove_file(state.join(beside));
    }
    fs::write(state.join("record.db"), "").expect("emptied");
    let refused = desk.command(&["cards"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("record.db is empty") && said.contains("remove the empty file"),
        "{said}"
    );
    fs::remove_file(state.join("record.db")).expect("there");
    desk.command(&["cards"]).assert().success();
}
