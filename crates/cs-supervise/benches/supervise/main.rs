//! What supervision costs: output through a spool, one endless line, a forced end, many executions. `cargo xtask bench supervise`
//! runs it.
//!
//! It takes an empty directory and `full` or `short`, and prints what it measures as lines of JSON, times in milliseconds. The binary is
//! also the shims, the agents and the processes that own executions.
#![expect(clippy::print_stdout, reason = "a bench stands at the edge")]
#![expect(clippy::unwrap_used, reason = "the agent is the one of the tests")]

#[path = "../../tests/executions/agent.rs"]
mod agent;
mod force;
mod line;
mod many;
mod pour;
mod stage;

use std::error::Error;
use std::path::Path;

pub(crate) type Done<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    Short,
}

impl Size {
    pub(crate) const fn pick<T: Copy>(self, full: T, short: T) -> T {
        match self {
            Self::Full => full,
            Self::Short => short,
        }
    }
}

fn main() -> Done {
    cs_supervise::shim::run_if_requested();
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| given != "--bench")
        .collect();
    if let Some(("agent", words)) = given.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        agent::run(words);
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let words: Vec<&str> = given.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["owner", "line", directory, bytes] => {
            runtime.block_on(line::follow(Path::new(directory), bytes.parse()?))
        }
        ["owner", "many", directory, count] => {
            runtime.block_on(many::start_and_stay(Path::new(directory), count.parse()?))
        }
        ["owner", "adopt", directory, count] => {
            runtime.block_on(many::adopt(Path::new(directory), count.parse()?))
        }
        ["owner", "quiet", directory, count, seconds] => runtime.block_on(many::quiet(
            Path::new(directory),
            count.parse()?,
            seconds.parse()?,
        )),
        [directory, "full"] => runtime.block_on(measure(Path::new(directory), Size::Full)),
        [directory, "short"] => runtime.block_on(measure(Path::new(directory), Size::Short)),
        _ => Err("give an empty directory and a size: `cargo xtask bench supervise` does".into()),
    }
}

async fn measure(directory: &Path, size: Size) -> Done {
    pour::measure(directory, size).await?;
    line::measure(directory, size).await?;
    force::measure(directory, size).await?;
    many::measure(directory, size).await
}
