//! Time: UTC, cut to microseconds once, at the edge.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// A moment in UTC with microsecond precision, the precision that every store keeps (AF-14).
///
/// As text it is RFC 3339 with six decimals, so that texts sort like moments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// Says why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no time, expected the form 2026-11-29T14:00:00.000000Z")]
pub struct ParseTimeError {
    /// The text that was given.
    pub text: String,
}

const FORM: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// The range that the text form can write: the years 0 to 9999.
const MIN_MICROS: i64 = -62_167_219_200_000_000;
const MAX_MICROS: i64 = 253_402_300_799_999_999;

impl Time {
    /// Makes a time from microseconds since 1970-01-01 UTC; a value outside the years 0 to 9999 becomes the nearest end.
    #[must_use]
    pub const fn from_unix_micros(micros: i64) -> Self {
        if micros < MIN_MICROS {
            Self(MIN_MICROS)
        } else if micros > MAX_MICROS {
            Self(MAX_MICROS)
        } else {
            Self(micros)
        }
    }

    /// Returns the microseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Returns the moment that lies a span after this one.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Self::from_unix_micros(self.0.saturating_add(micros))
    }

    /// Writes the moment for people: to the second, in UTC, as `2026-11-29 16:37:27 UTC`. Programs get the text form.
    #[must_use]
    pub fn to_the_second(self) -> String {
        let text = self.to_string();
        let (date, time) = text.split_once('T').unwrap_or((&text, ""));
        let seconds = time.split('.').next().unwrap_or(time);
        format!("{date} {seconds} UTC")
    }

    /// Returns the span since an earlier moment; zero when that moment is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<OffsetDateTime> for Time {
    fn from(moment: OffsetDateTime) -> Self {
        let micros = moment.unix_timestamp_nanos() / 1_000;
        Self::from_unix_micros(i64::try_from(micros).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment =
            OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000).map_err(|_| fmt::Error)?;
        f.write_str(&moment.format(FORM).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Time {
    type Err = ParseTimeError;
    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        time::PrimitiveDateTime::parse(text, FORM)
            .map(|moment| moment.assume_utc().into())
            .map_err(|_| ParseTimeError {
                text: text.to_owned(),
            })
    }
}

impl serde::Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_survives_its_text(micros in MIN_MICROS..=MAX_MICROS) {
            let time = Time::from_unix_micros(micros);
            prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
        }

        #[test]
        fn texts_sort_like_moments(a in 0..=MAX_MICROS, b in 0..=MAX_MICROS) {
            let (a, b) = (Time::from_unix_micros(a), Time::from_unix_micros(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }

    #[test]
    fn a_moment_is_cut_to_microseconds() {
        let moment = OffsetDateTime::from_unix_timestamp_nanos(1_234_567_891_234_567_999).expect("in range");
        assert_eq!(Time::from(moment).unix_micros(), 1_234_567_891_234_567);
    }

    #[test]
    fn people_read_a_moment_to_the_second() {
        let moment = Time::from_unix_micros(1_795_970_247_987_654);
        assert_eq!(moment.to_string(), "2026-11-29T16:37:27.987654Z");
        assert_eq!(moment.to_the_second(), "2026-11-29 16:37:27 UTC");
    }

    #[test]
    fn text_that_is_no_time_is_refused() {
        for text in ["", "now", "2026-11-29T14:00:00Z", "2026-13-01T00:00:00.000000Z"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }
}
