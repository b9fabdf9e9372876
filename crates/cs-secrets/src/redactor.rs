//! Takes secrets out of texts.

use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError};
use zeroize::Zeroizing;

use crate::forms::forms;
use crate::value::{SecretName, SecretValue, VALUE_MIN_BYTES};
use crate::view::{Ends, Escapes, View};

/// The ways in which a text is read, each by the escapes that are undone, the outer ones first.
const READINGS: [&[Escapes]; 7] = [
    &[],
    &[Escapes::Json],
    &[Escapes::Json, Escapes::Json],
    &[Escapes::Percent],
    &[Escapes::Form],
    &[Escapes::Percent, Escapes::Json],
    &[Escapes::Form, Escapes::Json],
];

/// Puts `[secret NAME]` in the place of values.
///
/// A value is found literally, with the escapes of JSON (also twice), URL-encoded, in base64 (both alphabets, anywhere in what was
/// encoded), and in any of these when line breaks and indentation came into it. Of base64 up to four bits of the first and of the last
/// byte of a value stay: they share a letter with what stands beside it. Other text stays as it is.
pub struct Redactor {
    names: Vec<SecretName>,
    /// The forms, sorted, each with whose it is.
    patterns: Vec<(Zeroizing<Vec<u8>>, usize)>,
    longest: usize,
    search: AhoCorasick,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// There are too many or too long values to look for at once.
#[derive(Debug, thiserror::Error)]
#[error("the secrets are too many or too long to be looked for")]
pub struct TooMuch(#[source] BuildError);

/// A place where a value stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    at: Range<usize>,
    whose: usize,
}

impl Redactor {
    /// Looks for these values.
    ///
    /// # Errors
    /// [`TooMuch`].
    pub fn new<'a>(
        secrets: impl IntoIterator<Item = (&'a SecretName, &'a SecretValue)>,
    ) -> Result<Self, TooMuch> {
        let (mut names, mut patterns) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let whose = names.len();
            patterns.extend(forms(value.expose()).into_iter().map(|form| (form, whose)));
            names.push(name.clone());
        }
        patterns.sort_by(|one, other| one.0.cmp(&other.0));
        let search = AhoCorasick::new(patterns.iter().map(|(form, _)| form)).map_err(TooMuch)?;
        Ok(Self {
            longest: patterns
                .iter()
                .map(|(form, _)| form.len())
                .max()
                .unwrap_or_default(),
            names,
            patterns,
            search,
        })
    }

    /// Says whether it looks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Frees a whole text of the values.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let views = views(text, Ends::Here);
        self.put(text, &self.find(&views))
    }

    /// Frees a text of the values that may have been cut somewhere: also of what begins a line and is the end of a value, and of what
    /// ends a line and is the beginning of one.
    #[must_use]
    pub fn redact_cut(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut found = self.find(&views(text, Ends::Here));
        found.extend(self.find_halves(text));
        self.put(text, &merged(found))
    }

    /// Begins to free a text that comes in pieces.
    #[must_use]
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces {
            redactor: self,
            pending: String::new(),
        }
    }

    fn find(&self, views: &[View]) -> Vec<Found> {
        let mut found = Vec::new();
        for view in views {
            for hit in self.search.find_overlapping_iter(&view.bytes) {
                let (from, to) = view.source(hit.start(), hit.end());
                let whose = self.patterns[hit.pattern().as_usize()].1;
                found.push(Found { at: from..to, whose });
            }
        }
        merged(found)
    }

    fn find_halves(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut from = 0;
        for line in text.split('\n') {
            let bytes = line.trim_end_matches('\r').as_bytes();
            for (form, whose) in &self.patterns {
                let whose = *whose;
                let most = form.len().saturating_sub(1).min(bytes.len());
                let mut lengths = (VALUE_MIN_BYTES..=most).rev();
                if let Some(half) = lengths
                    .clone()
                    .find(|half| bytes.starts_with(&form[form.len() - half..]))
                {
                    let at = from..from + half;
                    found.push(Found { at, whose });
                }
                if let Some(half) = lengths.find(|half| bytes.ends_with(&form[..*half])) {
                    let at = from + bytes.len() - half..from + bytes.len();
                    found.push(Found { at, whose });
                }
            }
            from += line.len() + 1;
        }
        found
    }

    /// The text with the names in the place of what was found.
    fn put(&self, text: &str, found: &[Found]) -> String {
        let mut freed = String::with_capacity(text.len());
        let mut at = 0;
        for Found { at: place, whose } in found {
            let from = text.floor_char_boundary(place.start).max(at);
            freed.push_str(&text[at..from]);
            freed.push_str("[secret ");
            freed.push_str(self.names[*whose].as_str());
            freed.push(']');
            at = text.ceil_char_boundary(place.end).max(at);
        }
        freed.push_str(&text[at..]);
        freed
    }

    /// Where the longest beginning of a form stands with which a view ends; its end if there is none.
    fn goes_on_from(&self, view: &View) -> usize {
        let length = view.bytes.len();
        let first = length.saturating_sub(self.longest.saturating_sub(1));
        let begins = (first..length).find(|at| self.is_beginning(&view.bytes[*at..]));
        view.begins(begins.unwrap_or(length))
    }

    fn is_beginning(&self, bytes: &[u8]) -> bool {
        let after = self
            .patterns
            .partition_point(|(form, _)| form.as_slice() <= bytes);
        self.patterns
            .get(after)
            .is_some_and(|(form, _)| form.starts_with(bytes))
    }
}

/// A text that comes in pieces, on its way through a [`Redactor`]. What may be the beginning of a value is kept back until it is known.
#[derive(Debug)]
pub struct Pieces<'a> {
    redactor: &'a Redactor,
    pending: String,
}

impl Pieces<'_> {
    /// Takes the next piece, and gives what can be given by now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.pending.push_str(piece);
        if self.redactor.is_empty() {
            return std::mem::take(&mut self.pending);
        }
        let views = views(&self.pending, Ends::Open);
        let mut found = self.redactor.find(&views);
        let mut end = self.pending.len();
        for view in &views {
            end = end.min(view.open_from()).min(self.redactor.goes_on_from(view));
        }
        loop {
            let before = end;
            let crossing = found.iter().find(|found| found.at.contains(&end));
            end = crossing.map_or(end, |found| found.at.start);
            end = views.iter().map(|view| view.border(end)).min().unwrap_or(end);
            end = self.pending.floor_char_boundary(end);
            if end == before {
                break;
            }
        }
        found.retain(|found| found.at.end <= end);
        let freed = self.redactor.put(&self.pending[..end], &found);
        self.pending.drain(..end);
        freed
    }

    /// Gives what was kept back: nothing more comes.
    #[must_use]
    pub fn finish(self) -> String {
        self.redactor.redact(&self.pending)
    }
}

/// A text in every way in which it is read. A way that changes nothing is left out.
fn views(text: &str, ends: Ends) -> Vec<View> {
    let mut views = Vec::new();
    for reading in READINGS {
        let mut view = View::plain(text);
        let is_new = reading.iter().all(|escapes| {
            let changes = view.has(*escapes);
            view = view.undo(*escapes, ends);
            changes
        });
        if is_new {
            views.push(view.unwrapped());
        }
    }
    views
}

/// What overlaps is one place, with the name of what begins first; of those the longest.
fn merged(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| (found.at.start, usize::MAX - found.at.end, found.whose));
    let mut merged: Vec<Found> = Vec::new();
    for next in found {
        match merged.last_mut() {
            Some(last) if next.at.start < last.at.end => last.at.end = last.at.end.max(next.at.end),
            Some(_) | None => merged.push(next),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
