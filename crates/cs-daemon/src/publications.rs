//! Publications of cards' branches beside their landings: jobs of their own, which hold no slot and keep nothing waiting.
//!
//! Each is noted in the state directory before what it follows is told to the record, so that a crash in between loses none, and the note
//! goes once the remote has answered, whatever it said. A remote that gives no answer is asked again and again, ever more rarely. A stop of
//! the card, and the end of the daemon, end the push; after a stop nothing of it is left, and after the end of a daemon the next one begins
//! it anew.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use cs_model::{CardId, Epoch, Publish, RunId};
use cs_record::{Card, RecordError};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Duration, Instant};

use crate::context::Context;

/// So many remotes are pushed to at once.
const AT_ONCE: usize = 4;
/// How long it is waited before a remote that gave no answer is asked again: at first, doubled each time, and at most.
const FIRST_WAIT: Duration = Duration::from_mins(1);
const WAIT_MAX: Duration = Duration::from_hours(1);
/// How often a daemon asks a remote that gives no answer: for about a day.
const TRIES_MAX: u32 = 30;

/// What is published now, and what waits for a remote that gave no answer.
#[derive(Debug, Default)]
pub(crate) struct Publications {
    tasks: JoinSet<(CardId, Asked)>,
    running: BTreeMap<CardId, AbortHandle>,
    resting: BTreeMap<CardId, Rest>,
}

/// What a publication came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// It is over.
    Over,
    /// The remote gave no answer.
    NoAnswer,
    /// The record is away: nothing was asked.
    NotAsked,
}

/// A publication that was carried out.
#[derive(Debug)]
struct Asked {
    note: String,
    after: After,
}

/// Until when a remote is left alone with what a note names.
#[derive(Debug, Clone)]
struct Rest {
    note: String,
    /// How often it was asked.
    tries: u32,
    until: Instant,
}

impl Publications {
    /// Begins what is noted and has room.
    pub(crate) fn take_up(&mut self, cx: &Arc<Context>) {
        self.look();
        for (card, note) in noted(cx) {
            if self.running.len() >= AT_ONCE {
                break;
            }
            let rest = self.resting.get(&card).filter(|rest| rest.note == note);
            let rests = rest.is_some_and(|rest| rest.until > Instant::now());
            if self.running.contains_key(&card) || rests || is_untold(cx, card, &note) {
                continue;
            }
            let cx = Arc::clone(cx);
            let tries = rest.map_or(0, |rest| rest.tries);
            let handle = self.tasks.spawn(async move {
                let after = publish(&cx, card, &note, tries).await;
                cx.wake.notify_one();
                (card, Asked { note, after })
            });
            self.running.insert(card, handle);
        }
    }

    /// Says whether nothing is under way.
    pub(crate) fn is_idle(&mut self) -> bool {
        self.look();
        self.running.is_empty()
    }

    fn look(&mut self) {
        while let Some(done) = self.tasks.try_join_next() {
            // Another one was stopped, or failed loudly.
            if let Ok((card, Asked { note, after })) = done {
                self.note(card, note, after);
            }
        }
        self.running.retain(|_, handle| !handle.is_finished());
    }

    fn note(&mut self, card: CardId, note: String, after: After) {
        let before = self.resting.remove(&card);
        let rest = before.filter(|rest| rest.note == note);
        match after {
            After::Over => {}
            After::NotAsked => self.resting.extend(rest.map(|rest| (card, rest))),
            After::NoAnswer => {
                let tries = rest.map_or(0, |rest| rest.tries) + 1;
                let until = Instant::now() + wait_after(tries);
                self.resting.insert(card, Rest { note, tries, until });
            }
        }
    }

    /// Ends the publication of a card, and forgets that it was to be.
    pub(crate) fn stop(&mut self, cx: &Context, card: CardId) {
        self.look();
        if let Some(handle) = self.running.remove(&card) {
            handle.abort();
        }
        self.resting.remove(&card);
        forget(cx, card);
    }

    /// Ends what is under way; it stays noted.
    pub(crate) async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }
}

impl Context {
    /// Notes that the branch of a card is to be published, where its codebase wants that at such a time. `what` names that time for this
    /// card: a note that is made anew meanwhile is not taken for the one that was carried out.
    pub(crate) fn note_publication(&self, card: &Card, when: Publish, what: &str) {
        let Some(codebase) = card.codebase else {
            return;
        };
        let noted = match self.deps.checkouts.landing(codebase) {
            Ok(policy) if policy.publish != when => return,
            Ok(_) => write(self, card.id, what).map_err(|error| error.to_string()),
            Err(error) => Err(error.public()),
        };
        if let Err(why) = noted {
            tracing::warn!(card = %card.id, why, "its branch is not published");
            self.said(&format!(
                "card {}: its branch is not published: {why}",
                card.id.short()
            ));
        }
    }
}

/// Forgets that the branch of a card is to be published.
pub(crate) fn forget(cx: &Context, card: CardId) {
    match fs::remove_file(note_of(cx, card)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%card, %error, "a publication stays noted"),
    }
}

