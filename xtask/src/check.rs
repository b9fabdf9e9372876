//! The exhaustive check of the claims, with its figures.

use anyhow::Result;

use crate::suites::isolated;
use crate::tool::Tool;

/// How much is visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// What an ordinary test run visits.
    Small,
    /// The full worlds: minutes.
    Full,
}

/// Visits every state, and shows that each broken variant is caught.
pub(crate) fn run(size: Size) -> Result<()> {
    let test = [
        "test",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "cs-testkit",
        "--test",
        "check",
    ];
    let test = Tool::cargo(&[&test[..], &["--", "--nocapture", "--test-threads", "1"]].concat());
    let test = isolated(test);
    match size {
        Size::Small => test,
        Size::Full => test.with("CS_CHECK", "full"),
    }
    .run()
}
