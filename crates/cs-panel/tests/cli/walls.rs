//! The walls around the record's file: rights, room, and many commands at once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use assert_cmd::Command;
use insta::assert_snapshot;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use crate::desk::Desk;

const RECORD: &str = "home/.local/state/cs-panel/record.db";

/// Runs the binary as a user who may do only what modes allow; the user of a test may be root.
fn plainly(desk: &Desk, args: &[&str]) -> String {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                // What this thread starts cannot get it back.
                for privilege in [CapabilitySet::DAC_OVERRIDE, CapabilitySet::DAC_READ_SEARCH] {
                    remove_capability_from_bounding_set(privilege).expect("root may give it up");
                }
            }
            desk.run(args)
        });
        thread.join().expect("it does not panic")
    })
}

fn allow(desk: &Desk, name: &str, mode: u32) {
    fs::set_permissions(desk.path(name), Permissions::from_mode(mode)).expect("the mode can be set");
}

#[test]
fn a_record_that_may_not_be_written_is_named_with_the_cure() {
    let desk = Desk::with_agent();
    desk.command(&["send", "First"]).assert().success();
    fs::create_dir(desk.path("work/shared")).expect("made");
    allow(&desk, RECORD, 0o400);
    let mut shots = plainly(&desk, &["send", "Second"]);
    shots += &plainly(&desk, &["cards"]);
    allow(&desk, RECORD, 0o600);
    allow(&desk, "work/shared", 0o500);
    shots += &plainly(&desk, &["--database-url", "sqlite:shared/record.db", "cards"]);
    allow(&desk, "work/shared", 0o700);
    shots += &plainly(&desk, &["cards"]);
    assert_snapshot!("not_writable", shots);
}

/// Runs the binary where no file may grow beyond so many blocks of 512 bytes, as on a disk that is full.
fn with_room(desk: &Desk, blocks: u32, args: &[&str], stdin: &[u8]) -> String {
    let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut limited = desk.program("sh");
    limited
        .arg("-c")
        .arg(limit)
        .arg(assert_cmd::cargo::cargo_bin!("cs-panel"))
        .args(args);
    desk.shot(limited.write_stdin(stdin), args)
}

#[test]
fn without_room_nothing_is_half_written_and_the_cure_is_told() {
    let desk = Desk::with_agent();
    desk.command(&["send", "First"]).assert().success();
    let long = vec![b'x'; 900_000];
    let mut shots = with_room(&desk, 800, &["send", "--title", "Second", "-"], &long);
    shots += &desk.run(&["cards"]);
    shots += &desk.run_with(&["send", "--title", "Third", "-"], long);
    shots += &desk.run(&["cards"]);
    assert_snapshot!("no_room", shots);
}

/// The limits of texts, through the command line: what is over one is refused before anything is made.
#[test]
fn texts_at_their_limits_are_taken_and_over_them_refused() {
    let desk = Desk::with_agent();
    let sent = |command: &mut Command| command.output().expect("it runs").status.code();
    let with = |body: Vec<u8>| sent(desk.command(&["send", "-"]).write_stdin(body));
    let limit = 1024 * 1024;
    assert_eq!(with(vec![b'x'; limit + 1]), Some(2));
    assert_eq!(with("𝄞".repeat(limit / 4 + 1).into_bytes()), Some(2));
    for bad in [b"\xff".to_vec(), b" \n\t".to_vec(), b"\xed\xa0\x80".to_vec()] {
        assert_eq!(with(bad), Some(2));
    }
    let titled = |title: &str| sent(&mut desk.command(&["send", "--title", title, "please"]));
    for bad in [&*"x".repeat(201), "", "a\nb", "a\u{9b}b"] {
        assert_eq!(titled(bad), Some(2), "{bad:?}");
    }
    assert!(desk.has_no_cards());
    assert_eq!(with(vec![b'x'; limit]), Some(0));
    assert_eq!(with("𝄞".repeat(limit / 4).into_bytes()), Some(0));
    assert_eq!(with(b"a\0b\x1b\x07".to_vec()), Some(0));
    assert_eq!(titled(&"x".repeat(200)), Some(0));
    assert_eq!(titled(&"𝄞".repeat(200)), Some(0));
    let listed = desk.command(&["cards", "--json"]).output().expect("it runs");
    let cards: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(cards.as_array().map(Vec::len), Some(5));
}

/// Whoever comes first makes the state, the machine's id and the record; nobody hears that something is locked.
#[test]
fn many_first_commands_at_once_share_one_record() {
    let desk = Desk::with_agent();
    let shots: Vec<String> = std::thread::scope(|scope| {
        let commands: Vec<_> = (0..10)
            .map(|at| {
                let desk = &desk;
                scope.spawn(move || match at % 2 {
                    0 => desk.run(&["send", &format!("Message {at}")]),
                    _ => desk.run(&["cards", "--json"]),
                })
            })
            .collect();
        commands
            .into_iter()
            .map(|one| one.join().expect("it does not panic"))
            .collect()
    });
    for shot in &shots {
        assert!(shot.contains("\n[0]\n"), "{shot}");
    }
    let listed = desk.command(&["cards", "--json"]).output().expect("it runs");
    let cards: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(cards.as_array().map(Vec::len), Some(5));
}
