//! A bridge answers an agent by itself, here with the list of tools, whether a daemon lives or not.

use std::{io, sync::Arc, time::Duration};

use cs_tools::{Bridge, Dial, serve};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tokio::net::UnixStream;

#[derive(Debug)]
struct Socket(&'static str);

#[async_trait::async_trait]
impl Dial for Socket {
    async fn dial(&self) -> io::Result<UnixStream> {
        UnixStream::connect(self.0).await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bridge = Bridge {
        dial: Arc::new(Socket("daemon.socket")),
        token: "daemon.token".into(),
        instance: "example".to_owned(),
        deadline: Duration::from_secs(50),
    };
    let (agent, ours) = duplex(1 << 16);
    let (from, to) = split(ours);
    let (said, mut say) = split(agent);
    let talk = async move {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let line = format!("{list}\n");
        say.write_all(line.as_bytes()).await.expect("it reads");
        BufReader::new(said).lines().next_line().await
    };
    let (_, told) = tokio::join!(serve(bridge, from, to), talk);
    assert!(told.is_ok_and(|line| line.is_some()));
}
