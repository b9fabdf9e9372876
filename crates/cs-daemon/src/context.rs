//! What every part of a running daemon shares.

use std::io;
use std::sync::Mutex;

use cs_fence::Attempt;
use cs_journal::Journal;
use cs_model::{AskId, CodebaseId, Epoch, RunId};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::admission::{Admission, AdmissionFacts, ClosedBecause, admission};
use crate::deps::Deps;
use crate::pause::PauseNote;
use crate::report::chain;
use crate::secrets::Secrets;
use crate::state::StateDir;
use crate::tools::HttpTools;
use cs_record::{Peeked, RecordError};

/// The parts of a daemon that its tasks share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) deps: Deps,
    pub(crate) state: StateDir,
    pub(crate) journal: Journal,
    pub(crate) secrets: Secrets,
    /// Tells the loop that something changed.
    pub(crate) wake: Notify,
    /// Where agents reach their tools that cannot start a server.
    pub(crate) http: HttpTools,
    /// The moves of bases. A daemon that leaves waits for them: half a move would stay in the person's files.
    pub(crate) moves: Mutex<JoinSet<()>>,
}

impl Context {
    /// Asks whether new work may start now: on a codebase, or on this machine at all.
    pub(crate) async fn admission(&self, codebase: Option<CodebaseId>) -> Result<Admission, RecordError> {
        let pauses = self.deps.record.machines.pauses(self.deps.machine.id).await?;
        Ok(admission(&AdmissionFacts {
            pauses,
            codebase,
            ..self.room()
        }))
    }

    /// Asks in one read for which steps the record has anything.
    pub(crate) async fn peek(&self) -> Result<Peeked, RecordError> {
        let machine = self.deps.machine.id;
        self.deps.record.reads.peek(machine, &self.agents()).await
    }

    /// The routes that this machine can drive.
    pub(crate) fn agents(&self) -> Vec<String> {
        self.deps.agents.now().keys().cloned().collect()
    }

    /// Says whether a person has said something to the owner of this attempt since it began: then it was ended for that, and goes on.
    pub(crate) async fn is_redirected(&self, attempt: &Attempt) -> Result<bool, RecordError> {
        let peeked = self.peek().await?;
        let mut redirects = peeked.redirects.iter();
        Ok(redirects.any(|redirect| redirect.run == attempt.run && redirect.epoch == attempt.epoch))
    }

    /// Says what this machine is short of, so that no new work may start. It asks nobody but the machine.
    pub(crate) fn shortage(&self) -> Option<ClosedBecause> {
        match admission(&self.room()) {
            Admission::Open => None,
            Admission::Closed(reasons) => reasons.into_iter().find(ClosedBecause::is_shortage),
        }
    }

    fn room(&self) -> AdmissionFacts {
        let known = |asked: io::Result<u64>, what: &str| {
            asked
                .inspect_err(|error| tracing::warn!(%error, "{what} is not known"))
                .ok()
        };
        let host = &self.deps.host;
        let free_bytes = known(host.free_bytes(), "the free space of the state directory");
        let free_files = known(host.free_files(), "how many files the disk can hold");
        let free_descriptors = known(host.free_descriptors(), "how many files this process may open");
        AdmissionFacts {
            free_bytes,
            min_free_bytes: self.deps.settings.min_free_bytes,
            free_files,
            free_descriptors,
            ..AdmissionFacts::default()
        }
    }

    /// Reads who paused the agent of an attempt; what cannot be read is said and pauses nobody.
    pub(crate) fn paused_by(&self, run: RunId, epoch: Epoch) -> Option<PauseNote> {
        match PauseNote::read(&self.state, run, epoch) {
            Ok(note) => note,
            Err(error) => {
                self.warn(run, epoch, "who paused its agent cannot be read", &error);
                None
            }
        }
    }

    /// Says whether a person paused the agent of an attempt.
    pub(crate) fn is_paused(&self, run: RunId, epoch: Epoch) -> bool {
        self.paused_by(run, epoch).is_some()
    }

    /// Forgets who paused an attempt that is over.
    pub(crate) fn forget_pause(&self, run: RunId, epoch: Epoch) {
        if let Err(error) = PauseNote::forget(&self.state, run, epoch) {
            tracing::warn!(%run, %epoch, %error, "who paused an attempt that is over is noted still");
        }
    }

    /// Keeps an agent paused whose attempt was cut short: the attempt that follows it stands still from its start on.
    pub(crate) fn pass_on_pause(&self, run: RunId, epoch: Epoch) {
        if let Err(error) = PauseNote::pass_on(&self.state, run, epoch) {
            self.warn(
                run,
                epoch,
                "its pause could not be kept for its next attempt",
                &error,
            );
        }
    }

    /// Makes the id of a question, once for each outcome.
    pub(crate) fn new_ask(&self) -> AskId {
        AskId::from_uuid(self.deps.ids.uuid_v7())
    }

    /// Prints a fact of progress.
    pub(crate) fn out(&self, line: &str) {
        self.deps.reporter.out(line);
    }

    /// Prints something that the operator should notice.
    pub(crate) fn said(&self, line: &str) {
        self.deps.reporter.said(line);
    }

    /// Notes an error that is handled here, once.
    pub(crate) fn warn(
        &self,
        run: RunId,
        epoch: Epoch,
        what: &str,
        error: &(dyn std::error::Error + 'static),
    ) {
        tracing::warn!(%run, %epoch, error, "{what}");
        self.said(&format!(
            "run {} attempt {epoch}: {what}: {}",
            run.short(),
            chain(error)
        ));
    }
}
