//! Reading lines that are written by programs we do not make: what is not looked at is skipped without being kept, and a field of
//! another shape than expected is as good as one that is missing. No field that is odd costs what the rest of its line tells.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text::beginning;
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
    match (too_long(line), half(line)) {
        (None, None) => Read::Whole(line.bytes),
        (Some(too_long), _) => Read::Done(too_long),
        (None, half) => Read::Done(half.into_iter().collect()),
    }
}

/// What is kept of a line of which not everything was: that it was there, its beginning, and whether it ended.
pub(crate) fn too_long(line: &Line<'_>) -> Option<Vec<Event>> {
    let events = || {
        [Event::unknown("a line that is too long", line.bytes)]
            .into_iter()
            .chain(half(line))
    };
    (!line.is_whole()).then(|| events().collect())
}

/// A text without an end says that the output stops inside a line.
fn half(line: &Line<'_>) -> Option<Event> {
    (!line.bytes.ends_with(b"\n")).then(|| Event::Text {
        text: beginning(line.bytes),
    })
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

/// A number that is not negative, where it is one or is written as a text; anything else is skipped.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Number(pub(super) Option<f64>);

impl Number {
    /// The number without what stands behind its point, where it is one that can be counted to.
    pub(super) fn whole(self) -> Option<u64> {
        self.0.map(rounded)
    }

    /// The number as a status of HTTP, where it can be one.
    pub(super) fn status(self) -> Option<u16> {
        self.whole().and_then(|status| u16::try_from(status).ok())
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

/// A yes or no, where it is one or is written as a text; anything else is skipped.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flag(pub(super) Option<bool>);

impl Flag {
    pub(super) fn is_yes(self) -> bool {
        self.0 == Some(true)
    }
}

/// An object, where it is one; anything else is as good as one without fields.
#[derive(Debug, Default)]
pub(super) struct Object<T>(pub(super) T);

/// An object of objects by their names, where it is one; anything else is skipped.
#[derive(Debug)]
pub(super) struct Table<T>(pub(super) Option<BTreeMap<String, Object<T>>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(None)
    }
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

    fn flag(_flag: bool) -> Self {
        Self::default()
    }

    fn entries<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
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
    fn text(text: &str) -> Self {
        text.trim().parse().map_or(Self(None), Self::number)
    }

    fn number(number: f64) -> Self {
        Self((number.is_finite() && number >= 0.0).then_some(number))
    }
}

impl Take<'_> for Flag {
    fn text(text: &str) -> Self {
        Self(text.trim().parse().ok())
    }

    fn flag(flag: bool) -> Self {
        Self(Some(flag))
    }
}

impl<'de, T: Deserialize<'de> + Default> Take<'de> for Object<T> {
    fn entries<A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(entries)).map(Self)
    }
}

impl<'de, T: Deserialize<'de> + Default> Take<'de> for Table<T> {
    fn entries<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, entry)) = entries.next_entry()? {
            if all.len() < LIST_MAX {
                all.insert(name, entry);
            }
        }
        Ok(Self(Some(all)))
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

struct Any<T>(PhantomData<T>);

impl<'de, T: Take<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
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

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::entries(entries)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(default)]
    struct Odd {
        words: Words,
        number: Number,
        flag: Flag,
        object: Object<Inner>,
        table: Table<Inner>,
        list: List<Object<Inner>>,
    }

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(default)]
    struct Inner {
        number: Number,
    }

    #[test]
    fn a_field_of_any_shape_costs_nothing_of_the_others() {
        for shape in [
            "null",
            "true",
            "7",
            "-7",
            "1e400",
            "\"7\"",
            "\"x\"",
            "[1,{}]",
            "{\"a\":null}",
            "{\"number\":[]}",
        ] {
            for field in ["words", "number", "flag", "object", "table", "list"] {
                let other = if field == "number" { "words" } else { "number" };
                let line = format!("{{\"{field}\":{shape},\"{other}\":\"3\"}}");
                // A number that no machine can hold is no JSON.
                let Ok(odd) = serde_json::from_str::<Odd>(&line) else {
                    assert_eq!(shape, "1e400", "{line}");
                    continue;
                };
                let kept = odd.words.as_deref() == Some("3") || odd.number.whole() == Some(3);
                assert!(kept, "{line}: {odd:?}");
            }
        }
    }

    #[test]
    fn what_is_written_as_a_text_counts_as_what_it_says() {
        let text = r#"{"number":" 429 ","flag":"true","object":{"number":"2"},"table":{"a":{"number":"3"}},"list":[null,{"number":4}]}"#;
        let odd: Odd = serde_json::from_str(text).unwrap();
        assert_eq!(odd.number.status(), Some(429));
        assert!(odd.flag.is_yes());
        assert_eq!(odd.object.0.number.whole(), Some(2));
        assert_eq!(odd.table.0.unwrap()["a"].0.number.whole(), Some(3));
        let listed: Vec<_> = odd.list.0.iter().map(|item| item.0.number.whole()).collect();
        assert_eq!(listed, [None, Some(4)]);
    }
}
