//! What a person can say about a landing, and what they are told before it.

use serde_json::json;

use crate::desk::Desk;

/// A card whose agent changes the README in two commits and offers it.
fn offered(desk: &Desk) -> String {
    desk.script(&json!([{"when": "any", "steps": [
        {"write_file": {"path": "README", "text": "theirs\n"}}, {"commit": "Write it"},
        {"write_file": {"path": "new.txt", "text": "new\n"}}, {"commit": "Add one"},
        {"offer_landing": {"summary": "A README"}}, {"final": "Done."}]}]));
    let card = desk.send("Write a README");
    desk.run_once();
    card
}

fn tip(desk: &Desk, branch: &str) -> String {
    desk.git(&["rev-parse", branch])
}

#[test]
fn a_dry_run_says_what_would_come_of_a_landing_and_changes_nothing() {
    let desk = Desk::new();
    let card = offered(&desk);
    desk.ok(&[
        "codebase",
        "set",
        "repo",
        "--verify",
        "make check",
        "--land-by",
        "squash",
    ]);
    let refs = desk.git(&["for-each-ref"]);
    let told = desk.ok(&["land", &card, "--dry-run"]);
    for part in [
        "on main by squash",
        "2 commits, 2 files changed",
        "make check (not run now)",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let told = desk.json(&["land", &card, "--dry-run", "--by", "rebase"]);
    assert_eq!(
        (&told["outcome"], &told["method"], &told["commits"]),
        (&json!("ready"), &json!("rebase"), &json!(2)),
        "{told}"
    );
    desk.git(&["branch", "other"]);
    std::fs::write(desk.path("repo/README"), "mine\n").expect("written");
    let output = desk
        .panel(&["land", &card, "--dry-run"])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("README") && told.contains("commit or stash"),
        "{told}"
    );
    desk.commit_all("Mine");
    let output = desk
        .panel(&["land", &card, "--dry-run", "--json"])
        .output()
        .expect("it runs");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&told["outcome"], &told["conflicts"]),
        (&json!("conflict"), &json!(["README"])),
        "{told}"
    );
    let told = desk.ok(&["land", &card, "--dry-run", "--onto", "other"]);
    assert!(told.contains("on other by squash"), "{told}");
    desk.ok(&["codebase", "set", "repo", "--protect", "main", "oth*"]);
    let output = desk
        .panel(&["land", &card, "--dry-run", "--onto", "other"])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("protected"), "{told}");
    desk.fails(2, &["land", &card, "--dry-run", "--onto", "a..b"]);
    desk.fails(2, &["land", &card, "--by", "magic"]);
    assert_eq!(desk.card(&card)["landings"], json!([]));
    desk.git(&["branch", "-D", "other"]);
    let kept = desk
        .git(&["for-each-ref"])
        .replace(tip(&desk, "main").trim(), tip(&desk, "main~1").trim());
    assert_eq!(kept, refs);
}

