//! Attempts that end before their agent begins.

use std::ffi::OsString;
use std::path::Path;

use cs_journal::{Prepared, Registered};
use cs_model::FailureClass;
use cs_settle::About;
use cs_supervise::{ExecutionSpec, SpawnFailure, SpawnReason};
use serde::{Deserialize, Serialize};

use super::Trouble;
use super::interrupted::report_interrupted;
use super::live::Live;
use super::settle::report_failed;
use super::unready::Unready;
use crate::context::Context;
use crate::outcome::Budget;

/// Why a run could not be started, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FailureNote {
    pub(super) class: FailureClass,
    pub(super) reason: String,
    /// The budget that was used up before it could begin.
    #[serde(default)]
    pub(super) used_up: Option<Budget>,
    /// Whether nothing can work on its route before a person has mended it.
    #[serde(default)]
    pub(super) is_of_route: bool,
}

impl FailureNote {
    pub(super) fn new(class: FailureClass, reason: String) -> Self {
        Self {
            class,
            reason,
            used_up: None,
            is_of_route: false,
        }
    }

    pub(super) fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Ends an attempt that could not be made ready. What was made for it gets its verdict first; a shim that was half born never gets
/// a prompt, so one that cannot be judged now is in nobody's way.
pub(super) async fn fail(
    cx: &Context,
    prepared: Prepared,
    unready: Unready,
) -> Result<Option<Live>, Trouble> {
    if let Err(error) = cx.deps.executions.survey(prepared.dir()).await {
        tracing::warn!(
            name = prepared.dir(),
            error = &error as &dyn std::error::Error,
            "no verdict on what did not start"
        );
    }
    let note = FailureNote {
        is_of_route: unready.about == About::Route,
        ..FailureNote::new(unready.class, unready.reason)
    };
    report_failed(cx, prepared.failed(&note.to_json()?)?).await?;
    Ok(None)
}

/// Why an agent could not be started. What a program was looked for as, and where, is said on this machine only.
pub(super) fn not_spawned(cx: &Context, failure: &SpawnFailure, spec: &ExecutionSpec, agent: &str) -> String {
    if failure.reason != SpawnReason::ProgramNotFound {
        return format!("{failure} ({agent})");
    }
    let program = Path::new(spec.argv.first().map_or("".as_ref(), OsString::as_os_str));
    let name = program.file_name().unwrap_or_default().display();
    let is_searched = program.components().count() == 1;
    let path = spec.env.iter().find(|(name, _)| is_searched && name == "PATH");
    let place = match path {
        Some((_, path)) => format!("in the PATH of the agent, {}", path.display()),
        None => "there".to_owned(),
    };
    cx.said(&format!(
        "agent {agent}: there is no program {} {place}",
        program.display()
    ));
    format!(
        "there is no program `{name}` where `cs-panel run` looks for it ({}); install it, or name another one as the `command` of the \
         agent `{agent}`",
        if is_searched {
            "the PATH of the agent"
        } else {
            "the path that is its `command`"
        }
    )
}

/// Gives back an attempt whose agent a person has taken out of the configuration since it was claimed: nothing of it begins, and no
/// take finds its card before that agent is there again, or the card has another.
pub(super) async fn without_agent(cx: &Context, prepared: Prepared) -> Result<Option<Live>, Trouble> {
    let row = prepared.row();
    let (card, agent) = (row.card.short(), &row.agent);
    cx.said(&format!(
        "card {card} not started: this machine has no agent `{agent}` any more; add it with `cs-panel agent add {agent}`, or give the \
         card to another with `cs-panel hand-back {card} --agent NAME`"
    ));
    report_interrupted(cx, prepared.interrupted()?).await?;
    Ok(None)
}

/// Ends an attempt whose card has used up what it may cost: nothing of it begins.
pub(super) async fn used_up(
    cx: &Context,
    prepared: Prepared,
    reason: String,
) -> Result<Option<Live>, Trouble> {
    let note = FailureNote {
        used_up: Some(Budget::Spend),
        ..FailureNote::new(FailureClass::InvalidRequest, reason)
    };
    report_failed(cx, prepared.failed(&note.to_json()?)?).await?;
    Ok(None)
}

pub(super) async fn fail_registered(
    cx: &Context,
    registered: Registered,
    class: FailureClass,
    reason: String,
) -> Result<Option<Live>, Trouble> {
    report_failed(
        cx,
        registered.failed(&FailureNote::new(class, reason).to_json()?)?,
    )
    .await?;
    Ok(None)
}
