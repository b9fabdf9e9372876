//! A bridge that is told to stop. Alone in its file: the signal goes to the whole process of the tests.

use std::time::Duration;

use cs_acp::{Spec, run};

/// It asks for the stop itself once it was asked to work, and says `cancelled` when the prompt is called off.
const AGENT: &str = r#"
read -r line; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; printf '%s\n' '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read -r line; kill -TERM $PPID
read -r line
case "$line" in *session/cancel*) printf '%s\n' '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}';; esac
read -r line
"#;

#[tokio::test]
async fn a_bridge_that_is_told_to_stop_calls_the_prompt_off() {
    let spec = Spec {
        answer_within: Duration::from_secs(60),
        end_within: Duration::from_secs(60),
        ..Spec::new(["sh", "-c", AGENT].map(str::to_owned).to_vec())
    };
    let start = br#"{"type":"start","prompt":"do it","cwd":"/","permissions":"full"}"#;
    let mut output = Vec::new();
    let code = run(&start[..], &mut output, &spec).await.unwrap();
    assert_eq!(code, 143);
    let output = String::from_utf8(output).unwrap();
    assert!(!output.contains("\"end\""), "{output}");
}
