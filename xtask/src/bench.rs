//! `cargo xtask bench`: what the product costs, measured side by side with what it is compared with.
//!
//! The benches measure and print lines of JSON; here they are started, and their figures judged and printed.

mod directory;
mod figures;
mod git;
mod harness;
mod journal;
mod judge;
mod line;
mod machine;
mod record;
mod report;
mod supervise;
mod tools;

use anyhow::Result;
use clap::Subcommand;

use crate::tool::say;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Area {
    /// The record on Postgres and SQLite against hand-written statements, wake-ups, and what idle daemons ask (docs/performance.md).
    Record {
        /// Fewer cards and rounds, in a minute or two: shows that the bench works, and judges nothing.
        #[arg(long)]
        short: bool,
        /// Only takes and settlements of a small record, in a minute or two: these are measured and judged in full.
        #[arg(long, conflicts_with = "short")]
        takes: bool,
    },
    /// The ledger against raw writes of the same bytes, its rebuild, and a reconcile after a crash.
    Journal,
    /// Executions: their output against a file written by hand, one line of a gigabyte, a forced end, many of them at once.
    Supervise {
        /// Less of everything, in seconds: shows that the bench works, and judges nothing.
        #[arg(long)]
        short: bool,
    },
    /// Reading what agents say: every adapter and the bridge against a bare parse of the same lines, and one line of 100 MB.
    Harness {
        /// Short streams, in seconds: shows that the bench works, and judges no speed.
        #[arg(long)]
        short: bool,
    },
    /// A call of a tool through the bridge, against an echo over a socket.
    Tools {
        /// Few calls: shows that the bench works, and judges nothing.
        #[arg(long)]
        short: bool,
    },
    /// Trees against plain clones, salvages against plain commits, landings against plain merges, cleanups, and many trees at once.
    Git,
}

/// Measures an area; without one it lists them.
pub(crate) fn run(area: Option<&Area>) -> Result<()> {
    match area {
        Some(Area::Record { short: true, .. }) => record::run(record::Size::Short),
        Some(Area::Record { takes: true, .. }) => record::run(record::Size::Takes),
        Some(Area::Record { .. }) => record::run(record::Size::Full),
        Some(Area::Journal) => journal::run(),
        Some(Area::Supervise { short: true }) => supervise::run(supervise::Size::Short),
        Some(Area::Supervise { short: false }) => supervise::run(supervise::Size::Full),
        Some(Area::Harness { short: true }) => harness::run(harness::Size::Short),
        Some(Area::Harness { short: false }) => harness::run(harness::Size::Full),
        Some(Area::Tools { short: true }) => tools::run(tools::Size::Short),
        Some(Area::Tools { short: false }) => tools::run(tools::Size::Full),
        Some(Area::Git) => git::run(),
        None => {
            say(
                "give an area to measure:\n\n  cargo xtask bench record      the record on Postgres and SQLite, wake-ups, idle daemons\n  cargo xtask bench journal     the ledger against raw writes, its rebuild, a reconcile\n  cargo xtask bench supervise   executions: output, a line of a gigabyte, a forced end, many at once\n  cargo xtask bench harness     what agents say: bytes to events, one line of 100 MB\n  cargo xtask bench tools       a call of a tool through the bridge, against an echo\n  cargo xtask bench git         trees, salvages, landings and cleanups against plain git",
            );
            Ok(())
        }
    }
}
