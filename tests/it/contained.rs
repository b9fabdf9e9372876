//! How the processes of an agent are held together, as the configuration says: the real binary, real agents.

use crate::desk::Desk;

/// An agent that says which of the processes of this machine it can name: its parent is outside of a namespace.
fn looking_around(desk: &Desk, configuration: &str) -> String {
    let script = "echo \"I am the child of $PPID\"";
    desk.ok(&["agent", "add", "plain", "--", "sh", "-c", script]);
    // The table of the agent is the last one of the file.
    desk.configure(configuration);
    let card = desk.send("Look around");
    desk.run_once();
    card
}

#[test]
fn an_agent_is_in_a_namespace_of_its_own_where_the_configuration_says_so() {
    let desk = Desk::new();
    let card = looking_around(&desk, "containment = \"namespace\"\n");
    let detail = desk.card(&card);
    if detail["card"]["state"] == "failed" {
        let reason = detail["card"]["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("`containment = \"namespace\"`") && reason.contains("take the key out"),
            "it says what was asked for and what to do: {reason}"
        );
        assert_eq!(desk.said_by(&card, "agent"), [""; 0], "no agent ran without it");
        return;
    }
    let said = desk.said_by(&card, "agent");
    let parent: u32 = said[0]
        .rsplit(' ')
        .next()
        .and_then(|pid| pid.parse().ok())
        .expect("a pid");
    assert!(parent <= 1, "{said:?}");
    desk.no_process_is_left();
}

#[test]
fn an_agent_is_in_no_namespace_where_nobody_says_so() {
    let desk = Desk::new();
    let card = looking_around(&desk, "");
    let said = desk.said_by(&card, "agent");
    let parent: u32 = said[0]
        .rsplit(' ')
        .next()
        .and_then(|pid| pid.parse().ok())
        .expect("a pid");
    assert!(parent > 1, "{said:?}");
}
