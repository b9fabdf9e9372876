//! `send`: a message to a new or an existing card.

mod choice;
mod permission;

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use cs_model::{AgentName, AttachmentId, CardId, CodebaseId, IdSource, Opening, Priority, Time, TurnId};
use cs_record::{Attachment, Choice, Codebase, NewAttachment, Plan, Send, SendTo};
use cs_worktree::{Inspection, Repository, WorktreeError};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use self::choice::ChoiceArgs;
use super::agent::parse_name;
use super::{attachments, codebase};
use crate::app::{App, Desk};
use crate::checkouts::AgentNote;
use crate::config::May;
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::out;
use crate::text;
use crate::wire::{AttachmentWire, SentWire};
use permission::{OfCodebase, Rules};

/// The longest message in bytes.
const MESSAGE_MAX_BYTES: usize = 1024 * 1024;
/// The longest title that is taken from a message, in characters.
const TITLE_FROM_MESSAGE_CHARS: usize = 80;
/// The longest title, in characters.
const TITLE_MAX_CHARS: usize = 200;

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Send to this card instead of a new one: its id, or the first or last of the digits that are shown.
    #[arg(long, value_name = "ID", conflicts_with_all = ["title", "codebase"])]
    card: Option<String>,
    /// The title of the new card [default: the first line of the message].
    #[arg(long)]
    title: Option<String>,
    /// The codebase that the agent works on [default: the git repository around the current directory].
    #[arg(long, value_name = "NAME")]
    codebase: Option<String>,
    /// The agent that does the work [default: default_agent of the configuration, or the only one].
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What that agent may do without being asked, where nobody has said it yet: it is noted in the configuration.
    #[arg(long, value_enum, conflicts_with = "card")]
    permissions: Option<May>,
    /// A file for the card's agent; may be given several times.
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    plan: PlanArgs,
    /// The message; `-` or nothing reads standard input.
    message: Option<String>,
}

/// When a card starts.
#[derive(Debug, Args)]
struct PlanArgs {
    /// Start it only when this card is done; may be given several times.
    #[arg(long, value_name = "CARD")]
    after: Vec<String>,
    /// Start it at this time, such as 2026-11-30T09:00:00Z.
    #[arg(long, value_name = "TIME", conflicts_with = "in")]
    at: Option<OffsetTime>,
    /// Start it after a while, such as `2h` or `1day 30min`.
    #[arg(long = "in", id = "in", value_name = "SPAN")]
    span: Option<Span>,
    /// Which of two ready cards goes first: the larger number, from -100 to 100 [default: 0].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<Priority>,
}

/// A moment, as RFC 3339 writes it.
#[derive(Debug, Clone, Copy)]
struct OffsetTime(Time);

impl std::str::FromStr for OffsetTime {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let moment = OffsetDateTime::parse(text, &Rfc3339);
        moment.map(|moment| Self(moment.into())).map_err(|_| {
            "expected a date, a time and an offset, such as 2026-11-30T09:00:00Z or 2026-11-30T09:00:00+01:00".to_owned()
        })
    }
}

/// A while, as people write it.
#[derive(Debug, Clone, Copy)]
struct Span(std::time::Duration);

impl std::str::FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let span = humantime::parse_duration(text);
        span.map(Self)
            .map_err(|_| "expected numbers with their units, such as `30min`, `2h` or `1day 12h`".to_owned())
    }
}

impl PlanArgs {
    /// Finds the cards that are meant.
    async fn resolve(&self, app: &App, desk: &Desk) -> Result<Plan, Failure> {
        let mut after = Vec::with_capacity(self.after.len());
        for card in &self.after {
            after.push(desk.ports.reads.find_card(card).await?);
        }
        let span = self.span.map(|Span(span)| app.now().plus(span));
        Ok(Plan {
            after,
            not_before: self.at.map(|OffsetTime(at)| at).or(span),
            priority: self.priority,
        })
    }
}

