//! One attempt of a run, from the stage in which it is found to the acknowledgement of its outcome.

mod adopt;
mod attachments;
mod failing;
mod interrupted;
mod keep;
mod live;
mod nearly;
mod ready;
mod sandbox;
mod session;
mod settle;
mod setup;
mod start;
mod unready;
mod untraced;
mod used;
mod word;

use std::sync::Arc;

use cs_journal::{
    Acknowledged, Claimed, ClaimedRun, FailedPreparation, InterruptReceipt, JournalError, LedgerError,
    NotDurable, Prepared, Registered, Settling, Started,
};
use cs_model::{CardId, Epoch, RunId};
use cs_record::{RecordError, StoppedRun};
use cs_settle::SettleError;
use tokio::time::Instant;

pub(crate) use attachments::sweep as sweep_attachments;
pub(crate) use interrupted::report_interrupted;
pub use ready::BROUGHT;
pub(crate) use ready::environment;
pub use sandbox::Sandbox;
pub(crate) use session::Conversation;
pub use session::FELL_BACK;
pub(crate) use settle::{close_acknowledged, report_failed, settle};
pub use setup::{SetupStatus, setup_status};
pub(crate) use untraced::{end_removed, lost};

use crate::context::Context;
use crate::executions::{HoldTrouble, LostSight, StopSwitch};

/// What is to be carried on, in the stage in which it was found.
#[derive(Debug)]
pub(crate) enum Work {
    /// Taken, nothing was done.
    Claimed(Claimed),
    /// Its preparation died.
    Prepared(Prepared),
    /// Its shim is registered; the agent may have its prompt or not.
    Registered(Registered),
    /// Its agent had started.
    Started(Started),
    /// It is over by the record, and the ledger does not know it.
    Leftover(StoppedRun),
}

impl Work {
    /// Returns the epoch of the attempt.
    pub(crate) fn epoch(&self) -> Epoch {
        match self {
            Self::Claimed(claimed) => claimed.row().epoch,
            Self::Prepared(prepared) => prepared.row().epoch,
            Self::Registered(registered) => registered.row().epoch,
            Self::Started(started) => started.row().epoch,
            Self::Leftover(run) => run.epoch,
        }
    }
}

