//! One statement that writes rows of several kinds. It has a part for each kind of which there are rows, and no other: the server
//! would begin and end each of them, which costs more than the rows of a small write. A part that writes one row, as most do, gets
//! its values as they are: an array for each column would cost the server more than the row.

use cs_record::StoreError;
use sqlx::postgres::{PgArguments, PgHasArrayType};
use sqlx::{Arguments, Encode, Postgres, Type};

use crate::store::Sql;

/// A statement that is being put together, with its parameters. A part is a statement of a file: it counts its parameters from `$1`,
/// of which each is a column, and reads them with `unnest`; the first is the key.
#[derive(Default)]
pub(crate) struct Statement {
    parts: String,
    arguments: PgArguments,
    counted: Vec<Counted>,
    failed: Option<String>,
}

/// How many rows a part must change.
pub(crate) struct Counted {
    pub(crate) part: &'static str,
    pub(crate) rows: usize,
}

impl Statement {
    /// Adds a part that must change so many rows; its columns follow.
    pub(crate) fn counted(&mut self, sql: Sql, rows: usize) -> &mut Self {
        if rows > 0 {
            self.part(sql, rows);
            self.parts.push_str("returning 1\n)");
            self.counted.push(Counted { part: sql.name, rows });
        }
        self
    }

    /// Adds a part for so many rows, which may be there already or not any more.
    pub(crate) fn uncounted(&mut self, sql: Sql, rows: usize) -> &mut Self {
        if rows > 0 {
            self.part(sql, rows);
            self.parts.push(')');
        }
        self
    }

    fn part(&mut self, Sql { name, text }: Sql, rows: usize) {
        let begin = if self.parts.is_empty() { "with " } else { ",\n" };
        self.parts.push_str(begin);
        self.parts.push_str(name);
        self.parts.push_str(" as (\n");
        let there = self.arguments.len();
        if rows == 1 {
            push_renumbered(&mut self.parts, &of_one_row(text), there);
        } else {
            push_renumbered(&mut self.parts, text, there);
        }
    }

    /// Adds a column of the rows of a part. Without rows there is neither.
    pub(crate) fn add<'r, R, T>(&mut self, rows: &'r [R], column: impl Fn(&'r R) -> T) -> &mut Self
    where
        T: Encode<'r, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        match rows {
            [] => self,
            [row] => self.value(column(row)),
            rows => self.value(rows.iter().map(column).collect::<Vec<T>>()),
        }
    }

    /// Adds one value.
    pub(crate) fn value<'r, T: Encode<'r, Postgres> + Type<Postgres>>(&mut self, value: T) -> &mut Self {
        if let Err(error) = self.arguments.add(value) {
            self.failed.get_or_insert_with(|| error.to_string());
        }
        self
    }

    /// Returns the statement, which answers with one row of numbers, its parameters, and which numbers are due.
    pub(crate) fn finish(self, notifies: bool) -> Result<(String, PgArguments, Vec<Counted>), StoreError> {
        if let Some(why) = self.failed {
            return Err(StoreError::Corrupt(format!("rows cannot be sent: {why}")));
        }
        let mut text = self.parts;
        text.push_str("\nselect array[");
        for (place, Counted { part, .. }) in self.counted.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            text.extend([separator, "(select count(*) from ", part, ")"]);
        }
        text.push_str("]::bigint[]");
        if notifies {
            text.push_str(" from (select pg_notify(record_channel(), '')) n");
        }
        Ok((text, self.arguments, self.counted))
    }
}

/// Returns a part as it is for one row: its parameters are values and no arrays.
fn of_one_row(text: &str) -> String {
    text.replace("unnest(", "(select ")
        .replace("[]", "")
        .replace("= any ($1)", "= $1")
}

/// Adds a text in which every `$n` counts on from those that are there.
fn push_renumbered(to: &mut String, text: &str, there: usize) {
    let mut pieces = text.split('$');
    to.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (digits, rest) = piece.split_at(piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len()));
        to.push('$');
        match digits.parse::<usize>() {
            Ok(number) => to.push_str(&(number + there).to_string()),
            Err(_) => to.push_str(digits),
        }
        to.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Sql = Sql {
        name: "new",
        text: "insert into names select * from unnest($1::text[], $2::bigint[]) as w\n",
    };
    const CHANGED: Sql = Sql {
        name: "changed",
        text: "update names o set age = w.age from unnest($1::text[], $2::bigint[]) as w (name, age)\n\
               where o.name = any ($1) and o.name = w.name\n",
    };

    fn add(statement: &mut Statement, rows: &[(&str, i64)]) {
        statement.add(rows, |row| row.0).add(rows, |row| row.1);
    }

    #[test]
    fn a_statement_has_the_parts_that_have_rows() {
        let mut statement = Statement::default();
        add(statement.counted(NEW, 0), &[]);
        add(statement.uncounted(CHANGED, 2), &[("Ada", 36), ("Bea", 40)]);
        add(statement.counted(NEW, 2), &[("Cal", 1), ("Dee", 2)]);
        let (text, arguments, counted) = statement.finish(false).expect("texts can be sent");
        assert_eq!(
            text,
            "with changed as (\n\
             update names o set age = w.age from unnest($1::text[], $2::bigint[]) as w (name, age)\n\
             where o.name = any ($1) and o.name = w.name\n),\n\
             new as (\ninsert into names select * from unnest($3::text[], $4::bigint[]) as w\nreturning 1\n)\n\
             select array[(select count(*) from new)]::bigint[]"
        );
        assert_eq!(arguments.len(), 4);
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].rows, 2);
    }

    #[test]
    fn a_part_of_one_row_has_no_arrays() {
        let mut statement = Statement::default();
        add(statement.counted(NEW, 1), &[("Ada", 36)]);
        add(statement.counted(CHANGED, 1), &[("Bea", 40)]);
        let (text, arguments, _) = statement.finish(false).expect("texts can be sent");
        assert_eq!(
            text,
            "with new as (\ninsert into names select * from (select $1::text, $2::bigint) as w\nreturning 1\n),\n\
             changed as (\n\
             update names o set age = w.age from (select $3::text, $4::bigint) as w (name, age)\n\
             where o.name = $3 and o.name = w.name\nreturning 1\n)\n\
             select array[(select count(*) from new), (select count(*) from changed)]::bigint[]"
        );
        assert_eq!(arguments.len(), 4);
    }

    #[test]
    fn a_statement_without_rows_still_notifies() {
        let (text, ..) = Statement::default().finish(true).expect("nothing can be sent");
        let notifies = "\nselect array[]::bigint[] from (select pg_notify(record_channel(), '')) n";
        assert_eq!(text, notifies);
    }

    #[test]
    fn parameters_of_two_digits_count_on_too() {
        let mut text = String::new();
        push_renumbered(&mut text, "$1, $10 and 5 $", 95);
        assert_eq!(text, "$96, $105 and 5 $");
    }
}
