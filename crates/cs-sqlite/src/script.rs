//! Statements that follow from nothing but their arguments go to the connection together.
//!
//! A connection of sqlx is a thread of its own. Each message to it wakes that thread and then this one, which costs more than most
//! of our statements do; so what is known beforehand is sent as one message (docs/adr/0002).

use cs_record::StoreError;
use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Either, Execute, Executor, FromRow, Sqlite, SqliteConnection};

use crate::error::store_error;

/// Returns the names of files of statements, and their texts as one.
macro_rules! script {
    ($($name:literal),+) => {
        (
            [$($name),+],
            concat!($(include_str!(concat!("../queries/", $name, ".sql")), ";\n"),+),
        )
    };
}
pub(crate) use script;

/// What one statement of a script did.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) rows: Vec<SqliteRow>,
    /// How many rows it changed; says nothing of a statement that only reads.
    pub(crate) changed: u64,
}

/// Reads the rows of one statement. `name` is that of its file.
pub(crate) fn read<T>(name: &'static str, ran: Ran) -> Result<Vec<T>, StoreError>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    let read = ran.rows.iter().map(T::from_row).collect::<Result<_, _>>();
    read.map_err(|error| store_error(name, error))
}

/// Reads the only row of a statement that always has one.
pub(crate) fn one<T>(name: &'static str, ran: Ran) -> Result<T, StoreError>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    let row = read(name, ran)?.into_iter().next();
    row.ok_or_else(|| store_error(name, sqlx::Error::RowNotFound))
}

/// Runs statements that are separated by semicolons, in one message. `names` are those of their files, in order, and the numbers of
/// parameters count through the whole text. Stops at the first that fails.
pub(crate) async fn run<'q, const N: usize>(
    connection: &mut SqliteConnection,
    names: [&'static str; N],
    query: impl Execute<'q, Sqlite> + 'q,
) -> Result<[Ran; N], StoreError> {
    let ran = run_all(connection, &names, query).await?;
    let found = ran.len();
    ran.try_into()
        .map_err(|_| StoreError::Corrupt(format!("{found} of the statements {names:?} were run")))
}

/// Runs one statement and reads its rows. `name` is that of its file.
pub(crate) async fn all<'q, T>(
    connection: &mut SqliteConnection,
    name: &'static str,
    query: impl Execute<'q, Sqlite> + 'q,
) -> Result<Vec<T>, StoreError>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    let [ran] = run(connection, [name], query).await?;
    read(name, ran)
}

/// Runs one statement that has one row at most.
pub(crate) async fn optional<'q, T>(
    connection: &mut SqliteConnection,
    name: &'static str,
    query: impl Execute<'q, Sqlite> + 'q,
) -> Result<Option<T>, StoreError>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    Ok(all(connection, name, query).await?.into_iter().next())
}

/// Runs one statement that always has one row.
pub(crate) async fn only<'q, T>(
    connection: &mut SqliteConnection,
    name: &'static str,
    query: impl Execute<'q, Sqlite> + 'q,
) -> Result<T, StoreError>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    let [ran] = run(connection, [name], query).await?;
    one(name, ran)
}

/// Runs one statement that writes, and returns how many rows it changed.
pub(crate) async fn changes<'q>(
    connection: &mut SqliteConnection,
    name: &'static str,
    query: impl Execute<'q, Sqlite> + 'q,
) -> Result<u64, StoreError> {
    let [ran] = run(connection, [name], query).await?;
    Ok(ran.changed)
}

/// A connection whose thread ended ends its answers without an error: only what said that it is over was carried out. No row of
/// it is read, since rows that are missing would be taken for rows that are not there.
async fn run_all<'q>(
    connection: &mut SqliteConnection,
    names: &[&'static str],
    query: impl Execute<'q, Sqlite> + 'q,
) -> Result<Vec<Ran>, StoreError> {
    let mut steps = connection.fetch_many(query);
    let (mut done, mut ran) = (Vec::with_capacity(names.len()), Ran::default());
    loop {
        let name = names.get(done.len()).copied().unwrap_or("script");
        match steps.try_next().await.map_err(|error| store_error(name, error))? {
            Some(Either::Right(row)) => ran.rows.push(row),
            Some(Either::Left(over)) => {
                ran.changed = over.rows_affected();
                done.push(std::mem::take(&mut ran));
            }
            None if done.len() < names.len() => {
                return Err(store_error(name, sqlx::Error::WorkerCrashed));
            }
            None => return Ok(done),
        }
    }
}

/// Writes that are collected and then sent together. Their parameters are `?` without a number, in the order of the bound values.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    sql: String,
    arguments: SqliteArguments,
    steps: Vec<(&'static str, Option<u64>)>,
}

impl Writing {
    /// Adds a statement; the values that it needs are bound next. `rows` is how many must change, if that is to be checked.
    pub(crate) fn add(&mut self, name: &'static str, sql: &'static str, rows: Option<u64>) {
        self.sql.push_str(sql);
        self.sql.push(';');
        self.steps.push((name, rows));
    }

    /// Binds the next value.
    pub(crate) fn bind<'q, T>(&mut self, value: T) -> Result<(), StoreError>
    where
        T: sqlx::Encode<'q, Sqlite> + sqlx::Type<Sqlite>,
    {
        let name = self.steps.last().map_or("script", |(name, _)| name);
        let bound = sqlx::Arguments::add(&mut self.arguments, value);
        bound.map_err(|error| StoreError::Corrupt(format!("{name}: {error}")))
    }

    /// Sends everything, and checks the numbers of changed rows. The caller rolls back on any error.
    pub(crate) async fn send(self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let names: Vec<_> = self.steps.iter().map(|(name, _)| *name).collect();
        let query = sqlx::query_with(AssertSqlSafe(self.sql), self.arguments);
        let ran = run_all(connection, &names, query).await?;
        if ran.len() != names.len() {
            let found = ran.len();
            return Err(StoreError::Corrupt(format!(
                "{found} of the statements {names:?} were run"
            )));
        }
        for (ran, (name, expected)) in ran.iter().zip(self.steps) {
            if let Some(expected) = expected.filter(|expected| *expected != ran.changed) {
                return Err(StoreError::Corrupt(format!(
                    "{name} changed {} rows where {expected} were decided on; nothing was written",
                    ran.changed
                )));
            }
        }
        Ok(())
    }
}
