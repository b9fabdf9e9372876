//! The agents, and how each is told of its provider: by its own settings in its home, as a person would do it.

use serde_json::{Value, json};

/// A real agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Opencode,
    Pi,
    /// Over the Agent Client Protocol.
    Gemini,
    /// Over the Agent Client Protocol.
    Qwen,
}

/// An agent and the command that starts it.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    pub(crate) agent: Agent,
    pub(crate) command: Vec<String>,
}

/// Reads `NAME=COMMAND`.
pub(crate) fn installed(text: &str) -> Result<Installed, String> {
    let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == name);
    Ok(Installed {
        agent: agent.ok_or_else(|| format!("there is no agent `{name}`"))?,
        command: serde_json::from_str(command).map_err(|error| error.to_string())?,
    })
}

impl Agent {
    const ALL: [Self; 6] = [
        Self::Claude,
        Self::Codex,
        Self::Opencode,
        Self::Pi,
        Self::Gemini,
        Self::Qwen,
    ];

    /// Its name here.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
        }
    }

    /// The harness that drives it.
    pub(crate) const fn harness(self) -> &'static str {
        match self {
            Self::Claude | Self::Codex | Self::Opencode | Self::Pi => self.as_str(),
            Self::Gemini | Self::Qwen => "acp",
        }
    }

    /// The variables that it is to get, with keys that are worth nothing.
    pub(crate) fn environment(self, address: &str) -> Vec<(String, String)> {
        let given: &[(&str, &str)] = match self {
            Self::Claude => &[("ANTHROPIC_BASE_URL", address), ("ANTHROPIC_API_KEY", "dummy")],
            Self::Codex => &[("OPENAI_API_KEY", "dummy")],
            Self::Opencode => &[("OPENCODE_DISABLE_MODELS_FETCH", "1")],
            Self::Pi => &[("PI_OFFLINE", "1")],
            Self::Gemini => &[("GOOGLE_GEMINI_BASE_URL", address), ("GEMINI_API_KEY", "dummy")],
            Self::Qwen => &[],
        };
        let given = given.iter();
        given
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// Where it keeps its conversations below its home, one in each file; nothing where all are in one database, or where each start of
    /// it leaves a file.
    pub(crate) const fn conversations(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(".claude/projects"),
            Self::Codex => Some(".codex/sessions"),
            Self::Opencode | Self::Gemini => None,
            Self::Pi => Some(".pi/agent/sessions"),
            Self::Qwen => Some(".qwen/projects"),
        }
    }

    /// What its command has to end with, so that it starts servers of tools in a tree that nobody has looked at.
    pub(crate) const fn trusting(self) -> Option<&'static str> {
        match self {
            Self::Claude | Self::Codex | Self::Opencode | Self::Pi | Self::Qwen => None,
            Self::Gemini => Some("--skip-trust"),
        }
    }

    /// A file of settings below its home, which hold wherever it is started.
    pub(crate) const fn holds_everywhere(self) -> &'static str {
        match self {
            Self::Claude => ".claude/settings.json",
            Self::Codex => ".codex/config.toml",
            Self::Opencode => ".config/opencode/opencode.json",
            Self::Pi => ".pi/agent/settings.json",
            Self::Gemini => ".gemini/settings.json",
            Self::Qwen => ".qwen/settings.json",
        }
    }

    /// Its settings: files below its home.
    pub(crate) fn settings(self, address: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Claude => Vec::new(),
            Self::Codex => vec![(".codex/config.toml", codex(address))],
            Self::Opencode => vec![(".config/opencode/opencode.json", opencode(address).to_string())],
            Self::Pi => {
                let choice = json!({"defaultProvider": "fake", "defaultModel": "fake-model"});
                vec![
                    (".pi/agent/settings.json", choice.to_string()),
                    (".pi/agent/models.json", pi(address).to_string()),
                ]
            }
            Self::Gemini => vec![(".gemini/settings.json", gemini().to_string())],
            Self::Qwen => vec![(".qwen/settings.json", qwen(address).to_string())],
        }
    }
}

fn codex(address: &str) -> String {
    format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"{address}/v1\"\n\
         env_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n"
    )
}

fn opencode(address: &str) -> Value {
    json!({
        "autoupdate": false, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
        "provider": {"fake": {
            "npm": "@ai-sdk/openai-compatible", "name": "fake",
            "options": {"baseURL": format!("{address}/v1"), "apiKey": "dummy"},
            "models": {"fake-model": {
                "name": "fake-model", "limit": {"context": 200_000, "output": 32_000}, "reasoning": true, "tool_call": true,
                "cost": {"input": 3, "output": 15, "cache_read": 0.3}}}}}})
}

fn pi(address: &str) -> Value {
    json!({"providers": {"fake": {
        "baseUrl": format!("{address}/v1"), "api": "openai-completions", "apiKey": "dummy",
        "models": [{
            "id": "fake-model", "reasoning": true, "contextWindow": 200_000, "maxTokens": 32_000,
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}]}}})
}

fn gemini() -> Value {
    json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-pro"},
        "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}})
}

/// Neither keeps memories nor proposes what to say next: both ask the model once more after the answer.
fn qwen(address: &str) -> Value {
    json!({
        "security": {"auth": {"selectedType": "openai", "apiKey": "dummy", "baseUrl": format!("{address}/v1")}},
        "model": {"name": "fake-model"}, "memory": {"enableManagedAutoMemory": false},
        "ui": {"enableFollowupSuggestions": false},
        "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}})
}
