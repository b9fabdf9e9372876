//! Reading lines that are written by programs we do not make: what is not looked at is skipped without being kept, and a field of
//! another shape than expected is as good as one that is missing.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text::cap_said;
use crate::{Event, Line};

/// What a line is, before anybody asks what it says.
pub(super) enum Read<'a> {
    /// A whole line, to be read as JSON.
    Whole(&'a [u8]),
    /// Nothing to read: an empty line, or one that is not whole. The events say so.
    Done(Vec<Event>),
}

/// Looks whether a line is whole. One that is not is never a message: half a result must not become a success.
pub(super) fn whole<'a>(line: &Line<'a>) -> Read<'a> {
    if line.bytes.trim_ascii().is_empty() {
        return Read::Done(Vec::new());
    }
    if !line.is_whole() {
        return Read::Done(vec![unknown("a line that is too long", line.bytes)]);
    }
    if !line.bytes.ends_with(b"\n") {
        let text = beginning(line.bytes);
        return Read::Done(vec![Event::Text { text }]);
    }
    Read::Whole(line.bytes)
}

/// A message that is kept as it is, at most its first 4 KiB.
pub(super) fn unknown(kind: &str, bytes: &[u8]) -> Event {
    let kind = kind.get(..kind.floor_char_boundary(64)).unwrap_or_default();
    Event::Unknown {
        kind: kind.to_owned(),
        body: beginning(bytes.trim_ascii_end()),
    }
}

fn beginning(bytes: &[u8]) -> String {
    let some = bytes.get(..4096).unwrap_or(bytes);
    cap_said(&String::from_utf8_lossy(some))
}

/// A text, where it is one; anything else is skipped.
#[derive(Debug, Default)]
pub(super) struct Words(pub(super) Option<String>);

impl Words {
    pub(super) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(super) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A number that is not negative, where it is one; anything else is skipped.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Number(pub(super) Option<f64>);

impl Number {
    /// The number without what stands behind its point, where it is one that can be counted to.
    pub(super) fn whole(self) -> Option<u64> {
        self.0.map(rounded)
    }

    /// An amount of dollars, in millionths.
    pub(super) fn micro_usd(self) -> Option<u64> {
        self.0.map(|usd| rounded(usd * 1e6))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and a number that is negative or none becomes zero"
)]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

/// A list, where it is one, its first 1000 items; anything else is skipped.
#[derive(Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

const LIST_MAX: usize = 1000;

/// What of any JSON value is taken up. Every other shape gives the default.
trait Take<'de>: Default {
    fn text(_text: &str) -> Self {
        Self::default()
    }

    fn number(_number: f64) -> Self {
        Self::default()
    }

    fn items<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Take<'_> for Words {
    fn text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl Take<'_> for Number {
    fn number(number: f64) -> Self {
        Self((number >= 0.0).then_some(number))
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for List<T> {
    fn items<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut all = Vec::new();
        while all.len() < LIST_MAX {
            match items.next_element()? {
                Some(item) => all.push(item),
                None => return Ok(Self(all)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self(all))
    }
}

struct Any<T>(std::marker::PhantomData<T>);

impl<'de, T: Take<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::items(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<T, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(std::marker::PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(std::marker::PhantomData))
    }
}
