//! What people attach to a card.

use cs_model::{AttachmentId, CardState, Person, Time};

use super::{MAX_ATTACHED_BYTES, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENT_NAME_BYTES, MAX_ATTACHMENTS};
use crate::aggregate::Draft;
use crate::{Aggregate, Attachment, ContentHash, NewAttachment, Refusal, Writes};

/// Attaches files to a card that is there, in this order, and returns what they became. What is attached already, by its id, stays as it
/// is. Nothing starts for them.
///
/// # Errors
/// Refused for a closed card, a bad name, and a file or a card that would be too large; nothing is attached then.
pub fn attach(
    aggregate: &Aggregate,
    attached: &[Attachment],
    files: &[NewAttachment],
    person: &Person,
    now: Time,
) -> Result<(Writes, Vec<Attachment>), Refusal> {
    let mut draft = Draft::of(aggregate, now);
    if draft.card.state == CardState::Closed {
        return Err(Refusal::CardState {
            card: draft.card.id.short(),
            state: draft.card.state,
            cure: "send a message with the file to a new card",
        });
    }
    let all = attach_to(&mut draft, attached, files, person)?;
    Ok((draft.finish(), all))
}

/// Takes a file of a card away; one that is not there changes nothing. Says whether it was there.
pub fn detach(
    aggregate: &Aggregate,
    attached: &[Attachment],
    attachment: AttachmentId,
    now: Time,
) -> (Writes, bool) {
    let is_there = attached.iter().any(|one| one.id == attachment);
    let mut draft = Draft::of(aggregate, now);
    if is_there {
        draft.gone_attachments.push(attachment);
    }
    (draft.finish(), is_there)
}

pub(super) fn attach_to(
    draft: &mut Draft<'_>,
    attached: &[Attachment],
    files: &[NewAttachment],
    person: &Person,
) -> Result<Vec<Attachment>, Refusal> {
    let mut all = attached.to_vec();
    let mut became = Vec::with_capacity(files.len());
    for file in files {
        if let Some(known) = all.iter().find(|known| known.id == file.id) {
            became.push(known.clone());
            continue;
        }
        let attachment = Attachment {
            id: file.id,
            card: draft.card.id,
            name: free_name(checked(file)?, &all),
            media_type: file.media_type.clone(),
            size_bytes: file.content.len_bytes(),
            sha256: ContentHash::of(file.content.bytes()),
            by: person.clone(),
            at: draft.now,
        };
        all.push(attachment.clone());
        became.push(attachment.clone());
        draft.attachments.push((attachment, file.content.clone()));
    }
    let bytes = all.iter().map(|one| one.size_bytes).sum();
    if bytes > MAX_ATTACHED_BYTES || all.len() > MAX_ATTACHMENTS {
        return Err(Refusal::CardTooFull {
            card: draft.card.id.short(),
            files: all.len(),
            bytes,
        });
    }
    Ok(became)
}

/// The name of a file, if it may have it and is not too large.
fn checked(file: &NewAttachment) -> Result<&str, Refusal> {
    let name = file.name.as_str();
    let is_bad = name.is_empty()
        || name.len() > MAX_ATTACHMENT_NAME_BYTES
        || name == "."
        || name == ".."
        || name.trim() != name
        || name.contains(['/', '\\'])
        || name.chars().any(char::is_control);
    if is_bad {
        return Err(Refusal::BadAttachmentName { bytes: name.len() });
    }
    let bytes = file.content.len_bytes();
    if bytes > MAX_ATTACHMENT_BYTES {
        return Err(Refusal::AttachmentTooLarge {
            name: name.to_owned(),
            bytes,
        });
    }
    Ok(name)
}

/// The name, or where another file of the card has it, the same with a number before its ending. Whether letters are large makes no
/// difference: some file systems know none.
fn free_name(name: &str, all: &[Attachment]) -> String {
    let is_taken = |name: &str| {
        let name = name.to_lowercase();
        all.iter().any(|known| known.name.to_lowercase() == name)
    };
    if !is_taken(name) {
        return name.to_owned();
    }
    let (stem, ending) = match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        Some(_) | None => (name, ""),
    };
    let numbered = |number: usize| {
        let tail = format!("-{number}{ending}");
        let room = MAX_ATTACHMENT_NAME_BYTES.saturating_sub(tail.len());
        format!("{}{tail}", &stem[..stem.floor_char_boundary(room)])
    };
    // One more than there are files: one of these is free.
    let free = (2..all.len() + 3).map(numbered).find(|name| !is_taken(name));
    free.unwrap_or_else(|| numbered(all.len() + 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    const ID: &str = "0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c01";

    fn known(name: &str) -> Attachment {
        Attachment {
            id: ID.parse().expect("an id"),
            card: ID.parse().expect("an id"),
            name: name.to_owned(),
            media_type: "text/plain".to_owned(),
            size_bytes: 0,
            sha256: ContentHash::of(b""),
            by: "Ada".parse().expect("a name"),
            at: Time::from_unix_micros(0),
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let all = ["a.png", "a-2.png", "Makefile", ".env", "x.tar.gz"].map(known);
        for (name, free) in [
            ("b.png", "b.png"),
            ("a.png", "a-3.png"),
            ("A.PNG", "A-3.PNG"),
            ("Makefile", "Makefile-2"),
            (".env", ".env-2"),
            ("x.tar.gz", "x.tar-2.gz"),
        ] {
            assert_eq!(free_name(name, &all), free);
        }
        let long = format!("{}.png", "ö".repeat(125));
        let numbered = free_name(&long, &[known(&long)]);
        assert!(
            numbered.len() <= MAX_ATTACHMENT_NAME_BYTES && numbered.ends_with("-2.png"),
            "{numbered}"
        );
    }

    #[test]
    fn a_name_is_one_word_of_a_path_and_can_be_shown() {
        let file = |name: &str| NewAttachment {
            id: ID.parse().expect("an id"),
            name: name.to_owned(),
            media_type: "text/plain".to_owned(),
            content: Content::from(Vec::new()),
        };
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            " a",
            "a ",
            "a\nb",
            "\u{1b}[2J",
            &"x".repeat(256),
        ] {
            assert!(checked(&file(bad)).is_err(), "{bad:?}");
        }
        for good in ["a", ".env", "a b.png", "ö", &"x".repeat(255)] {
            assert!(checked(&file(good)).is_ok(), "{good:?}");
        }
    }
}
