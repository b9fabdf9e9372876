//! What `codebase set` says of agents: what they may do, and what is put around them.

use clap::Args;
use cs_harness::Permissions;

use super::super::one_of::one_of;
use crate::checkouts::{AgentNote, SandboxNote};
use crate::failure::Failure;
use crate::text;

#[derive(Debug, Args)]
#[command(next_help_heading = "What agents may do")]
pub(super) struct AgentArgs {
    /// What agents that drive a model may do without being asked: `edit` files and run the commands that their own settings allow,
    /// or everything (`full`).
    #[arg(long, value_name = "WHAT", value_parser = one_of(&Permissions::ALL, Permissions::as_str))]
    permissions: Option<Permissions>,
    /// What is put around everything that runs in a tree: nothing, or bubblewrap, in which it can write the tree and what the agent
    /// program keeps of its own, and sees neither the rest of your home nor other trees.
    #[arg(long, value_name = "KIND", conflicts_with = "wrapper")]
    sandbox: Option<SandboxArg>,
    /// A command of your own that is put before everything that runs in a tree, and ends with its parent.
    #[arg(long, value_name = "COMMAND")]
    wrapper: Option<String>,
}

/// A sandbox that can be named.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SandboxArg {
    None,
    Bwrap,
}

impl AgentArgs {
    /// Reads what there is to set, before anything is changed.
    pub(super) fn read(self) -> Result<impl FnOnce(&mut AgentNote), Failure> {
        let wrapper = self.wrapper.map(|line| {
            let argv = shell_words::split(&line).ok().filter(|argv| !argv.is_empty());
            argv.ok_or_else(|| {
                Failure::Usage(format!(
                    "`{}` cannot be a wrapper, expected a program and its arguments, such as `firejail --quiet`",
                    text::one_line(&line, 80)
                ))
            })
        });
        let wrapper = wrapper.transpose()?;
        Ok(move |note: &mut AgentNote| {
            note.permissions = self.permissions.or(note.permissions);
            match self.sandbox {
                Some(SandboxArg::None) => note.sandbox = None,
                Some(SandboxArg::Bwrap) => note.sandbox = Some(SandboxNote::Bwrap),
                None => {}
            }
            if let Some(argv) = wrapper {
                note.sandbox = Some(SandboxNote::Wrapper(argv));
            }
        })
    }
}

/// Says what is set, in one line.
pub(super) fn words(of: &AgentNote) -> String {
    let permissions = match of.permissions {
        None => "as their own configuration says",
        Some(Permissions::Edit) => "change files and run what their own settings allow",
        Some(Permissions::Full) => "do everything without being asked",
    };
    let sandbox = match &of.sandbox {
        None => "nothing".to_owned(),
        Some(SandboxNote::Bwrap) => "bubblewrap".to_owned(),
        Some(SandboxNote::Wrapper(argv)) => shell_words::join(argv),
    };
    format!("{permissions}; around them: {sandbox}")
}

/// The values of `--sandbox` and `--wrapper` that set what is noted.
pub(super) fn flags(sandbox: Option<&SandboxNote>) -> (Option<&'static str>, Option<String>) {
    match sandbox {
        None => (None, None),
        Some(SandboxNote::Bwrap) => (Some("bwrap"), None),
        Some(SandboxNote::Wrapper(argv)) => (None, Some(shell_words::join(argv))),
    }
}