#[test]
fn a_card_lands_on_the_branch_and_in_the_way_that_its_person_says() {
    let desk = Desk::new();
    let card = offered(&desk);
    desk.git(&["branch", "release"]);
    let before = tip(&desk, "main");
    desk.ok(&["land", &card, "--onto", "release", "--by", "rebase"]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
    assert_eq!(tip(&desk, "main"), before);
    let log = desk.git(&["log", "--format=%s", "release"]);
    assert_eq!(log, "Add one\nWrite it\nFirst\n");
}

#[test]
fn a_card_that_its_person_has_squashed_by_hand_is_landed_without_a_move() {
    let desk = Desk::new();
    let card = offered(&desk);
    let branch = desk.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cs"]);
    desk.git(&["merge", "--quiet", "--squash", branch.trim()]);
    desk.commit_all("By hand");
    let before = tip(&desk, "main");
    let told = desk.ok(&["land", &card, "--dry-run"]);
    assert!(told.contains("already, squashed as"), "{told}");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
    assert_eq!(tip(&desk, "main"), before);
}

#[test]
fn what_its_person_has_merged_by_hand_is_not_offered_as_if_it_were_new() {
    let desk = Desk::new();
    let card = offered(&desk);
    assert!(
        !desk.ok(&["show", &card]).contains("already in"),
        "it is not there yet"
    );
    let branches = desk.git(&["branch", "--list", "cs/*", "--format=%(refname:short)"]);
    let branch = branches.trim();
    let said = desk.fails(3, &["land", &card, "--onto", branch]);
    assert!(said.contains("--onto"), "{said}");
    desk.git(&["merge", "--quiet", "--ff-only", branch]);
    let shown = desk.ok(&["show", &card]);
    assert!(shown.contains("already in main"), "{shown}");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}

#[test]
fn what_a_landing_means_is_set_shown_and_taken_back() {
    let desk = Desk::new();
    offered(&desk);
    let told = desk.ok(&["codebase", "set", "repo"]);
    assert!(told.contains("by merge; moves your branch"), "{told}");
    let set = [
        "codebase",
        "set",
        "repo",
        "--verify",
        "make",
        "--verify-limit",
        "45min",
        "--land-by",
        "rebase",
        "--target",
        "local",
        "--publish",
        "on_end",
        "--protect",
        "main",
        "release/*",
    ];
    let shown = desk.json(&set);
    let expected = json!({"verify": "make", "verify_limit_s": 2_700, "method": "rebase", "target": "local",
        "publish": "on_end", "protected": ["main", "release/*"]});
    assert_eq!(shown["landing"], expected);
    let told = desk.ok(&["codebase", "list"]);
    assert!(told.contains("VERIFY") && told.contains("make"), "{told}");
    let back = [
        "codebase",
        "set",
        "repo",
        "--no-verify",
        "--verify-limit",
        "30min",
        "--land-by",
        "merge",
        "--target",
        "auto",
        "--publish",
        "never",
        "--no-protect",
    ];
    let shown = desk.json(&back);
    assert_eq!(
        (
            &shown["landing"]["verify"],
            &shown["landing"]["target"],
            &shown["landing"]["protected"]
        ),
        (&json!(null), &json!(null), &json!([]))
    );
    for wrong in [
        ["--verify-limit", "0s"],
        ["--verify-limit", "2days"],
        ["--protect", "a..b"],
        ["--target", "moon"],
        ["--verify", " "],
    ] {
        desk.fails(2, &[&["codebase", "set", "repo"], &wrong[..]].concat());
    }
}

/// A person sees what came of a landing in the list, and reads once what the agent was told of it.
#[test]
fn a_conflict_of_a_plain_agent_is_in_the_list_and_said_once() {
    let desk = Desk::new();
    let works = "cat > /dev/null; [ -f new ] || { echo theirs > README; touch new; git add -A; git commit -qm Write; }; echo Done.";
    desk.ok(&["agent", "add", "plain", "--", "sh", "-c", works]);
    let card = desk.send("Write a README");
    let said = desk.run_once();
    let short = &card[card.len() - 8..];
    assert!(
        said.contains(&format!("`cs-panel land {short}` lands that")),
        "{said}"
    );
    let shown = desk.ok(&["show", &short[..5]]);
    assert!(
        shown.contains("\n  branch    cs/") && shown.contains(&format!("land it: cs-panel land {short}")),
        "{shown}"
    );
    std::fs::write(desk.path("repo/README"), "mine\n").expect("written");
    desk.commit_all("Mine");
    desk.ok(&["land", &card]);
    let said = desk.run_once();
    assert!(
        said.contains(&format!("conflict card {short}: its work conflicts with main")),
        "{said}"
    );
    let shown = desk.ok(&["show", &card]);
    assert_eq!(shown.matches("Run `git fetch origin`").count(), 1, "{shown}");
    assert!(shown.contains("its agent was told:"), "{shown}");
    let listed = desk.ok(&["cards"]);
    assert!(listed.contains("waits for you (landing in conflict)"), "{listed}");
    assert_eq!(desk.json(&["cards"])[0]["last_landing"], "conflict");
}

/// The card's branch in the person's repository.
fn branch_of(desk: &Desk) -> String {
    let name = desk.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cs/"]);
    name.trim().to_owned()
}

/// The person commits on the card's branch, in a working tree of their own.
fn commits_on(desk: &Desk, branch: &str, file: &str) {
    let script = format!(
        "git worktree add -q ../own {branch} && cd ../own && echo mine > {file} && git add {file} && \
         git -c user.name=Ada -c user.email=ada@example.org commit -qm 'By hand' && cd ../repo && git worktree remove ../own"
    );
    let done = desk.shell(&script).status().expect("it runs");
    assert!(done.success());
}

/// WT-9: what the person has put on the card's branch is the card's work, whether its tree is still there or not.
#[test]
fn what_the_person_committed_on_the_cards_branch_lands_with_it() {
    for is_there in [true, false] {
        let desk = Desk::new();
        let card = offered(&desk);
        commits_on(&desk, &branch_of(&desk), "by-hand.txt");
        if !is_there {
            std::fs::remove_dir_all(desk.ok(&["open", &card]).trim_end()).expect("removed");
        }
        let told = desk.ok(&["land", &card, "--dry-run"]);
        assert!(told.contains("3 commits, 3 files changed"), "{told}");
        desk.ok(&["land", &card]);
        desk.run_once();
        assert_eq!(desk.card(&card)["card"]["state"], "landed");
        let files = desk.git(&["ls-tree", "--name-only", "main"]);
        assert_eq!(
            files.lines().collect::<Vec<_>>(),
            ["README", "by-hand.txt", "new.txt"]
        );
    }
}

#[test]
fn a_cards_branch_that_the_person_has_rewritten_is_not_passed_over() {
    let desk = Desk::new();
    let card = offered(&desk);
    let branch = branch_of(&desk);
    desk.git(&["branch", "--force", &branch, "main"]);
    commits_on(&desk, &branch, "by-hand.txt");
    let before = tip(&desk, "main");
    desk.ok(&["land", &card]);
    desk.run_once();
    let landing = &desk.card(&card)["landings"][0];
    let report = landing["result"].as_str().unwrap_or_else(|| panic!("{landing}"));
    assert!(
        report.contains(&branch) && report.contains("git branch -m"),
        "{report}"
    );
    assert_eq!(
        (landing["state"].as_str(), tip(&desk, "main")),
        (Some("refused"), before)
    );
    desk.git(&["branch", "-m", &branch, "mine"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}

#[test]
fn a_branch_that_lacks_what_the_card_began_on_is_not_given_that_without_a_word() {
    let desk = Desk::new();
    desk.git(&["branch", "old"]);
    std::fs::write(desk.path("repo/later.txt"), "later\n").expect("written");
    desk.commit_all("Later");
    let card = offered(&desk);
    let told = desk.ok(&["land", &card, "--onto", "old", "--dry-run"]);
    let others = "1 commit of main that old does not have, and not of the card";
    assert!(told.contains("3 commits") && told.contains(others), "{told}");
    let output = desk
        .panel(&["land", &card, "--onto", "old"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains(&format!("it brings {others}")),
        "{said}"
    );
}

/// The branch that the person sees is never set back, so it keeps what the agent has thrown away since: that is nobody's work.
#[test]
fn what_the_agent_itself_has_rewritten_lands_as_it_is_now() {
    let desk = Desk::new();
    let amend = "echo second > new.txt && git add new.txt && git -c user.name=a -c user.email=a@b.c commit -q --amend -m Amended";
    desk.script(&json!([
        {"when": "first", "steps": [
            {"write_file": {"path": "new.txt", "text": "first\n"}}, {"commit": "First"}, {"final": "Done."}]},
        {"when": "any", "steps": [{"run": ["sh", "-c", amend]}, {"final": "Amended."}]}]));
    let card = desk.send("Write a file");
    desk.run_once();
    desk.ok(&["send", "--card", &card, "Again"]);
    desk.run_once();
    assert!(
        desk.git(&["log", "--format=%s", &branch_of(&desk)])
            .contains("First")
    );
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(
        desk.card(&card)["card"]["state"],
        "landed",
        "{}",
        desk.card(&card)
    );
    assert_eq!(desk.git(&["show", "main:new.txt"]), "second\n");
}

/// Half a move in the person's files, and a locked index, would wait there for the next daemon.
#[test]
fn a_daemon_that_is_told_to_leave_lets_a_move_come_to_its_end() {
    let desk = Desk::new();
    let card = offered(&desk);
    let writes = desk.path("outside/writes");
    let filter = format!("touch '{}'; sleep 1; cat", writes.display());
    desk.git(&["config", "filter.slow.smudge", &filter]);
    desk.git(&["config", "filter.slow.clean", "cat"]);
    std::fs::write(desk.path("repo/.git/info/attributes"), "README filter=slow\n").expect("written");
    desk.ok(&["land", &card]);
    let daemon = desk.daemon();
    desk.until_there(&writes);
    daemon.interrupt(&desk);
    assert!(!desk.path("repo/.git/index.lock").exists());
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    assert_eq!(desk.git(&["show", "main:README"]), "theirs\n");
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}
