//! From a message to a landed commit.

use std::fs;

use serde_json::json;

use crate::desk::Desk;

fn greeting(desk: &Desk) {
    desk.script(&json!([
        {"when": "first", "steps": [
            desk.count("first"),
            {"write_file": {"path": "hello.txt", "text": "Hello.\n"}},
            {"commit": "Add a greeting"},
            {"session": "s-1"},
            {"ask": {"question": "Formal?", "choices": ["yes", "no"]}}]},
        {"when": "answer", "steps": [
            desk.count("answer"),
            {"append_file": {"path": "hello.txt", "text": "Formal: {answer} in {session}\n"}},
            {"commit": "Follow the answer"},
            {"offer_landing": {"summary": "A greeting", "message": "Greet the reader"}},
            {"final": "The greeting is done."}]},
    ]));
}

#[test]
fn a_card_goes_from_a_message_to_a_landed_commit() {
    let desk = Desk::new();
    greeting(&desk);
    let card = desk.send("Greet the reader");
    assert!(
        desk.run_once().contains(": 1 new turn; agent "),
        "one line per start"
    );

    let asks = desk.json(&["asks"]);
    assert_eq!(asks[0]["question"], "Formal?", "{asks}");
    assert!(desk.fails(2, &["answer", &card, "perhaps"]).contains("yes, no"));
    desk.ok(&["answer", &card, "yes"]);
    desk.run_once();

    assert_eq!(desk.said_by(&card, "agent"), ["The greeting is done."]);
    assert!(desk.ok(&["diff", &card]).contains("+Formal: yes in s-1"));
    let branch = desk.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cs"]);
    assert!(
        branch.contains("greet-the-reader"),
        "the card's branch is in the user's repository: {branch}"
    );

    desk.ok(&["land", &card]);
    let told = desk.run_once();
    let landed = format!("\nlanded card {} on main as ", &card[card.len() - 8..]);
    assert!(told.contains(&landed) && !told.contains("Landed"), "{told}");
    let log = desk.git(&["log", "--format=%s", "main"]);
    assert!(log.starts_with("Greet the reader\n"), "{log}");
    let text = fs::read_to_string(desk.path("repo/hello.txt")).expect("the checked-out base has the file");
    assert_eq!(text, "Hello.\nFormal: yes in s-1\n");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(detail["landings"][0]["state"], "landed", "{detail}");
    assert!(
        desk.said_by(&card, "system")[0].contains("Landed on main"),
        "{detail}"
    );
    assert_eq!((desk.lines("first"), desk.lines("answer")), (1, 1));
    desk.no_process_is_left();
}

#[test]
fn a_declined_offer_goes_back_to_the_agent_with_the_reason() {
    let desk = Desk::new();
    greeting(&desk);
    let card = desk.send("Greet the reader");
    desk.run_once();
    desk.ok(&["answer", &card, "no"]);
    desk.run_once();
    desk.ok(&["answer", &card, "Not yet: say it louder"]);
    desk.run_once();
    assert_eq!(desk.lines("answer"), 2);
    assert!(
        desk.ok(&["diff", &card])
            .contains("+Formal: Not yet: say it louder")
    );
}

#[test]
fn a_landed_card_opens_again_with_a_new_message() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
            {"write_file": {"path": "a.txt", "text": "a\n"}}, {"commit": "Add a"},
            {"offer_landing": {"summary": "a"}}, {"final": "First."}]},
        {"when": "turn", "steps": [
            {"write_file": {"path": "b.txt", "text": "b\n"}}, {"commit": "Add b"},
            {"offer_landing": {"summary": "b"}}, {"final": "Second."}]}]));
    let card = desk.send("Add a");
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.run_once();
    desk.ok(&["send", "--card", &card, "Add b too"]);
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["First.", "Second."]);
    assert_eq!(
        desk.git(&["ls-tree", "--name-only", "main"]),
        "README\na.txt\nb.txt\n"
    );
}

