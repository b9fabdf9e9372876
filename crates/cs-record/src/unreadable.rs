//! Rows that do not decode: whose they are is named, they are left out, and the others go on.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::{Select, StoreError};
use crate::{Aggregate, Card};

/// How often one take selects again because of cards that it found not to decode.
const MAX_ROUNDS: u32 = 8;

/// How many cards a store keeps in mind as not to be decoded.
const MAX_LEFT_OUT: usize = 1_000;

/// A card that is on the record and has a row that does not decode: its own one, or one that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The id of the card, as it is stored.
    pub card: String,
    /// The row, and what is wrong with it.
    pub why: String,
}

/// What a list holds, and what it could not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// What decodes, in the order of the list.
    pub rows: Vec<T>,
    /// What does not, in the same order.
    pub unreadable: Vec<Unreadable>,
}

impl<T> Listed<T> {
    /// Makes a list of what there is.
    #[must_use]
    pub const fn of(rows: Vec<T>) -> Self {
        let unreadable = Vec::new();
        Self { rows, unreadable }
    }

    /// Adds a row of a card.
    pub fn push(&mut self, card: &dyn fmt::Display, row: Result<T, StoreError>) {
        match row {
            Ok(row) => self.rows.push(row),
            Err(error) => self.unreadable.push(unreadable(card, &error)),
        }
    }

    /// Returns the rows when all decode.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], which names the first that does not.
    pub fn all(self) -> Result<Vec<T>, StoreError> {
        match self.unreadable.into_iter().next() {
            Some(first) => Err(StoreError::Corrupt(first.why)),
            None => Ok(self.rows),
        }
    }
}

fn unreadable(card: &dyn fmt::Display, error: &StoreError) -> Unreadable {
    Unreadable {
        card: card.to_string(),
        why: error.to_string(),
    }
}

/// Puts together cards and what belongs to them, each on its own. `K` is how a store writes the id of a card.
#[derive(Debug)]
pub struct Gather<K> {
    places: BTreeMap<K, usize>,
    cards: Vec<Result<Aggregate, Unreadable>>,
}

impl<K: Ord + fmt::Display> Gather<K> {
    /// Begins with the rows of the cards, whose order is kept.
    pub fn new(cards: impl IntoIterator<Item = (K, Result<Card, StoreError>)>) -> Self {
        let (mut places, mut found) = (BTreeMap::new(), Vec::new());
        for (id, card) in cards {
            let card = card.map_err(|error| unreadable(&id, &error));
            places.insert(id, found.len());
            found.push(card.map(|card| Aggregate {
                card,
                runs: Vec::new(),
                turns: Vec::new(),
                asks: Vec::new(),
                landings: Vec::new(),
                waits_for: Vec::new(),
            }));
        }
        Self { places, cards: found }
    }

    /// Adds a row that belongs to a card. The first one of a card that does not decode is what is said of it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the card was not asked for.
    pub fn add<T>(
        &mut self,
        card: &K,
        row: Result<T, StoreError>,
        put: impl FnOnce(&mut Aggregate, T),
    ) -> Result<(), StoreError> {
        let place = self.places.get(card).and_then(|place| self.cards.get_mut(*place));
        let Some(slot) = place else {
            let why = format!("a row belongs to card {card}, which was not asked for");
            return Err(StoreError::Corrupt(why));
        };
        match (slot.as_mut(), row) {
            (Ok(aggregate), Ok(row)) => put(aggregate, row),
            (Ok(_), Err(error)) => *slot = Err(unreadable(card, &error)),
            (Err(_), _) => {}
        }
        Ok(())
    }

    /// Returns the cards in their order, and those of which a row does not decode.
    #[must_use]
    pub fn finish(self) -> Listed<Aggregate> {
        let mut listed = Listed::of(Vec::with_capacity(self.cards.len()));
        for card in self.cards {
            match card {
                Ok(aggregate) => listed.rows.push(aggregate),
                Err(unreadable) => listed.unreadable.push(unreadable),
            }
        }
        listed
    }
}

