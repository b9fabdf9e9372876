//! What an agent is told: one pure function from the brief of its run to the prompt.
//!
//! First comes what cs-panel says: what was said before (where the agent has no conversation of its own to go on with), where it works, the
//! rules, the files, and why it is started. Then come the words of others, unchanged, each in a fence that it cannot end: nothing in
//! them can be taken for words of cs-panel.

mod attachments;
mod data;
mod rules;
mod standing;

use cs_harness::{GivenAnswer, HarnessKind, RunFacts, Wake};
use cs_journal::{ClaimedRun, Woke};
use cs_model::{AskState, Author, TurnState};
use cs_record::{Ask, Former, RunBrief, Turn};

use self::attachments::attachments_block;
use self::data::fenced;
use self::rules::rules_block;
pub(crate) use self::standing::BranchStanding;
use crate::attempt::Conversation;

/// Where the agent works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A clone of its codebase, on the card's branch.
    Tree {
        /// The branch.
        branch: String,
        /// The branch that its work is to land on.
        base: String,
        /// How the two stand.
        standing: BranchStanding,
    },
    /// An empty directory.
    Plain,
}

/// The oldest part of a conversation is left out when it is longer than this many bytes.
const HISTORY_MAX_BYTES: usize = 64 * 1024;

/// Composes what a harness is told of one attempt.
pub(crate) fn compose(
    claimed: &ClaimedRun,
    brief: &RunBrief,
    (place, attached): (&Place, Option<&str>),
    conversation: &Conversation,
) -> RunFacts {
    let news: Vec<&Turn> = brief.turns.iter().filter(|turn| is_news(turn, claimed)).collect();
    let answered: Vec<&Ask> = brief
        .asks
        .iter()
        .filter(|ask| ask.given == Some(claimed.epoch))
        .collect();
    let mut parts = Vec::new();
    let mut before = history(brief, &news, &answered);
    if conversation.session.is_none() || conversation.is_lacking {
        parts.extend(before.take());
    }
    parts.push(place_block(claimed, place));
    parts.extend(rules_block(claimed, brief, conversation));
    parts.extend(attachments_block(brief, attached));
    parts.extend(why(&claimed.woke, brief.former));
    parts.extend(brief.brief.as_deref().map(task));
    parts.extend(news.iter().map(|turn| message(turn)));
    parts.extend(answered.iter().map(|ask| answer_block(ask)));
    parts.extend(open_questions(brief));
    parts.extend(brief.questions.iter().map(child_question));
    parts.extend(children(brief, claimed));
    RunFacts {
        card: claimed.card.short(),
        run: claimed.run.short(),
        epoch: u64::from(claimed.epoch.get()),
        wake: wake(claimed, &answered),
        prompt: parts.join("\n\n"),
        session: conversation.session.clone(),
        history: before,
        answer: answered.last().map(|ask| GivenAnswer {
            question: ask.question.clone(),
            text: ask.answer.clone().unwrap_or_default(),
        }),
        ..RunFacts::default()
    }
}

/// Tells an agent that talks with a model of its tools: one of them hides what it is not told to look for.
pub(crate) fn tell_of_tools(mut facts: RunFacts, kind: HarnessKind, claimed: &ClaimedRun) -> RunFacts {
    if kind.is_command() || facts.tools.is_none() {
        return facts;
    }
    let offer = match claimed.codebase {
        Some(_) => "; `offer_landing` when your work is committed and done",
        None => "",
    };
    facts.prompt.push_str(&format!(
        "\n\n--- Tools ---\nThe tools of the server `panel` are for you; search for them where you do not see them. `ask` asks the person: call it when you \
         cannot go on without their word, then end your turn{offer}."
    ));
    facts
}

/// The turns that this run has taken and not answered are its work now.
fn is_news(turn: &Turn, claimed: &ClaimedRun) -> bool {
    turn.state == TurnState::Leased && turn.run == Some(claimed.run)
}

fn wake(claimed: &ClaimedRun, answered: &[&Ask]) -> Wake {
    let from_a_landing = |ask: &&Ask| ask.offer.is_some() && ask.answered_by == Some(Author::System);
    match &claimed.woke {
        Woke::Turns(_) | Woke::Dispatched if claimed.epoch.get() == 1 => Wake::First,
        Woke::Turns(_) | Woke::Dispatched | Woke::Question(_) | Woke::Children(_) => Wake::Turn,
        Woke::Answer(_) if answered.iter().any(from_a_landing) => Wake::Conflict,
        Woke::Answer(_) => Wake::Answer,
        Woke::Retry | Woke::Interrupted => Wake::Retry,
    }
}

fn history(brief: &RunBrief, news: &[&Turn], answered: &[&Ask]) -> Option<String> {
    let is_new = |turn: &Turn| news.iter().any(|new| new.id == turn.id);
    let mut lines: Vec<String> = Vec::new();
    for turn in brief.turns.iter().filter(|turn| !is_new(turn)) {
        lines.push(format!("[{} {}]\n{}", turn.seq, who(turn), fenced(&turn.body)));
    }
    let is_told = |ask: &Ask| answered.iter().any(|told| told.id == ask.id);
    for ask in brief
        .asks
        .iter()
        .filter(|ask| ask.state == AskState::Answered && !is_told(ask))
    {
        lines.push(answer_block(ask));
    }
    if lines.is_empty() {
        return None;
    }
    let mut kept = lines.len();
    let mut bytes = 0;
    while kept > 0 && bytes + lines[kept - 1].len() <= HISTORY_MAX_BYTES {
        kept -= 1;
        bytes += lines[kept].len();
    }
    let cut = if kept > 0 {
        format!(" ({kept} older parts are left out)")
    } else {
        String::new()
    };
    let text = lines[kept..].join("\n\n");
    Some(format!(
        "--- The conversation so far{cut} ---\n{text}\n--- End of the conversation so far ---"
    ))
}

