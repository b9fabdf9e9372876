//! Secrets on the command line: values come from standard input or a terminal and are never shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::desk::Desk;

const VALUE: &str = "npm_s3cret/Value+1";

fn desk() -> Desk {
    let desk = Desk::with_repository();
    desk.command(&["codebase", "add", "."]).assert().success();
    desk
}

/// The same without when something was set.
fn without_times(shots: &str) -> String {
    let line = |line: &str| match line.split_once(" UTC") {
        Some((before, after)) => format!("{}[TIME]{after}\n", &before[..before.len() - 19]),
        None => format!("{line}\n"),
    };
    shots.lines().map(line).collect()
}

fn file(desk: &Desk) -> std::path::PathBuf {
    desk.path("home/.local/state/cs-panel/secrets.json")
}

#[test]
fn a_secret_is_set_listed_and_removed() {
    let desk = desk();
    let mut shots = desk.run(&["secret", "list"]);
    shots += &desk.run_with(&["secret", "set", "work", "NPM_TOKEN"], format!("{VALUE}\n"));
    shots += &desk.run_with(
        &["secret", "set", "work", "KEY"],
        "-- begin --\r\nline\r\n-- end --\r\n",
    );
    shots += &desk.run_with(&["secret", "set", "work", "NPM_TOKEN"], format!("{VALUE}2"));
    shots += &desk.run(&["secret", "list"]);
    assert!(
        fs::read_to_string(file(&desk))
            .expect("it is there")
            .contains("Value+12\"")
    );
    shots += &desk.run(&["secret", "rm", "work", "NPM_TOKEN"]);
    shots += &desk.run(&["secret", "rm", "work", "NPM_TOKEN"]);
    assert!(!shots.contains("s3cret"), "{shots}");
    assert_snapshot!("secrets", without_times(&shots));
    let kept = fs::read_to_string(file(&desk)).expect("it is there");
    assert!(!kept.contains("s3cret"), "the removed value is gone: {kept}");
    let mode = fs::metadata(file(&desk))
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn programs_read_which_secrets_there_are_and_no_value() {
    let desk = desk();
    let set = ["secret", "set", "work", "NPM_TOKEN", "--json"];
    let set = desk.command(&set).write_stdin(VALUE).output().expect("it runs");
    let listed = desk
        .command(&["secret", "list", "--json"])
        .output()
        .expect("it runs");
    let set: serde_json::Value = serde_json::from_slice(&set.stdout).expect("JSON");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(listed, serde_json::json!([set]));
    assert_eq!(
        (&set["name"], &set["codebase"], &set["place"]),
        (&"NPM_TOKEN".into(), &"work".into(), &"file".into())
    );
    assert!(set["set_at"].is_string(), "{set}");
    assert!(!listed.to_string().contains("s3cret"), "{listed}");
}

#[test]
fn what_can_be_no_secret_is_refused_and_changes_nothing() {
    let desk = desk();
    let set = |name: &str, value: &[u8]| desk.run_with(&["secret", "set", "work", name], value);
    let mut shots = set("TOKEN", b"12345\n");
    shots += &set("TOKEN", b"");
    shots += &set("TOKEN", b"\xff\xfe\xfd\xfc\xfb\xfa");
    shots += &set("TOKEN", "x".repeat(70_000).as_bytes());
    shots += &set("A NAME", VALUE.as_bytes());
    shots += &desk.run_with(&["secret", "set", "other", "TOKEN"], VALUE);
    // A value has no place among the arguments.
    shots += &desk.run(&["secret", "set", "work", "TOKEN", VALUE]);
    assert!(!file(&desk).exists());
    assert_snapshot!("no_secrets", shots);
}

#[test]
fn a_file_that_others_can_read_is_not_used() {
    let desk = desk();
    desk.run_with(&["secret", "set", "work", "TOKEN"], VALUE);
    fs::set_permissions(file(&desk), fs::Permissions::from_mode(0o644)).expect("set");
    let mut shots = desk.run(&["secret", "list"]);
    shots += &desk.run_with(&["secret", "set", "work", "OTHER"], VALUE);
    assert_snapshot!("open_secrets", shots);
}

#[test]
fn a_keyring_that_is_not_there_is_said_and_the_file_takes_its_place() {
    let desk = desk();
    let with_keyring = |args: &[&str]| {
        let mut command = desk.command(args);
        command
            .env("CS_PANEL_SECRETS", "keyring")
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus");
        command
    };
    let set = ["secret", "set", "work", "TOKEN"];
    let output = with_keyring(&set).write_stdin(VALUE).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("not into the keyring"), "{said}");
    assert!(
        fs::read_to_string(file(&desk))
            .expect("it is there")
            .contains(VALUE)
    );
    let output = with_keyring(&["secret", "list"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("values go into the file") && said.contains("not into the keyring"),
        "{said}"
    );
    let output = desk
        .command(&["secret", "list"])
        .env("CS_PANEL_SECRETS", "vault")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_configuration_says_where_values_go() {
    let desk = desk();
    let config = fs::read_to_string(desk.path("home/.config/cs-panel/config.toml")).expect("it is there");
    desk.write(
        "home/.config/cs-panel/config.toml",
        &format!("secrets = \"vault\"\n{config}"),
    );
    let shots = desk.run(&["secret", "list"]);
    assert!(shots.contains("[2]") && shots.contains("vault"), "{shots}");
    desk.write(
        "home/.config/cs-panel/config.toml",
        &format!("secrets = \"file\"\n{config}"),
    );
    assert!(desk.run(&["secret", "list"]).contains("values go into the file"));
}
