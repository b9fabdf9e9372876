//! Calls from an agent to the record.

use std::time::Duration;

use cs_tools::*;
use proptest::prelude::*;
use serde_json::json;
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::agent::{Agent, say};
use crate::host::{Place, TOKEN};

/// Long enough for any machine; what waits for its end takes `SOON`.
const LONG: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(300);

#[tokio::test]
async fn each_tool_does_what_it_says() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut agent = Agent::greeted(&place, "a", LONG).await;
    let asked = json!({"question": " Which colour? ", "choices": ["red", "blue"]});
    let (text, is_error) = agent.call("ask", asked, Some("toolu_1")).await;
    assert!(!is_error && text.contains("End your turn"), "{text}");
    let offered = json!({"summary": "A file", "evidence": "cargo test: 3 passed"});
    assert!(!agent.call("offer_landing", offered, Some("toolu_2")).await.1);
    for line in ["half", "all"] {
        assert!(!agent.call("report_progress", json!({"text": line}), None).await.1);
    }
    assert_eq!(
        agent.call("show", json!({"what": "turns"}), None).await,
        ("Turns".to_owned(), false)
    );
    let missing = json!({"what": "attachment", "name": "a.png"});
    let (text, is_error) = agent.call("show", missing, None).await;
    assert!(
        is_error && text.contains("there is no attachment `a.png`"),
        "{text}"
    );
    let secret = agent.call("get_secret", json!({"name": "KEY"}), None).await;
    assert_eq!(secret, ("the value of KEY".to_owned(), false));
    assert!(!agent.call("recover_landing", json!({}), None).await.1);
    agent.leave().await;
    daemon.abort();
    let rows = place.host.rows.lock().unwrap();
    let asked = Question {
        text: "Which colour?".to_owned(),
        choices: vec!["red".to_owned(), "blue".to_owned()],
    };
    assert_eq!(
        rows.asks.iter().map(|(_, asked)| asked).collect::<Vec<_>>(),
        [&asked]
    );
    assert_eq!(rows.offers.len(), 1);
    assert_eq!(rows.progress, ["half", "all"]);
}

#[tokio::test]
async fn arguments_that_cannot_be_taken_are_named_and_nothing_is_done() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut agent = Agent::greeted(&place, "a", LONG).await;
    let long = "x".repeat(17 << 10);
    for (tool, arguments, named) in [
        ("ask", json!({}), "question"),
        ("ask", json!({"question": ""}), "`question` is empty"),
        ("ask", json!({"question": 3}), "integer `3`"),
        (
            "ask",
            json!({"question": long}),
            "`question` has 17408 bytes, 16384 at most",
        ),
        (
            "ask",
            json!({"question": "x", "choices": vec!["a"; 21]}),
            "21 entries, 20 at most",
        ),
        (
            "ask",
            json!({"question": "x", "choises": []}),
            "unknown field `choises`",
        ),
        ("offer_landing", json!({"summary": "x"}), "evidence"),
        (
            "report_progress",
            json!({"text": "x".repeat(1025)}),
            "1024 at most",
        ),
        (
            "show",
            json!({"what": "everything"}),
            "unknown variant `everything`",
        ),
        ("show", json!({"what": "attachment"}), "`name` is missing"),
        (
            "show",
            json!({"what": "card", "name": "x"}),
            "`name` is for `attachment` only",
        ),
        ("get_secret", json!({"name": " "}), "`name` is empty"),
        (
            "recover_landing",
            json!({"landing": 1}),
            "unknown field `landing`",
        ),
        ("dispatch", json!({}), "There is no such tool. There are: ask,"),
    ] {
        let (text, is_error) = agent.call(tool, arguments, None).await;
        assert!(is_error && text.contains(named), "{tool}: {text}");
    }
    agent.leave().await;
    daemon.abort();
    let rows = place.host.rows.lock().unwrap();
    assert_eq!(
        (
            rows.asks.len(),
            rows.offers.len(),
            rows.progress.len(),
            rows.answers.len()
        ),
        (0, 0, 0, 0)
    );
}