/// How long a remote is left alone that was asked so often.
fn wait_after(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(10);
    WAIT_MAX.min(FIRST_WAIT * 2_u32.pow(doublings))
}

/// Publishes a card that was tried so often before.
async fn publish(cx: &Context, card: CardId, note: &str, tries: u32) -> After {
    let after = match cx.deps.record.cards.card(card).await {
        Ok(detail) => push(cx, &detail.card, tries + 1).await,
        Err(RecordError::Away(error)) => {
            tracing::debug!(%card, error = &*error as &dyn std::error::Error, "the record is away");
            return After::NotAsked;
        }
        Err(error) => {
            tracing::warn!(%card, error = &error as &dyn std::error::Error, "its branch is not published");
            After::Over
        }
    };
    let is_over = after == After::Over;
    if is_over && fs::read_to_string(note_of(cx, card)).is_ok_and(|now| now == note) {
        forget(cx, card);
    }
    after
}

/// Pushes the branch of a card, for the so-manieth time. What comes of it is said, and changes nothing else.
async fn push(cx: &Context, card: &Card, tries: u32) -> After {
    let of = card.id.short();
    let (why, may_pass) = match cx.deps.trees.publish_card(card).await {
        Ok(published) if published.verdict.is_at_remote() => {
            let to = published.to.as_ref().map(ToString::to_string);
            cx.out(&format!("published card {of} as {}", to.unwrap_or_default()));
            return After::Over;
        }
        Ok(published) => {
            tracing::warn!(card = %card.id, verdict = %published.verdict, tries, "its branch was not published");
            (published.verdict.public(), published.verdict.may_pass())
        }
        Err(error) => {
            tracing::warn!(card = %card.id, error = &error as &dyn std::error::Error, "its branch was not published");
            (error.public(), false)
        }
    };
    let not_published = format!("card {of}: its branch was not published: {why}");
    if !may_pass || tries >= TRIES_MAX {
        cx.said(&not_published);
        return After::Over;
    }
    let wait = wait_after(tries).as_secs() / 60;
    cx.said(&format!(
        "{not_published}; a daemon that stays tries again in {wait} min, the next one at once"
    ));
    After::NoAnswer
}

/// Says whether the record may not know yet what a publication follows: it is noted again when that is told again.
fn is_untold(cx: &Context, card: CardId, note: &str) -> bool {
    let landings = cx.journal.landings_of(card);
    let attempts = cx.journal.attempts_of(card);
    landings.iter().any(|landing| landing.to_string() == note)
        || attempts
            .iter()
            .any(|attempt| of_attempt(attempt.run, attempt.epoch) == note)
}

/// How the end of an attempt is named in a note.
pub(crate) fn of_attempt(run: RunId, epoch: Epoch) -> String {
    format!("{run}.{epoch}")
}

/// What is to be published: the cards, and what their notes say.
fn noted(cx: &Context) -> BTreeMap<CardId, String> {
    let Ok(entries) = fs::read_dir(cx.state.publications()) else {
        return BTreeMap::new();
    };
    let notes = entries.flatten().filter_map(|entry| {
        let card = entry.file_name().to_str()?.parse().ok()?;
        Some((card, fs::read_to_string(entry.path()).ok()?))
    });
    notes.collect()
}

fn write(cx: &Context, card: CardId, what: &str) -> io::Result<()> {
    let dir = cx.state.publications();
    fs::create_dir_all(&dir)?;
    let aside = dir.join(format!("{card}.new"));
    let mut file = File::create(&aside)?;
    file.write_all(what.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, note_of(cx, card))?;
    File::open(&dir)?.sync_all()
}

fn note_of(cx: &Context, card: CardId) -> PathBuf {
    cx.state.publications().join(card.to_string())
}

#[cfg(test)]
mod tests {
    use cs_model::CardId;
    use uuid::Uuid;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_newer_note_names_does_not_wait_for_what_an_older_one_did() {
        let card = CardId::from_uuid(Uuid::nil());
        let mut publications = Publications::default();
        let note = |name: &str| name.to_owned();
        for tries in 1..=3 {
            publications.note(card, note("old"), After::NoAnswer);
            assert_eq!(publications.resting[&card].tries, tries);
        }
        publications.note(card, note("old"), After::NotAsked);
        assert_eq!(publications.resting[&card].tries, 3);
        publications.note(card, note("new"), After::NoAnswer);
        let rest = &publications.resting[&card];
        assert_eq!((rest.note.as_str(), rest.tries), ("new", 1));
        assert_eq!(rest.until, Instant::now() + FIRST_WAIT);
        publications.note(card, note("new"), After::Over);
        assert!(publications.resting.is_empty());
    }

    #[test]
    fn a_remote_that_gives_no_answer_is_left_alone_for_twice_as_long_each_time_and_an_hour_at_most() {
        let minutes = |tries| wait_after(tries).as_secs() / 60;
        assert_eq!(
            [1, 2, 3, 6, 7, 30, u32::MAX].map(minutes),
            [1, 2, 4, 32, 60, 60, 60]
        );
    }
}
