use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{HarnessKind, PanelTools};

/// What a harness is told about one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// The card's id as people see it.
    pub card: String,
    /// The run's id.
    pub run: String,
    /// Which start of the run this is; grows by one with each start.
    pub epoch: u64,
    /// Why the run is started now.
    pub wake: Wake,
    /// What the agent is asked to do, whole.
    pub prompt: String,
    /// The agent's own conversation to go on with; `None` begins a new one. One that its kind does not resume
    /// ([`HarnessKind::resumes`](crate::HarnessKind::resumes)) is not handed over.
    pub session: Option<String>,
    /// What was said before, to be told in front of the prompt by whoever finds that the agent cannot go on with `session`.
    pub history: Option<String>,
    /// The name to give to a conversation that begins, for agents that let us choose it: a UUID that was never used.
    pub new_session: String,
    /// The answer to what the agent asked before.
    pub answer: Option<GivenAnswer>,
    /// The model to use; `None` leaves it to the agent's own settings.
    pub model: Option<String>,
    /// How much the model is to think, in the agent's own words; `None` leaves it to the agent's own settings.
    pub effort: Option<String>,
    /// What the agent may do without being asked.
    pub permissions: Permissions,
    /// Whether the person's own settings hold: instructions, tool servers, hooks.
    pub settings: OwnSettings,
    /// The directory in which the agent works, absolute.
    pub cwd: String,
    /// The directory into which [`LaunchSpec::files`] are written, absolute.
    pub private_dir: String,
    /// The directory of files that the agent may read beside those of `cwd`, absolute; `None` where there are none.
    pub attachments: Option<String>,
    /// The variables that a person has given to the agent and that [`HarnessKind::takes_in`](crate::HarnessKind::takes_in) names.
    pub given: BTreeMap<String, String>,
    /// The program of which `acp -- COMMAND...` leads an agent that speaks the Agent Client Protocol; `None` finds `cs-panel` in
    /// the search path.
    pub bridge: Option<String>,
    /// The tools that the agent is given besides its own; `None` gives it none.
    pub tools: Option<PanelTools>,
    /// How often the model may be asked.
    pub most_turns: Option<u64>,
    /// How much the attempt may cost, in millionths of a US dollar.
    pub most_micro_usd: Option<u64>,
}

impl RunFacts {
    /// The conversation to go on with, where an agent of this kind can be handed it.
    pub(crate) fn session_of(&self, kind: HarnessKind) -> Option<&str> {
        self.session.as_deref().filter(|session| kind.resumes(session))
    }
}

/// What an agent may do without asking anybody: nobody is there to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Change files of its tree, and run the commands that its own settings allow.
    Edit,
    /// Everything that its user may do.
    #[default]
    Full,
}

/// Whether what the person has set up for an agent holds for the runs that are started here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnSettings {
    /// It holds.
    #[default]
    Use,
    /// Instructions, tool servers and hooks of the person are shut out as far as the agent can do that; the sign-in is not.
    ShutOut,
}

/// Why a run is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wake {
    /// The first start.
    #[default]
    First,
    /// New turns for a run that has spoken before.
    Turn,
    /// Its question was answered.
    Answer,
    /// The start before this one failed or was interrupted.
    Retry,
    /// Its work does not merge into the base branch.
    Conflict,
    /// Its work did not pass the verification.
    VerifyFailed,
}

/// A question of the agent and what a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenAnswer {
    /// The question, as the agent put it.
    pub question: String,
    /// The answer.
    pub text: String,
}

/// How to start an agent. The caller gives the working directory and the base environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The program and its arguments; never empty. A program without a slash is searched in the base environment's `PATH`.
    pub argv: Vec<String>,
    /// Variables to add to the base environment. Holds no secret: the environment of a process can be read.
    pub env: BTreeMap<String, String>,
    /// Everything the agent reads on standard input, which is closed after it.
    pub stdin: Vec<u8>,
    /// Files to write before the start, mode 0600, in the execution's own directory.
    pub files: Vec<PrivateFile>,
}

/// A file that only the agent's user may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    /// A plain file name, without a slash.
    pub name: String,
    /// The whole content.
    pub bytes: Vec<u8>,
}

impl Permissions {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Edit, Self::Full];

    /// The word for them in files and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Full => "full",
        }
    }
}

impl OwnSettings {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Use, Self::ShutOut];

    /// The word for it in files and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::ShutOut => "shut-out",
        }
    }
}

impl Wake {
    /// The word that the agent reads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Turn => "turn",
            Self::Answer => "answer",
            Self::Retry => "retry",
            Self::Conflict => "conflict",
            Self::VerifyFailed => "verify_failed",
        }
    }
}
