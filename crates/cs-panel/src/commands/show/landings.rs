//! The landings of a card: what came of them, and what its agent was told of that.

use std::fmt::Write as _;

use cs_model::{LandingState, Time};
use cs_record::Landing;

use crate::text;

/// Shows them, oldest first.
pub(super) fn page(landings: &[Landing], now: Time) -> String {
    let mut page = String::new();
    for landing in landings {
        one(&mut page, landing, now).expect("a String takes everything");
    }
    page
}

fn one(page: &mut String, landing: &Landing, now: Time) -> std::fmt::Result {
    let by = &landing.accepted_by;
    let when = text::ago(now, landing.accepted_at);
    let onto = landing.base.as_deref().filter(|base| !base.is_empty());
    let onto = onto.map(|base| format!(" on {}", text::one_line(base, 200)));
    writeln!(
        page,
        "\nlanding {}{}: {}, accepted by {by} {when}",
        landing.id.short(),
        onto.unwrap_or_default(),
        landing.state
    )?;
    if let Some(commit) = &landing.commit {
        writeln!(page, "  commit {}", text::one_line(commit, 80))?;
    }
    if let Some(evidence) = &landing.evidence {
        writeln!(
            page,
            "  verify `{}` on {} ended with {} after {}",
            text::one_line(&evidence.command, 200),
            text::one_line(evidence.commit.get(..12).unwrap_or(&evidence.commit), 80),
            evidence.exit,
            evidence.took()
        )?;
    }
    let Some(result) = &landing.result else {
        return Ok(());
    };
    match landing.state {
        LandingState::Conflict | LandingState::VerifyFailed => {
            writeln!(page, "  its agent was told:")?;
            page.push_str(&text::indented(result, "    "));
        }
        LandingState::Accepted
        | LandingState::Running
        | LandingState::Landed
        | LandingState::Published
        | LandingState::Refused => page.push_str(&text::indented(result, "  ")),
    }
    Ok(())
}

/// Says where a text stands on the page already, when it is the result of one of these landings.
pub(super) fn said_above(landings: &[Landing], said: &str) -> Option<String> {
    let same = |landing: &&Landing| landing.result.as_deref() == Some(said);
    let landing = landings.iter().rev().find(same)?;
    Some(format!(
        "(what came of landing {}, see there)",
        landing.id.short()
    ))
}
