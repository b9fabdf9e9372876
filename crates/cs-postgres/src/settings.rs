//! Where the record is and how to get in. The password is in here and never comes out: not in errors, not in `Debug`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use cs_model::Clock;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::OpenError;

/// Connections of one process beside the listening one. A card is locked for two round trips, so that few are enough.
pub(crate) const CONNECTIONS: u32 = 8;

/// The times after which the server gives up what it does for us. A daemon that dies between lock and commit must not hide its
/// cards from everybody for longer than `idle_in_transaction_session_timeout`.
macro_rules! session_settings {
    ($set:literal) => {
        concat!(
            $set,
            " plan_cache_mode = force_generic_plan; ",
            $set,
            " statement_timeout = '30s'; ",
            $set,
            " lock_timeout = '10s'; ",
            $set,
            " idle_in_transaction_session_timeout = '30s'"
        )
    };
}

/// Said once on each connection.
pub(crate) const SESSION: &str = session_settings!("set");

/// Whether a session on the server is ours for as long as the connection lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// Yes: settings are made once, and statements are prepared once.
    Own,
    /// No, a transaction pooler gives us another one for each transaction: every transaction makes its settings, and nothing is
    /// prepared for longer.
    Shared,
}

impl Sessions {
    /// Whether a statement may be prepared for longer than its transaction.
    pub(crate) fn keep_statements(self) -> bool {
        self == Self::Own
    }

    /// Returns what begins a transaction, in one round trip.
    pub(crate) const fn begin(self) -> &'static str {
        match self {
            Self::Own => "begin isolation level read committed",
            Self::Shared => concat!(
                "begin isolation level read committed; ",
                session_settings!("set local")
            ),
        }
    }
}

/// How to reach a record on Postgres.
#[derive(Clone)]
pub struct Settings {
    pub(crate) options: PgConnectOptions,
    pub(crate) sessions: Sessions,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

/// The URL parameter that says that sessions are shared, as sqlx spells it.
const NOT_PREPARED: &str = "statement-cache-capacity=0";

impl FromStr for Settings {
    type Err = OpenError;

    /// Reads `postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=FILE`.
    ///
    /// What is missing comes from PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE and PGSSLROOTCERT, and the password at
    /// last from `~/.pgpass` or PGPASSFILE. The certificate in `sslrootcert` is trusted beside those of the system. `host=/directory` is a Unix socket. Behind a transaction pooler that knows no prepared
    /// statements, `statement-cache-capacity=0` is needed.
    fn from_str(url: &str) -> Result<Self, OpenError> {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err(OpenError::BadUrl {
                why: "it begins with neither postgres:// nor postgresql://".to_owned(),
            });
        }
        // The error tells which part is wrong and repeats nothing but the value of one parameter.
        let options = PgConnectOptions::from_str(url).map_err(|error| OpenError::BadUrl {
            why: without_secrets(&error),
        })?;
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let shared = query.split('&').any(|parameter| parameter == NOT_PREPARED);
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name("cs-panel"),
        };
        let options = options.disable_statement_logging();
        Ok(Self {
            options,
            sessions: if shared { Sessions::Shared } else { Sessions::Own },
            clock: None,
        })
    }
}

/// The parser's own words for a broken URL name no part of it; anything longer is not repeated.
fn without_secrets(error: &sqlx::Error) -> String {
    if let sqlx::Error::Configuration(why) = error
        && why.to_string().len() < 80
    {
        return why.to_string();
    }
    "it cannot be read".to_owned()
}

impl Settings {
    /// Takes a password that came another way, such as from a command, in the place of any other.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        self.options = self.options.password(password);
        self
    }

    /// Takes the time from a clock and not from the server: for tests, whose laws move the time.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Returns where the record is, for people: host, port and database, no user, no password.
    #[must_use]
    pub fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or(self.options.get_username());
        match self.options.get_socket() {
            Some(socket) => format!("{database} at {}", socket.display()),
            None => format!(
                "{database} at {}:{}",
                self.options.get_host(),
                self.options.get_port()
            ),
        }
    }
}
