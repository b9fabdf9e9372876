//! The local log: what the libraries trace goes to a file in the state directory, never to standard output.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// A log longer than this is set aside as `log.1` when a command begins; the one before it goes.
const LOG_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Sends traces to the log, as much as `CS_PANEL_LOG` asks for (such as `debug` or `cs_daemon=trace`); `info` without it.
///
/// # Errors
/// The level is none, or the log cannot be opened.
pub(crate) fn begin(path: &Path, level: Option<&str>) -> Result<(), Failure> {
    let filter = EnvFilter::builder()
        .parse(level.unwrap_or("info"))
        .map_err(|error| {
            Failure::Usage(format!(
                "CS_PANEL_LOG is no log level ({error}), expected one such as `info` or `cs_daemon=debug`"
            ))
        })?;
    let file = open(path)
        .map_err(|error| Failure::failed(error, format!("the log {} cannot be opened", path.display())))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(file));
    // A second call in one process keeps the first log.
    if subscriber.try_init().is_err() {
        tracing::debug!("the log was already begun");
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() > LOG_MAX_BYTES) {
        fs::rename(path, path.with_extension("1"))?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}
