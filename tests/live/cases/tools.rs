//! Agents that call the tools of cs-panel, as they reach them by themselves.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::stage::{COMMIT, Stage};

fn call(name: &str, arguments: &Value) -> Value {
    json!({"text": format!("I call {name}."), "tool": {"name": name, "arguments": arguments}})
}

/// With `edit`, where the agent knows it: no rule of an agent forbids these tools.
pub(super) fn each_tool(stage: &Stage<'_>) {
    if stage.installed.agent != Agent::Pi {
        let set = ["codebase", "set", "repo", "--permissions", "edit"];
        stage.desk.ok(&["codebase", "add", "."]);
        stage.desk.ok(&set);
    }
    let answers = [
        "Noted.",
        "state: open",
        "there is no secret",
        "was ever to be landed",
    ];
    stage.script(&json!([
        call("report_progress", &json!({"text": "Half of it is there."})),
        call("show", &json!({"what": "card"})),
        call("get_secret", &json!({"name": "GREETING"})),
        call("recover_landing", &json!({})),
        {"text": "All of them answered.", "reads": answers}]));
    let card = stage.send("Call your tools");
    stage.run();
    stage.has_answered(&card, &["All of them answered."]);
    assert_eq!(
        stage.steps_played(),
        ["0", "1", "2", "3", "4"],
        "{:?}",
        stage.asked()
    );
    let asked = stage.asked();
    let read = &asked.last().expect("it has asked")["reads"];
    assert!(
        read.as_array().is_some_and(|read| read.len() == answers.len()),
        "{read}"
    );
}

/// The daemon dies while the agent asks, and its person answers while none runs. The agent may still hear that it has asked, or be ended
/// before.
pub(super) fn asked_answered_and_landed(stage: &Stage<'_>) {
    let change = format!("printf 'ultramarine\\n' > colour.txt && {COMMIT} 'Add the colour'");
    let offer = json!({"summary": "The colour is there.", "evidence": "cat colour.txt: it is there"});
    stage.script(&json!([
        call("ask", &json!({"question": "Which colour?"})),
        {"text": "I have asked for the colour.", "until": "ultramarine"},
        {"text": "I will add it.", "shell": change},
        call("offer_landing", &offer),
        {"text": "It is there now."}]));
    let card = stage.send("Add a colour");
    stage.desk.crash_at("T3");
    let open = stage.desk.json(&["asks"]);
    assert_eq!(open[0]["question"], "Which colour?", "{open}");
    stage.desk.ok(&["answer", &card, "ultramarine"]);
    stage.let_the_conversation_settle();
    stage.run();
    stage.has_resumed();
    stage.desk.ok(&["land", &card]);
    stage.run();
    assert_eq!(stage.desk.git(&["show", "main:colour.txt"]), "ultramarine\n");
    let detail = stage.desk.card(&card);
    let asks = detail["asks"].as_array().expect("asks");
    assert_eq!(asks.len(), 2, "one question and one offer: {detail}");
    let question = asks.iter().find(|ask| ask["offers_landing"] == false);
    assert_eq!(question.expect("a question")["answer"], "ultramarine", "{detail}");
    let mut played = stage.steps_played();
    played.retain(|step| step != "1");
    assert_eq!(played, ["0", "2", "3", "4"], "{:?}", stage.asked());
}