fn who(turn: &Turn) -> String {
    match &turn.author {
        Author::Person(person) => person.to_string(),
        Author::Agent(_) => "you".to_owned(),
        Author::System => "cs-panel".to_owned(),
    }
}

/// A turn that is news.
fn message(turn: &Turn) -> String {
    format!("Message {} from {}:\n{}", turn.seq, who(turn), fenced(&turn.body))
}

/// What the agent was sent to do by another one.
fn task(brief: &str) -> String {
    format!(
        "The agent that sent you says what you are to do:\n{}",
        fenced(brief)
    )
}

fn answer_block(ask: &Ask) -> String {
    let answer = ask.answer.as_deref().unwrap_or("(no answer)");
    let who = match &ask.answered_by {
        Some(Author::Person(person)) => person.to_string(),
        Some(Author::Agent(_)) => "another agent".to_owned(),
        Some(Author::System) | None => "cs-panel".to_owned(),
    };
    if ask.offer.is_some() {
        format!(
            "You offered to land your work: {}\n{who} says:\n{}",
            ask.question,
            fenced(answer)
        )
    } else {
        format!("You asked: {}\n{who} answers:\n{}", ask.question, fenced(answer))
    }
}

/// A question of an agent that this one sent.
fn child_question(ask: &Ask) -> String {
    let choices = match ask.choices.as_slice() {
        [] => String::new(),
        choices => format!("\nIt takes one of: {}", choices.join(", ")),
    };
    format!(
        "An agent that you sent (run {}) asks you:\n{}{choices}\nWhat you do not answer goes to a person.",
        ask.run.short(),
        fenced(&ask.question)
    )
}

/// The agents that this one sent: what each was to do, and what it reported, if that is to be read now.
fn children(brief: &RunBrief, claimed: &ClaimedRun) -> Option<String> {
    let children = brief.children.as_ref().filter(|children| !children.is_empty())?;
    let lines = children.iter().map(|child| {
        let (run, state) = (child.run.id.short(), child.run.state);
        let task = child.brief.lines().next().unwrap_or_default();
        if child.run.given != Some(claimed.epoch) {
            return format!("- run {run} ({state}): {task}");
        }
        let report = match (&child.report, &child.run.failed_because) {
            (Some(report), _) => report.as_str(),
            (None, Some(reason)) => reason.as_str(),
            (None, None) => "it reported nothing",
        };
        format!(
            "- run {run} ({state}) was sent to: {task}\n  It reports:\n{}",
            fenced(report)
        )
    });
    Some(format!(
        "The agents that you have sent:\n{}",
        lines.collect::<Vec<_>>().join("\n")
    ))
}

fn open_questions(brief: &RunBrief) -> Option<String> {
    let open: Vec<_> = brief
        .asks
        .iter()
        .filter(|ask| ask.state == AskState::Open)
        .collect();
    let questions: Vec<_> = open.iter().map(|ask| format!("- {}", ask.question)).collect();
    (!questions.is_empty()).then(|| {
        format!(
            "You asked before, and nobody has answered yet:\n{}",
            questions.join("\n")
        )
    })
}

/// Why the agent is started once more, where what woke it does not say.
fn why(woke: &Woke, former: Former) -> Option<String> {
    let why = match (woke, former) {
        (Woke::Retry, _) => {
            "Your last attempt at this failed. Look at what it left in the working directory before you go on."
        }
        (Woke::Interrupted, _) => {
            "Your last attempt at this was cut short through no fault of its own. Look at what it left in the working \
             directory before you go on."
        }
        (Woke::Turns(_) | Woke::Answer(_) | Woke::Question(_) | Woke::Children(_), Former::CutShort) => {
            "Your last attempt was cut short. All that it had not finished stands below once more, with what has been said since: where it does \
             not agree, the last word of the person counts. Look at what your attempt left in the working directory before you go on."
        }
        (Woke::Turns(_) | Woke::Answer(_) | Woke::Question(_) | Woke::Children(_), Former::Stopped) => {
            "A person stopped your last attempt. Go on with what stands below, and with nothing that you had begun before unless it is asked \
             for. Look at what your attempt left in the working directory before you go on."
        }
        (Woke::Turns(_) | Woke::Answer(_) | Woke::Question(_) | Woke::Children(_), Former::Failed(_)) => {
            "Your last attempt failed before it came to its end. Look at what it left in the working directory before you go on."
        }
        (
            Woke::Turns(_) | Woke::Answer(_) | Woke::Question(_) | Woke::Children(_),
            Former::None | Former::Settled,
        )
        | (Woke::Dispatched, _) => return None,
    };
    Some(why.to_owned())
}

fn place_block(claimed: &ClaimedRun, place: &Place) -> String {
    let card = claimed.card.short();
    match place {
        Place::Tree {
            branch,
            base,
            standing,
        } => format!(
            "--- cs-panel ---\nCard {card}. The working directory is your own git clone, on branch {branch}; its work is to \
             land on {base}. Commit what is to be kept: only commits land. Do not push, and do not leave this directory.{}",
            standing.words(base)
        ),
        Place::Plain => format!(
            "--- cs-panel ---\nCard {card}. The working directory is yours alone, without a codebase."
        ),
    }
}

#[cfg(test)]
mod tests;
