//! Where a password comes from, what a wrong one gets, and that none is ever told.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::desk::Desk;
use crate::own_server::OwnServer;
use crate::record::{Record, server};

const RIGHT: &str = "correct-horse";
const WRONG: &str = "battery-staple";

/// A desk whose record asks `ada` for a password.
struct Asked {
    desk: Desk,
    server: OwnServer,
}

impl Asked {
    fn new() -> Self {
        let server = OwnServer::new(&server(), "host all ada 127.0.0.1/32 scram-sha-256\n");
        server.start();
        server.sql(&format!("create role ada login password '{RIGHT}'"));
        server.sql("create database panel owner ada");
        let url = format!("postgres://ada@127.0.0.1:{}/panel", server.port());
        let desk = Desk::on(Arc::new(Record::at(&url)));
        Self { desk, server }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.server.port())
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.desk.path(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("the mode can be set");
        path
    }

    /// Runs `cards` with these variables and returns its exit code and what it said, in which no password is.
    fn cards(&self, env: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = self.desk.panel(&["cards"]);
        command.env("CS_PANEL_LOG", "trace").envs(env.iter().copied());
        let done = command.output().expect("it runs");
        let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let log = fs::read_to_string(self.desk.state().join("log")).unwrap_or_default();
        for secret in [RIGHT, WRONG] {
            assert!(!said.concat().contains(secret), "it is told: {said:?}");
            assert!(!log.contains(secret), "it is in the log: {log}");
        }
        (done.status.code(), said.concat())
    }

    fn check_in(&self, env: &[(&str, &str)]) {
        let (code, said) = self.cards(env);
        assert_eq!(code, Some(0), "{said}");
    }

    fn check_refused(&self, env: &[(&str, &str)]) {
        let (code, said) = self.cards(env);
        assert_eq!(code, Some(1), "{said}");
        let expected = format!(
            "the record panel at {} refuses user `ada`: check the user and the password",
            self.host()
        );
        assert!(said.contains(&expected), "{said}");
    }
}

const COMMAND: &str = "CS_PANEL_DATABASE_PASSWORD_COMMAND";
const URL: &str = "CS_PANEL_DATABASE_URL";

#[test]
fn a_password_comes_from_where_the_manual_says_and_is_never_told() {
    let it = Asked::new();
    let url = |password: &str| format!("postgres://ada:{password}@{}/panel", it.host());
    let made = it
        .desk
        .panel(&["migrate"])
        .env("PGPASSWORD", RIGHT)
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    it.check_in(&[("PGPASSWORD", RIGHT)]);
    it.check_in(&[(URL, &url(RIGHT)), ("PGPASSWORD", WRONG)]);
    it.check_refused(&[(URL, &url(WRONG)), ("PGPASSWORD", RIGHT)]);
    it.check_refused(&[("PGPASSWORD", WRONG)]);
    it.check_refused(&[]);

    let port = it.server.port();
    for (line, is_right) in [
        (format!("127.0.0.1:{port}:panel:ada:{RIGHT}\n"), true),
        (format!("# a word\n*:*:*:*:{RIGHT}\n"), true),
        (
            format!("127.0.0.1:1:panel:ada:{WRONG}\n127.0.0.1:*:*:ada:{RIGHT}\n"),
            true,
        ),
        (
            format!("*:*:*:bob:{WRONG}\n*:*:other:*:{WRONG}\n*:{port}:panel:ada:{RIGHT}"),
            true,
        ),
        (format!("*:*:*:ada:{WRONG}\n*:*:*:*:{RIGHT}\n"), false),
        (format!("*:*:other:ada:{RIGHT}\n"), false),
        (String::new(), false),
    ] {
        it.write("home/.pgpass", &line, 0o600);
        if is_right {
            it.check_in(&[]);
        } else {
            it.check_refused(&[]);
        }
    }
    it.write("home/.pgpass", &format!("*:*:*:*:{WRONG}\n"), 0o600);
    let named = it.write("passwords", &format!("*:*:*:*:{RIGHT}\n"), 0o600);
    it.check_in(&[("PGPASSFILE", &named.to_string_lossy())]);
    it.write("home/.pgpass", &format!("*:*:*:*:{RIGHT}\n"), 0o644);
    let (_, said) = it.cards(&[]);
    assert!(said.contains("which counts only with mode 0600"), "{said}");
}

#[test]
fn a_password_comes_from_a_command_first_and_its_failure_is_told() {
    let it = Asked::new();
    let made = it
        .desk
        .panel(&["migrate"])
        .env("PGPASSWORD", RIGHT)
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let script = it.write(
        "ask me",
        &format!("#!/bin/sh\necho '{RIGHT}'\necho '{WRONG}'\necho '{WRONG}' >&2\n"),
        0o700,
    );
    let quoted = format!("'{}'", script.display());
    it.check_in(&[("PGPASSWORD", WRONG), (COMMAND, &quoted)]);
    it.check_refused(&[("PGPASSWORD", RIGHT), (COMMAND, &format!("echo {WRONG}"))]);
    // No shell reads it: what a shell would do with it is an argument like any other.
    it.check_refused(&[(COMMAND, &format!("echo x; echo {RIGHT}"))]);
    for (line, code, says) in [
        ("sh -c 'echo correct-horse; exit 3'", 1, "ended with exit code 3"),
        ("sh -c 'kill -9 $$'", 1, "was ended by signal 9"),
        ("true", 1, "printed no password"),
        (
            "sh -c 'while :; do echo; echo correct-horse; done'",
            1,
            "printed more than 4096 bytes",
        ),
        ("/no/such/program", 1, "cannot be run"),
        ("echo 'half", 2, "has a quote that does not end"),
        ("  ", 2, "is empty"),
    ] {
        let (found, said) = it.cards(&[(COMMAND, line)]);
        assert_eq!(found, Some(code), "{line}: {said}");
        assert!(said.contains(says) && said.contains(COMMAND), "{line}: {said}");
    }
}
