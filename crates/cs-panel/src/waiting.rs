//! Why a card that is ready does not start on this machine, for people. The take decides; this says what it will say.

use std::collections::BTreeSet;

use cs_daemon::{Admission, AdmissionFacts, Host as _, Settings, ThisHost, admission};
use cs_model::{AgentName, CodebaseId, MachineId, PauseKind, Person, RunState, Time};
use cs_record::{CardSummary, LiveLimit, Park, Pause, ReadyFor, Scope};

use crate::app::{App, Desk};
use crate::config::Serve;
use crate::failure::Failure;
use crate::record::Place;
use crate::standstill::Standstills;

/// What this machine can start, and what is in the way.
#[derive(Debug)]
pub(crate) struct Here {
    machine: MachineId,
    /// Whose cards it takes; nothing means everybody's.
    only: Option<Person>,
    /// Nothing where the configuration cannot be read: then nobody knows.
    agents: Option<BTreeSet<AgentName>>,
    codebases: BTreeSet<CodebaseId>,
    pauses: Vec<Pause>,
    limits: Vec<LiveLimit>,
    parks: Vec<Park>,
    /// Why nothing starts for want of room, if so.
    full: Option<String>,
    /// The agents of this machine that stand still.
    pub(crate) still: Standstills,
    /// How much is said.
    pub(crate) room: Room,
}

/// How much room there is for words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Room {
    /// A page: everything.
    #[default]
    Page,
    /// A row of a table: what is said in full elsewhere is named.
    Row,
}

/// What keeps a card that is ready from starting here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// New work is closed by a person: a pause, a drain, a limit.
    Closed(String),
    /// It is not for this machine as it is: another one's card, an agent or a codebase that is not here, a parked agent.
    NotHere(String),
}

impl Kept {
    /// Says it.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Closed(words) | Self::NotHere(words) => words,
        }
    }
}

impl Here {
    /// Reads it.
    ///
    /// # Errors
    /// The record, the configuration or the list of checkouts cannot be read.
    pub(crate) async fn read(app: &App, desk: &Desk) -> Result<Self, Failure> {
        let config = app.config()?;
        let everyone = config.serve == Serve::Everyone || matches!(desk.record, Place::File(_));
        let person = app.person(&desk.state).await?;
        let now = app.now();
        let mut parks = desk.ports.machines.parks(desk.machine).await?;
        parks.retain(|park| park.holds(now));
        let checkouts = desk.checkouts.list()?;
        Ok(Self {
            machine: desk.machine,
            only: (!everyone).then_some(person),
            agents: app
                .knows_config()
                .then(|| config.agents.keys().cloned().collect()),
            codebases: checkouts.into_iter().map(|checkout| checkout.codebase).collect(),
            pauses: desk.ports.machines.pauses(desk.machine).await?,
            limits: desk.ports.machines.limits().await?,
            parks,
            full: full(desk),
            still: Standstills::default(),
            room: Room::default(),
        })
    }

    /// Says what keeps a card from starting here; nothing when it is not ready, or nothing does. `all` are the cards that are not
    /// over: their live runs count against the limits.
    pub(crate) fn keeps(&self, summary: &CardSummary, all: &[CardSummary], now: Time) -> Option<Kept> {
        let card = &summary.card;
        if card.ready.what == ReadyFor::Nothing || card.ready.from > now || !summary.waits_for.is_empty() {
            return None;
        }
        let not_here = |words: String| Some(Kept::NotHere(words));
        if let Some(other) = card.machine.filter(|other| *other != self.machine) {
            return not_here(format!("waits for machine {}, which began it", other.short()));
        }
        if self.only.as_ref().is_some_and(|person| *person != card.person) {
            return not_here(format!("waits for a machine of {}", card.person));
        }
        if card
            .codebase
            .is_some_and(|codebase| !self.codebases.contains(&codebase))
        {
            return not_here("waits for a machine that has its codebase".to_owned());
        }
        if self
            .agents
            .as_ref()
            .is_some_and(|agents| !agents.contains(&card.agent))
        {
            let (agent, short) = (&card.agent, card.id.short());
            return not_here(format!(
                "waits for agent {agent}, which is not configured here: add it with `cs-panel agent add {agent}`, or give the card to \
                 another with `cs-panel hand-back {short} --agent NAME`"
            ));
        }
        let full = self.full.clone().map(Kept::Closed);
        full.or_else(|| self.paused(summary))
            .or_else(|| self.full(summary, all))
            .or_else(|| self.parked(summary))
    }

