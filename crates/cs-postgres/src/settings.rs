//! Where the record is and how to get in. The password is in here and never comes out: not in errors, not in `Debug`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use cs_model::Clock;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqlSafeStr, SqlStr};

use crate::OpenError;

/// Connections of one process beside the listening one. A card is locked for two round trips, so that few are enough.
pub(crate) const CONNECTIONS: u32 = 8;

/// How long the server does something for us before it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long one statement may take. 30 s.
    pub statement: Duration,
    /// How long one lock is waited for; the decision is then made anew. 10 s.
    pub lock: Duration,
    /// How long a transaction may stand still. A daemon that dies between lock and commit hides its cards from everybody for no
    /// longer than this. 30 s.
    pub idle_in_transaction: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            statement: Duration::from_secs(30),
            lock: Duration::from_secs(10),
            idle_in_transaction: Duration::from_secs(30),
        }
    }
}

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
}

/// How to reach a record on Postgres.
#[derive(Clone)]
pub struct Settings {
    pub(crate) options: PgConnectOptions,
    pub(crate) sessions: Sessions,
    limits: Limits,
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
        let options = PgConnectOptions::from_str(&with_a_host(url)).map_err(|error| OpenError::BadUrl {
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
            limits: Limits::default(),
            clock: None,
        })
    }
}

/// Gives a URL without a host one that its `host` parameter replaces: the parser takes none for a mistake, other clients do not.
fn with_a_host(url: &str) -> Cow<'_, str> {
    let has_parameter = url
        .split_once('?')
        .is_some_and(|(_, query)| query.split('&').any(|one| one.starts_with("host=")));
    let authority = url.find("://").map(|at| at + 3).map(|from| {
        let rest = &url[from..];
        from + rest.find(['/', '?']).unwrap_or(rest.len())
    });
    let Some(end) = authority.filter(|_| has_parameter) else {
        return Cow::Borrowed(url);
    };
    let Some(at) = url[..end].rfind('@') else {
        return Cow::Borrowed(url);
    };
    let host = &url[at + 1..end];
    if host.is_empty() || host.starts_with(':') {
        return Cow::Owned(format!("{}localhost{}", &url[..=at], &url[at + 1..]));
    }
    Cow::Borrowed(url)
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

    /// Lets the server give up sooner or later than usual. A part of a millisecond counts as a whole one.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns what is said once on each connection.
    pub(crate) fn session(&self) -> SqlStr {
        AssertSqlSafe(self.set("set")).into_sql_str()
    }

    /// Returns what begins a transaction, in one round trip.
    pub(crate) fn begin(&self) -> SqlStr {
        let begin = "begin isolation level read committed";
        match self.sessions {
            Sessions::Own => begin.into_sql_str(),
            Sessions::Shared => AssertSqlSafe(format!("{begin}; {}", self.set("set local"))).into_sql_str(),
        }
    }

    fn set(&self, set: &str) -> String {
        let ms = |limit: Duration| limit.as_micros().div_ceil(1000).max(1); // 0 is no limit at all
        let (statement, lock) = (ms(self.limits.statement), ms(self.limits.lock));
        let idle = ms(self.limits.idle_in_transaction);
        format!(
            "{set} plan_cache_mode = force_generic_plan; {set} statement_timeout = {statement}; {set} lock_timeout = {lock}; \
             {set} idle_in_transaction_session_timeout = {idle}"
        )
    }

    /// Takes the time from a clock and not from the server: for tests, whose laws move the time.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Whether an error of a connection says that a certificate is not there. On a socket it is the socket.
    pub(crate) fn misses_a_file(&self, error: &sqlx::Error) -> bool {
        let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        self.options.get_socket().is_none() && matches!(error, sqlx::Error::Io(error) if is_missing(error))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As `psql` takes them.
    #[test]
    fn a_socket_needs_no_host_in_the_url() {
        for url in [
            "postgres://ada@/panel?host=/run/pg",
            "postgres://ada:se%40cret@/panel?host=/run/pg",
            "postgres://ada@:5433/panel?sslmode=disable&host=/run/pg",
            "postgres:///panel?user=ada&host=/run/pg",
            "postgres://ada@elsewhere/panel?host=/run/pg",
        ] {
            let settings: Settings = url.parse().expect(url);
            assert_eq!(settings.place(), "panel at /run/pg", "{url}");
            assert_eq!(settings.options.get_username(), "ada", "{url}");
        }
        assert!("postgres://ada@/panel".parse::<Settings>().is_err());
    }

    #[test]
    fn a_session_has_every_limit_and_no_limit_is_none() {
        let usual: Settings = "postgres://ada@host/panel".parse().expect("a good URL");
        let sets = "set plan_cache_mode = force_generic_plan; set statement_timeout = 30000; set lock_timeout = 10000; \
                    set idle_in_transaction_session_timeout = 30000";
        assert_eq!(usual.session().as_str(), sets);
        assert_eq!(usual.begin().as_str(), "begin isolation level read committed");
        let limits = Limits {
            statement: Duration::from_micros(1500),
            lock: Duration::ZERO,
            ..Limits::default()
        };
        let shared: Settings = "postgres://ada@host/panel?statement-cache-capacity=0"
            .parse()
            .expect("a good URL");
        let begin = shared.with_limits(limits).begin();
        assert_eq!(
            begin.as_str(),
            "begin isolation level read committed; set local plan_cache_mode = force_generic_plan; \
             set local statement_timeout = 2; set local lock_timeout = 1; \
             set local idle_in_transaction_session_timeout = 30000"
        );
    }
}
