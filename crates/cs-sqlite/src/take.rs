//! What limits the takes of a machine, as the statements of takes and peeks apply it.

use cs_model::{MachineId, Time};
use cs_record::{CodebaseLimits, Limits, Serves, StoreError};
use sqlx::{FromRow, SqliteConnection};

use crate::row_cards::{number, parse, parse_opt};
use crate::script;

/// Returns the statement of a file after the text with which all of its kind begin.
macro_rules! after {
    ($part:literal, $name:literal) => {
        concat!(
            include_str!(concat!("../queries/parts/", $part, ".sql")),
            include_str!(concat!("../queries/", $name, ".sql"))
        )
    };
}
pub(crate) use after;

/// The agents of a statement that asks for no cards.
const NOBODY: &str = "[]";

#[derive(FromRow)]
struct HereRow {
    pause: Option<String>,
    free: Option<i64>,
    only_person: Option<String>,
}

#[derive(FromRow)]
struct ThereRow {
    codebase_id: String,
    pause: Option<String>,
    free: Option<i64>,
}

/// Reads what limits a machine, in three statements that are sent together.
pub(crate) async fn limits(
    connection: &mut SqliteConnection,
    machine: MachineId,
    now: Time,
) -> Result<Limits, StoreError> {
    let machine = machine.to_string();
    let names = ["read_limits_here", "read_limits_there", "read_parked"];
    let sql = concat!(
        after!("take", "read_limits_here"),
        ";\n",
        after!("take", "read_limits_there"),
        ";\n",
        after!("take", "read_parked")
    );
    let query = sqlx::query(sql)
        .bind(&machine)
        .bind(NOBODY)
        .bind(now.unix_micros());
    let [here, there, parked] = script::run(connection, names, query).await?;
    let here: HereRow = script::one(names[0], here)?;
    let there: Vec<ThereRow> = script::read(names[1], there)?;
    let parked: Vec<(String,)> = script::read(names[2], parked)?;
    let codebase = |row: ThereRow| {
        let (table, id) = ("machine_codebases", row.codebase_id.as_str());
        let limits = CodebaseLimits {
            pause: parse_opt(table, id, row.pause.as_deref())?,
            free: free(id, row.free)?,
        };
        Ok((parse(table, id, id)?, limits))
    };
    let person = parse_opt("machines", &machine, here.only_person.as_deref())?;
    Ok(Limits {
        pause: parse_opt("pauses", &machine, here.pause.as_deref())?,
        free: free(&machine, here.free)?,
        codebases: there
            .into_iter()
            .map(codebase)
            .collect::<Result<_, StoreError>>()?,
        parked: parked
            .iter()
            .map(|(agent,)| parse("parked_routes", agent, agent))
            .collect::<Result<_, _>>()?,
        serves: person.map_or(Serves::Everyone, Serves::Only),
    })
}

fn free(id: &str, free: Option<i64>) -> Result<Option<u32>, StoreError> {
    free.map(|free| number("limits", id, "free", free)).transpose()
}
