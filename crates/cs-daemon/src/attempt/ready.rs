//! What must be ready before a shim is started: the place to work, the prompt, the command line, the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_harness::{Harness, HarnessKind, Permissions, PrivateFile, RunFacts, SessionFiles, adapter};
use cs_journal::ClaimedRun;
use cs_model::{CardId, FailureClass, RunKind};
use cs_record::RunBrief;
use cs_supervise::ExecutionSpec;
use cs_worktree::{BroughtAlong, ErrorClass, PersonCommits};

use super::attachments;
use super::sandbox::{Room, Sandbox, SandboxTrouble};
use super::session::Conversation;
use super::setup;
use super::unready::Unready;
use crate::context::Context;
use crate::doubt::Doubt;
use crate::executions::SessionPlace;
use crate::ports::{PORTS_EACH, port_base};
use crate::prompt::{BranchStanding, Place, compose, tell_of_tools};
use crate::tools::{Given, tools_for};
use crate::{AgentChoices, AgentRules, AgentSetup};

/// Everything that a start needs.
#[derive(Debug)]
pub(crate) struct Ready {
    /// How the agent is driven.
    pub(crate) harness: Arc<dyn Harness>,
    /// What is run.
    pub(crate) spec: ExecutionSpec,
    /// What it finds beside it.
    pub(crate) files: Vec<PrivateFile>,
    /// What the agent reads.
    pub(crate) prompt: Vec<u8>,
}

/// The file of an execution that says what came along into its tree, as JSON of [`BroughtAlong`].
pub const BROUGHT: &str = "brought.json";
/// How many files that did not come along are named to the operator.
const LEFT_SAID: usize = 5;

/// Where an attempt works, and what runs there before its agent.
struct Ground {
    cwd: PathBuf,
    place: Place,
    setup: Option<String>,
    files: Vec<PrivateFile>,
}

/// Makes a run ready for its execution. Nothing of it runs yet; everything here can be done again.
pub(crate) async fn make_ready(
    cx: &Context,
    row: &ClaimedRun,
    brief: &RunBrief,
    agent: &AgentSetup,
    (execution, conversation): (&str, &Conversation),
) -> Result<Ready, Unready> {
    check_kind(row.kind)?;
    let harness = adapter(&agent.config);
    let leave = leave_of(cx, row, brief, agent)?;
    look_at(cx, agent, &leave.sandbox, execution).await?;
    let Ground {
        cwd,
        place,
        setup,
        mut files,
    } = ground(cx, row, brief).await?;
    let attached = attached(cx, row, brief).await?;
    let execution = cx.state.execution(execution);
    let given = tools_of(cx, row, &execution, &leave.choices).await?;
    let facts = RunFacts {
        new_session: cx.deps.ids.uuid_v7().to_string(),
        model: leave.choices.model.clone(),
        effort: leave.choices.effort.clone(),
        permissions: leave.permissions,
        settings: leave.choices.settings,
        given: taken_in(cx, &row.agent, harness.kind(), &leave.choices.env)?,
        bridge: cx.deps.settings.bridge.clone(),
        tools: given.tools,
        cwd: in_utf8(&cwd)?,
        private_dir: in_utf8(&execution)?,
        attachments: attached.clone(),
        most_turns: agent.bounds.turns,
        most_micro_usd: most_micro_usd(agent, brief),
        ..compose(row, brief, (&place, attached.as_deref()), conversation)
    };
    let mut launch = harness.launch(&tell_of_tools(facts, harness.kind(), row));
    launch.env.extend(own_env(harness.kind(), leave.choices.env));
    let env = environment(cx, row.card, &launch.env);
    let room = Room {
        kind: harness.kind(),
        command: agent.config.argv(),
        tree: &cwd,
        state: cx.state.root(),
        execution: &execution,
        files: &launch.files,
        attachments: attached.as_deref().map(Path::new),
        tools: given.program.as_deref(),
        has_setup: setup.is_some(),
        env: &env,
    };
    let argv = launch.argv.iter().map(OsString::from).collect();
    let argv = leave.sandbox.around(argv, &room, |argv| match &setup {
        Some(setup) => setup::before(setup, argv, &execution, &cwd),
        None => argv,
    });
    let argv = argv.map_err(|trouble| no_sandbox(row, &trouble))?;
    let mut spec = ExecutionSpec::new(argv, env, cwd);
    spec.limits = agent.limits;
    spec.containment = agent.containment;
    files.extend(launch.files.into_iter().chain(given.files));
    Ok(Ready {
        harness,
        spec,
        files,
        prompt: launch.stdin,
    })
}

