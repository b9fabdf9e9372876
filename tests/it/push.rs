//! Landings that reach a remote: pushed before the local base follows, or published for a pull request.

use std::fs;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::verify::{nothing_is_left, noting, offered, set_landing, verified};

/// A bare repository beside the user's, which follows it.
pub(crate) fn remote(desk: &Desk) -> String {
    let path = desk.path("remote.git").display().to_string();
    desk.git(&["init", "--quiet", "--bare", "--initial-branch=main", &path]);
    desk.git(&["remote", "add", "origin", &path]);
    desk.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    path
}

/// The commit of a branch there.
pub(crate) fn tip(desk: &Desk, repository: &str, branch: &str) -> String {
    let tip = desk.git(&["--git-dir", repository, "rev-parse", branch]);
    tip.trim().to_owned()
}

fn landing(detail: &Value) -> &Value {
    &detail["landings"][0]
}

#[test]
fn a_landing_is_pushed_before_the_local_base_follows() {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(&desk, &json!({"verify": noting(&desk, "true")}));
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    let main = tip(&desk, &there, "main");
    assert_eq!(desk.git(&["rev-parse", "main"]).trim(), main);
    assert_eq!(verified(&desk), [main], "what was pushed is what was verified");
    let report = landing(&detail)["result"].as_str().expect("a report");
    assert!(report.contains("pushed to origin/main"), "{report}");
    assert!(desk.path("repo/a.txt").exists());
    nothing_is_left(&desk);
}

#[test]
fn a_base_that_was_never_published_stays_private() {
    let desk = Desk::new();
    let there = desk.path("remote.git").display().to_string();
    desk.git(&["init", "--quiet", "--bare", "--initial-branch=main", &there]);
    desk.git(&["remote", "add", "origin", &there]);
    let card = offered(&desk, &json!({}));
    let would = desk.ok(&["land", &card, "--dry-run"]);
    assert!(would.contains("moves   main\n"), "{would}");
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(desk.git(&["--git-dir", &there, "for-each-ref"]), "");
    assert!(desk.path("repo/a.txt").exists());
}

#[test]
fn a_dry_run_says_of_a_remote_what_a_landing_would_do() {
    let desk = Desk::new();
    let card = offered(&desk, &json!({"target": "push"}));
    let refused = desk
        .panel(&["land", &card, "--dry-run"])
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(3), "it has no remote");
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(said.contains("git remote add origin URL"), "{said}");
    set_landing(&desk, &json!({"target": "pull_request", "protected": ["ma*"]}));
    let refused = desk
        .panel(&["land", &card, "--dry-run"])
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(3), "it has no remote still");
    remote(&desk);
    let would = desk.ok(&["land", &card, "--dry-run"]);
    assert!(would.contains("would be published as origin/cs/"), "{would}");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(landing(&desk.card(&card))["state"], "published");
}