/// Invariant 12.
#[test]
fn a_dirty_working_tree_of_the_user_is_left_as_it_is() {
    let desk = Desk::new();
    greeting(&desk);
    fs::write(desk.path("repo/README"), "mine\n").expect("written");
    fs::write(desk.path("repo/new.txt"), "mine too\n").expect("written");
    desk.git(&["add", "new.txt"]);
    let before = desk.git(&["status", "--porcelain"]);
    let card = desk.send("Greet the reader");
    desk.run_once();
    desk.ok(&["answer", &card, "no"]);
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.git(&["status", "--porcelain"]), before);
    assert_eq!(
        fs::read_to_string(desk.path("repo/README")).expect("there"),
        "mine\n"
    );
    assert!(desk.path("repo/hello.txt").exists());
}

#[test]
fn an_ignored_file_of_the_user_is_not_overwritten_by_a_landing() {
    let desk = Desk::new();
    fs::write(desk.path("repo/.gitignore"), ".env\n").expect("written");
    desk.commit_all("Ignore");
    fs::write(desk.path("repo/.env"), "SECRET=mine\n").expect("written");
    let commit = "rm .gitignore; echo SECRET=theirs > .env; git add -A; \
                  git -c user.name=x -c user.email=x@example.org commit -qm env";
    desk.script(&json!([{"when": "first", "steps": [
        {"run": ["sh", "-c", commit]}, {"offer_landing": {"summary": "env"}}, {"final": "Done."}]}]));
    let card = desk.send("Add an environment");
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(
        fs::read_to_string(desk.path("repo/.env")).expect("there"),
        "SECRET=mine\n"
    );
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "refused", "{detail}");
    assert!(desk.said_by(&card, "system")[0].contains(".env"), "{detail}");
    assert_eq!(
        desk.json(&["asks"])[0]["offers_landing"],
        true,
        "the offer stays open"
    );
}

#[test]
fn a_landing_into_a_repository_that_is_gone_is_refused_and_can_be_accepted_again() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
        {"write_file": {"path": "a.txt", "text": "a\n"}}, {"commit": "Add a"},
        {"offer_landing": {"summary": "Adds a"}}, {"final": "Done."}]}]));
    let card = desk.send("Add a");
    desk.run_once();
    desk.ok(&["land", &card]);
    fs::rename(desk.path("repo/.git"), desk.path("away")).expect("moved");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "refused", "{detail}");
    assert_eq!(detail["asks"][0]["state"], "open", "{detail}");
    assert!(
        desk.said_by(&card, "system")[0].starts_with("Not landed: "),
        "{detail}"
    );
    fs::rename(desk.path("away"), desk.path("repo/.git")).expect("moved back");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}

#[test]
fn uncommitted_files_of_the_agent_keep_a_card_from_landing() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
        {"write_file": {"path": "a.txt", "text": "a\n"}}, {"commit": "Add a"},
        {"write_file": {"path": "left behind.txt", "text": "x\n"}},
        {"offer_landing": {"summary": "a"}}, {"final": "Done."}]}]));
    let card = desk.send("Add a");
    desk.run_once();
    assert!(desk.fails(3, &["land", &card]).contains("left behind.txt"));
    assert_eq!(desk.card(&card)["landings"], json!([]));
}

#[test]
fn a_card_without_new_commits_is_not_accepted_for_landing() {
    let desk = Desk::new();
    desk.script(&json!([
        {"when": "first", "steps": [{"final": "Nothing to do."}]},
        {"when": "turn", "contains": "Look again", "steps": [{"final": "Still nothing to do."}]},
        {"when": "turn", "steps": [
            {"write_file": {"path": "a.txt", "text": "a\n"}}, {"commit": "Add a"}, {"final": "Added."}]}]));
    let card = desk.send("Look around");
    desk.run_once();
    let main = desk.git(&["rev-parse", "main"]);
    let said = desk.fails(3, &["land", &card]);
    assert!(said.contains("has no commit of its own"), "{said}");
    assert_eq!(desk.card(&card)["landings"], json!([]));
    assert_eq!(desk.git(&["rev-parse", "main"]), main);
    desk.ok(&["send", "--card", &card, "Add a"]);
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.run_once();
    desk.ok(&["send", "--card", &card, "Look again"]);
    desk.run_once();
    let said = desk.fails(3, &["land", &card]);
    assert!(said.contains("no commit that has not landed already"), "{said}");
    assert_eq!(desk.card(&card)["landings"].as_array().map(Vec::len), Some(1));
}

