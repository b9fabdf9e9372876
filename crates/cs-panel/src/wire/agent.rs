//! An agent of this machine.

use cs_daemon::{AgentChoices, Probed};
use cs_harness::{AgentConfig, HarnessKind, OwnSettings, Permissions, SignIn};
use cs_model::{AgentName, Time};
use cs_record::Park;
use serde::Serialize;

/// An agent of this machine.
#[derive(Debug, Serialize)]
pub(crate) struct AgentWire {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    pub(crate) harness: String,
    pub(crate) default: bool,
    /// The model that was chosen for it; null leaves it to the agent.
    pub(crate) model: Option<String>,
    /// The effort that was chosen for it; null leaves it to the agent.
    pub(crate) effort: Option<String>,
    /// What it may do; null where nobody has said it yet.
    pub(crate) permissions: Option<&'static str>,
    /// Whether the person's own settings of it hold.
    pub(crate) settings: &'static str,
    /// The version that its program told; null where it told none, or was not asked.
    pub(crate) version: Option<String>,
    /// `signed_in`, `not_signed_in` or `cannot_be_told`; null where it was not asked.
    pub(crate) sign_in: Option<&'static str>,
    /// What keeps its program from any work on this machine; null where nothing is known of that kind.
    pub(crate) hindrance: Option<HindranceWire>,
    /// Why it takes no work on this machine for now; null when it does.
    pub(crate) parked: Option<ParkWire>,
}

/// What keeps the program of an agent from any work.
#[derive(Debug, Serialize)]
pub(crate) struct HindranceWire {
    /// `not_installed`, `not_executable`, `too_old` or `not_signed_in`.
    pub(crate) what: &'static str,
    /// What is wrong and what to do.
    pub(crate) reason: String,
    #[serde(skip)]
    words: String,
}

/// Why an agent takes no work on a machine for now.
#[derive(Debug, Serialize)]
pub(crate) struct ParkWire {
    pub(crate) class: &'static str,
    pub(crate) reason: String,
    pub(crate) since: Time,
    /// Until when; null until a person or a success says that it is mended.
    pub(crate) until: Option<Time>,
}

impl ParkWire {
    /// Says it in a few words.
    fn words(&self) -> String {
        match self.until {
            Some(until) => format!("parked until {} ({})", until.to_the_second(), self.class),
            None => format!("parked ({})", self.class),
        }
    }
}

impl AgentWire {
    /// Describes an agent; it is the default when `default` names it.
    pub(crate) fn new(name: &AgentName, agent: &AgentConfig, default: Option<&AgentName>) -> Self {
        Self {
            name: name.to_string(),
            command: agent.argv().to_vec(),
            harness: agent.kind().to_string(),
            default: default == Some(name),
            model: None,
            effort: None,
            permissions: AgentChoices::default()
                .permissions_of(agent.kind())
                .map(Permissions::as_str),
            settings: OwnSettings::default().as_str(),
            version: None,
            sign_in: None,
            hindrance: None,
            parked: None,
        }
    }

    /// Says what was chosen for it.
    pub(crate) fn choosing(mut self, choices: &AgentChoices) -> Self {
        self.model.clone_from(&choices.model);
        self.effort.clone_from(&choices.effort);
        self.permissions = self.permissions.or(choices.permissions.map(Permissions::as_str));
        self.settings = choices.settings.as_str();
        self
    }

    /// Says what a look at its program found.
    pub(crate) fn looked_at(mut self, kind: HarnessKind, probed: Probed) -> Self {
        self.version = probed.version;
        self.sign_in = (!kind.is_command()).then(|| probed.sign_in.as_str());
        self.hindrance = probed.hindrance.map(|hindrance| HindranceWire {
            what: hindrance.as_str(),
            reason: hindrance.public(kind),
            words: hindrance.words(),
        });
        self
    }

    /// Says that it takes no work for now.
    pub(crate) fn parked(mut self, park: Option<&Park>) -> Self {
        self.parked = park.map(|park| ParkWire {
            class: park.class.as_str(),
            reason: park.reason.clone(),
            since: park.since,
            until: park.until,
        });
        self
    }

    /// Whether anything is known of its program.
    pub(crate) fn is_known(&self) -> bool {
        self.sign_in.is_some()
    }

    /// Whether it is signed in, in a few words.
    pub(crate) fn sign_in_words(&self) -> &'static str {
        let is = |sign_in: SignIn| self.sign_in == Some(sign_in.as_str());
        if is(SignIn::SignedIn) {
            "signed in"
        } else if is(SignIn::NotSignedIn) {
            "not signed in"
        } else {
            ""
        }
    }

    /// What keeps it from work, in a few words.
    pub(crate) fn state_words(&self) -> String {
        let hindrance = self.hindrance.as_ref().map(|hindrance| hindrance.words.clone());
        // That stands beside it.
        let hindrance = hindrance.filter(|words| words != self.sign_in_words());
        let park = self.parked.as_ref().map(ParkWire::words);
        [hindrance, park]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }
}
