//! The port behind which the record keeps the facts of an attempt.

use std::fmt;

use async_trait::async_trait;
use cs_model::{MachineId, OperationId, RunId, Time};
use serde::{Deserialize, Serialize};

use crate::{Attempt, Fenced, Standing};

/// The process that carries an attempt, as the record knows it. Only the machine that runs it can judge it:
/// a pid means nothing without its start time, and neither means anything after a reboot (PS-16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFact {
    /// The process id.
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start_ticks: u64,
    /// The boot in which it started.
    pub boot_id: String,
}

/// One attempt that was cut short, as its machine reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interruption {
    /// The attempt.
    pub attempt: Attempt,
    /// When it was cut short, by the machine's clock; for people.
    pub at: Time,
}

/// What the report of an interruption did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptOutcome {
    /// This report ended the attempt; its run is ready to go on.
    Interrupted,
    /// A former report of the same interruption did.
    AlreadyInterrupted,
    /// The run went on under a later attempt.
    Continued,
    /// The attempt is not current, and its run does not go on.
    Stale,
}

/// Why the record could not answer.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The record cannot be reached now; the same call may succeed later.
    #[error("the record is away")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The record holds something that cannot be; nothing was written.
    #[error("the record is corrupt: {0}")]
    Corrupt(String),
}

/// Facts of attempts on the record. Every method is one transaction, and every write is fenced.
#[async_trait]
pub trait AttemptRecord: fmt::Debug + Send + Sync {
    /// Reads where the run of an attempt stands, and whether this attempt may still act for it.
    ///
    /// It promises nothing about the next moment: it spares useless starts, the writes are what is fenced (AF-17).
    ///
    /// # Errors
    /// [`FenceError`] when the record cannot answer.
    async fn standing(&self, attempt: &Attempt) -> Result<Fenced<Standing>, FenceError>;

    /// Writes which process carries a running attempt (AF-7). Repeating it with the same fact is harmless.
    ///
    /// # Errors
    /// [`FenceError`] when the record cannot answer.
    async fn record_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError>;

    /// Removes the process of an attempt whose run is over, once its end is proven (AF-8). It is applied only while the
    /// run is over and the row holds the same process.
    ///
    /// # Errors
    /// [`FenceError`] when the record cannot answer.
    async fn clear_process(&self, attempt: &Attempt, process: &ProcessFact)
    -> Result<Fenced<()>, FenceError>;

    /// Marks an attempt of whose process tree something could not be ended, and names what, for people. The mark is no ending: its
    /// run is live or over as before, and keeps its slot and its tree. It is applied while the row holds the same process, and
    /// [`clear_process`](Self::clear_process) takes it away. The same words again change nothing; other ones take their place.
    ///
    /// # Errors
    /// [`FenceError`] when the record cannot answer.
    async fn mark_incomplete(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
        left: &str,
    ) -> Result<Fenced<()>, FenceError>;

    /// Reports attempts that were cut short through no fault of their own, under the receipt's own operation id, and
    /// returns one outcome for each, in the same order. An interrupted run is ready under its next epoch, at once, or, when that
    /// comes again and again, after a growing wait; no try is counted. No attempts: a probe that changes nothing and proves that the record can do it (RC-2).
    ///
    /// # Errors
    /// [`FenceError`] when the record cannot answer; then nothing is known, and the same call may be repeated.
    async fn interrupt(
        &self,
        machine: MachineId,
        operation: OperationId,
        attempts: &[Interruption],
    ) -> Result<Vec<(RunId, InterruptOutcome)>, FenceError>;
}