#[test]
fn work_that_conflicts_with_the_base_goes_back_to_the_agent() {
    let desk = Desk::new();
    let merge = "git fetch -q origin && git merge -q -X ours -m merged origin/main || exit 1";
    desk.script(&json!([{"when": "first", "steps": [
            {"write_file": {"path": "README", "text": "agent\n"}}, {"commit": "Change the readme"},
            {"offer_landing": {"summary": "readme"}}, {"final": "Done."}]},
        {"when": "conflict", "steps": [
            desk.count("conflict"),
            {"run": ["sh", "-c", format!("export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org \
                GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org; {merge}")]},
            {"offer_landing": {"summary": "readme, merged"}}, {"final": "Merged."}]}]));
    let card = desk.send("Change the readme");
    desk.run_once();
    fs::write(desk.path("repo/README"), "user\n").expect("written");
    desk.commit_all("Mine");
    let mine = desk.git(&["rev-parse", "main"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.lines("conflict"), 1);
    assert_eq!(desk.git(&["rev-parse", "main"]), mine, "nothing has moved");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.git(&["show", "main:README"]), "agent\n");
    assert!(desk.git(&["log", "--format=%s", "main"]).contains("Mine"));
}

#[test]
fn an_agent_that_cannot_be_started_fails_its_card_with_the_reason() {
    let desk = Desk::new();
    let program = desk.path("outside/agent");
    fs::write(&program, "#!/no/such/interpreter\n").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).expect("set");
    desk.ok(&["agent", "add", "broken", "--", program.to_str().expect("text")]);
    let card = desk.send("Do something");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "failed", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("interpreter"), "{reason}");
    assert!(
        !reason.contains(desk.path("outside").to_str().expect("text")),
        "no local path: {reason}"
    );
}

#[test]
fn any_command_answers_with_its_output() {
    let desk = Desk::new();
    desk.ok(&["agent", "add", "wc", "--", "sh", "-c", "grep -c 'count me' -"]);
    let card = desk.send("count me");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["1"]);
}

#[test]
fn a_paused_machine_starts_nothing_and_says_so() {
    let desk = Desk::new();
    greeting(&desk);
    desk.ok(&["pause", "--reason", "upgrade"]);
    desk.send("Greet the reader");
    let said = desk.fails(3, &["run", "--once"]);
    assert!(said.contains("upgrade"), "{said}");
    assert_eq!(desk.lines("first"), 0);
    desk.ok(&["resume"]);
    desk.run_once();
    assert_eq!(desk.lines("first"), 1);
}

#[test]
fn the_demo_lands_and_leaves_no_process() {
    let desk = Desk::new();
    let demo = desk
        .program()
        .args(["demo", "--dir"])
        .arg(desk.path("demo"))
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&demo.stdout);
    assert!(demo.status.success(), "{demo:?}");
    assert!(told.contains("log --oneline"), "{told}");
    desk.no_process_is_left();
}

#[test]
fn a_landing_without_a_checkout_is_refused_and_can_be_accepted_again() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
        {"write_file": {"path": "a.txt", "text": "a\n"}}, {"commit": "Add a"},
        {"offer_landing": {"summary": "a"}}, {"final": "Done."}]}]));
    let card = desk.send("Add a");
    desk.run_once();
    desk.ok(&["land", &card]);
    fs::rename(desk.path("repo"), desk.path("away")).expect("moved");
    let mut run = desk.panel(&["run", "--once"]);
    let run = run.current_dir(desk.path("home")).output().expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    fs::rename(desk.path("away"), desk.path("repo")).expect("moved back");
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "refused", "{detail}");
    let said = desk.said_by(&card, "system");
    assert!(said[0].contains("not inside a git repository"), "{said:?}");
    assert!(
        !said[0].contains(desk.path("repo").to_str().expect("text")),
        "{said:?}"
    );
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
}

#[test]
fn an_agent_that_stays_after_its_answer_is_closed_and_the_answer_kept() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [{"final": "Done."}, here, wait, {"exit": 3}]}]));
    let card = desk.send("Answer and stay");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(desk.said_by(&card, "agent"), ["Done."], "{detail}");
    assert_eq!(detail["runs"][0]["tries"], 0, "{detail}");
    desk.no_process_is_left();
}
