//! Everything that a record says, for whoever wants to know what is in it.

use std::path::Path;

use cs_record::StoreError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};

use crate::error::store_error;

/// A value of a record, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its table.
    pub table: String,
    /// Its column.
    pub column: String,
    /// The value.
    pub text: String,
}

/// Reads every value of every table that is there, whatever the schema is. It changes nothing.
///
/// # Errors
/// [`StoreError`]: the file cannot be read.
pub async fn every_text(path: &Path) -> Result<Vec<Text>, StoreError> {
    read(path)
        .await
        .map_err(|error| store_error("read every text", error))
}

async fn read(path: &Path) -> Result<Vec<Text>, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = options.connect().await?;
    let tables: Vec<String> = sqlx::query_scalar("select name from sqlite_schema where type = 'table'")
        .fetch_all(&mut connection)
        .await?;
    let mut texts = Vec::new();
    for table in tables {
        let columns: Vec<String> = sqlx::query_scalar("select name from pragma_table_info(?1)")
            .bind(&table)
            .fetch_all(&mut connection)
            .await?;
        for column in columns {
            let values = values(&mut connection, &table, &column).await?;
            texts.extend(values.into_iter().map(|text| Text {
                table: table.clone(),
                column: column.clone(),
                text,
            }));
        }
    }
    Ok(texts)
}

async fn values(
    connection: &mut SqliteConnection,
    table: &str,
    column: &str,
) -> Result<Vec<String>, sqlx::Error> {
    let (table, column) = (quoted(table), quoted(column));
    let sql = format!("select cast({column} as blob) from {table} where {column} is not null");
    let values: Vec<Vec<u8>> = sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    let texts = values.iter().map(|value| String::from_utf8_lossy(value));
    Ok(texts.map(std::borrow::Cow::into_owned).collect())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