/// Where a new card's agent is to work, before anything is registered.
#[derive(Debug)]
enum Spot {
    /// No repository is here.
    Nowhere,
    /// In the repository around us, with what is set for agents there where it is a codebase already.
    Around(Box<Inspection>, Option<(CodebaseId, AgentNote)>),
    /// In a codebase that was named.
    Named(Codebase, Box<Inspection>, AgentNote),
}

/// Where a new card's agent will work.
#[derive(Debug)]
enum Place {
    /// In a directory of its own that is empty.
    Nowhere,
    /// In a tree of a codebase that this machine has.
    In {
        codebase: Codebase,
        seen: Box<Inspection>,
    },
}

/// Carries out `send`.
pub(crate) async fn send(app: &App, args: SendArgs) -> Result<(), Failure> {
    let files = attachments::read_all(app, &args.attach)?;
    let body = words(args.message.as_deref(), "message", MESSAGE_MAX_BYTES)?;
    if let Some(card) = &args.card {
        let desk = app.desk().await?;
        let card = desk.ports.reads.find_card(card).await?;
        if let Some(agent) = args.agent.as_deref().map(parse_name).transpose()? {
            return Err(other_agent(card, &agent));
        }
        let choice = args.choice.of_card(app, &desk, card).await?;
        let plan = args.plan.resolve(app, &desk).await?;
        let said = Said {
            body,
            plan,
            choice,
            files,
        };
        return deliver(app, &desk, SendTo::Card(card), said, None).await;
    }
    let named = args.agent.as_deref().map(parse_name).transpose()?;
    let config = app.config()?;
    let agent = config.choose_agent(named.as_ref())?;
    let choice = args.choice.of_agent(app, &config, &agent)?;
    let title = title(args.title.as_deref(), &body)?;
    let desk = app.desk().await?;
    let spot = spot(app, &desk, args.codebase.as_deref()).await?;
    let rules = Rules {
        given: args.permissions,
        codebase: spot.rules(&desk).await?,
    };
    permission::make_sure(app, &config, &agent, &rules)?;
    let place = spot.settle(app, &desk).await?;
    let card = CardId::from_uuid(SystemIds.uuid_v7());
    let (codebase, base) = match &place {
        Place::Nowhere => (None, None),
        Place::In { codebase, seen } => (Some(codebase.id), Some(seen.base_branch.to_string())),
    };
    let to = SendTo::NewCard {
        card,
        title,
        codebase,
        base,
        agent,
        opening: Opening::Owner,
    };
    let plan = args.plan.resolve(app, &desk).await?;
    let said = Said {
        body,
        plan,
        choice,
        files,
    };
    deliver(app, &desk, to, said, Some(place)).await
}

/// What a person says.
struct Said {
    body: String,
    plan: Plan,
    choice: Choice,
    files: Vec<NewAttachment>,
}

/// Says how a card that is there gets another agent.
fn other_agent(card: CardId, agent: &AgentName) -> Failure {
    let short = card.short();
    Failure::Usage(format!(
        "card {short} has its agent, nothing was sent; give it to another with `cs-panel hand-back {short} --agent {agent}`, then send \
         this again without --agent"
    ))
}