    fn paused(&self, summary: &CardSummary) -> Option<Kept> {
        let card = &summary.card;
        let pause = self.pauses.iter().find(|pause| {
            let covers = match pause.scope {
                Scope::Everything | Scope::Machine(_) => true,
                Scope::Codebase(codebase) => card.codebase == Some(codebase),
            };
            covers && (pause.kind == PauseKind::Pause || card.machine.is_none())
        })?;
        let (what, flag) = match pause.scope {
            Scope::Everything => ("everything", String::new()),
            Scope::Machine(_) => ("this machine", " --machine".to_owned()),
            Scope::Codebase(_) => {
                let name = summary.codebase.as_deref().unwrap_or_default();
                (
                    "its codebase",
                    format!(" --codebase {}", crate::text::shell_word(name)),
                )
            }
        };
        let how = match pause.kind {
            PauseKind::Pause => "paused",
            PauseKind::Drain => "drained",
        };
        Some(Kept::Closed(format!("{what} is {how} (`cs-panel resume{flag}`)")))
    }

    fn full(&self, summary: &CardSummary, all: &[CardSummary]) -> Option<Kept> {
        let codebase = summary.card.codebase;
        let full = self.limits.iter().find(|limit| {
            let runs = all.iter().filter_map(|other| other.live.as_ref());
            let running = runs.filter(|run| run.state == RunState::Running || run.process.is_some());
            let (covers, live) = match limit.scope {
                Scope::Everything => (true, running.count()),
                Scope::Machine(machine) => (
                    machine == self.machine,
                    running.filter(|run| run.machine == machine).count(),
                ),
                Scope::Codebase(limited) => {
                    let there = running.filter(|run| run.codebase == Some(limited)).count();
                    (codebase == Some(limited), there)
                }
            };
            covers && live >= usize::try_from(limit.most).unwrap_or(usize::MAX)
        })?;
        let what = match full.scope {
            Scope::Everything => "everything",
            Scope::Machine(_) => "this machine",
            Scope::Codebase(_) => "its codebase",
        };
        Some(Kept::Closed(format!(
            "the limit of {what} is {} (`cs-panel limit`)",
            full.most
        )))
    }

    fn parked(&self, summary: &CardSummary) -> Option<Kept> {
        let park = self
            .parks
            .iter()
            .find(|park| park.route.agent == summary.card.agent)?;
        let until = match park.until {
            Some(until) => format!("until {}", until.to_the_second()),
            None => format!(
                "until a person has mended that (`cs-panel retry {}` tries it)",
                summary.card.id.short()
            ),
        };
        let (agent, class, reason) = (&park.route.agent, park.class, &park.reason);
        Some(Kept::NotHere(match self.room {
            Room::Page => format!("agent {agent} is parked ({class}: {reason}) {until}"),
            Room::Row => format!("agent {agent} is parked ({class}; see `cs-panel agents`)"),
        }))
    }
}

/// Says why nothing starts here while the disk is nearly full, as the daemon will.
fn full(desk: &Desk) -> Option<String> {
    let host = ThisHost::new(desk.state.root());
    let facts = AdmissionFacts {
        free_bytes: host.free_bytes().ok(),
        free_files: host.free_files().ok(),
        min_free_bytes: Settings::default().min_free_bytes,
        ..AdmissionFacts::default()
    };
    match admission(&facts) {
        Admission::Open => None,
        Admission::Closed(reasons) => reasons.first().map(ToString::to_string),
    }
}
