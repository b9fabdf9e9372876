//! The lines of the benches, as cs-testkit writes them. Times are milliseconds in the order of measurement.

use anyhow::{Context, Result};
use serde::Deserialize;

/// One line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    Fact { name: String, value: String },
    Contest(Contest),
    Growth(Growth),
    WakeUp(WakeUp),
    Idle(Idle),
    Looks(Looks),
}

/// The record against hand-written statements.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Contest {
    pub(super) store: String,
    pub(super) operation: String,
    pub(super) cards: u32,
    pub(super) clients: usize,
    pub(super) ours: Vec<f64>,
    pub(super) raw: Vec<f64>,
}

/// Takes from a small and from a large record.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Growth {
    pub(super) store: String,
    pub(super) cards: u32,
    pub(super) small_cards: usize,
    pub(super) large_cards: usize,
    pub(super) after_takes: usize,
    pub(super) ours_small: Vec<f64>,
    pub(super) raw_small: Vec<f64>,
    pub(super) ours_large: Vec<f64>,
    pub(super) raw_large: Vec<f64>,
}

/// From the commit of a turn to the claim.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct WakeUp {
    pub(super) store: String,
    pub(super) times: Vec<f64>,
}

/// What one idle daemon asks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Idle {
    pub(super) channel: String,
    pub(super) seconds: f64,
    pub(super) queries: usize,
    pub(super) round_trips: usize,
}

/// What looks of idle daemons cost the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Looks {
    pub(super) per_second: f64,
    pub(super) core_share: f64,
}

impl Line {
    pub(super) fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).with_context(|| format!("a bench printed what is no line of it: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_anything_else_is_named() {
        let text = r#"{"line":"wake_up","store":"SQLite","times":[1.5,2]}"#;
        let expected = WakeUp {
            store: "SQLite".to_owned(),
            times: vec![1.5, 2.0],
        };
        assert_eq!(Line::read(text).unwrap(), Line::WakeUp(expected));
        let error = Line::read("warning: x").unwrap_err();
        assert!(error.to_string().ends_with("warning: x"), "{error}");
    }
}
