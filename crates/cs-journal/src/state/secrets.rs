//! Which secrets the attempts were given.

use super::{Change, LedgerState, RunKey, refuse};
use crate::error::IllegalTransition;
use crate::event::Event;

impl LedgerState {
    /// Returns which secrets an attempt was given.
    pub fn secrets(&self, key: RunKey) -> impl Iterator<Item = &str> {
        self.secrets.get(&key).into_iter().flatten().map(String::as_str)
    }

    pub(super) fn give_secret(&self, key: RunKey, secret: &str) -> Result<Change, IllegalTransition> {
        if self.runs.contains_key(&key) {
            let secret = secret.to_owned();
            return Ok(Change::GiveSecret { key, secret });
        }
        Err(refuse(
            format!("attempt {}.{}", key.0.short(), key.1),
            "unknown",
            "secret_given",
        ))
    }

    pub(super) fn secret_events(&self) -> impl Iterator<Item = Event> {
        self.secrets.iter().flat_map(|((run, epoch), given)| {
            given.iter().map(|secret| Event::SecretGiven {
                run: *run,
                epoch: *epoch,
                secret: secret.clone(),
            })
        })
    }
}
