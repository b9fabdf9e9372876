//! What could not be ended is on the record until it is gone or a person has looked after it; a daemon that runs notices.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::record::Record;

const NOBODY: u32 = 65534;

impl Desk {
    /// The desk of `nobody`, on a disk, where a program may run as its owner; only for root.
    fn of_nobody() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let desk = Self::furnished(dir, Arc::new(Record::new()), Some(NOBODY));
        fs::copy(assert_cmd::cargo::cargo_bin("cs-panel"), desk.path("cs-panel")).expect("copied");
        desk
    }

    /// Whether a program of root makes who runs it root.
    fn can_become_root(&self, as_root: &Path) -> bool {
        let asked = self.plain(as_root).args(["--reuid=0", "true"]).status();
        asked.is_ok_and(|status| status.success())
    }
}

/// A desk of `nobody` whose agent leaves a process of root behind and answers; nothing where that cannot be made.
fn desk() -> Option<Desk> {
    let setpriv = Path::new("/usr/bin/setpriv");
    if !rustix::process::geteuid().is_root() || !setpriv.exists() {
        say_not_tested("it takes root and setpriv to leave a process behind that cannot be ended");
        return None;
    }
    let desk = Desk::of_nobody();
    let as_root = desk.path("as-root");
    fs::copy(setpriv, &as_root).expect("copied");
    fs::set_permissions(&as_root, fs::Permissions::from_mode(0o4755)).expect("it is ours");
    if !desk.can_become_root(&as_root) {
        say_not_tested("no program may run as its owner in the directory for temporary files");
        return None;
    }
    let pid = desk.path("outside/left");
    let leave = format!(
        "setsid '{}' --reuid=0 sleep 600 </dev/null >/dev/null 2>&1 & echo $! > '{}'",
        as_root.display(),
        pid.display()
    );
    desk.script(&json!([
        {"when": "any", "contains": "Again", "steps": [{"final": "Done again."}]},
        {"when": "any", "steps": [{"run": ["sh", "-c", leave]}, {"wait": {"ms": 300}}, {"final": "Done."}]}]));
    Some(desk)
}

#[expect(
    clippy::print_stdout,
    reason = "whoever runs the tests must know what was not tested"
)]
fn say_not_tested(why: &str) {
    println!("not tested: {why}");
}

fn end_what_was_left(desk: &Desk) {
    let pid = fs::read_to_string(desk.path("outside/left")).expect("it was left");
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("root may");
}

fn run(desk: &Desk, card: &str) -> Value {
    desk.card(card)["runs"][0].clone()
}

fn until_marked(desk: &Desk, card: &str) -> Value {
    desk.until("it is marked", || {
        let run = run(desk, card);
        (!run["stop_incomplete"].is_null()).then_some(run)
    })
}

#[test]
fn what_could_not_be_ended_is_marked_and_a_running_daemon_sees_that_it_was_dismissed() {
    let Some(desk) = desk() else { return };
    let card = desk.send("Leave something");
    let daemon = desk.daemon();
    let marked = until_marked(&desk, &card);
    assert_eq!(marked["state"], "running", "a mark is no ending: {marked}");
    let left = marked["stop_incomplete"]["left"].as_str().expect("words");
    assert!(left.contains("sleep (pid"), "{left}");
    assert!(
        desk.ok(&["cards"])
            .contains("stop incomplete; still there: sleep")
    );
    let shown = desk.ok(&["show", &card]);
    let name = desk.json(&["ps"])[0]["name"].as_str().expect("a name").to_owned();
    assert!(
        shown.contains(&format!("cs-panel execution dismiss {name}")),
        "{shown}"
    );
    let told = desk.ok(&["execution", "dismiss", &name]);
    assert!(told.contains("the daemon takes it for over now"), "{told}");
    desk.until("its answer is on the record", || {
        (desk.said_by(&card, "agent") == ["Done."]).then_some(())
    });
    let run = desk.until("the mark is gone", || {
        let run = run(&desk, &card);
        run["stop_incomplete"].is_null().then_some(run)
    });
    assert_eq!(run["state"], "finished", "{run}");
    desk.ok(&["send", "--card", &card, "Again"]);
    desk.until("its tree is free", || {
        (desk.said_by(&card, "agent").len() == 2).then_some(())
    });
    let log = fs::read_to_string(desk.path("daemon.log")).expect("it said something");
    assert_eq!(log.matches("is not proven closed").count(), 1, "{log}");
    daemon.kill();
    end_what_was_left(&desk);
}

#[test]
fn a_stop_that_is_incomplete_is_marked_and_ends_once_what_was_left_is_gone() {
    let Some(desk) = desk() else { return };
    let card = desk.send("Leave something");
    let daemon = desk.daemon();
    until_marked(&desk, &card);
    let refused = desk.fails(1, &["stop", &card]);
    assert!(refused.contains("sleep (pid"), "{refused}");
    let marked = run(&desk, &card);
    assert_eq!(marked["state"], "stopped", "{marked}");
    assert!(!marked["stop_incomplete"].is_null(), "{marked}");
    assert!(desk.ok(&["cards"]).contains("stop incomplete"));
    end_what_was_left(&desk);
    desk.ok(&["stop", &card]);
    assert!(run(&desk, &card)["stop_incomplete"].is_null());
    daemon.kill();
}
