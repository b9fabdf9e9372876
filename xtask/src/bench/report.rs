//! The figures as tables in Markdown, as docs/performance.md has them.

use std::fmt::Write;

use super::figures::{median, quantile};
use super::judge::{dearer, speed, wanted_growth, wanted_speed};
use super::line::{Contest, Growth, Idle, Line, Looks, WakeUp};

/// How many idle daemons the load of a server is given for.
const DAEMONS: f64 = 1_000.0;

/// Renders everything that was measured.
pub(super) fn render(machine: &[(String, String)], lines: &[Line]) -> String {
    let mut text = String::new();
    let facts = lines.iter().filter_map(|line| match line {
        Line::Fact { name, value } => Some((name, value)),
        _ => None,
    });
    let machine = machine.iter().map(|(name, value)| (name, value));
    table(
        &mut text,
        "Machine",
        "| | |\n|---|---|",
        machine.chain(facts),
        |(name, value)| format!("| {name} | {value} |"),
    );
    table(
        &mut text,
        "Takes and settlements: medians, and the speed where the hand-written statements are 1",
        "| store | operation | cards | clients | record, ms | by hand, ms | record, per s | speed | wanted |\n|---|---|---|---|---|---|---|---|---|",
        lines.iter().filter_map(|line| match line {
            Line::Contest(contest) => Some(contest),
            _ => None,
        }),
        contest_row,
    );
    table(
        &mut text,
        "Large records: a take when 100 cards are ready",
        "| store | cards taken | takes before | record, ms | by hand, ms | record dearer | by hand dearer | wanted |\n|---|---|---|---|---|---|---|---|",
        lines.iter().filter_map(|line| match line {
            Line::Growth(growth) => Some(growth),
            _ => None,
        }),
        growth_row,
    );
    daemons(&mut text, lines);
    text
}

/// Adds what was measured of daemons.
fn daemons(text: &mut String, lines: &[Line]) {
    table(
        text,
        "Wake-up: from the commit of a turn to the claim of a daemon that waits",
        "| store | turns | p50, ms | p99, ms | goal |\n|---|---|---|---|---|",
        lines.iter().filter_map(|line| match line {
            Line::WakeUp(wake_up) => Some(wake_up),
            _ => None,
        }),
        wake_up_row,
    );
    table(
        text,
        "Idle daemons on Postgres",
        "| channel | statements of one | round trips of one | statements a second of 1,000 | goal |\n|---|---|---|---|---|",
        lines.iter().filter_map(|line| match line {
            Line::Idle(idle) => Some(idle),
            _ => None,
        }),
        idle_row,
    );
    table(
        text,
        "What looks cost the server",
        "| looks a second | share of one core |\n|---|---|",
        lines.iter().filter_map(|line| match line {
            Line::Looks(looks) => Some(looks),
            _ => None,
        }),
        looks_row,
    );
}

fn table<T>(
    text: &mut String,
    title: &str,
    head: &str,
    rows: impl Iterator<Item = T>,
    row: impl Fn(T) -> String,
) {
    let rows: Vec<String> = rows.map(row).collect();
    if rows.is_empty() {
        return;
    }
    // A text takes every line.
    let _ = writeln!(text, "\n{title}\n\n{head}\n{}", rows.join("\n"));
}

fn contest_row(contest: &Contest) -> String {
    let (ours, raw) = (median(&contest.ours), median(&contest.raw));
    let wanted = wanted_speed(contest).map_or_else(String::new, |wanted| format!("at least {wanted:.1}"));
    format!(
        "| {} | {} | {} | {} | {ours:.2} | {raw:.2} | {:.0} | {:.2} | {wanted} |",
        contest.store,
        contest.operation,
        contest.cards,
        contest.clients,
        1_000.0 / ours,
        speed(contest)
    )
}

fn growth_row(growth: &Growth) -> String {
    let (ours, raw) = dearer(growth);
    let times = |small: &[f64], large: &[f64]| {
        format!(
            "{:.2} of {}, {:.2} of {}",
            median(small),
            grouped(growth.small_cards),
            median(large),
            grouped(growth.large_cards)
        )
    };
    format!(
        "| {} | {} | {} | {} | {} | {ours:.2} | {raw:.2} | at most {:.2} |",
        growth.store,
        growth.cards,
        grouped(growth.after_takes),
        times(&growth.ours_small, &growth.ours_large),
        times(&growth.raw_small, &growth.raw_large),
        wanted_growth(growth)
    )
}

fn wake_up_row(wake_up: &WakeUp) -> String {
    let (middle, late) = (quantile(&wake_up.times, 0.5), quantile(&wake_up.times, 0.99));
    format!(
        "| {} | {} | {middle:.1} | {late:.1} | p50 5, p99 25 |",
        wake_up.store,
        wake_up.times.len()
    )
}

fn idle_row(idle: &Idle) -> String {
    let (span, goal) = match idle.channel.as_str() {
        "live" => (15.0, "1 statement in 15 s"),
        _ => (2.0, "1 statement in 2 s"),
    };
    let queries = idle.queries as f64;
    format!(
        "| {} | {:.1} in {span} s | {:.1} in {span} s | {:.0} | {goal} |",
        idle.channel,
        queries * span / idle.seconds,
        idle.round_trips as f64 * span / idle.seconds,
        queries / idle.seconds * DAEMONS
    )
}

fn looks_row(looks: &Looks) -> String {
    format!("| {:.0} | {:.0} % |", looks.per_second, looks.core_share * 100.0)
}

/// Writes a number with a comma before each group of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let texts = [0, 999, 1_000, 20_000, 1_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "20,000", "1,000,000"]);
    }

    #[test]
    fn what_was_not_measured_has_no_table() {
        let idle = Line::Idle(Idle {
            channel: "live".to_owned(),
            seconds: 60.0,
            queries: 8,
            round_trips: 12,
        });
        let text = render(&[("cores".to_owned(), "2".to_owned())], &[idle]);
        assert!(text.contains("| cores | 2 |"), "{text}");
        assert!(
            text.contains("| live | 2.0 in 15 s | 3.0 in 15 s | 133 | 1 statement in 15 s |"),
            "{text}"
        );
        assert!(!text.contains("Large records"), "{text}");
    }

    #[test]
    fn a_contest_shows_its_medians_its_speed_and_what_is_wanted() {
        let contest = Contest {
            store: "SQLite".to_owned(),
            operation: "take".to_owned(),
            cards: 100,
            clients: 1,
            ours: vec![4.0, 4.0, 100.0],
            raw: vec![3.0, 3.0, 75.0],
        };
        assert_eq!(
            contest_row(&contest),
            "| SQLite | take | 100 | 1 | 4.00 | 3.00 | 250 | 0.75 | at least 0.5 |"
        );
    }
}
