//! `mcp`: the server of the panel's tools that an agent starts and speaks to over standard input and output.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use cs_daemon::{tools_socket, tools_token};
use cs_model::{IdSource, SystemIds};
use cs_supervise::socket;
use cs_tools::{Bridge, Dial, serve};
use tokio::net::UnixStream;

use crate::cli::runtime;
use crate::failure::Failure;
use crate::os;
use crate::out::Out;

/// Below what every agent waits for an answer.
const DEADLINE: Duration = Duration::from_secs(50);
/// Agents swallow what their servers write on standard error.
const LOG: &str = "tools.log";

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The directory of the execution whose agent calls.
    #[arg(long, value_name = "DIR")]
    execution: PathBuf,
}

/// The way to whichever daemon lives.
#[derive(Debug)]
struct ToDaemon(PathBuf);

#[async_trait]
impl Dial for ToDaemon {
    async fn dial(&self) -> io::Result<UnixStream> {
        socket::connect(&self.0).await
    }
}

/// Serves the agent until it is gone.
pub(crate) fn mcp(args: &McpArgs) -> ExitCode {
    begin_log(&args.execution);
    let bridge = Bridge {
        dial: Arc::new(ToDaemon(tools_socket(&args.execution))),
        token: tools_token(&args.execution),
        instance: SystemIds.uuid_v7().to_string(),
        deadline: DEADLINE,
    };
    let served = runtime().and_then(|runtime| {
        let served = runtime.block_on(serve(bridge, tokio::io::stdin(), tokio::io::stdout()));
        // A read of standard input cannot be called off, and nobody is left to read it.
        runtime.shutdown_background();
        served.map_err(|error| Failure::failed(error, "the agent cannot be served"))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.text().unwrap_or_default();
            tracing::warn!("{text}");
            Out::new(None).said(&format!("cs-panel: {text}"));
            os::exit_code(failure.exit_code())
        }
    }
}

/// Sends traces to a file beside the execution. In a sandbox it may not be there to be written; the tools work without.
fn begin_log(execution: &Path) {
    if let Ok(log) = open_log(&execution.join(LOG)) {
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(Mutex::new(log));
        // There is one call in this process.
        let _ = log.try_init();
    }
}

fn open_log(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}
