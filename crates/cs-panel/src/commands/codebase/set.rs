//! `codebase set`: what every tree of a codebase gets on this machine, and what it means to land on it.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cs_harness::Permissions;
use cs_model::{CodebaseId, LandMethod, LandingState, LandingTarget, Publish};
use cs_record::{CardFilter, Landing};
use cs_worktree::BranchPattern;

use super::super::one_of::one_of;
use super::agents::{self, AgentArgs};
use super::{named, wire};
use crate::app::{App, Desk};
use crate::checkouts::Checkout;
use crate::failure::Failure;
use crate::text;

/// How many patterns there are, at most.
const PATTERNS_MAX: usize = 100;
/// How long a pattern or a command is, at most.
const TEXT_MAX_BYTES: usize = 16 * 1024;
/// How long setup and verify of a landing may take together, at most.
const VERIFY_LIMIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The target of a codebase of which none is noted.
const AUTO: &str = "auto";

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
    /// Run no command before an agent.
    #[arg(long)]
    no_setup: bool,
    #[command(flatten)]
    agents: AgentArgs,
    #[command(flatten)]
    landing: LandingArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What a landing means")]
struct LandingArgs {
    /// A command for /bin/sh that must succeed on the merged result before anything moves, such as `cargo test`.
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_verify")]
    verify: Option<String>,
    /// Land unverified.
    #[arg(long)]
    no_verify: bool,
    /// How long setup and verify may take together, such as `45min` [default: 30min].
    #[arg(long, value_name = "SPAN")]
    verify_limit: Option<humantime::Duration>,
    /// How commits come onto the base.
    #[arg(long, value_name = "METHOD", value_parser = one_of(LandMethod::ALL, LandMethod::as_str))]
    land_by: Option<LandMethod>,
    /// What a landing moves. `auto`: as `push` where the base has a branch at a remote, else as `local`.
    #[arg(long, value_name = "TARGET", value_parser = target())]
    target: Option<TargetArg>,
    /// When the branch of a card goes to the remote beside its landing.
    #[arg(long, value_name = "WHEN", value_parser = one_of(Publish::ALL, Publish::as_str))]
    publish: Option<Publish>,
    /// Branches that no landing moves here, `*` for any characters; in place of those before.
    #[arg(long, value_name = "BRANCH", num_args = 1.., conflicts_with = "no_protect")]
    protect: Vec<String>,
    /// Let landings move every branch.
    #[arg(long)]
    no_protect: bool,
}

/// A target that was named, or what is usual.
#[derive(Debug, Clone, Copy)]
enum TargetArg {
    Auto,
    Named(LandingTarget),
}

fn target() -> impl TypedValueParser<Value = TargetArg> {
    let names = std::iter::once(AUTO).chain(LandingTarget::ALL.iter().map(|target| target.as_str()));
    PossibleValuesParser::new(names.collect::<Vec<_>>())
        .map(|name| name.parse().map_or(TargetArg::Auto, TargetArg::Named))
}

impl SetArgs {
    /// Whether it was given anything to set of a landing or a tree.
    fn changes_something(&self) -> bool {
        let landing = &self.landing;
        !self.bring.is_empty()
            || !landing.protect.is_empty()
            || self.no_bring
            || self.no_setup
            || landing.no_verify
            || landing.no_protect
            || self.setup.is_some()
            || landing.verify.is_some()
            || landing.verify_limit.is_some()
            || landing.land_by.is_some()
            || landing.target.is_some()
            || landing.publish.is_some()
    }
}

impl LandingArgs {
    fn note(self, checkout: &mut Checkout) {
        let note = &mut checkout.landing;
        if self.no_verify || self.verify.is_some() {
            note.verify = self.verify;
        }
        if let Some(limit) = self.verify_limit {
            note.verify_limit_s = Some(limit.as_secs());
        }
        note.method = self.land_by.or(note.method);
        note.publish = self.publish.or(note.publish);
        match self.target {
            Some(TargetArg::Auto) => note.target = None,
            Some(TargetArg::Named(target)) => note.target = Some(target),
            None => {}
        }
        if self.no_protect || !self.protect.is_empty() {
            note.protected = self.protect;
        }
    }
}

/// Carries out `codebase set`; without anything to set it shows what is.
pub(crate) async fn set(app: &App, args: SetArgs) -> Result<(), Failure> {
    check(&args)?;
    let desk = app.desk().await?;
    let codebase = named(&desk, &args.name).await?;
    let is_change = args.changes_something();
    let note_agents = args.agents.read()?;
    let changed = desk.checkouts.change(codebase.id, |checkout| {
        if args.no_bring || !args.bring.is_empty() {
            checkout.bring = args.bring;
        }
        if args.no_setup || args.setup.is_some() {
            checkout.setup = args.setup;
        }
        note_agents(&mut checkout.agents);
        args.landing.note(checkout);
    })?;
    let Some(checkout) = changed else {
        return Err(Failure::Refused(format!(
            "codebase `{}` is not on this machine; register it here first with `cs-panel codebase add PATH --name {}`",
            args.name,
            text::shell_word(&args.name)
        )));
    };
    if is_change {
        tell_landings(app, &desk, codebase.id).await?;
    }
    if app.global.json {
        return app.out.json(&wire(&codebase, Some(&checkout)));
    }
    app.out
        .line(&format!("codebase {}\n{}", codebase.name, lines(checkout)))
}

