//! What a command says when the server cannot be used: the cure, and no password.

use std::sync::Arc;

use serde_json::json;

use crate::desk::Desk;
use crate::record::Record;

#[test]
fn a_record_is_made_by_migrate_only_and_a_password_is_never_printed() {
    let record = Arc::new(Record::empty());
    let desk = Desk::on(Arc::clone(&record));
    let said = desk.fails(1, &["cards"]);
    assert!(said.contains("run `cs-panel migrate` once"), "{said}");
    let made = desk.ok(&["migrate"]);
    assert!(made.contains("was made, with version "), "{made}");
    let again = desk.json(&["migrate"]);
    assert!(
        again["from"].is_number() && again["from"] == again["to"],
        "{again}"
    );
    desk.ok(&["cards"]);
    let with_password = record.url().replace("cs_panel@", "cs_panel_password:verysecret@");
    let said = desk.fails(1, &["--database-url", &with_password, "cards"]);
    assert!(said.contains("refuses user `cs_panel_password`"), "{said}");
    assert!(!said.contains("verysecret"), "{said}");
    let log = std::fs::read_to_string(desk.state().join("log")).unwrap_or_default();
    assert!(!log.contains("verysecret"), "{log}");
}

#[test]
fn a_card_that_cannot_be_read_holds_up_no_other_and_no_daemon() {
    let record = Arc::new(Record::new());
    let desk = Desk::on(Arc::clone(&record));
    desk.script(&json!([{"when": "any", "steps": [{"final": "Done."}]}]));
    let bad = desk.send("Never mind");
    let good = desk.send("Work");
    record.sql(&format!(
        "update cards set person = '' where id::text like '%{bad}'"
    ));
    // Its second daemon has a ledger of its own.
    for _ in 0..2 {
        desk.run_once();
        assert_eq!(desk.said_by(&good, "agent"), ["Done."]);
    }
}

/// Its agent worked when its card was spoiled, and its end cannot be told.
#[test]
fn a_card_that_cannot_be_read_when_its_attempt_ends_holds_up_no_other() {
    let record = Arc::new(Record::new());
    let desk = Desk::on(Arc::clone(&record));
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([
        {"when": "any", "contains": "Wait", "steps": [here, wait, {"final": "Waited."}]},
        {"when": "any", "steps": [{"final": "Done."}]}]));
    let bad = desk.send("Wait");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    record.sql(&format!(
        "update cards set person = '' where id::text like '%{bad}'"
    ));
    desk.open_gate("gate");
    let log = || std::fs::read_to_string(desk.path("daemon.log")).unwrap_or_default();
    desk.until("its end cannot be told", || {
        log().contains("could not be carried on now").then_some(())
    });
    let good = desk.send("Work");
    desk.until("the other has answered", || {
        (desk.said_by(&good, "agent") == ["Done."]).then_some(())
    });
    record.sql("update cards set person = 'user' where person = ''");
    desk.until("it has answered", || {
        (desk.said_by(&bad, "agent") == ["Waited."]).then_some(())
    });
    daemon.kill();
}
