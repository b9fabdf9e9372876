//! Brings a record to the version of this binary: forward only, all steps in one transaction, one process at a time.

use sqlx::{Connection, PgConnection, Row};

use crate::error::{code, sqlstate};
use crate::open::connect;
use crate::{OpenError, Settings};

/// One step of the schema. Once landed it is never edited.
pub(crate) struct Migration {
    /// The version that it leads to: 1, 2 and so on.
    pub(crate) version: u32,
    /// The lowest version that a binary must know to use the record after it: a step that only adds keeps it one behind, so that
    /// machines are updated one after another.
    pub(crate) usable_from: u32,
    pub(crate) sql: &'static str,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        usable_from: 1,
        sql: concat!(
            include_str!("../migrations/0001_record.sql"),
            include_str!("../migrations/0001_functions.sql")
        ),
    },
    Migration {
        version: 2,
        usable_from: 1,
        sql: include_str!("../migrations/0002_functions.sql"),
    },
    Migration {
        version: 3,
        usable_from: 1,
        sql: include_str!("../migrations/0003_invariants.sql"),
    },
    Migration {
        version: 4,
        usable_from: 3,
        sql: include_str!("../migrations/0004_left_behind.sql"),
    },
    // An older binary does not know what `published` is.
    Migration {
        version: 5,
        usable_from: 5,
        sql: include_str!("../migrations/0005_verify.sql"),
    },
    // An older binary starts the agent of such a card as it is set on its machine.
    Migration {
        version: 6,
        usable_from: 5,
        sql: include_str!("../migrations/0006_choice.sql"),
    },
    // An older binary leaves these as they are.
    Migration {
        version: 7,
        usable_from: 5,
        sql: include_str!("../migrations/0007_usage.sql"),
    },
    // An older binary tells its agents no rules.
    Migration {
        version: 8,
        usable_from: 5,
        sql: include_str!("../migrations/0008_rules.sql"),
    },
    // An older binary gives its agents none.
    Migration {
        version: 9,
        usable_from: 5,
        sql: include_str!("../migrations/0009_attachments.sql"),
    },
    // An older binary does not say what happens.
    Migration {
        version: 10,
        usable_from: 10,
        sql: include_str!("../migrations/0010_events.sql"),
    },
];

/// Returns the newest version that a list of steps knows.
pub(crate) fn known(migrations: &[Migration]) -> u32 {
    migrations.last().map_or(0, |newest| newest.version)
}

/// What is in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not even a schema, or none that this user may see.
    NoSchema,
    Empty,
    Ours {
        version: u32,
        usable_from: u32,
    },
    SomethingElse,
}

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version that was there; 0 for an empty database.
    pub from: u32,
    /// The version that is there now. The same: there was nothing to do.
    pub to: u32,
}

/// Brings the record to the version of this binary. Nothing else ever changes its schema. It may be repeated, and asked for by
/// several at once. A record that is newer stays as it is.
///
/// # Errors
/// [`OpenError`]; the record is as it was then.
pub async fn migrate(settings: &Settings) -> Result<Migrated, OpenError> {
    migrate_with(settings, MIGRATIONS).await
}

/// Migrates with a given list of steps, so that tests can have older and newer binaries.
pub(crate) async fn migrate_with(
    settings: &Settings,
    migrations: &[Migration],
) -> Result<Migrated, OpenError> {
    let failed = |error| OpenError::of(settings, error);
    let mut connection = connect(settings).await?;
    let mut tx = connection.begin().await.map_err(failed)?;
    sqlx::raw_sql("select pg_advisory_xact_lock(7165067210325782126)") // "cs-panel"
        .execute(&mut *tx)
        .await
        .map_err(failed)?;
    let from = match look(&mut tx).await.map_err(failed)? {
        Found::Empty => 0,
        Found::Ours { version, .. } => version,
        Found::NoSchema => return Err(OpenError::no_schema(settings)),
        Found::SomethingElse => {
            return Err(OpenError::NotOurs {
                place: settings.place(),
            });
        }
    };
    for step in migrations.iter().filter(|step| step.version > from) {
        let applied = apply(&mut tx, step).await;
        applied.map_err(|source| of_step(settings, step, source))?;
    }
    tx.commit().await.map_err(failed)?;
    connection.close().await.map_err(failed)?;
    Ok(Migrated {
        from,
        to: from.max(known(migrations)),
    })
}

/// An error that the server has no better word for is the step's.
fn of_step(settings: &Settings, step: &Migration, source: sqlx::Error) -> OpenError {
    let has_word = [code::READ_ONLY, code::NO_RIGHT];
    let is_statement = sqlstate(&source).is_some_and(|state| !has_word.contains(&state.as_str()));
    if !is_statement {
        return OpenError::of(settings, source);
    }
    OpenError::Migration {
        place: settings.place(),
        to: step.version,
        source,
    }
}

async fn apply(connection: &mut PgConnection, step: &Migration) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(step.sql).execute(&mut *connection).await?;
    sqlx::query(include_str!("../queries/write_version.sql"))
        .persistent(false)
        .bind(i64::from(step.version))
        .bind(i64::from(step.usable_from))
        .execute(connection)
        .await?;
    Ok(())
}

/// Looks what is in the schema that comes first in the search path. The statements are simple ones, which also reach a server
/// behind a transaction pooler.
pub(crate) async fn look(connection: &mut PgConnection) -> Result<Found, sqlx::Error> {
    let row = sqlx::raw_sql(include_str!("../queries/look_at_schema.sql"))
        .fetch_one(&mut *connection)
        .await?;
    let (ours, tables, has_schema): (bool, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if !has_schema {
        return Ok(Found::NoSchema);
    }
    if !ours {
        return Ok(if tables {
            Found::SomethingElse
        } else {
            Found::Empty
        });
    }
    let row = sqlx::raw_sql(include_str!("../queries/read_version.sql"))
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(Found::SomethingElse);
    };
    let (version, usable_from): (i32, i32) = (row.try_get(0)?, row.try_get(1)?);
    Ok(match (u32::try_from(version), u32::try_from(usable_from)) {
        (Ok(version), Ok(usable_from)) => Found::Ours { version, usable_from },
        _ => Found::SomethingElse,
    })
}
