//! `codebase set`: what every tree of a codebase gets on this machine before its agent starts.

use clap::Args;

use super::{named, wire};
use crate::app::App;
use crate::failure::Failure;
use crate::text;

/// How many patterns there are, at most.
const PATTERNS_MAX: usize = 100;
/// How long a pattern or a command is, at most.
const TEXT_MAX_BYTES: usize = 16 * 1024;

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The codebase.
    name: String,
    /// Files that git ignores and that every tree gets from your checkout, as patterns of .gitignore; in place of those before.
    #[arg(long, value_name = "PATTERN", num_args = 1.., conflicts_with = "no_bring")]
    bring: Vec<String>,
    /// Bring nothing along.
    #[arg(long)]
    no_bring: bool,
    /// A command for /bin/sh that makes a new tree ready for its agent, such as `npm ci`.
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_setup")]
    setup: Option<String>,
    /// Run no command.
    #[arg(long)]
    no_setup: bool,
}

/// Carries out `codebase set`; without anything to set it shows what is.
pub(crate) async fn set(app: &App, args: SetArgs) -> Result<(), Failure> {
    check(&args)?;
    let desk = app.desk().await?;
    let codebase = named(&desk, &args.name).await?;
    let changed = desk.checkouts.change(codebase.id, |checkout| {
        if args.no_bring || !args.bring.is_empty() {
            checkout.bring = args.bring;
        }
        if args.no_setup || args.setup.is_some() {
            checkout.setup = args.setup;
        }
    })?;
    let Some(checkout) = changed else {
        return Err(Failure::Refused(format!(
            "codebase `{}` is not on this machine; register it here first with `cs-panel codebase add PATH --name {}`",
            args.name,
            text::shell_word(&args.name)
        )));
    };
    if app.global.json {
        return app.out.json(&wire(&codebase, Some(&checkout)));
    }
    let bring = match checkout.bring.as_slice() {
        [] => "nothing".to_owned(),
        patterns => patterns.join(" "),
    };
    let setup = checkout.setup.as_deref().unwrap_or("nothing");
    app.out.line(&format!(
        "codebase {}\n  brings  {}\n  setup   {}",
        codebase.name,
        text::one_line(&bring, 1_000),
        text::one_line(setup, 1_000)
    ))
}

fn check(args: &SetArgs) -> Result<(), Failure> {
    let bad = |what: &str, expected: &str| Err(Failure::Usage(format!("{what}, expected {expected}")));
    if args.bring.len() > PATTERNS_MAX {
        return bad("there are too many patterns", "at most 100");
    }
    for pattern in &args.bring {
        if !is_text(pattern) || pattern.contains('\n') || pattern.starts_with(['#', '!']) {
            let shown = text::one_line(pattern, 80);
            return bad(
                &format!("`{shown}` cannot be a pattern"),
                "one as in .gitignore on one line, such as `.env` or `node_modules/`",
            );
        }
    }
    if args.setup.as_deref().is_some_and(|command| !is_text(command)) {
        return bad("this cannot be a command", "a line for /bin/sh of at most 16 KiB");
    }
    Ok(())
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= TEXT_MAX_BYTES && !text.contains('\0')
}
