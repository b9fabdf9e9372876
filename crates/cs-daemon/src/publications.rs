//! Publications of cards' branches beside their landings: jobs of their own, which hold no slot and keep nothing waiting.
//!
//! Each is noted in the state directory before what it follows is told to the record, so that a crash in between loses none, and the note
//! goes once the remote has answered, whatever it said: it is asked once. A stop of the card, and the end of the daemon, end the push;
//! after a stop nothing of it is left, and after the end of a daemon the next one begins it anew.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use cs_model::{CardId, Epoch, Publish, RunId};
use cs_record::{Card, RecordError};
use tokio::task::{AbortHandle, JoinSet};

use crate::context::Context;

/// So many remotes are pushed to at once.
const AT_ONCE: usize = 4;

/// What is published now.
#[derive(Debug, Default)]
pub(crate) struct Publications {
    tasks: JoinSet<()>,
    running: BTreeMap<CardId, AbortHandle>,
}

impl Publications {
    /// Begins what is noted and has room.
    pub(crate) fn take_up(&mut self, cx: &Arc<Context>) {
        self.look();
        for (card, note) in noted(cx) {
            if self.running.len() >= AT_ONCE {
                break;
            }
            if self.running.contains_key(&card) || is_untold(cx, card, &note) {
                continue;
            }
            let cx = Arc::clone(cx);
            let handle = self.tasks.spawn(async move {
                publish(&cx, card, &note).await;
                cx.wake.notify_one();
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
        while self.tasks.try_join_next().is_some() {}
        self.running.retain(|_, handle| !handle.is_finished());
    }

    /// Ends the publication of a card, and forgets that it was to be.
    pub(crate) fn stop(&mut self, cx: &Context, card: CardId) {
        if let Some(handle) = self.running.remove(&card) {
            handle.abort();
        }
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

async fn publish(cx: &Context, card: CardId, note: &str) {
    match cx.deps.record.cards.card(card).await {
        Ok(detail) => cx.publish_card(&detail.card).await,
        // It is asked again later.
        Err(RecordError::Away(error)) => {
            tracing::debug!(%card, error = &*error as &dyn std::error::Error, "the record is away");
            return;
        }
        Err(error) => {
            tracing::warn!(%card, error = &error as &dyn std::error::Error, "its branch is not published");
        }
    }
    if fs::read_to_string(note_of(cx, card)).is_ok_and(|now| now == note) {
        forget(cx, card);
    }
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