/// The cards that takes of this process leave out, at most 1000. Each is said once, as an error in the log, until it is mended.
///
/// They are not excluded from a selection but made room for, so that a card that was mended is taken like any other.
#[derive(Debug, Default)]
pub struct LeftOut {
    cards: Mutex<BTreeMap<String, String>>,
}

impl LeftOut {
    fn cards(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the ids of the cards that are left out now.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.cards().keys().cloned().collect()
    }

    /// Forgets those of the asked cards that decode now, or are gone. Returns the ids of the others.
    #[must_use]
    pub fn still(&self, asked: Vec<String>, unreadable: &[Unreadable]) -> Vec<String> {
        let (still, mended): (Vec<_>, Vec<_>) = asked
            .into_iter()
            .partition(|id| unreadable.iter().any(|one| one.card == *id));
        let mut cards = self.cards();
        for card in mended {
            cards.remove(&card);
            tracing::info!(%card, "every row of the card decodes again: it is taken like any other");
        }
        still
    }

    /// Keeps in mind what a take leaves out; says whether any is new.
    fn add(&self, unreadable: &[Unreadable]) -> bool {
        let mut cards = self.cards();
        let mut any = false;
        for one in unreadable {
            let room = cards.len() < MAX_LEFT_OUT;
            if let (btree_map::Entry::Vacant(vacant), true) = (cards.entry(one.card.clone()), room) {
                vacant.insert(one.why.clone());
                any = true;
                tracing::error!(
                    card = %one.card, why = %one.why,
                    "nothing is started or landed on this card, since a row of it does not decode: mend the row on the record, \
                     or use the cs-panel that wrote it"
                );
            }
        }
        any
    }
}

/// One take: selects as many cards more as are known not to decode, and again when it found others at the front.
#[derive(Debug)]
pub struct Sift<'a> {
    left_out: &'a LeftOut,
    select: &'a Select,
    rounds: u32,
}

impl<'a> Sift<'a> {
    /// Begins with what was asked for.
    #[must_use]
    pub const fn new(left_out: &'a LeftOut, select: &'a Select) -> Self {
        let rounds = 0;
        Self {
            left_out,
            select,
            rounds,
        }
    }

    /// Returns what to select in this round.
    #[must_use]
    pub fn select(&self) -> Cow<'a, Select> {
        let known = u32::try_from(self.left_out.cards().len()).unwrap_or(u32::MAX);
        let Some(limit) = self.limit().filter(|_| known > 0) else {
            return Cow::Borrowed(self.select);
        };
        // Twice as many in a round that follows a surprise, so that a long row of such cards is passed in a few rounds.
        let more = known.saturating_mul(1 + self.rounds.min(1));
        Cow::Owned(self.select.with_limit(limit.saturating_add(more)))
    }

    /// Returns what to decide on; nothing when it is to be selected again. A command that names its card is told what is wrong
    /// with it, a take leaves it out.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a selection that names its cards.
    pub fn sift(&mut self, found: Listed<Aggregate>) -> Result<Option<Vec<Aggregate>>, StoreError> {
        let Some(limit) = self.limit() else {
            return found.all().map(Some);
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_news = self.left_out.add(&found.unreadable);
        let mut cards = found.rows;
        if is_news && cards.len() < limit && self.rounds < MAX_ROUNDS {
            self.rounds += 1;
            return Ok(None);
        }
        cards.truncate(limit);
        Ok(Some(cards))
    }

    /// How many cards a take asks for; nothing for a selection that names them.
    const fn limit(&self) -> Option<u32> {
        match self.select {
            Select::Ready { limit, .. } | Select::Landings { limit, .. } => Some(*limit),
            Select::Start { .. }
            | Select::Runs(_)
            | Select::Card(_)
            | Select::Files(_)
            | Select::Send { .. }
            | Select::Ask(_)
            | Select::CardLanding(..)
            | Select::Landing(_) => None,
        }
    }
}
