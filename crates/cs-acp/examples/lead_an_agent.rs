//! Leads a scripted agent through one prompt and prints what it said, as `cs-panel acp` does for a real one.
//!
//! `lead_an_agent COMMAND...` leads that command instead: it reads the start line from standard input.

use std::process::ExitCode;

use cs_acp::{Spec, run};

/// An agent in a few lines of shell.
const AGENT: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read -r line; echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."}}}}'
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;

const START: &[u8] = br#"{"type":"start","prompt":"Say hello","cwd":"/","permissions":"full"}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, cs_acp::AcpError> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let code = if command.is_empty() {
        let spec = Spec::new(["sh", "-c", AGENT].map(str::to_owned).to_vec());
        run(START, std::io::stdout(), &spec).await?
    } else {
        run(std::io::stdin(), std::io::stdout(), &Spec::new(command)).await?
    };
    Ok(code.into())
}