/// Says which landings of a codebase are under way here: their verify is what was set when it began.
async fn tell_landings(app: &App, desk: &Desk, codebase: CodebaseId) -> Result<(), Failure> {
    let cards = desk.ports.reads.cards(CardFilter::Current).await?.rows;
    let cards = cards.iter().filter(|summary| {
        summary.card.codebase == Some(codebase) && summary.card.machine == Some(desk.machine)
    });
    let is_running = |landing: &&Landing| landing.state == LandingState::Running;
    for summary in cards {
        if let Some(landing) = summary.landing.as_ref().filter(is_running) {
            let (landing, card) = (landing.id.short(), summary.card.id.short());
            app.out.said(&format!(
                "landing {landing} of card {card} is under way, and what it has begun goes on by what was set before, a verify too; \
                 for the new settings stop it with `cs-panel stop {card}` and accept it again with `cs-panel land {card}`"
            ));
        }
    }
    Ok(())
}

/// The command that sets of a codebase what is noted of it.
pub(super) fn command(name: &str, of: &Checkout) -> String {
    let landing = &of.landing;
    let one = |value: Option<&str>| value.map(str::to_owned).into_iter().collect::<Vec<_>>();
    let limit = landing.verify_limit_s.map(|limit| format!("{limit}s"));
    let (sandbox, wrapper) = agents::flags(of.agents.sandbox.as_ref());
    let options = [
        ("--bring", of.bring.clone()),
        ("--setup", one(of.setup.as_deref())),
        (
            "--permissions",
            one(of.agents.permissions.map(Permissions::as_str)),
        ),
        ("--sandbox", one(sandbox)),
        ("--wrapper", one(wrapper.as_deref())),
        ("--verify", one(landing.verify.as_deref())),
        ("--verify-limit", one(limit.as_deref())),
        ("--land-by", one(landing.method.map(LandMethod::as_str))),
        ("--target", one(landing.target.map(LandingTarget::as_str))),
        ("--publish", one(landing.publish.map(Publish::as_str))),
        ("--protect", landing.protected.clone()),
    ];
    let mut line = format!("cs-panel codebase set {}", text::shell_word(name));
    for (option, values) in options.iter().filter(|(_, values)| !values.is_empty()) {
        let values: Vec<String> = values.iter().map(|value| text::shell_word(value)).collect();
        line.push_str(&format!(" {option} {}", values.join(" ")));
    }
    line
}

/// Says what is set, a line each.
fn lines(checkout: Checkout) -> String {
    let list = |patterns: &[String]| match patterns {
        [] => "nothing".to_owned(),
        patterns => patterns.join(" "),
    };
    let policy = checkout.landing.policy();
    let verify = policy.verify.map_or_else(
        || "nothing: what merges lands".to_owned(),
        |command| {
            let limit = humantime::format_duration(policy.verify_limit);
            format!("{} (within {limit})", text::one_line(&command, 1_000))
        },
    );
    let moves = match policy.target {
        None => "your branch, and the remote's where it has one",
        Some(LandingTarget::Local) => "your branch only",
        Some(LandingTarget::Push) => "the remote's branch, then yours",
        Some(LandingTarget::PullRequest) => "no branch: that of the card is published for a pull request",
    };
    let publishes = match policy.publish {
        Publish::Never => "only at a landing that does so",
        Publish::OnEnd => "when an agent ends",
        Publish::OnLanding => "when it has landed",
    };
    let rows = [
        ("brings", list(&checkout.bring)),
        ("setup", checkout.setup.unwrap_or_else(|| "nothing".to_owned())),
        ("agents", agents::words(&checkout.agents)),
        ("verify", verify),
        ("lands", format!("by {}; moves {moves}", policy.method)),
        ("publishes", format!("the card's branch {publishes}")),
        ("protects", list(&policy.protected)),
    ];
    let row = |(name, value): &(&str, String)| format!("  {name:<9}  {}", text::one_line(value, 1_000));
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn check(args: &SetArgs) -> Result<(), Failure> {
    let bad = |what: &str, expected: &str| Err(Failure::Usage(format!("{what}, expected {expected}")));
    if args.bring.len() > PATTERNS_MAX || args.landing.protect.len() > PATTERNS_MAX {
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
    for pattern in &args.landing.protect {
        if BranchPattern::new(pattern.as_str()).is_err() {
            let shown = text::one_line(pattern, 80);
            return bad(
                &format!("`{shown}` cannot name a branch"),
                "one such as `main` or `release/*`",
            );
        }
    }
    let commands = [&args.setup, &args.landing.verify];
    if commands.into_iter().flatten().any(|command| !is_text(command)) {
        return bad("this cannot be a command", "a line for /bin/sh of at most 16 KiB");
    }
    let limit = args.landing.verify_limit.map(Duration::from);
    if limit.is_some_and(|limit| limit < Duration::from_secs(1) || limit > VERIFY_LIMIT_MAX) {
        return bad("this cannot be a limit", "a span from 1s to 24h, such as `45min`");
    }
    Ok(())
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= TEXT_MAX_BYTES && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_told_as_the_command_that_sets_it() {
        let note = serde_json::json!({
            "codebase": "0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b", "path": "/r", "common_dir": "/r/.git",
            "bring": [".env", "a b"], "setup": "npm ci",
            "agents": {"sandbox": {"wrapper": ["firejail", "--quiet"]}, "permissions": "edit"},
            "landing": {"verify": "make x", "verify_limit_s": 90, "method": "squash", "target": "push", "publish": "on_end",
                        "protected": ["release/*"]},
        });
        let note: Checkout = serde_json::from_value(note).expect("a note");
        assert_eq!(
            command("my app", &note),
            "cs-panel codebase set 'my app' --bring .env 'a b' --setup 'npm ci' --permissions edit --wrapper 'firejail --quiet' --verify 'make x' \
             --verify-limit 90s --land-by squash --target push --publish on_end --protect 'release/*'"
        );
    }
}