/// Lays out what is attached to the card of an attempt; returns where.
async fn attached(cx: &Context, row: &ClaimedRun, brief: &RunBrief) -> Result<Option<String>, Unready> {
    let dir = attachments::lay_out(cx, row, brief).await?;
    dir.as_deref().map(in_utf8).transpose()
}

/// How much an attempt may cost.
fn most_micro_usd(agent: &AgentSetup, brief: &RunBrief) -> Option<u64> {
    agent
        .bounds
        .most_micro_usd(brief.card.usage.cost_microusd.unwrap_or(0))
}

/// What a person has set goes before what is usual for an agent.
fn own_env(kind: HarnessKind, env: BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> {
    env.into_iter().filter(move |(name, _)| !kind.takes_in(name))
}

/// What an agent is given to reach its tools.
async fn tools_of(
    cx: &Context,
    row: &ClaimedRun,
    execution: &Path,
    choices: &AgentChoices,
) -> Result<Given, Unready> {
    let given = tools_for(cx, row, execution, choices.tools).await;
    given.map_err(|error| local(row, "no port for its tools can be had", &error))
}

/// Makes sure that nothing is known that keeps the agent from any work on this machine.
async fn look_at(
    cx: &Context,
    agent: &AgentSetup,
    sandbox: &Sandbox,
    execution: &str,
) -> Result<(), Unready> {
    if matches!(sandbox, Sandbox::Wrapper(_)) {
        // What a wrapper leads to has programs of its own.
        return Ok(());
    }
    let env = agent.environment(&cx.deps.agent_env);
    let doubt = Doubt::of(&cx.state, &agent.config);
    let probed = cx.deps.host.probe(&agent.config, &env, execution).await;
    match doubt.weigh(&cx.state, &agent.config, probed) {
        None => Ok(()),
        Some(hindrance) => Err(Unready::of_route(&hindrance, agent.config.kind())),
    }
}

/// What a person has given to an agent that is one part of what it is started with: in its configuration, else in the environment of
/// all agents.
fn taken_in(
    cx: &Context,
    agent: &str,
    kind: HarnessKind,
    own: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Unready> {
    let all = cx.deps.agent_env.iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        Some((name.to_owned(), value.to_owned()))
    });
    let own = own.iter().map(|(name, value)| (name.clone(), value.clone()));
    let given = all.chain(own).filter(|(name, _)| kind.takes_in(name));
    let given: BTreeMap<_, _> = given.collect();
    match given.iter().find(|(_, value)| !kind.can_take_in(value)) {
        None => Ok(given),
        Some((name, _)) => Err(Unready::new(
            FailureClass::InvalidRequest,
            format!(
                "the variable {name} that the agent `{agent}` is given holds no JSON object, or one with comments or a comma too many: put \
                 that right in the configuration or where the daemon was started, then `cs-panel retry`"
            ),
        )),
    }
}

/// What an agent may do, and how it was chosen to work.
struct Leave {
    choices: AgentChoices,
    permissions: Permissions,
    sandbox: Sandbox,
}

/// Finds what an agent may do: what is set for the codebase, and what was chosen for the card, stand above what is set for the agent.
fn leave_of(cx: &Context, row: &ClaimedRun, brief: &RunBrief, agent: &AgentSetup) -> Result<Leave, Unready> {
    let kind = agent.config.kind();
    let rules = rules_of(cx, brief)?;
    let mut choices = agent.choices.clone();
    choices.permissions = rules.permissions.or(choices.permissions);
    if (row.model.is_some() || row.effort.is_some()) && !kind.takes_choices() {
        return Err(no_choice(row));
    }
    choices.model = row.model.clone().or(choices.model);
    choices.effort = row.effort.clone().or(choices.effort);
    let permissions = choices.permissions_of(kind);
    let permissions = permissions.ok_or_else(|| unpermitted(&row.agent))?;
    if !kind.knows(permissions) {
        return Err(Unready::new(
            FailureClass::InvalidRequest,
            format!(
                "{} cannot be held to the permissions that are set for its codebase: set others with `cs-panel codebase set`, or give \
                 the card to another agent",
                kind.label()
            ),
        ));
    }
    Ok(Leave {
        choices,
        permissions,
        sandbox: rules.sandbox,
    })
}

