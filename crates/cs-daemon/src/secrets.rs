//! Which secrets each attempt was given, and that none of them goes from it to the record.
//!
//! That a secret is given is noted before it is, in the ledger and beside the execution, by name and version. What an attempt was given
//! is known here by run and epoch, from before its agent has its prompt until it is over. A daemon that takes an attempt up reads the values
//! again before it reads what the agent said. If it cannot, by the end of the attempt either, the words of the agent are held back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cs_journal::{ClaimedRun, Journal};
use cs_model::{CodebaseId, Epoch, RunId};
use cs_secrets::{
    ErrorClass, Redactor, SecretError, SecretKey, SecretName, SecretStore, SecretValue, SecretVersion,
};
use cs_supervise::ExecutionDir;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::executions::beside;
use crate::places::Places;
use crate::state::StateDir;

mod words;

pub(crate) use words::{Fate, Words};

/// The file of an execution that says which secrets its attempt was given.
const GIVEN: &str = "secrets.json";

/// A secret that an attempt was given, as it is noted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Given {
    key: SecretKey,
    version: SecretVersion,
}

/// What is known of the secrets of attempts.
#[derive(Debug)]
pub(crate) struct Secrets {
    store: Arc<dyn SecretStore>,
    journal: Journal,
    state: StateDir,
    attempts: Mutex<BTreeMap<(RunId, Epoch), Held>>,
}

/// What an attempt was given.
#[derive(Debug, Default)]
struct Held {
    values: BTreeMap<Given, SecretValue>,
    /// What it was given and cannot be looked for now.
    missing: BTreeSet<SecretName>,
    /// Looks for the values; nothing where there are none.
    redactor: Option<Arc<Redactor>>,
}

/// Why an attempt is not given a secret. The words are for its agent: no path, no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotGiven {
    /// It will not be.
    #[error("{0}")]
    Refused(String),
    /// It may be later.
    #[error("{0}")]
    NotNow(String),
}

impl Held {
    /// Adds values, and looks for all from now on. What cannot be looked for counts as missing.
    fn add(&mut self, found: impl IntoIterator<Item = (Given, SecretValue)>) {
        self.values.extend(found);
        if self.values.is_empty() {
            return;
        }
        let named = self.values.iter().map(|(given, value)| (&given.key.name, value));
        match Redactor::new(named) {
            Ok(redactor) => self.redactor = Some(Arc::new(redactor)),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "secrets cannot be looked for"
                );
                let names = self.values.keys().map(|given| given.key.name.clone());
                self.missing.extend(names);
            }
        }
    }

    fn fate(&self) -> Fate {
        if !self.missing.is_empty() {
            return Fate::held_back(&self.missing);
        }
        match &self.redactor {
            None => Fate::Whole,
            Some(redactor) => Fate::Freed(Arc::clone(redactor)),
        }
    }
}

impl Secrets {
    /// Knows of no attempt yet.
    pub(crate) fn new(store: Arc<dyn SecretStore>, journal: Journal, state: StateDir) -> Self {
        Self {
            store,
            journal,
            state,
            attempts: Mutex::default(),
        }
    }

    /// Gives an attempt a secret of its codebase. That it has it is durable before it does.
    ///
    /// # Errors
    /// [`NotGiven`]; then it has not got it.
    pub(crate) async fn give(
        &self,
        (run, epoch): (RunId, Epoch),
        execution: &str,
        codebase: CodebaseId,
        name: &str,
    ) -> Result<SecretValue, NotGiven> {
        let name: SecretName = name
            .parse()
            .map_err(|_| NotGiven::Refused(format!("`{name}` cannot be the name of a secret")))?;
        let key = SecretKey { codebase, name };
        let secret = self.store.get(&key).await;
        let secret = secret.map_err(|error| not_given(run, epoch, &error))?;
        let given = Given {
            version: secret.version,
            key,
        };
        let mut attempts = self.attempts();
        let Some(held) = attempts.get_mut(&(run, epoch)) else {
            return Err(NotGiven::NotNow(
                "nothing of this attempt is known to run yet".to_owned(),
            ));
        };
        held.add([(given.clone(), secret.value.clone())]);
        self.note_given((run, epoch), execution, &given).map_err(|error| {
            tracing::error!(%run, %epoch, error = error.as_ref(), "which secret an attempt was to be given could not be noted");
            NotGiven::NotNow("that it was given could not be noted on its machine".to_owned())
        })?;
        tracing::info!(%run, %epoch, name = %given.key.name, version = %given.version, "a secret was given");
        Ok(secret.value)
    }

    fn note_given(
        &self,
        (run, epoch): (RunId, Epoch),
        execution: &str,
        given: &Given,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.journal
            .give_secret(run, epoch, &serde_json::to_string(given)?)?;
        // For when the ledger is lost.
        let dir = ExecutionDir::at(self.state.execution(execution));
        let mut noted: BTreeSet<Given> = beside::read(&dir, GIVEN).unwrap_or_default();
        if dir.path().exists() && noted.insert(given.clone()) {
            beside::replace(&dir, GIVEN, &noted)?;
        }
        Ok(())
    }

