//! Opens the record, and says in plain words why it cannot be opened.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, Executor, PgConnection, Row};

use crate::error::{code, is_insecure, sqlstate};
use crate::migrate::{self, Found, MIGRATIONS, known};
use crate::settings::{CONNECTIONS, Sessions};
use crate::{PostgresStore, Settings};

/// How long a connection is waited for.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the record cannot be opened. Nothing was changed. No text of it holds a password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is none.
    #[error(
        "the database URL cannot be used: {why}; expected postgres://USER@HOST/DATABASE?sslmode=verify-full"
    )]
    BadUrl {
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there, or not in time.
    #[error(
        "the record {place} cannot be reached as user `{user}`: is the server running, and are host and port right?"
    )]
    Unreachable {
        /// Where.
        place: String,
        /// Who.
        user: String,
        /// Why.
        source: sqlx::Error,
    },
    /// The connection cannot be made secure as `sslmode` demands.
    #[error(
        "the connection to the record {place} as user `{user}` cannot be made secure: check sslmode and the file of sslrootcert, and with \
         verify-full that the host is named as in the server's certificate"
    )]
    Insecure {
        /// Where.
        place: String,
        /// Who.
        user: String,
        /// Why.
        source: sqlx::Error,
    },
    /// The server does not take this user and password.
    #[error(
        "the record {place} refuses user `{user}`: check the user and the password (in the URL, PGPASSWORD, or ~/.pgpass, which \
         counts only with mode 0600)"
    )]
    Refused {
        /// Where.
        place: String,
        /// Who.
        user: String,
        /// Why.
        source: sqlx::Error,
    },
    /// The server knows no such user, or lets nobody in this way.
    #[error(
        "the record {place} does not let user `{user}` in from here: check the user, sslmode, and the server's pg_hba.conf"
    )]
    NotAdmitted {
        /// Where.
        place: String,
        /// Who.
        user: String,
        /// Why.
        source: sqlx::Error,
    },
    /// The user may connect and has no right to what is in the database.
    #[error(
        "user `{user}` has no right to the record {place}: let its owner grant it, or connect as the owner of the schema"
    )]
    NoRight {
        /// Where.
        place: String,
        /// Who.
        user: String,
        /// Why.
        source: sqlx::Error,
    },
    /// There is no such database on the server.
    #[error(
        "there is no database {place} for user `{user}`: check its name, or create it with `createdb` and run `cs-panel migrate`"
    )]
    NoDatabase {
        /// Where.
        place: String,
        /// Who.
        user: String,
    },
    /// The database has no schema in which the record could be.
    #[error(
        "the database {place} has no schema that user `{user}` may use: check search_path, make the schema, or let its owner \
         grant usage of it"
    )]
    NoSchema {
        /// Where.
        place: String,
        /// Who.
        user: String,
    },
    /// Nothing of cs-panel, or an older schema, is in the database.
    #[error(
        "the record {place} has version {found}, this cs-panel needs {needed}: run `cs-panel migrate` once, on any machine"
    )]
    NotMigrated {
        /// Where.
        place: String,
        /// Its version, 0 when it is empty.
        found: u32,
        /// The version that this binary needs.
        needed: u32,
    },
    /// A newer cs-panel has migrated it, and this binary is too old to use it.
    #[error(
        "the record {place} has version {found}, this cs-panel knows up to {known}: use a newer cs-panel"
    )]
    TooNew {
        /// Where.
        place: String,
        /// Its version.
        found: u32,
        /// The newest version that this binary knows.
        known: u32,
    },
    /// The database holds something else.
    #[error(
        "the database {place} holds something else than a record of cs-panel: give another one, or another schema"
    )]
    NotOurs {
        /// Where.
        place: String,
    },
    /// The server can be read only: a standby, or set so.
    #[error("the record {place} can only be read: connect to the primary server")]
    ReadOnly {
        /// Where.
        place: String,
    },
    /// The server answers and cannot be used.
    #[error("the record {place} cannot be used")]
    Unusable {
        /// Where.
        place: String,
        /// Why.
        source: sqlx::Error,
    },
    /// A step of the schema failed; the record is as it was.
    #[error("the record {place} cannot be brought to version {to}")]
    Migration {
        /// Where.
        place: String,
        /// The version that failed.
        to: u32,
        /// Why.
        source: sqlx::Error,
    },
}