async fn deliver(
    app: &App,
    desk: &Desk,
    to: SendTo,
    said: Said,
    place: Option<Place>,
) -> Result<(), Failure> {
    let person = app.person(&desk.state).await?;
    let turn = TurnId::from_uuid(SystemIds.uuid_v7());
    let files: Vec<AttachmentId> = said.files.iter().map(|file| file.id).collect();
    let sent = desk
        .ports
        .acts
        .send(&Send {
            turn,
            to,
            person,
            body: said.body,
            plan: said.plan,
            choice: said.choice,
            attachments: said.files,
        })
        .await?;
    app.wake(desk).await;
    let (what, codebase) = match place {
        None => ("card", None),
        Some(Place::Nowhere) => {
            app.out
                .said("no git repository is here: the agent starts in an empty directory");
            ("new card", None)
        }
        Some(Place::In { codebase, seen }) => {
            codebase::tell_about(app, &seen);
            ("new card", Some(codebase.name))
        }
    };
    let short = sent.card.short();
    let files = attached(desk, sent.card, &files).await?;
    if sent.open_asks > 0 {
        let asks = text::count(sent.open_asks as usize, "open question");
        app.out.said(&format!(
            "card {short} has {asks}, which this message does not answer; see `cs-panel asks`"
        ));
    }
    if app.global.json {
        let (card, turn, seq) = (sent.card, sent.turn, sent.seq.get());
        return app.out.json(&SentWire {
            card,
            turn,
            seq,
            codebase,
            open_asks: sent.open_asks,
            attachments: files.iter().map(AttachmentWire::from).collect(),
        });
    }
    let with = match files.as_slice() {
        [] => String::new(),
        files => format!(
            ", with {}",
            files.iter().map(attachments::line).collect::<Vec<_>>().join(", ")
        ),
    };
    let where_to = codebase.map(|name| format!(" on {name}")).unwrap_or_default();
    app.out.line(&format!(
        "{what} {short}{where_to}: turn {} was sent{with}",
        sent.seq
    ))
}

/// What these files became on their card.
async fn attached(desk: &Desk, card: CardId, files: &[AttachmentId]) -> Result<Vec<Attachment>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let all = desk.ports.attachments.attachments(card).await?;
    let became = files
        .iter()
        .map(|id| all.iter().find(|one| one.id == *id).cloned());
    Ok(became.flatten().collect())
}

/// Finds where the agent of a new card works: the codebase that was named, else the repository around us, else nowhere. Nothing is
/// registered yet.
async fn spot(app: &App, desk: &Desk, named: Option<&str>) -> Result<Spot, Failure> {
    let git = app.git(&desk.state).await?;
    let Some(name) = named else {
        return match Repository::inspect(&git, &app.env.cwd).await {
            Ok(seen) => {
                let mut here = desk.checkouts.list()?.into_iter();
                let common_dir = &seen.repository.common_dir;
                let checkout = here.find(|checkout| checkout.common_dir == *common_dir);
                Ok(Spot::Around(
                    Box::new(seen),
                    checkout.map(|checkout| (checkout.codebase, checkout.agents)),
                ))
            }
            Err(WorktreeError::NotARepository { .. }) => Ok(Spot::Nowhere),
            Err(error) => Err(error.into()),
        };
    };
    let known = desk.ports.codebases.codebases().await?;
    let Some(codebase) = known.iter().find(|codebase| codebase.name == name) else {
        let names: Vec<&str> = known.iter().map(|codebase| codebase.name.as_str()).collect();
        let expected = match names.as_slice() {
            [] => "none is registered".to_owned(),
            names => format!("expected one of: {}", names.join(", ")),
        };
        return Err(Failure::plain(format!(
            "there is no codebase `{name}`, {expected}; register it with `cs-panel codebase add PATH`"
        )));
    };
    let Some(checkout) = desk.checkouts.find(codebase.id)? else {
        return Err(Failure::Refused(format!(
            "this machine has no checkout of {name}, nothing was sent; clone it, then `cs-panel codebase add PATH --name {name}`"
        )));
    };
    let seen = Repository::inspect(&git, &checkout.path).await?;
    Ok(Spot::Named(codebase.clone(), Box::new(seen), checkout.agents))
}

impl Spot {
    /// What is set of what agents may do there; nothing where nothing is.
    async fn rules(&self, desk: &Desk) -> Result<Option<OfCodebase>, Failure> {
        let (id, agents) = match self {
            Self::Nowhere | Self::Around(_, None) => return Ok(None),
            Self::Around(_, Some((id, agents))) => (*id, agents),
            Self::Named(codebase, _, agents) => (codebase.id, agents),
        };
        let Some(permissions) = agents.permissions else {
            return Ok(None);
        };
        let known = desk.ports.codebases.codebases().await?;
        let codebase = known.iter().find(|codebase| codebase.id == id);
        Ok(Some(OfCodebase {
            name: codebase.map_or_else(|| "NAME".to_owned(), |codebase| text::shell_word(&codebase.name)),
            permissions,
            has_sandbox: agents.sandbox.is_some(),
        }))
    }