/// A launcher and a worker need a place of their own, which this daemon cannot make yet: nothing sends any.
fn check_kind(kind: RunKind) -> Result<(), Unready> {
    match kind {
        RunKind::Owner => Ok(()),
        RunKind::Launcher | RunKind::Worker | RunKind::Issue => Err(Unready::new(
            FailureClass::InvalidRequest,
            format!("this version of cs-panel starts owners only, not a run of the kind {kind}"),
        )),
    }
}

fn unpermitted(agent: &str) -> Unready {
    Unready::new(
        FailureClass::InvalidRequest,
        format!(
            "nobody has said what the agent `{agent}` may do on this machine: set `permissions` of it to \"edit\" or \"full\" in the \
             configuration, then `cs-panel retry`"
        ),
    )
}

fn no_choice(row: &ClaimedRun) -> Unready {
    let (agent, card) = (&row.agent, row.card.short());
    Unready::new(
        FailureClass::InvalidRequest,
        format!(
            "the agent `{agent}` of this machine is a command of its own, which cannot be told a model or an effort: give the choice back \
             with `cs-panel send --card {card} --model default --effort default 'Go on'`, or the card to another agent with \
             `cs-panel hand-back {card} --agent NAME`"
        ),
    )
}

/// A path as it is told to an agent.
fn in_utf8(path: &Path) -> Result<String, Unready> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        tracing::warn!(path = %path.display(), "a path is no UTF-8");
        Unready::new(
            FailureClass::InvalidRequest,
            "the path of its directory is no UTF-8, which agents cannot be told: use another state directory"
                .to_owned(),
        )
    })
}

/// The model that a person has chosen for a run: for its card, or else for its agent.
pub(super) fn model_of(row: &ClaimedRun, agent: &AgentSetup) -> Option<String> {
    row.model.clone().or_else(|| agent.choices.model.clone())
}

/// Where an agent keeps its conversations, if each has a file of its own.
pub(super) fn sessions_of(cx: &Context, agent: &AgentSetup) -> Option<SessionPlace> {
    let chosen = &agent.choices.env;
    let usual = |name: &str| cx.deps.agent_env.iter().find(|(known, _)| known == name);
    let files = SessionFiles::of(agent.config.kind(), |name| {
        let chosen = chosen.get(name).map(OsString::from);
        chosen.or_else(|| usual(name).map(|(_, value)| value.clone()))
    })?;
    Some(SessionPlace {
        root: files.root().to_owned(),
        begins_at_bytes: 0,
    })
}

/// What the agents of a card's codebase may do; a card without one has no rules.
fn rules_of(cx: &Context, brief: &RunBrief) -> Result<AgentRules, Unready> {
    let rules = brief
        .card
        .codebase
        .map(|codebase| cx.deps.checkouts.rules(codebase));
    rules.transpose().map(Option::unwrap_or_default).map_err(|error| {
        Unready::new(
            FailureClass::Infrastructure,
            format!("what its agents may do is not known: {}", error.public()),
        )
    })
}

fn no_sandbox(row: &ClaimedRun, trouble: &SandboxTrouble) -> Unready {
    tracing::warn!(run = %row.run, epoch = %row.epoch, error = trouble as &dyn std::error::Error, "no sandbox for the agent");
    Unready::new(
        match trouble {
            SandboxTrouble::NoProgram { .. } => FailureClass::InvalidRequest,
            SandboxTrouble::Disk(_) => FailureClass::Infrastructure,
        },
        trouble.to_string(),
    )
}

