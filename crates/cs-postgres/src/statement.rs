//! One statement that writes rows of several kinds. It has a part for each kind of which there are rows, and no other: the server
//! would begin and end each of them, which costs more than the rows of a small write.

use cs_record::StoreError;
use sqlx::postgres::{PgArguments, PgHasArrayType};
use sqlx::{Arguments, Encode, Postgres, Type};

use crate::store::Sql;

/// A statement that is being put together, with its parameters. A part is a statement of a file and counts its parameters from `$1`.
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
            self.part(sql);
            self.parts.push_str("returning 1\n)");
            self.counted.push(Counted { part: sql.name, rows });
        }
        self
    }

    /// Adds a part for so many rows, which may be there already or not any more.
    pub(crate) fn uncounted(&mut self, sql: Sql, rows: usize) -> &mut Self {
        if rows > 0 {
            self.part(sql);
            self.parts.push(')');
        }
        self
    }

    fn part(&mut self, Sql { name, text }: Sql) {
        let begin = if self.parts.is_empty() { "with " } else { ",\n" };
        self.parts.push_str(begin);
        self.parts.push_str(name);
        self.parts.push_str(" as (\n");
        push_renumbered(&mut self.parts, text, self.arguments.len());
    }

    /// Adds a column of the rows of a part. Without rows there is neither.
    pub(crate) fn add<'r, R, T>(&mut self, rows: &'r [R], column: impl Fn(&'r R) -> T) -> &mut Self
    where
        T: Encode<'r, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        if rows.is_empty() {
            return self;
        }
        self.value(rows.iter().map(column).collect::<Vec<T>>())
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

    const NAMES: Sql = Sql {
        name: "names",
        text: "insert into names select * from unnest($1::text[], $2::text[])\n",
    };
    const GONE: Sql = Sql {
        name: "gone",
        text: "delete from names where name = any ($1::text[])\n",
    };

    #[test]
    fn a_statement_has_the_parts_that_have_rows() {
        let mut statement = Statement::default();
        let none: [&str; 0] = [];
        statement
            .counted(NAMES, 0)
            .add(&none, |name| *name)
            .add(&none, |name| *name);
        statement.uncounted(GONE, 1).add(&["Ada"], |name| *name);
        let two = ["Ada", "Bea"];
        statement
            .counted(NAMES, 2)
            .add(&two, |name| *name)
            .add(&two, |name| *name);
        let (text, arguments, counted) = statement.finish(false).expect("texts can be sent");
        assert_eq!(
            text,
            "with gone as (\ndelete from names where name = any ($1::text[])\n),\nnames as (\n\
             insert into names select * from unnest($2::text[], $3::text[])\nreturning 1\n)\n\
             select array[(select count(*) from names)]::bigint[]"
        );
        assert_eq!(arguments.len(), 3);
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].rows, 2);
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
