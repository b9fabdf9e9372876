//! A push that its starter did not live to see the end of.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use cs_supervise::{LeftOver, await_left_over};

use super::RemoteBranch;
use crate::store::Store;

/// What each process of a push has in its environment: whose push of what it is.
const VARIABLE: &str = "CS_PANEL_PUSH";

/// The variable that tells a push to a branch by this state directory from any other.
pub(super) fn mark(store: &Store, to: &RemoteBranch) -> (OsString, OsString) {
    let mut value = store.dir.clone().into_os_string();
    value.push(format!(":{to}"));
    (VARIABLE.into(), value)
}

/// Waits for what a killed process has left of a push to a branch, as long as a push may take, and ends what takes longer. It would hold
/// the lock of the remote's branch, and might bring its commit there after it was said that it is not there.
pub(super) async fn await_former(store: &Store, to: &RemoteBranch, limit: Duration) {
    let (mut assignment, value) = mark(store, to);
    assignment.push("=");
    assignment.push(value);
    match await_left_over(assignment.as_bytes(), is_git, limit).await {
        Ok(LeftOver::Nothing) => {}
        Ok(left) => tracing::warn!(%to, ?left, "a push of a killed process was still under way"),
        Err(error) => tracing::warn!(%error, "what runs cannot be told"),
    }
}

/// Git and its own commands. A program that a hook of the remote started has the variable, too, and is not ours.
fn is_git(name: &str) -> bool {
    name == "git" || name.starts_with("git-")
}
