//! The bench of tools: a call from the agent's line to the answer's, against an echo.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::figures::{median, quantile, quotient};
use crate::tool::{Tool, say};

/// A call takes at most so many times as long as an echo: it goes through one more process and back, and is parsed in both.
const OVER_ECHO_MAX: f64 = 10.0;
/// What is wanted. It is shown and not judged: it is as much about the machine.
const GOAL_MILLIS: f64 = 3.0;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Full,
    Short,
}

/// What the bench prints, in milliseconds; neighbours were measured one after the other.
#[derive(Debug, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    RoundTrip { bridge: Vec<f64>, echo: Vec<f64> },
}

/// Measures, prints the figures, and fails when the limit is missed. The short form judges nothing.
pub(super) fn run(size: Size) -> Result<()> {
    let rounds = match size {
        Size::Full => "3000",
        Size::Short => "50",
    };
    let mut missed = None;
    let bench = [
        "bench",
        "--quiet",
        "--locked",
        "--package",
        "cs-tools",
        "--bench",
        "tools",
        "--",
        "measure",
        rounds,
    ];
    Tool::cargo(&bench).read_lines(|text| {
        let Line::RoundTrip { bridge, echo } =
            serde_json::from_str(text).with_context(|| format!("a bench printed {text}"))?;
        say(&show(&bridge, &echo));
        missed = judge(&bridge, &echo);
        Ok(())
    })?;
    match (size, missed) {
        (Size::Short, _) => say("no figure is judged: --short has too few rounds"),
        (Size::Full, None) => {}
        (Size::Full, Some(missed)) => bail!("tools cost more than they may: {missed}"),
    }
    Ok(())
}

fn show(bridge: &[f64], echo: &[f64]) -> String {
    format!(
        "\n| what | measured | wanted |\n|---|---|---|\n| a call through the bridge, median (99 %) | {:.2} ms ({:.2} ms) | goal {GOAL_MILLIS} ms |\n\
         | an echo over a socket of the same kind, median | {:.2} ms | |\n| a call over an echo | {:.1} | at most {OVER_ECHO_MAX} |\n",
        median(bridge),
        quantile(bridge, 0.99),
        median(echo),
        quotient(bridge, echo)
    )
}

fn judge(bridge: &[f64], echo: &[f64]) -> Option<String> {
    let over = quotient(bridge, echo);
    // What is not a number is within nothing.
    let is_within = over <= OVER_ECHO_MAX;
    (!is_within).then(|| {
        format!("a call takes {over:.1} times as long as an echo, at most {OVER_ECHO_MAX} is wanted")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_takes_too_long_and_one_that_was_not_measured_are_named() {
        assert_eq!(judge(&[0.5, 0.9], &[0.1, 0.1]), None);
        assert!(judge(&[1.1, 1.2], &[0.1, 0.1]).is_some_and(|missed| missed.contains("11.5 times")));
        assert!(judge(&[], &[]).is_some());
    }
}
