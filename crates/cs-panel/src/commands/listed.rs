//! What a list could not show: it is said beside the list, and a program finds it in the list.

use cs_record::{Listed, Unreadable};
use serde::{Serialize, Serializer};

use crate::app::App;
use crate::failure::Failure;

/// A thing of a list, or a card that the list cannot show.
enum Line<W> {
    Row(W),
    Unreadable(UnreadableWire),
}

impl<W: Serialize> Serialize for Line<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Row(row) => row.serialize(serializer),
            Self::Unreadable(one) => one.serialize(serializer),
        }
    }
}

#[derive(Debug, Serialize)]
struct UnreadableWire {
    unreadable: Why,
}

#[derive(Debug, Serialize)]
struct Why {
    card: String,
    why: String,
}

impl From<&Unreadable> for UnreadableWire {
    fn from(one: &Unreadable) -> Self {
        let why = Why {
            card: one.card.clone(),
            why: one.why.clone(),
        };
        Self { unreadable: why }
    }
}

/// Says which cards a list could not show, each with what is wrong and what to do.
pub(crate) fn say_unreadable<T>(app: &App, listed: &Listed<T>) {
    for Unreadable { card, why } in &listed.unreadable {
        app.out.said(&format!(
            "card {card} cannot be shown, and no daemon works on it: {why}; mend that row on the record, or use the cs-panel that \
             wrote it"
        ));
    }
}

/// Prints a list as JSON, and at its end what it could not show.
pub(crate) fn json<T, W: Serialize>(
    app: &App,
    listed: &Listed<T>,
    wire: impl Fn(&T) -> W,
) -> Result<(), Failure> {
    let rows = listed.rows.iter().map(|row| Line::Row(wire(row)));
    let unreadable = listed.unreadable.iter().map(|one| Line::Unreadable(one.into()));
    app.out.json(&rows.chain(unreadable).collect::<Vec<_>>())
}