    /// Knows of an attempt from now on: before its agent has its prompt, and before anything that it said is read. An agent that goes on
    /// with a conversation may know what the attempts before it were given.
    pub(crate) async fn know(&self, run: RunId, epoch: Epoch) {
        let (own, is_unreadable) = self.noted(run, epoch);
        let before = self.noted_before(run, epoch);
        let known: BTreeSet<Given> = {
            let mut attempts = self.attempts();
            let held = attempts.entry((run, epoch)).or_default();
            held.values.keys().cloned().collect()
        };
        let (mut found, mut missing) = (Vec::new(), BTreeSet::new());
        for given in own.union(&before).filter(|given| !known.contains(given)) {
            match self.store.get(&given.key).await {
                Ok(secret) => {
                    // What an earlier attempt was given and was replaced since, nobody has any use for.
                    if secret.version != given.version && own.contains(given) {
                        missing.insert(given.key.name.clone());
                    }
                    let now = Given {
                        key: given.key.clone(),
                        version: secret.version,
                    };
                    found.push((now, secret.value));
                }
                Err(SecretError::NotFound { .. }) if !own.contains(given) => {}
                Err(error) => {
                    tracing::warn!(%run, %epoch, name = %given.key.name, error = &error as &dyn std::error::Error, "a secret that an attempt was given cannot be read");
                    missing.insert(given.key.name.clone());
                }
            }
        }
        missing.extend(is_unreadable.then(Fate::unnamed).flatten());
        let mut attempts = self.attempts();
        if let Some(held) = attempts.get_mut(&(run, epoch)) {
            held.missing = missing;
            held.add(found);
        }
    }

    /// Tries once more to read what an attempt was given, where that could not be read before.
    pub(crate) async fn know_missing(&self, run: RunId, epoch: Epoch) {
        let is_missing = {
            let attempts = self.attempts();
            attempts
                .get(&(run, epoch))
                .is_none_or(|held| !held.missing.is_empty())
        };
        if is_missing {
            self.know(run, epoch).await;
        }
    }

    /// Forgets what an attempt was given that is over.
    pub(crate) fn forget(&self, run: RunId, epoch: Epoch) {
        self.attempts().remove(&(run, epoch));
    }

    /// Says what becomes of the words of an attempt before they go to the record.
    pub(crate) fn fate_of(&self, run: RunId, epoch: Epoch) -> Fate {
        if let Some(held) = self.attempts().get(&(run, epoch)) {
            return held.fate();
        }
        let (given, is_unreadable) = self.noted(run, epoch);
        if given.is_empty() && !is_unreadable {
            return Fate::Whole;
        }
        Fate::held_back(&given.into_iter().map(|given| given.key.name).collect())
    }

    /// What an attempt was given by what is noted, and whether some of that cannot be understood.
    fn noted(&self, run: RunId, epoch: Epoch) -> (BTreeSet<Given>, bool) {
        let mut given = self.noted_beside(run, epoch);
        let mut is_unreadable = false;
        for words in self.journal.secrets_given(run, epoch) {
            match serde_json::from_str(&words) {
                Ok(noted) => drop(given.insert(noted)),
                Err(error) => {
                    tracing::error!(%run, %epoch, %error, "which secret an attempt was given cannot be understood");
                    is_unreadable = true;
                }
            }
        }
        (given, is_unreadable)
    }

    fn noted_before(&self, run: RunId, epoch: Epoch) -> BTreeSet<Given> {
        let earlier = (1..epoch.get()).map(Epoch::new);
        earlier.flat_map(|epoch| self.noted_beside(run, epoch)).collect()
    }

    fn noted_beside(&self, run: RunId, epoch: Epoch) -> BTreeSet<Given> {
        let names = self.state.executions_of(run, epoch).unwrap_or_default();
        let dirs = names
            .iter()
            .map(|name| ExecutionDir::at(self.state.execution(name)));
        dirs.filter_map(|dir| beside::read::<BTreeSet<Given>>(&dir, GIVEN))
            .flatten()
            .collect()
    }

    /// A panic under the lock leaves what was known before.
    fn attempts(&self) -> MutexGuard<'_, BTreeMap<(RunId, Epoch), Held>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// Says what the words of an attempt become before they go to the record.
    pub(crate) fn words_of(&self, row: &ClaimedRun) -> Words {
        let fate = self.secrets.fate_of(row.run, row.epoch);
        Words::new(fate, Places::of_work(self, row.codebase))
    }
}

fn not_given(run: RunId, epoch: Epoch, error: &SecretError) -> NotGiven {
    tracing::warn!(%run, %epoch, error = error as &dyn std::error::Error, "a secret was not given");
    match error.class() {
        ErrorClass::NotFound => NotGiven::Refused(format!(
            "{error} of this codebase; the person sets it with `cs-panel secret set`"
        )),
        ErrorClass::Invalid | ErrorClass::Corrupt => NotGiven::Refused(error.public()),
        ErrorClass::Transient => NotGiven::NotNow(error.public()),
    }
}

#[cfg(test)]
mod tests;
