//! The one place where calls become acts.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::call::{Answer, Call, Caller};
use crate::host::{Host, HostError, Standing};
use crate::name::with_content;
use crate::tool::{Called, Failure, Tool};
use crate::tools;

/// What an attempt is told whose place another has.
const STALE: &str =
    "You have been replaced: another process does this work now. Nothing was done. Stop, and end your turn.";
/// What an agent is told of a fault of ours.
pub(crate) const BROKEN: &str = "Something went wrong here, and nobody knows whether it was done. Do not call it again; end your turn and say that \
                      this tool failed.";
const OVER: &str = "Your work is over: nothing that you do counts any more. Nothing was done. End your turn.";

/// Carries out calls.
#[derive(Debug, Clone)]
pub struct Tools {
    host: Arc<dyn Host>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is over, and this is what the agent is to be told.
    Answer(Answer),
    /// Nobody knows yet whether it was done: the same call is to be made again.
    Again {
        /// Why, for the log.
        why: String,
    },
}

impl Tools {
    /// Tools that act through this host.
    #[must_use]
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self { host }
    }

    /// Carries out a call of an attempt that is known to be the one that calls. The same call again does nothing more and says the same.
    /// A fault in it is one of this call alone.
    pub async fn call(&self, caller: &Caller, call: Call) -> Outcome {
        let call = Call {
            id: with_content(&call),
            ..call
        };
        let (caller, tool) = (*caller, call.tool.clone());
        let this = self.clone();
        let mut called = JoinSet::new();
        called.spawn(async move { this.outcome(&caller, call).await });
        let outcome = match called.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => {
                tracing::error!(run = %caller.run, tool, %error, "a tool has failed in an unforeseen way");
                return refused(BROKEN);
            }
            None => return refused(BROKEN),
        };
        if let Outcome::Answer(answer) = &outcome
            && answer.is_error
        {
            tracing::warn!(run = %caller.run, epoch = %caller.epoch, tool, why = answer.text, "a call is refused");
        }
        outcome
    }

    async fn outcome(&self, caller: &Caller, call: Call) -> Outcome {
        let Some(tool) = tools::find(&call.tool) else {
            let names: Vec<_> = tools::catalog().iter().map(|tool| tool.name).collect();
            let names = names.join(", ");
            return refused(format!("There is no such tool. There are: {names}."));
        };
        let called = self.carry_out(tool, caller, call).await;
        match called {
            Ok(answer) => Outcome::Answer(answer),
            Err(Failure::Arguments(why)) => refused(format!(
                "Nothing was done, the arguments cannot be taken: {why}. Call it again with others."
            )),
            Err(Failure::Host(HostError::Stale)) => refused(STALE),
            Err(Failure::Host(HostError::Over)) => refused(OVER),
            Err(Failure::Host(HostError::Refused(why))) => refused(format!("Nothing was done: {why}")),
            Err(Failure::Host(HostError::NotNow(why))) => Outcome::Again { why },
        }
    }
}

impl Tools {
    async fn carry_out(&self, tool: &dyn Tool, caller: &Caller, call: Call) -> Result<Answer, Failure> {
        match self.host.standing(caller).await? {
            Standing::Current => {}
            Standing::Stale => return Err(HostError::Stale.into()),
            Standing::Over => return Err(HostError::Over.into()),
        }
        let changes = !tool.spec().reads_only;
        if changes && let Some(answer) = self.host.recall(caller, &call.id).await? {
            return Ok(answer);
        }
        let called = Called {
            host: &*self.host,
            caller,
            id: &call.id,
            arguments: call.arguments,
        };
        let answer = Answer::done(tool.call(called).await?);
        if changes {
            self.host.keep(caller, &call.id, &answer).await?;
        }
        Ok(answer)
    }
}

fn refused(text: impl Into<String>) -> Outcome {
    Outcome::Answer(Answer::refused(text))
}