#[tokio::test]
async fn a_daemon_that_dies_after_the_effect_leaves_one_effect_and_one_answer() {
    for tool in ["ask", "offer_landing"] {
        let place = Place::new();
        *place.host.dies_after.lock().unwrap() = 3;
        let daemon = place.daemon();
        let mut agent = Agent::greeted(&place, "a", LONG).await;
        let arguments = if tool == "ask" {
            json!({"question": "Which?"})
        } else {
            json!({"summary": "s", "evidence": "e"})
        };
        let (text, is_error) = agent.call(tool, arguments, None).await;
        assert!(!is_error, "{text}");
        agent.leave().await;
        daemon.abort();
        let rows = place.host.rows.lock().unwrap();
        assert_eq!(rows.asks.len() + rows.offers.len(), 1);
    }
}

#[tokio::test]
async fn a_daemon_that_comes_later_answers_the_call_that_waits() {
    let place = Place::new();
    // The one before has left its socket.
    place.daemon().abort();
    let mut agent = Agent::greeted(&place, "a", LONG).await;
    let call = async { agent.call("ask", json!({"question": "Which?"}), None).await };
    let late = async {
        sleep(Duration::from_millis(500)).await;
        Some(place.daemon())
    };
    let ((text, is_error), daemon) = tokio::join!(call, late);
    assert!(!is_error, "{text}");
    daemon.unwrap().abort();
    assert_eq!(place.host.rows.lock().unwrap().asks.len(), 1);
}

#[tokio::test]
async fn without_a_daemon_the_agent_is_told_what_to_do() {
    let place = Place::new();
    let mut agent = Agent::greeted(&place, "a", SOON).await;
    let (text, is_error) = agent.call("ask", json!({"question": "Which?"}), None).await;
    assert!(
        is_error && text.contains("end your turn with your question"),
        "{text}"
    );
    agent.leave().await;
}

/// A door that takes the connection and says nothing is no daemon.
#[tokio::test]
async fn a_daemon_that_says_nothing_is_given_up_at_the_same_time() {
    let place = Place::new();
    let silent = tokio::net::UnixListener::bind(place.path("socket")).unwrap();
    let mut agent = Agent::greeted(&place, "a", SOON).await;
    let (text, is_error) = timeout(LONG, agent.call("show", json!({"what": "run"}), None))
        .await
        .unwrap();
    assert!(is_error, "{text}");
    drop(silent);
}

#[tokio::test]
async fn a_name_that_is_used_again_for_something_else_is_another_call() {
    let place = Place::new();
    let daemon = place.daemon();
    let mut agent = Agent::greeted(&place, "a", LONG).await;
    let report = agent
        .call("report_progress", json!({"text": "half"}), Some("call_0"))
        .await;
    let ask = agent
        .call("ask", json!({"question": "Which?"}), Some("call_0"))
        .await;
    let other = agent
        .call("ask", json!({"question": "And when?"}), Some("call_0"))
        .await;
    let again = agent
        .call("ask", json!({"question": "Which?"}), Some("call_0"))
        .await;
    assert!(!report.1 && !ask.1 && !other.1, "{report:?} {ask:?} {other:?}");
    assert_ne!(report.0, ask.0);
    assert_eq!(ask, again);
    assert_eq!(place.host.rows.lock().unwrap().asks.len(), 2);
    daemon.abort();
}

