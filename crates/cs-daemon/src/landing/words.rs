//! What is said of landings, to people and agents. No local path.

use cs_record::Evidence;
use cs_worktree::{Conflict, ConflictText, ConflictedFile, Move, Refusal, RepoPath};

use super::ledger::ResultRow;

pub(super) fn landed(plan: &Move, evidence: Option<Evidence>) -> ResultRow {
    let mut report = format!("Landed on {} as {}.", plan.base_branch.as_str(), plan.new.short());
    if let Some(evidence) = &evidence {
        report.push_str(&format!(
            " The verify command passed on that commit in {}.",
            seconds(evidence.duration_ms)
        ));
    }
    ResultRow::Landed {
        commit: plan.new.as_str().to_owned(),
        report,
        evidence,
    }
}

pub(super) fn refused(refusal: &Refusal) -> ResultRow {
    ResultRow::Refused {
        report: format!("Not landed: {refusal}. Then accept it again."),
    }
}

pub(super) fn stopped() -> ResultRow {
    ResultRow::Refused {
        report: "Not landed: the card was stopped while the merge was being verified. Nothing has moved; accept it again to begin \
                 anew."
            .to_owned(),
    }
}

/// The card and the base changed the same thing: its agent gets the files, what git says, and both sides.
pub(super) fn conflict(base: &str, found: &Conflict) -> ResultRow {
    let mut report = format!("Your work conflicts with {base} and was not landed.");
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
        "Your work was merged with {base} to try it, and the verify command failed on the result: {} after {}. Nothing has landed.\
         \nCommand: {}",
        evidence.exit,
        seconds(evidence.duration_ms),
        evidence.command
    );
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

fn seconds(duration_ms: u64) -> String {
    if duration_ms < 1_000 {
        return format!("{duration_ms} ms");
    }
    format!("{} s", duration_ms / 1_000)
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

/// The line for people, with a fixed first word (UI-2): a report that begins with that word does not say it again.
pub(super) fn told(word: &str, card: &str, report: &str) -> String {
    let line = report.lines().next().unwrap_or_default();
    match line.split_once(' ') {
        Some((first, rest)) if first.eq_ignore_ascii_case(word) => format!("{word} card {card} {rest}"),
        _ => format!("{word} card {card}: {line}"),
    }
}
