//! The files of a card in a prompt.

use cs_record::{Attachment, RunBrief};

/// The files that were laid out for the agent, each with what it is and where it is.
pub(super) fn attachments_block(brief: &RunBrief, dir: Option<&str>) -> Option<String> {
    let dir = dir?;
    let lines: Vec<String> = brief.attachments.iter().map(|one| line(one, dir)).collect();
    Some(format!(
        "--- Attachments ---\nPeople gave you these files with the card. You can read them, and not change them; what you need in the \
         working directory, copy.\n{}",
        lines.join("\n")
    ))
}

fn line(one: &Attachment, dir: &str) -> String {
    let picture = if one.is_picture() { ", a picture" } else { "" };
    format!(
        "- {} ({}{picture}, {} bytes): {dir}/{}",
        one.name, one.media_type, one.size_bytes, one.name
    )
}
