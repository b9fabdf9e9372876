//! A server that crashes under a daemon, while an agent runs, and comes back.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::own_server::OwnServer;
use crate::record::{Record, server};

/// The agent does not notice, its outcome is told when the server is back, and the next turn is heard. Invariant 8.
#[test]
fn a_daemon_outlives_its_server_and_loses_no_outcome() {
    let own = OwnServer::new(&server(), "host all cs_panel 127.0.0.1/32 trust\n");
    own.start();
    let desk = Desk::on(Arc::new(Record::at(&own.tcp_url())));
    desk.ok(&["migrate"]);
    let gate = desk.gate("gate");
    let steps: Vec<Value> = [
        vec![desk.count("starts")],
        gate.to_vec(),
        vec![desk.count("ends"), json!({"final": "Done."})],
    ]
    .concat();
    desk.script(&json!([{"when": "first", "steps": steps}]));
    let first = desk.send("Work through it");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside").join("gate"));

    own.crash();
    desk.open_gate("gate");
    desk.until("the agent has ended", || (desk.lines("ends") == 1).then_some(()));
    desk.until("the daemon has seen that its server is gone", || {
        let log = fs::read_to_string(desk.path("daemon.log")).unwrap_or_default();
        log.contains("the record")
            .then_some(())
            .filter(|()| log.contains("is it running?") || log.contains("is the server running"))
    });
    own.start();
    desk.until("its outcome is on the record", || {
        (own.sql("select count(*) from turns where author_kind = 'agent'") == "1").then_some(())
    });
    let second = desk.send("And again");
    desk.until("the next turn is answered", || {
        (own.sql("select count(*) from turns where state <> 'settled'") == "0").then_some(())
    });
    drop(daemon);
    assert_eq!(desk.lines("starts"), 2, "each was started once");
    for card in [first, second] {
        assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    }
    let live = "select count(*) from runs where state = 'running'";
    assert_eq!(own.sql(live), "0");
}