/// Makes the directory that the agent works in.
async fn ground(cx: &Context, row: &ClaimedRun, brief: &RunBrief) -> Result<Ground, Unready> {
    let unready = |error: crate::trees::TreeError| {
        let class = match error.class() {
            ErrorClass::Transient | ErrorClass::Conflict => FailureClass::Infrastructure,
            ErrorClass::NotFound | ErrorClass::Invalid | ErrorClass::Corrupt => FailureClass::InvalidRequest,
        };
        tracing::warn!(run = %row.run, epoch = %row.epoch, error = &error as &dyn std::error::Error, "no tree for the run");
        Unready::new(
            class,
            format!("its working copy cannot be made: {}", error.public()),
        )
    };
    let Some(workplace) = cx.deps.trees.make_ready(&brief.card).await.map_err(unready)? else {
        let dir = cx.state.plain_dir(row.card);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .map_err(|error| local(row, "its directory cannot be made", &error))?;
        return Ok(Ground {
            cwd: dir,
            place: Place::Plain,
            setup: None,
            files: Vec::new(),
        });
    };
    match &workplace.person {
        PersonCommits::None | PersonCommits::Taken { .. } => {}
        other @ (PersonCommits::Waiting { .. } | PersonCommits::Diverged) => {
            tracing::warn!(card = %row.card, ?other, "commits of a person on the card's branch were not taken in");
            cx.said(&format!(
                "card {}: your commits on {} could not be taken in now",
                row.card.short(),
                workplace.branch
            ));
        }
    }
    let place = Place::Tree {
        branch: workplace.branch,
        base: workplace.base,
        standing: BranchStanding {
            ahead: workplace.ahead,
            behind: workplace.behind,
            person: workplace.person,
        },
    };
    Ok(Ground {
        cwd: workplace.path,
        place,
        setup: workplace.setup,
        files: say_brought(cx, row, &workplace.brought).into_iter().collect(),
    })
}

/// Says what did not come along into the tree, and why; returns what is kept of it beside the execution.
fn say_brought(cx: &Context, row: &ClaimedRun, brought: &BroughtAlong) -> Option<PrivateFile> {
    if *brought == BroughtAlong::default() {
        return None;
    }
    tracing::info!(card = %row.card, made = brought.made, shared = brought.shared, there = brought.there, left = brought.left_count, "files came along");
    if brought.left_count > 0 {
        let named = brought.left.iter().take(LEFT_SAID);
        let named: Vec<String> = named
            .map(|(path, why)| format!("{path} ({})", why.text()))
            .collect();
        let more = match brought.left_count.saturating_sub(named.len()) {
            0 => String::new(),
            more => format!("; and {more} more, see `cs-panel show {}`", row.card.short()),
        };
        cx.said(&format!(
            "card {}: not brought along: {}{more}",
            row.card.short(),
            named.join("; ")
        ));
    }
    let bytes = serde_json::to_vec(brought).ok()?;
    Some(PrivateFile {
        name: BROUGHT.to_owned(),
        bytes,
    })
}

/// What an execution for a card finds in its environment.
pub(crate) fn environment(
    cx: &Context,
    card: CardId,
    more: &BTreeMap<String, String>,
) -> Vec<(OsString, OsString)> {
    let mut env = cx.deps.agent_env.clone();
    let mut set = |name: &str, value: &str| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.into()));
    };
    set("CS_PANEL_CARD", &card.short());
    match port_base(&cx.state, card) {
        Ok(Some(base)) => {
            set("CS_PANEL_PORT_BASE", &base.to_string());
            set("CS_PANEL_PORT_COUNT", &PORTS_EACH.to_string());
        }
        Ok(None) => tracing::warn!(card = %card, "no range of ports is free"),
        Err(error) => tracing::warn!(card = %card, %error, "no range of ports could be kept"),
    }
    for (name, value) in more {
        set(name, value);
    }
    env
}

/// A failure of this machine; its text goes to the local log only.
fn local(row: &ClaimedRun, reason: &str, error: &io::Error) -> Unready {
    tracing::warn!(run = %row.run, epoch = %row.epoch, %error, "{reason}");
    Unready::new(FailureClass::Infrastructure, reason.to_owned())
}
