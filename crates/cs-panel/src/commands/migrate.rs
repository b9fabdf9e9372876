//! `migrate`: brings the record to the version of this program.

use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::record::{self, Place};

#[derive(Debug, Serialize)]
struct MigratedWire {
    /// The version before; 0 for a database without a record, nothing where the record is a file.
    from: Option<u32>,
    /// The version now; nothing where the record is a file.
    to: Option<u32>,
}

/// Carries out `migrate`.
pub(crate) async fn migrate(app: &App) -> Result<(), Failure> {
    let (migrated, said) = match app.record_place().await? {
        Some(Place::Server(settings)) => {
            let done = cs_postgres::migrate(&settings).await?;
            let (place, to) = (settings.place(), done.to);
            let said = match done.from {
                0 => format!("the record {place} was made, with version {to}"),
                from if from == to => format!("the record {place} has version {to} already"),
                from => format!("the record {place} went from version {from} to {to}"),
            };
            (Some(done), said)
        }
        file => {
            // Whatever opens a file migrates it, after copying it beside itself.
            let file = match file {
                Some(file) => file,
                None => Place::File(app.state()?.record()),
            };
            record::open(&file).await?;
            (
                None,
                "the record is a file, it has the version of this cs-panel".to_owned(),
            )
        }
    };
    if app.global.json {
        return app.out.json(&MigratedWire {
            from: migrated.map(|done| done.from),
            to: migrated.map(|done| done.to),
        });
    }
    app.out.line(&said)
}
