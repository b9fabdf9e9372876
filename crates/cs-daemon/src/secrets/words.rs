//! What becomes of the words of an agent on their way to the record.

use std::collections::BTreeSet;
use std::sync::Arc;

use cs_secrets::{Redactor, SecretName};

use crate::places::Places;

/// What the words of an attempt become.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    of: Fate,
    places: Places,
}

/// What its secrets make of the words of an attempt.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// They stay: it was given no secret.
    Whole,
    /// They stay without the secrets.
    Freed(Arc<Redactor>),
    /// This sentence stands in their place: what they would have to be freed of is not known.
    HeldBack(String),
}

impl Fate {
    /// Words that may have secrets in them that nobody can look for.
    pub(super) fn held_back(names: &BTreeSet<SecretName>) -> Self {
        let names: Vec<&str> = names.iter().map(SecretName::as_str).collect();
        Self::HeldBack(format!(
            "[the words of the agent are held back: it was given a secret that its machine cannot read any more ({}), so that nobody can \
             take it out of them. They are on that machine, where `cs-panel tail` shows them]",
            names.join(", ")
        ))
    }

    /// The name of a secret whose name is not known.
    pub(super) fn unnamed() -> Option<SecretName> {
        "unknown".parse().ok()
    }
}

impl Words {
    /// Words of which this becomes, without these places.
    pub(crate) fn new(of: Fate, places: Places) -> Self {
        Self { of, places }
    }

    /// Says why they are held back, where they are.
    pub(crate) fn why_held_back(&self) -> Option<&str> {
        match &self.of {
            Fate::HeldBack(sentence) => Some(sentence),
            Fate::Whole | Fate::Freed(_) => None,
        }
    }

    /// What a text becomes.
    pub(crate) fn free(&self, text: &str) -> String {
        match &self.of {
            // Nothing was said.
            Fate::HeldBack(_) if text.trim().is_empty() => text.to_owned(),
            Fate::HeldBack(sentence) => sentence.clone(),
            Fate::Whole | Fate::Freed(_) => self.free_name(text),
        }
    }

    /// What becomes of a text that is ours, or the person's: it is never held back.
    pub(crate) fn free_name(&self, text: &str) -> String {
        match &self.of {
            Fate::Whole | Fate::HeldBack(_) => self.places.hide(text),
            Fate::Freed(redactor) => self.places.hide(&redactor.redact_cut(text)),
        }
    }

    /// What a text becomes that may be missing; it is where the words are held back.
    pub(crate) fn free_or_none(&self, text: Option<&str>) -> Option<String> {
        text.filter(|_| self.why_held_back().is_none())
            .map(|text| self.free(text))
    }

    /// What texts become; none of them where the words are held back.
    pub(crate) fn free_all(&self, texts: &[String]) -> Vec<String> {
        match &self.of {
            Fate::Whole | Fate::Freed(_) => texts.iter().map(|text| self.free(text)).collect(),
            Fate::HeldBack(_) => Vec::new(),
        }
    }
}