    /// Registers a repository that is not yet a codebase.
    async fn settle(self, app: &App, desk: &Desk) -> Result<Place, Failure> {
        match self {
            Self::Nowhere => Ok(Place::Nowhere),
            Self::Named(codebase, seen, _) => Ok(Place::In { codebase, seen }),
            Self::Around(seen, _) => {
                let registered = codebase::register(desk, &seen, None).await?;
                registered.tell_settings(app);
                let codebase = registered.codebase;
                Ok(Place::In { codebase, seen })
            }
        }
    }
}

/// Takes words from the argument or from standard input, and checks what can be checked before anything is written.
///
/// # Errors
/// They are missing, empty, too long or no UTF-8.
pub(crate) fn words(given: Option<&str>, what: &str, max_bytes: usize) -> Result<String, Failure> {
    let words = match given {
        Some("-") => read_stdin(what, max_bytes)?,
        Some(words) => words.to_owned(),
        None if out::stdin_is_terminal() => {
            return Err(Failure::Usage(format!(
                "the {what} is missing; give it as the last argument, or pipe it to standard input"
            )));
        }
        None => read_stdin(what, max_bytes)?,
    };
    if words.trim().is_empty() {
        return Err(Failure::Usage(format!(
            "the {what} is empty, nothing was sent; give at least one word"
        )));
    }
    if words.len() > max_bytes {
        return Err(Failure::Usage(format!(
            "the {what} is longer than {max_bytes} bytes, nothing was sent; shorten it"
        )));
    }
    Ok(words)
}

fn read_stdin(what: &str, max_bytes: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::failed(error, "standard input cannot be read"))?;
    if bytes.len() > max_bytes {
        return Err(Failure::Usage(format!(
            "the {what} is longer than {max_bytes} bytes, nothing was sent; shorten it"
        )));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::Usage(format!(
            "the {what} on standard input is not UTF-8, nothing was sent; expected text"
        ))
    })
}

fn title(given: Option<&str>, body: &str) -> Result<String, Failure> {
    let Some(title) = given else {
        let line = body
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        return Ok(text::one_line(line, TITLE_FROM_MESSAGE_CHARS));
    };
    let fits = (1..=TITLE_MAX_CHARS).contains(&title.trim().chars().count());
    if fits && !title.chars().any(char::is_control) {
        return Ok(title.trim().to_owned());
    }
    Err(Failure::Usage(format!(
        "the title cannot be used, expected one line of 1 to {TITLE_MAX_CHARS} characters"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_message_is_its_title() {
        assert_eq!(title(None, "\n  Fix it \nplease").expect("a title"), "Fix it");
        assert_eq!(
            title(None, &"x".repeat(100)).expect("a title").chars().count(),
            TITLE_FROM_MESSAGE_CHARS
        );
        assert_eq!(title(Some(" Own "), "x").expect("a title"), "Own");
    }

    #[test]
    fn a_title_is_one_short_line() {
        for bad in ["", "  ", "a\nb", "a\u{1b}b", &"x".repeat(TITLE_MAX_CHARS + 1)] {
            assert!(title(Some(bad), "x").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_empty_message_is_refused() {
        for bad in ["", " \n\t"] {
            let failure = words(Some(bad), "message", 10).expect_err("empty");
            assert_eq!(failure.exit_code(), 2);
        }
        assert!(words(Some("01234567890"), "message", 10).is_err(), "too long");
        assert_eq!(words(Some("ok"), "message", 10).expect("fits"), "ok");
    }
}