#[tokio::test]
async fn the_agents_own_name_of_a_call_is_the_same_call_in_the_next_bridge() {
    let place = Place::new();
    let daemon = place.daemon();
    for instance in ["a", "b"] {
        let mut agent = Agent::greeted(&place, instance, LONG).await;
        agent
            .call("ask", json!({"question": "Which?"}), Some("toolu_1"))
            .await;
        agent.leave().await;
    }
    // Those that number their calls begin again in each.
    for instance in ["c", "d"] {
        let mut agent = Agent::greeted(&place, instance, LONG).await;
        agent.call("ask", json!({"question": "Which?"}), None).await;
        agent.leave().await;
    }
    daemon.abort();
    assert_eq!(place.host.rows.lock().unwrap().asks.len(), 3);
}

#[tokio::test]
async fn an_attempt_that_is_not_the_current_one_is_told_to_stop() {
    for (standing, word) in [(Standing::Stale, "replaced"), (Standing::Over, "over")] {
        let place = Place::new();
        *place.host.standing.lock().unwrap() = Ok(standing);
        let daemon = place.daemon();
        let mut agent = Agent::greeted(&place, "a", LONG).await;
        let (text, is_error) = agent.call("ask", json!({"question": "Which?"}), None).await;
        assert!(
            is_error
                && text.contains(word)
                && text.contains("end your turn") | text.contains("End your turn"),
            "{text}"
        );
        daemon.abort();
        assert!(place.host.rows.lock().unwrap().asks.is_empty());
    }
}

#[tokio::test]
async fn what_is_no_message_is_answered_with_a_sentence_and_the_door_stays_open() {
    let place = Place::new();
    let daemon = place.daemon();
    let large = format!("{}\n", "x".repeat(2 << 20));
    let no_name = format!(
        "{}\n",
        json!({"token": TOKEN, "call": {"id": "a b", "tool": "ask"}})
    );
    for line in ["no json\n", "{}\n", "[]\n", large.as_str(), no_name.as_str()] {
        let said = say(&place, line).await;
        assert!(said.contains("cannot be read"), "{said}");
    }
    // Half a line, and nobody.
    assert_eq!(say(&place, "{\"token\":").await, "");
    drop(UnixStream::connect(place.path("socket")).await.unwrap());
    let mut agent = Agent::greeted(&place, "a", LONG).await;
    assert!(!agent.call("show", json!({"what": "run"}), None).await.1);
    daemon.abort();
}

proptest! {
    #[test]
    fn what_a_call_does_has_an_id_of_its_own(one in "[!-~]{1,40}", other in "[!-~]{1,40}", epoch in 1..5_u32) {
        let caller = Place::caller();
        let later = Caller { epoch: cs_model::Epoch::new(epoch + 2), ..caller };
        let (a, b) = (CallId::new(one.clone()).unwrap(), CallId::new(other.clone()).unwrap());
        prop_assert_eq!(a.effect(&caller, "ask"), CallId::new(one.clone()).unwrap().effect(&caller, "ask"));
        prop_assert_eq!(a.effect(&caller, "ask") == b.effect(&caller, "ask"), one == other);
        prop_assert_ne!(a.effect(&caller, "ask"), a.effect(&later, "ask"));
        prop_assert_ne!(a.effect(&caller, "ask"), a.effect(&caller, "offer"));
    }

    /// Whatever an agent sends as arguments, it is answered with words.
    #[test]
    fn no_arguments_are_too_odd(tool in 0..6_usize, text in ".{0,60}", number in any::<i64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let place = Place::new();
        let tools = Tools::new(place.host.clone());
        let name = catalog()[tool].name.to_owned();
        let odd = [json!(text), json!(number), json!(null), json!([text]), json!({"a": text})];
        for value in odd {
            let fields = ["question", "choices", "summary", "evidence", "text", "what", "name"];
            let arguments = fields.map(|field| (field.to_owned(), value.clone())).into_iter().collect();
            let call = Call { id: CallId::new("x").unwrap(), tool: name.clone(), arguments };
            let said = runtime.block_on(tools.call(&Place::caller(), call));
            let is_told = matches!(said, Outcome::Answer(answer) if !answer.text.is_empty());
            prop_assert!(is_told);
        }
    }
}
