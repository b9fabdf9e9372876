//! What is wanted of the record, and what of it was missed.

use super::figures::quotient;
use super::line::{Contest, Growth, Line};

/// Of the speed of the hand-written statement, a take of many cards reaches at least this.
const TAKE_MANY_MIN: f64 = 0.5;
/// And a take of one card this: locking, loading and writing are statements of their own, so that no turn gets lost.
const TAKE_ONE_MIN: f64 = 0.4;
/// How much more than the hand-written statement the record may suffer from a large table.
const GROWTH_MAX: f64 = 1.2;

/// Returns how fast the record is where the hand-written statement is 1.
pub(super) fn speed(contest: &Contest) -> f64 {
    quotient(&contest.raw, &contest.ours)
}

/// Returns how many times dearer a take is on the large record: for the record and for the hand-written statement.
pub(super) fn dearer(growth: &Growth) -> (f64, f64) {
    (
        quotient(&growth.ours_large, &growth.ours_small),
        quotient(&growth.raw_large, &growth.raw_small),
    )
}

/// Returns the lowest speed that is wanted; nothing is wanted of settlements.
pub(super) fn wanted_speed(contest: &Contest) -> Option<f64> {
    match (contest.operation.as_str(), contest.cards) {
        ("take", 1) => Some(TAKE_ONE_MIN),
        ("take", _) => Some(TAKE_MANY_MIN),
        _ => None,
    }
}

/// Returns how many times dearer a take may at most be on the large record.
pub(super) fn wanted_growth(growth: &Growth) -> f64 {
    // A statement that got cheaper by chance sets no lower bar.
    GROWTH_MAX * dearer(growth).1.max(1.0)
}

/// Returns a sentence for each thing that was missed.
pub(super) fn missed(lines: &[Line]) -> Vec<String> {
    lines
        .iter()
        .filter_map(|line| match line {
            Line::Contest(contest) => missed_speed(contest),
            Line::Growth(growth) => missed_growth(growth),
            Line::Fact { .. } | Line::WakeUp(_) | Line::Idle(_) | Line::Looks(_) => None,
        })
        .collect()
}

fn missed_speed(contest: &Contest) -> Option<String> {
    let (speed, wanted) = (speed(contest), wanted_speed(contest)?);
    // What is not a number reaches nothing.
    let is_reached = speed >= wanted;
    (!is_reached).then(|| {
        format!(
            "on {} a {} of {} with {} client(s) reaches {speed:.2} of the speed of the hand-written statements, at least {wanted:.2} is wanted",
            contest.store, contest.operation, contest.cards, contest.clients
        )
    })
}

fn missed_growth(growth: &Growth) -> Option<String> {
    let ((ours, raw), wanted) = (dearer(growth), wanted_growth(growth));
    let is_kept = ours <= wanted;
    (!is_kept).then(|| {
        format!(
            "on {} a take of {} from {} cards after {} takes is {ours:.2} times as dear as from {}, for hand-written statements {raw:.2} times; at most {wanted:.2} is wanted",
            growth.store, growth.cards, growth.large_cards, growth.after_takes, growth.small_cards
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(operation: &str, cards: u32, ours: f64, raw: f64) -> Line {
        Line::Contest(Contest {
            store: "Postgres".to_owned(),
            operation: operation.to_owned(),
            cards,
            clients: 4,
            ours: vec![ours; 3],
            raw: vec![raw; 3],
        })
    }

    fn growth(ours_large: f64, raw_large: f64) -> Line {
        Line::Growth(Growth {
            store: "SQLite".to_owned(),
            cards: 1,
            small_cards: 1_000,
            large_cards: 1_000_000,
            after_takes: 0,
            ours_small: vec![2.0],
            raw_small: vec![1.0],
            ours_large: vec![ours_large],
            raw_large: vec![raw_large],
        })
    }

    #[test]
    fn a_speed_at_the_limit_is_enough_and_one_below_is_named() {
        assert_eq!(missed(&[contest("take", 1, 10.0, 4.0)]), Vec::<String>::new());
        assert_eq!(missed(&[contest("take", 100, 10.0, 5.0)]), Vec::<String>::new());
        let said = missed(&[contest("take", 1, 10.0, 3.9), contest("take", 100, 10.0, 4.9)]);
        assert!(
            said[0].contains("take of 1 with 4") && said[0].contains("0.39"),
            "{said:?}"
        );
        assert!(
            said[1].contains("take of 100") && said[1].contains("at least 0.50"),
            "{said:?}"
        );
    }

    #[test]
    fn settlements_are_shown_and_not_judged() {
        assert_eq!(missed(&[contest("settle", 1, 10.0, 1.0)]), Vec::<String>::new());
    }

    #[test]
    fn the_large_record_may_cost_what_it_costs_the_hand_written_statement() {
        assert_eq!(missed(&[growth(7.0, 3.0)]), Vec::<String>::new());
        let said = missed(&[growth(7.4, 3.0)]);
        assert!(
            said[0].contains("3.70 times") && said[0].contains("at most 3.60"),
            "{said:?}"
        );
        assert_eq!(missed(&[growth(2.4, 0.5)]), Vec::<String>::new());
        assert_eq!(missed(&[growth(2.5, 0.5)]).len(), 1);
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let Line::Contest(mut nothing) = contest("take", 1, 1.0, 1.0) else {
            unreachable!("it is one");
        };
        nothing.ours.clear();
        assert_eq!(missed(&[Line::Contest(nothing)]).len(), 1);
    }
}
