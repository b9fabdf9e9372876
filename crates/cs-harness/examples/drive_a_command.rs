//! A supervisor of one's own asks a harness how to start an agent, what its output means, and what came of it.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use cs_harness::{AgentConfig, HarnessKind, Line, ProcessEnd, RunFacts, Seen, Wake, adapter};

const OUTPUT: &str = r#"{"type":"progress","text":"reading"}
{"type":"ask","question":"Red or blue?","choices":["red","blue"]}
"#;

fn main() -> Result<(), cs_harness::AgentConfigError> {
    let argv = vec!["my-agent".to_owned()];
    let harness = adapter(&AgentConfig::new("mine", argv, HarnessKind::JsonLines)?);
    let facts = RunFacts {
        card: "c7".to_owned(),
        run: "r1".to_owned(),
        epoch: 1,
        wake: Wake::First,
        prompt: "paint it".to_owned(),
        ..RunFacts::default()
    };
    let launch = harness.launch(&facts);
    println!("start {:?}", launch.argv);
    println!("it reads {}", String::from_utf8_lossy(&launch.stdin));

    let mut seen = Seen::default();
    for line in OUTPUT.split_inclusive('\n') {
        let (bytes, dropped_bytes) = (line.as_bytes(), 0);
        for event in harness.events(&Line { bytes, dropped_bytes }) {
            println!("it says {event:?}");
            seen.observe(&event);
        }
    }
    let outcome = harness.outcome(&ProcessEnd::Exited(0), &seen);
    println!("what came of it: {:?}", outcome.task);
    Ok(())
}