#[test]
fn a_remote_that_has_more_is_not_pushed_to_and_nothing_moves() {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(&desk, &json!({}));
    let before = desk.git(&["rev-parse", "main"]);
    // Somebody else pushes.
    let tree = desk.git(&["rev-parse", "main^{tree}"]);
    let who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"];
    let other = [
        &who[..],
        &["commit-tree", tree.trim(), "-p", "main", "-m", "Theirs"],
    ]
    .concat();
    let other = desk.git(&other);
    desk.git(&[
        "push",
        "--quiet",
        "origin",
        &format!("{}:refs/heads/main", other.trim()),
    ]);
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(landing(&detail)["state"], "refused", "{detail}");
    let report = landing(&detail)["result"].as_str().expect("a report");
    assert!(report.contains("pull, then accept it again"), "{report}");
    assert_eq!(desk.git(&["rev-parse", "main"]), before);
    assert_eq!(tip(&desk, &there, "main"), other.trim());
    assert_eq!(detail["asks"][0]["state"], "open", "{detail}");
    desk.git(&["pull", "--quiet", "--ff-only"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
    assert_eq!(desk.git(&["rev-parse", "main^1"]).trim(), other.trim());
}

#[test]
fn a_remote_that_is_gone_refuses_the_landing_with_the_cure() {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(&desk, &json!({"target": "push"}));
    fs::rename(&there, desk.path("elsewhere.git")).expect("moved");
    let before = desk.git(&["rev-parse", "main"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(landing(&detail)["state"], "refused", "{detail}");
    let report = landing(&detail)["result"].as_str().expect("a report");
    assert!(
        !report.contains(&there),
        "no local path is on the record: {report}"
    );
    assert_eq!(desk.git(&["rev-parse", "main"]), before);
}

#[test]
fn a_local_base_that_cannot_follow_has_landed_all_the_same() {
    let desk = Desk::new();
    let there = remote(&desk);
    // It commits to the base here when the push arrives there.
    let hook = desk.path("remote.git/hooks/post-receive");
    let git = format!(
        "#!/bin/sh\nunset GIT_DIR GIT_QUARANTINE_PATH\ncd '{}' && git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m Mine\n",
        desk.path("repo").display()
    );
    let card = offered(&desk, &json!({"target": "push"}));
    fs::write(&hook, git).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, mode).expect("set");
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(landing(&detail)["commit"], tip(&desk, &there, "main"), "{detail}");
    let report = landing(&detail)["result"].as_str().expect("a report");
    assert!(
        report.contains("was not moved") && report.contains("git pull"),
        "{report}"
    );
    assert_eq!(desk.git(&["log", "-1", "--format=%s", "main"]).trim(), "Mine");
}

#[test]
fn a_pull_request_publishes_the_branch_and_keeps_the_card_open() {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(&desk, &json!({"target": "pull_request"}));
    let before = desk.git(&["rev-parse", "main"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(landing(&detail)["state"], "published", "{detail}");
    assert_eq!(detail["card"]["state"], "open", "{detail}");
    assert_eq!(detail["asks"][0]["state"], "open", "{detail}");
    let report = landing(&detail)["result"].as_str().expect("a report");
    assert!(report.contains("Published origin/cs/"), "{report}");
    let branches = desk.git(&["--git-dir", &there, "for-each-ref", "--format=%(refname:short)"]);
    let branch = branches
        .lines()
        .find(|name| name.starts_with("cs/"))
        .expect("it is there");
    assert_eq!(desk.git(&["rev-parse", "main"]), before, "no base moves");
    assert_eq!(tip(&desk, &there, "main"), before.trim());
    // It is merged there, and pulled.
    let who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"];
    desk.git(&[&who[..], &["merge", "--quiet", "--no-ff", "-m", "Merged", branch]].concat());
    desk.git(&["push", "--quiet"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}

#[test]
fn a_pull_request_is_published_only_after_its_merge_was_verified() {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(
        &desk,
        &json!({"target": "pull_request", "protected": ["main"], "verify": noting(&desk, "false")}),
    );
    let would = desk.ok(&["land", &card, "--dry-run"]);
    assert!(would.contains("before it is published"), "{would}");
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(landing(&detail)["state"], "verify_failed", "{detail}");
    let branches = || desk.git(&["--git-dir", &there, "for-each-ref", "--format=%(refname:short)"]);
    assert_eq!(branches().trim(), "main", "nothing is published");
    set_landing(
        &desk,
        &json!({"target": "pull_request", "verify": noting(&desk, "true")}),
    );
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    let second = &detail["landings"][1];
    assert_eq!(second["state"], "published", "{detail}");
    let report = second["result"].as_str().expect("a report");
    assert!(
        report.contains("The verify command passed on its merge with main"),
        "{report}"
    );
    assert!(branches().lines().any(|name| name.starts_with("cs/")));
    assert_eq!(verified(&desk).len(), 2);
    nothing_is_left(&desk);
}

#[test]
fn it_is_said_how_many_commits_of_the_person_go_along_with_a_push() {
    let desk = Desk::new();
    remote(&desk);
    for name in ["one", "two"] {
        fs::write(desk.path("repo").join(name), "mine\n").expect("written");
        desk.commit_all("Mine");
    }
    let card = offered(&desk, &json!({}));
    let would = desk.ok(&["land", &card, "--dry-run"]);
    assert!(
        would.contains("2 commits of yours that origin does not have yet"),
        "{would}"
    );
    assert_eq!(desk.json(&["land", &card, "--dry-run"])["unpushed"], 2);
    let output = desk.panel(&["land", &card]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("2 commits of yours"), "{said}");
    assert!(said.contains("codebase set repo --target local"), "{said}");
    desk.run_once();
    // The person's repository knows what was pushed.
    let follows = desk.git(&["rev-parse", "origin/main"]);
    assert_eq!(follows, desk.git(&["rev-parse", "main"]));
}

#[test]
fn a_branch_is_published_after_each_end_where_the_codebase_says_so() {
    let desk = Desk::new();
    let there = remote(&desk);
    let _card = offered(&desk, &json!({"target": "local", "publish": "on_end"}));
    let branches = desk.git(&["--git-dir", &there, "for-each-ref", "--format=%(refname:short)"]);
    assert!(branches.lines().any(|name| name.starts_with("cs/")), "{branches}");
}

#[test]
fn a_branch_that_cannot_be_published_fails_no_run_and_no_landing() {
    let desk = Desk::new();
    let there = remote(&desk);
    fs::rename(&there, desk.path("elsewhere.git")).expect("moved");
    let card = offered(&desk, &json!({"target": "local", "publish": "on_landing"}));
    desk.ok(&["land", &card]);
    let said = desk.run_once_saying();
    assert!(said.contains("its branch was not published"), "{said}");
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}

#[test]
fn a_protected_base_is_never_moved() {
    let desk = Desk::new();
    let card = offered(&desk, &json!({"protected": ["ma*"]}));
    let before = desk.git(&["rev-parse", "main"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(landing(&detail)["state"], "refused", "{detail}");
    assert_eq!(desk.git(&["rev-parse", "main"]), before);
}

#[test]
fn a_card_lands_by_the_method_of_its_codebase() {
    for (method, merges) in [("merge", "1"), ("squash", "0"), ("rebase", "0")] {
        let desk = Desk::new();
        let card = offered(&desk, &json!({"method": method}));
        fs::write(desk.path("repo/mine.txt"), "mine\n").expect("written");
        desk.commit_all("Mine");
        desk.ok(&["land", &card]);
        desk.run_once();
        assert_eq!(desk.card(&card)["card"]["state"], "landed", "{method}");
        let count = desk.git(&["rev-list", "--count", "--merges", "main"]);
        assert_eq!(count.trim(), merges, "{method}");
        assert!(desk.path("repo/a.txt").exists() && desk.path("repo/mine.txt").exists());
    }
}

/// Its daemon is killed while the remote thinks about a push, which then ends with such a code. Returns how often the remote was asked.
fn killed_during_a_push(ends_with: u8) -> usize {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(&desk, &json!({"verify": noting(&desk, "true")}));
    let [asked, go] = ["asked", "go"].map(|name| desk.path("outside").join(name));
    let hook = format!(
        "#!/bin/sh\necho once >> '{asked}'\ntest -e '{go}' && exit 0\n\
         until test -e '{go}'; do sleep 0.05; done\nexit {ends_with}\n",
        asked = asked.display(),
        go = go.display()
    );
    let file = desk.path("remote.git/hooks/pre-receive");
    fs::write(&file, hook).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&file, mode).expect("set");
    desk.ok(&["land", &card]);
    let daemon = desk.daemon();
    desk.until_there(&asked);
    daemon.kill();
    assert_ne!(desk.card(&card)["card"]["state"], "landed");
    let next = desk.daemon();
    fs::write(&go, "").expect("written");
    desk.until("it has landed", || {
        (desk.card(&card)["card"]["state"] == "landed").then_some(())
    });
    next.interrupt(&desk);
    let main = tip(&desk, &there, "main");
    assert_eq!(desk.git(&["rev-parse", "main"]).trim(), main);
    assert_eq!(verified(&desk), [main], "what was pushed is what was verified");
    let merges = desk.git(&["rev-list", "--count", "--merges", "main"]);
    assert_eq!(merges.trim(), "1", "the work is in the base, once");
    nothing_is_left(&desk);
    fs::read_to_string(&asked).expect("read").lines().count()
}

#[test]
fn what_a_push_brings_whose_daemon_was_killed_is_found() {
    assert_eq!(killed_during_a_push(0), 1);
}

#[test]
fn a_push_that_comes_to_nothing_after_its_daemon_was_killed_is_made_again() {
    assert_eq!(killed_during_a_push(1), 2);
}

/// A landing with a push that was cut short at a border lands once, here and there.
fn check_border(border: &str) {
    let desk = Desk::new();
    let there = remote(&desk);
    let card = offered(&desk, &json!({"verify": noting(&desk, "true")}));
    desk.ok(&["land", &card]);
    desk.crash_at(border);
    desk.run_once();
    let merges = desk.git(&["rev-list", "--count", "--merges", "main"]);
    assert_eq!(merges.trim(), "1", "the work is in the base, once");
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(
        tip(&desk, &there, "main"),
        desk.git(&["rev-parse", "main"]).trim()
    );
    assert_eq!(landing(&detail)["commit"], tip(&desk, &there, "main"), "{detail}");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    nothing_is_left(&desk);
}

macro_rules! borders {
    ($($name:ident = $border:literal;)*) => { $(
        #[test]
        fn $name() {
            check_border($border);
        }
    )* };
}

borders! {
    u1_the_push_is_in_the_ledger_and_not_made = "U1";
    u2_the_remote_has_it_and_the_ledger_does_not_know = "U2";
    u3_the_push_is_known_and_the_local_base_has_not_moved = "U3";
    l3_the_move_after_a_push_is_in_the_ledger_and_not_made = "L3";
    l4_the_base_has_followed_the_remote_and_the_ledger_does_not_know = "L4";
}
