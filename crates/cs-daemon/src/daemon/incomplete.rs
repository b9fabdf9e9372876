//! What could not be ended: it is kept, said once, and looked at again.

use std::time::Duration;

use cs_model::RunId;

use super::Daemon;
use crate::attempt::Incomplete;

/// How often it is tried again to end it: somebody else may have, without a word.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

impl Daemon {
    /// Keeps a run whose tree could not be closed. What is left is said when it is not what was said before.
    pub(super) fn keep_incomplete(&mut self, run: RunId, incomplete: Incomplete) {
        let words = incomplete.words();
        if self.said_left.get(&run) != Some(&words) {
            tracing::warn!(%run, "{words}");
            self.cx.said(&words);
            self.said_left.insert(run, words);
        }
        self.incomplete.insert(run, incomplete);
    }

    /// Takes up again what a person has dismissed or somebody has ended; and, now and then, all of it.
    pub(super) async fn look_at_incomplete(&mut self) {
        let mut again = Vec::new();
        for (run, one) in &self.incomplete {
            let is_due = one.looked_at.elapsed() >= LOOK_AGAIN;
            if is_due || self.cx.deps.executions.is_over(&one.execution).await {
                again.push(*run);
            }
        }
        for run in again {
            if let Some(one) = self.incomplete.remove(&run) {
                self.launch(run, one.card, one.work);
            }
        }
    }
}