impl OpenError {
    pub(crate) fn no_schema(settings: &Settings) -> Self {
        Self::NoSchema {
            place: settings.place(),
            user: settings.options.get_username().to_owned(),
        }
    }

    /// Says what an error means that came while connecting or before the record was known.
    pub(crate) fn of(settings: &Settings, source: sqlx::Error) -> Self {
        let place = settings.place();
        let user = settings.options.get_username().to_owned();
        match (sqlstate(&source).as_deref(), &source) {
            (Some(code::BAD_PASSWORD), _) => Self::Refused { place, user, source },
            (Some(code::BAD_AUTHORIZATION), _) => Self::NotAdmitted { place, user, source },
            (Some(code::NO_RIGHT), _) => Self::NoRight { place, user, source },
            (Some(code::NO_DATABASE), _) => Self::NoDatabase { place, user },
            (Some(code::READ_ONLY), _) => Self::ReadOnly { place },
            (Some(_), _) => Self::Unusable { place, source },
            (None, error) if is_insecure(error) || settings.misses_a_file(error) => {
                Self::Insecure { place, user, source }
            }
            (None, _) => Self::Unreachable { place, user, source },
        }
    }
}

/// Connects once, so that the reason of a failure is heard: a pool would only say that it waited in vain.
pub(crate) async fn connect(settings: &Settings) -> Result<PgConnection, OpenError> {
    let connecting = PgConnection::connect_with(&settings.options);
    let connected = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    };
    connected.map_err(|error| OpenError::of(settings, error))
}

pub(crate) async fn open(settings: &Settings) -> Result<PostgresStore, OpenError> {
    let failed = |error| OpenError::of(settings, error);
    let mut connection = connect(settings).await?;
    let found = migrate::look(&mut connection).await.map_err(failed)?;
    check(settings, &found)?;
    let row = sqlx::raw_sql("select current_setting('transaction_read_only') = 'on'")
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
    let read_only: bool = row.try_get(0).map_err(failed)?;
    connection.close().await.map_err(failed)?;
    if read_only {
        return Err(OpenError::ReadOnly {
            place: settings.place(),
        });
    }
    let pool = match settings.sessions {
        Sessions::Shared => pool(CONNECTIONS),
        Sessions::Own => {
            let session = settings.session();
            pool(CONNECTIONS).after_connect(move |connection, _| {
                let session = session.clone();
                Box::pin(async move { connection.execute(session).await.map(drop) })
            })
        }
    };
    Ok(PostgresStore {
        pool: pool.connect_lazy_with(options(settings)),
        begin: settings.begin(),
        sessions: settings.sessions,
        clock: settings.clock.clone(),
        left_out: std::sync::Arc::default(),
    })
}

/// A record that is newer is usable as long as its schema says so: it only has more than this binary knows.
fn check(settings: &Settings, found: &Found) -> Result<(), OpenError> {
    let (place, known) = (settings.place(), known(MIGRATIONS));
    match *found {
        Found::NoSchema => Err(OpenError::no_schema(settings)),
        Found::Empty => Err(OpenError::NotMigrated {
            place,
            found: 0,
            needed: known,
        }),
        Found::SomethingElse => Err(OpenError::NotOurs { place }),
        Found::Ours { version, .. } if version < known => Err(OpenError::NotMigrated {
            place,
            found: version,
            needed: known,
        }),
        Found::Ours { version, usable_from } if usable_from > known => Err(OpenError::TooNew {
            place,
            found: version,
            known,
        }),
        Found::Ours { .. } => Ok(()),
    }
}

/// Statements that are not prepared for longer than their transaction go to no cache.
pub(crate) fn options(settings: &Settings) -> PgConnectOptions {
    match settings.sessions {
        Sessions::Own => settings.options.clone(),
        Sessions::Shared => settings.options.clone().statement_cache_capacity(0),
    }
}

/// No connection is tried out before it is used: that would be a round trip for every call, and the first statement of a
/// transaction finds out as well.
pub(crate) fn pool(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECT_TIMEOUT)
        .test_before_acquire(false)
}
