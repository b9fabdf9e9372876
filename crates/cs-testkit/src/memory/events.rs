//! What happened, beside the rows: it only grows, and no transaction looks at it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cs_model::CardId;
use cs_record::{Event, EventPlace};

/// The events, in their order; the first has the number 1.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Vec<Event>>);

impl History {
    fn all(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn copy(&self) -> Self {
        Self(Mutex::new(self.all().clone()))
    }

    pub(super) fn write(&self, events: &[Event]) {
        self.all().extend_from_slice(events);
    }

    pub(super) fn last(&self) -> Option<EventPlace> {
        let all = self.all();
        all.last().map(|event| place(all.len() - 1, event))
    }

    pub(super) fn read(
        &self,
        after: Option<EventPlace>,
        of: Option<CardId>,
        limit: u32,
    ) -> Option<Vec<(EventPlace, Event)>> {
        let all = self.all();
        let from = match after {
            None => 0,
            Some(after) => {
                let number = usize::try_from(after.number).ok()?;
                let event = all.get(number.checked_sub(1)?)?;
                if place(number - 1, event) != after {
                    return None;
                }
                number
            }
        };
        let placed = all.iter().enumerate().skip(from);
        let found = placed
            .filter(|(_, event)| of.is_none_or(|card| event.card == card))
            .map(|(index, event)| (place(index, event), event.clone()))
            .take(usize::try_from(limit).unwrap_or(usize::MAX));
        Some(found.collect())
    }
}

fn place(index: usize, event: &Event) -> EventPlace {
    EventPlace {
        era: 0,
        transaction: 0,
        number: u64::try_from(index + 1).unwrap_or(u64::MAX),
        at: event.at,
    }
}
