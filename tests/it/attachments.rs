//! Files for agents, from the command line to where an agent reads them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::desk::Desk;

/// All bytes, and more of them than a pipe holds.
fn picture() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend((0..=255).cycle().take(300_000));
    bytes
}

fn given(desk: &Desk, name: &str, bytes: &[u8]) -> String {
    let path = desk.path("outside").join(name);
    fs::write(&path, bytes).expect("written");
    path.display().to_string()
}

/// A desk whose agent copies what it finds, and says what it was told.
fn copying(desk: &Desk) {
    let out = desk.path("outside/found").display().to_string();
    let copy = format!(
        "rm -rf '{out}' && mkdir '{out}' && for dir in '{}'/attachments/*/; do cp -p \"$dir\"* '{out}' || true; done",
        desk.state().display()
    );
    desk.script(&json!([{"when": "any", "steps": [{"run": ["sh", "-c", copy]}, {"final": "{prompt}"}]}]));
}

fn found(desk: &Desk) -> Vec<String> {
    let all = fs::read_dir(desk.path("outside/found")).expect("it looked");
    let names = all.map(|one| one.expect("listed").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn laid_out(desk: &Desk, card: &str) -> PathBuf {
    desk.state().join("attachments").join(card)
}

#[test]
fn a_file_reaches_the_agent_byte_for_byte() {
    let desk = Desk::new();
    copying(&desk);
    let shot = given(&desk, "the shot.png", &picture());
    let sent = desk.json(&["send", "--attach", &shot, "--attach", &shot, "Make it so"]);
    let card = sent["card"].as_str().expect("an id").to_owned();
    let names: Vec<&Value> = sent["attachments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["the shot.png", "the shot-2.png"]);
    assert_eq!(sent["attachments"][0]["is_picture"], json!(true));
    fs::remove_file(&shot).expect("removed");
    desk.run_once();
    assert_eq!(found(&desk), ["the shot-2.png", "the shot.png"]);
    let copy = desk.path("outside/found/the shot.png");
    assert!(fs::read(&copy).expect("there") == picture(), "byte for byte");
    assert_eq!(
        fs::metadata(&copy).expect("there").permissions().mode() & 0o777,
        0o400
    );
    let said = desk.said_by(&card, "agent").pop().expect("it was told something");
    let line = format!(
        "- the shot.png (image/png, a picture, {} bytes): /attachments/",
        picture().len()
    );
    assert!(said.contains(&line), "its places are not on the record: {said}");

    let notes = given(&desk, "notes.md", b"# Later\n");
    let output = desk.panel(&["attach", &card, &notes]).output().expect("it runs");
    let hint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && hint.contains("nothing starts for a file"),
        "{hint}"
    );
    desk.run_once();
    assert_eq!(found(&desk).len(), 2, "nothing starts for a file");
    desk.ok(&["attachments", "rm", &card, "the shot-2.png"]);
    fs::set_permissions(laid_out(&desk, &card), fs::Permissions::from_mode(0o700)).expect("ours");
    fs::remove_file(laid_out(&desk, &card).join("the shot.png")).expect("it is there");
    desk.ok(&["send", "--card", &card, "Go on"]);
    desk.run_once();
    assert_eq!(found(&desk), ["notes.md", "the shot.png"]);

    let back = desk
        .panel(&["attachments", "get", &card, "the shot.png"])
        .output()
        .expect("it runs");
    assert!(back.stdout == picture(), "byte for byte");
    let out = desk.path("outside/back").display().to_string();
    desk.ok(&["attachments", "get", &card, "notes.md", "--out", &out]);
    assert_eq!(fs::read(&out).expect("written"), b"# Later\n");
    desk.fails(3, &["attachments", "get", &card, "notes.md", "--out", &out]);
    let list = desk.ok(&["attachments", &card]);
    assert!(
        list.contains("notes.md") && list.contains("text/markdown"),
        "{list}"
    );

    desk.ok(&["close", &card]);
    desk.run_once();
    assert!(!laid_out(&desk, &card).exists(), "its card is over");
    desk.no_process_is_left();
}

#[test]
fn a_file_that_cannot_be_attached_is_refused_with_its_message() {
    let desk = Desk::new();
    copying(&desk);
    let good = given(&desk, "good.txt", b"good");
    let big = desk.path("outside/big").display().to_string();
    fs::File::create(&big)
        .and_then(|file| file.set_len((20 << 20) + 1))
        .expect("made");
    let pipe = desk.path("outside/pipe").display().to_string();
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("made");
    let folder = desk.path("outside").display().to_string();
    let gone = desk.path("outside/gone").display().to_string();
    let cases = [
        (gone.as_str(), "cannot be attached"),
        (&folder, "it is a directory"),
        (&pipe, "it is a named pipe"),
        ("/dev/zero", "it is a device"),
        (&big, "the limit is 20.0 MiB"),
    ];
    for (file, why) in cases {
        let said = desk.fails(2, &["send", "--attach", &good, "--attach", file, "Look"]);
        assert!(said.contains(why) && said.contains("nothing was sent"), "{said}");
    }
    assert_eq!(desk.json(&["cards", "--all"]), json!([]), "nothing half-written");

    let card = desk.send("Begin");
    desk.fails(2, &["attach", &card, &good, &pipe]);
    let said = desk.fails(1, &["attachments", "get", &card, "good.txt"]);
    assert!(said.contains("has no attachment `good.txt`"), "{said}");
    desk.fails(1, &["attachments", "rm", &card, "good.txt"]);
    desk.fails(1, &["attach", "deadbeef", &good]);
    desk.ok(&["attach", &card, &good]);
    desk.ok(&["close", &card]);
    let said = desk.fails(3, &["attach", &card, &good]);
    assert!(said.contains("is closed"), "{said}");
    desk.fails(3, &["send", "--card", &card, "--attach", &good, "Look"]);
}