/// Why an attempt could not be carried on now. It stays in the ledger, and the next pass finds it there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("the ledger did not take a step")]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Fence(#[from] cs_fence::FenceError),
    #[error(transparent)]
    Settle(#[from] SettleError),
    #[error(transparent)]
    Sight(#[from] LostSight),
    #[error(transparent)]
    Survey(#[from] cs_supervise::SurveyError),
    #[error("the execution could not be stopped")]
    Stop(#[source] cs_supervise::StopError),
    #[error("whether the agent was started is not known")]
    Go(#[source] cs_supervise::GoError),
    #[error("the machine is short of what a supervisor needs: descriptors, memory, processes or disk")]
    Shortage(#[source] HoldTrouble),
    #[error("{what}")]
    Local {
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("the ledger holds something that this version does not understand")]
    Payload(#[from] serde_json::Error),
}

impl Trouble {
    /// Whether a row of the record cannot be read. Nothing is taken on its card before it can, so others need not wait.
    pub(crate) const fn is_corrupt(&self) -> bool {
        matches!(
            self,
            Self::Record(RecordError::Corrupt(_))
                | Self::Fence(cs_fence::FenceError::Corrupt(_))
                | Self::Settle(SettleError::Corrupt(_))
        )
    }
}

impl<S: std::fmt::Debug> From<NotDurable<S>> for Trouble {
    fn from(refused: NotDurable<S>) -> Self {
        Self::Ledger(refused.into())
    }
}

impl From<cs_supervise::StopError> for Trouble {
    fn from(error: cs_supervise::StopError) -> Self {
        if let cs_supervise::StopError::Survey(error) = error {
            Self::Survey(error)
        } else {
            Self::Stop(error)
        }
    }
}

/// Why nobody knows which executions an attempt has.
pub(crate) fn unlisted(source: std::io::Error) -> Trouble {
    Trouble::Local {
        what: "the executions cannot be listed",
        source,
    }
}

/// An attempt whose tree could not be closed: it keeps its slot and its tree until that is proven.
#[derive(Debug)]
pub(crate) struct Incomplete {
    /// Its run.
    pub(crate) run: RunId,
    /// Its card.
    pub(crate) card: CardId,
    /// Keeps the attempt from being found again, and carries it on when a person asks for its end.
    pub(crate) work: Work,
    /// What is left, for people; empty when it could not even be listed.
    pub(crate) left: Vec<String>,
    /// The execution that is not over.
    pub(crate) execution: String,
    /// Whether its directory is there: only then a person can dismiss it.
    pub(crate) has_directory: bool,
    /// When that was found.
    pub(crate) looked_at: Instant,
}

impl Incomplete {
    /// Says in one sentence what is left and what a person can do about it.
    pub(crate) fn words(&self) -> String {
        let cure = match self.has_directory {
            true => format!(
                "end them, or look after them and say so with `cs-panel execution dismiss {}`",
                self.execution
            ),
            false => {
                "end them: what is gone with the directory of its execution cannot be dismissed".to_owned()
            }
        };
        format!(
            "run {} attempt {} of card {} is not proven closed; {}; {cure}",
            self.run.short(),
            self.work.epoch(),
            self.card.short(),
            still_there(&self.left),
        )
    }

    /// Names what is left, or at least the run that left it.
    pub(crate) fn names(&self) -> Vec<String> {
        if self.left.is_empty() {
            return vec![format!("run {}", self.run.short())];
        }
        self.left.clone()
    }
}

/// Says what is left of an execution, also where it cannot be named.
pub(crate) fn still_there(left: &[String]) -> String {
    if left.is_empty() {
        return "something of it is still there and cannot be named".to_owned();
    }
    format!("still there: {}", left.join(", "))
}

/// How the carrying of an attempt ended.
#[derive(Debug)]
pub(crate) enum Carried {
    /// Nothing of it is left, or what is left is for the next pass to tell the record.
    Over,
    /// Its tree could not be proven closed.
    Incomplete(Box<Incomplete>),
}

/// Carries an attempt to its end.
pub(crate) async fn carry(cx: Arc<Context>, work: Work, stop: StopSwitch) -> Result<Carried, Trouble> {
    let live = match work {
        Work::Claimed(claimed) => start::start(&cx, claimed, &stop).await?,
        Work::Prepared(prepared) => start::start_again(&cx, prepared, &stop).await?,
        Work::Registered(registered) => adopt::registered(&cx, registered, &stop).await?,
        Work::Started(started) => adopt::started(&cx, started, &stop).await?,
        Work::Leftover(run) => return adopt::leftover(&cx, run).await,
    };
    match live {
        None => Ok(Carried::Over),
        Some(live) => settle::to_the_end(&cx, live, &stop).await,
    }
}

/// The stages that only tell the record something.
#[derive(Debug)]
pub(crate) enum ToTell {
    /// An outcome.
    Outcome(Settling),
    /// A failed start.
    Failed(FailedPreparation),
    /// An interruption.
    Interrupted(InterruptReceipt),
    /// Nothing: only the execution is to be accounted for.
    Close(Acknowledged),
}

impl ToTell {
    /// What the claim gave.
    pub(crate) fn row(&self) -> &ClaimedRun {
        match self {
            Self::Outcome(settling) => settling.row(),
            Self::Failed(failed) => failed.row(),
            Self::Interrupted(receipt) => receipt.row(),
            Self::Close(acknowledged) => acknowledged.row(),
        }
    }
}

/// Tells the record what it may not know, in the order of RC-1.
pub(crate) async fn tell(cx: &Context, what: ToTell) -> Result<(), Trouble> {
    match what {
        ToTell::Outcome(settling) => settle(cx, settling).await,
        ToTell::Failed(failed) => report_failed(cx, failed).await,
        ToTell::Interrupted(receipt) => report_interrupted(cx, receipt).await,
        ToTell::Close(acknowledged) => close_acknowledged(cx, acknowledged).await,
    }
}
