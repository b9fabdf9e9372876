//! The files of a card, as an agent is shown them.

use cs_fence::Fenced;
use cs_record::{Attachment, RecordError, RunBrief};

use super::super::Of;
use crate::context::Context;

/// Names the files, a line each.
pub(super) fn names(brief: &Fenced<RunBrief>) -> Vec<String> {
    of(brief)
        .iter()
        .map(|one| format!("attachment: {}", line(one)))
        .collect()
}

/// An attempt that is not current any more has none.
fn of(brief: &Fenced<RunBrief>) -> &[Attachment] {
    match brief {
        Fenced::Applied(brief) => &brief.attachments,
        Fenced::Stale(_) => &[],
    }
}

/// Gives the words of a file, or says where one is that has none.
pub(super) async fn show(cx: &Context, of_whom: &Of, name: &str) -> Result<String, RecordError> {
    let brief = cx.deps.record.reads.run_brief(&of_whom.attempt).await?;
    let all = of(&brief);
    let Some(one) = all.iter().find(|one| one.name == name) else {
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        return Ok(match names.as_slice() {
            [] => format!("Nothing is attached to your card, so there is no `{name}`."),
            names => format!(
                "Your card has no attachment `{name}`. It has: {}",
                names.join(", ")
            ),
        });
    };
    let path = cx.state.attachments_of(of_whom.row.card).join(&one.name);
    let place = if path.exists() {
        format!("It is in {}", path.display())
    } else {
        "It was attached after your start: its file is there from your next start on.".to_owned()
    };
    let head = format!("{}\n{place}", line(one));
    let content = cx.deps.record.reads.attached(one.id).await?;
    Ok(match std::str::from_utf8(content.bytes()) {
        Ok(words) if !words.contains('\0') => format!("{head}\n\n{words}"),
        Ok(_) | Err(_) => format!("{head}\nIt is no text: look at the file itself."),
    })
}

fn line(one: &Attachment) -> String {
    let picture = if one.is_picture() { ", a picture" } else { "" };
    format!(
        "{} ({}{picture}, {} bytes)",
        one.name, one.media_type, one.size_bytes
    )
}
