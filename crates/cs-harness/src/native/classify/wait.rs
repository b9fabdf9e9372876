use crate::AskAgain;

/// When the provider wants to be asked again, from the words of a message in lower case.
///
/// A time of day is left alone: it says neither the day nor whose clock.
pub(super) fn stated(message: &str) -> Option<AskAgain> {
    const BEFORE_A_SPAN: [&str; 4] = ["try again in ", "retry in ", "retry after ", "resets in "];
    let span = BEFORE_A_SPAN.iter().find_map(|words| {
        let (_, rest) = message.split_once(words)?;
        span_ms(rest)
    });
    span.map(AskAgain::AfterMs)
        .or_else(|| unix_time(message).map(AskAgain::AtUnix))
}

/// `2s`, `1m30s`, `34.07s`, `20ms`, `3 days 4 hours`: as far as it can be read.
fn span_ms(mut text: &str) -> Option<u64> {
    let mut total: Option<f64> = None;
    loop {
        text = text.trim_start_matches([' ', ',']);
        text = text.strip_prefix("and ").unwrap_or(text);
        let number_ends = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(number_ends);
        let rest = rest.trim_start();
        let unit_ends = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit_ends);
        let (Ok(number), Some(unit)) = (number.parse::<f64>(), unit_ms(unit)) else {
            break;
        };
        total = Some(total.unwrap_or(0.0) + number * unit);
        text = rest;
        if text.is_empty() {
            break;
        }
    }
    total.map(whole_ms)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and a sum of unsigned numbers is not negative"
)]
fn whole_ms(ms: f64) -> u64 {
    ms.ceil() as u64
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    })
}

/// `usage limit reached|1735689600`: seconds since 1970 after a bar.
fn unix_time(message: &str) -> Option<i64> {
    let (_, rest) = message.split_once("limit reached|")?;
    let ends = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (10..=11)
        .contains(&ends)
        .then(|| rest[..ends].parse().ok())
        .flatten()
}
