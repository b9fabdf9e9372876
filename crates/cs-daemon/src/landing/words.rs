//! What is said of landings, to people and agents. No local path.

use cs_record::{Evidence, VerifyExit};
use cs_worktree::{Conflict, ConflictText, ConflictedFile, Move, Published, Refusal, RepoPath, Verdict};

use super::ledger::ResultRow;

/// A landing as it is told: which move, what was verified, which remote has it.
pub(super) struct Landed<'a> {
    pub(super) plan: &'a Move,
    pub(super) evidence: Option<&'a Evidence>,
    pub(super) pushed: Option<&'a str>,
}

impl Landed<'_> {
    /// Every base that is to have it has it.
    pub(super) fn whole(&self) -> ResultRow {
        self.row(String::new())
    }

    /// The remote has it, and the local base does not, for this reason.
    pub(super) fn but_local(&self, why: &str) -> ResultRow {
        let base = self.plan.base_branch.as_str();
        self.row(format!(
            " Your local branch {base} was not moved: {why}. Bring it up with `git pull --rebase` when that is done."
        ))
    }

    fn row(&self, more: String) -> ResultRow {
        let base = self.plan.base_branch.as_str();
        let on = match self.pushed {
            Some(to) => format!("{base} and pushed to {to}"),
            None => base.to_owned(),
        };
        let mut report = format!("Landed on {on} as {}.", self.plan.new.short());
        if let Some(evidence) = self.evidence {
            report.push_str(&format!(
                " The verify command passed on that commit in {}.",
                evidence.took()
            ));
        }
        report.push_str(&more);
        ResultRow::Landed {
            commit: self.plan.new.as_str().to_owned(),
            report,
            evidence: self.evidence.cloned(),
        }
    }
}

/// The remote did not take it, and so nothing has moved here.
pub(super) fn not_pushed(base: &str, published: &Published) -> ResultRow {
    let report = if published.verdict == Verdict::NonFastForward {
        format!(
            "Not landed: the remote's {base} has commits that your branch has not. Nothing has moved: pull, then accept it again."
        )
    } else if let Verdict::Timeout { .. } = published.verdict {
        // What it may have taken cannot be told now.
        format!(
            "Not landed: the remote did not answer in time, and it may have taken the landing as its {base}. Nothing has moved here: \
             run `git pull`, then accept it again."
        )
    } else {
        format!(
            "Not landed, and nothing has moved here, since it could not be pushed: {}. Then accept it again.",
            published.verdict.public()
        )
    };
    ResultRow::Refused { report }
}

/// What a card is to the base that a pull request of it is for.
#[derive(Debug)]
pub(super) enum Merged {
    /// It merges, and nothing is to be verified.
    Cleanly,
    /// It merges, and the verify command passed on that.
    Verified(Evidence),
    /// It conflicts.
    Conflicts {
        /// Whether its merge would have been verified.
        is_verified: bool,
    },
    /// No merge was made.
    Not {
        /// Why it was not verified, where that was to be.
        why: Option<String>,
    },
}

impl Merged {
    fn words(&self, base: &str) -> String {
        match self {
            Self::Cleanly | Self::Not { why: None } => String::new(),
            Self::Verified(evidence) => format!(
                " The verify command passed on its merge with {base} in {}.",
                evidence.took()
            ),
            Self::Conflicts { is_verified: false } => format!(" It conflicts with {base} as it is now."),
            Self::Conflicts { is_verified: true } => {
                format!(" It conflicts with {base} as it is now, and so it is not verified.")
            }
            Self::Not { why: Some(why) } => format!(" It is not verified, since it was not merged: {why}."),
        }
    }
}

/// The card's branch is where a pull request can be made of it, or why it is not.
pub(super) fn published(base: &str, published: &Published, merged: &Merged) -> ResultRow {
    let to = published.to.as_ref().map(ToString::to_string);
    match to.filter(|_| published.verdict.is_at_remote()) {
        Some(to) => {
            let merged = merged.words(base);
            ResultRow::Published {
                report: format!(
                    "Published {to}: open a pull request for {base} there.{merged} No base has moved. Once it is merged and you have \
                     pulled, accept the landing again: the card is landed then."
                ),
            }
        }
        None => ResultRow::Refused {
            report: format!(
                "Not published: {}. Then accept it again.",
                published.verdict.public()
            ),
        },
    }
}

