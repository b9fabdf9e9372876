//! The whole way, with a second turn and a daemon that is killed.

use serde_json::json;

use crate::stage::{COMMIT, Stage};

pub(super) fn from_a_message_to_a_landed_commit(stage: &Stage<'_>) {
    let first = format!("printf 'Hello.\\n' > hello.txt && {COMMIT} 'Add a greeting'");
    let second = format!(
        "{} && printf 'Good day.\\n' > hello.txt && {COMMIT} 'Be formal'",
        stage.gate("gate")
    );
    stage.script(&json!([
        {"text": "I will add it.", "shell": first}, {"text": "The greeting is there."},
        {"text": "I will change it.", "shell": second}, {"text": "It is formal now."}]));
    let card = stage.send("Greet the reader");
    stage.run();
    stage.has_answered(&card, &["The greeting is there."]);

    stage.send_more(&card, "Be formal");
    let daemon = stage.daemon();
    stage.desk.until_there(&stage.desk.path("outside/gate"));
    daemon.kill();
    stage.desk.open_gate("gate");
    stage.run();
    stage.has_answered(&card, &["The greeting is there.", "It is formal now."]);
    stage.has_resumed();
    assert_eq!(stage.asked().len(), 4, "{:?}", stage.asked());

    stage.desk.ok(&["land", &card]);
    stage.run();
    let detail = stage.desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(stage.desk.git(&["show", "main:hello.txt"]), "Good day.\n");
    assert_eq!(stage.desk.git(&["status", "--porcelain"]), "");
    let greeting = std::fs::read_to_string(stage.desk.path("repo/hello.txt"));
    assert_eq!(greeting.expect("the checked-out base has it"), "Good day.\n");
    stage.has_used(&card, 4000, 200);
}
