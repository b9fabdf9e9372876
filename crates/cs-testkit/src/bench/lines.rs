//! The lines of a bench.

use std::io::{self, Write};

use serde::Serialize;

/// One line of a bench: what was measured, in milliseconds, in the order of measurement.
///
/// Times of two contenders are neighbours where they have the same place, so that their quotient is free of what the machine did
/// at another time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// A fact that belongs to the figures.
    Fact {
        /// What it is about.
        name: String,
        /// The fact.
        value: String,
    },
    /// The record against the hand-written statement.
    Contest {
        /// Which store.
        store: String,
        /// `take` or `settle`.
        operation: String,
        /// How many cards one operation is about.
        cards: u32,
        /// How many clients did it at once.
        clients: usize,
        /// Milliseconds for one operation of the record: the time of a round by its operations.
        ours: Vec<f64>,
        /// The same for the hand-written statement.
        raw: Vec<f64>,
    },
    /// The cost of a take from a small and from a large record.
    Growth {
        /// Which store.
        store: String,
        /// How many cards one take is about.
        cards: u32,
        /// How many cards the small record has.
        small_cards: usize,
        /// How many cards the large record has.
        large_cards: usize,
        /// How many takes the large record had seen before.
        after_takes: usize,
        /// The record, small.
        ours_small: Vec<f64>,
        /// The hand-written statement, small.
        raw_small: Vec<f64>,
        /// The record, large.
        ours_large: Vec<f64>,
        /// The hand-written statement, large.
        raw_large: Vec<f64>,
    },
    /// From the commit of a turn to the claim that a daemon got for it.
    WakeUp {
        /// Which store.
        store: String,
        /// Milliseconds.
        times: Vec<f64>,
    },
    /// What one idle daemon asks of a server.
    Idle {
        /// `live` or `polling`.
        channel: String,
        /// How long it was watched.
        seconds: f64,
        /// How many statements it sent.
        queries: usize,
        /// How often it waited for the server.
        round_trips: usize,
    },
    /// What looks of idle daemons cost the server.
    Looks {
        /// How many a second.
        per_second: f64,
        /// Which part of one core all processes of the server needed.
        core_share: f64,
    },
}

impl Line {
    /// Writes it as one line of JSON.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}