pub(super) fn refused(refusal: &Refusal) -> ResultRow {
    ResultRow::Refused {
        report: format!("Not landed: {refusal}. Then accept it again."),
    }
}

pub(super) fn stopped() -> ResultRow {
    ResultRow::Refused {
        report: "Not landed: the card was stopped. Nothing has moved; accept it again to begin anew."
            .to_owned(),
    }
}

/// How a report to an agent begins.
const TO_THE_AGENT: &str = "Your work ";

/// The card and the base changed the same thing: its agent gets the files, what git says, and both sides.
pub(super) fn conflict(base: &str, found: &Conflict) -> ResultRow {
    let mut report = format!("{TO_THE_AGENT}conflicts with {base} and was not landed.");
    if let Some(at) = &found.at {
        report.push_str(&format!(
            " Commit {} cannot be made again on top of it.",
            at.commit.short()
        ));
    }
    if !found.files.is_empty() {
        report.push_str(&format!(" Files in conflict: {}.", list(&found.files)));
    }
    for message in found.messages.iter().take(20) {
        report.push_str(&format!("\n{}", message.trim_end()));
    }
    for file in &found.shown {
        report.push_str(&sides(file));
    }
    report.push_str(&format!(
        "\nRun `git fetch origin`, merge origin/{base} into your branch, resolve the conflicts, commit, and offer to land again."
    ));
    ResultRow::Conflict { report }
}

/// What of a file is in conflict, where the messages do not say it.
fn sides(file: &ConflictedFile) -> String {
    match &file.text {
        ConflictText::Regions { text, is_cut } => {
            let more = if *is_cut { "\n[more of it is left out]" } else { "" };
            format!("\n\n{}:\n{}{more}", file.path, text.trim_end())
        }
        ConflictText::Binary => format!("\n\n{}: both sides changed it, and it is not text", file.path),
        ConflictText::Whole | ConflictText::LeftOut => String::new(),
    }
}

/// The verify command failed: its agent gets the end of what it said.
pub(super) fn verify_failed(plan: &Move, evidence: Evidence, said: &str) -> ResultRow {
    let base = plan.base_branch.as_str();
    let mut report = format!(
        "{TO_THE_AGENT}was merged with {base} to try it, and the verify command failed on the result: {} after {}. Nothing has landed.\
         \nCommand: {}",
        evidence.exit,
        evidence.took(),
        evidence.command
    );
    if evidence.exit == VerifyExit::TimedOut {
        report.push_str(
            "\nSetup and verify together took longer than they may: make them faster, or a person gives them more time with \
             `cs-panel codebase set NAME --verify-limit SPAN`.",
        );
    }
    if said.trim().is_empty() {
        report.push_str("\nIt wrote nothing.");
    } else {
        report.push_str(&format!("\nThe end of its output:\n{}", said.trim_end()));
    }
    report.push_str(&format!(
        "\nRun `git fetch origin`, merge origin/{base} into your branch, run the command, mend what fails, commit, and offer to land \
         again."
    ));
    ResultRow::VerifyFailed { report, evidence }
}

pub(super) fn list(files: &[RepoPath]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = files.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = files.len().saturating_sub(SHOWN);
    if more > 0 {
        format!("{} and {more} more", shown.join(", "))
    } else {
        shown.join(", ")
    }
}

/// The line for people, with a fixed first word (UI-2): a report that begins with that word does not say it again, and one that
/// speaks to the agent is turned to the person.
pub(super) fn told(word: &str, card: &str, report: &str) -> String {
    let line = report.lines().next().unwrap_or_default();
    if let Some(rest) = line.strip_prefix(TO_THE_AGENT) {
        return format!("{word} card {card}: its work {rest}");
    }
    match line.split_once(' ') {
        Some((first, rest)) if first.eq_ignore_ascii_case(word) => format!("{word} card {card} {rest}"),
        _ => format!("{word} card {card}: {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_for_an_agent_is_said_of_it_to_a_person() {
        let found = Conflict {
            at: None,
            files: Vec::new(),
            messages: Vec::new(),
            shown: Vec::new(),
        };
        let ResultRow::Conflict { report } = conflict("main", &found) else {
            unreachable!("it is a conflict");
        };
        assert_eq!(
            told("conflict", "1a2b3c4d", &report),
            "conflict card 1a2b3c4d: its work conflicts with main and was not landed."
        );
        assert_eq!(
            told("landed", "1a2b3c4d", "Landed on main."),
            "landed card 1a2b3c4d on main."
        );
    }
}
