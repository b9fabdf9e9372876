//! What becomes of the words of an agent on their way to the record.

use std::collections::BTreeSet;
use std::sync::Arc;

use cs_secrets::{Redactor, SecretName};

/// What the words of an attempt become.
#[derive(Debug, Clone)]
pub(crate) enum Words {
    /// They stay: it was given no secret.
    Whole,
    /// They stay without the secrets.
    Freed(Arc<Redactor>),
    /// This sentence stands in their place: what they would have to be freed of is not known.
    HeldBack(String),
}

impl Words {
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

    /// What a text becomes.
    pub(crate) fn free(&self, text: &str) -> String {
        match self {
            Self::Whole => text.to_owned(),
            Self::Freed(redactor) => redactor.redact_cut(text),
            // Nothing was said.
            Self::HeldBack(_) if text.trim().is_empty() => text.to_owned(),
            Self::HeldBack(sentence) => sentence.clone(),
        }
    }

    /// What becomes of a text that is ours, or the person's: it is never held back.
    pub(crate) fn free_name(&self, text: &str) -> String {
        match self {
            Self::Whole | Self::HeldBack(_) => text.to_owned(),
            Self::Freed(redactor) => redactor.redact_cut(text),
        }
    }

    /// What a text becomes that may be missing; it is where the words are held back.
    pub(crate) fn free_or_none(&self, text: Option<&str>) -> Option<String> {
        match self {
            Self::Whole | Self::Freed(_) => text.map(|text| self.free(text)),
            Self::HeldBack(_) => None,
        }
    }

    /// What texts become; none of them where the words are held back.
    pub(crate) fn free_all(&self, texts: &[String]) -> Vec<String> {
        match self {
            Self::Whole | Self::Freed(_) => texts.iter().map(|text| self.free(text)).collect(),
            Self::HeldBack(_) => Vec::new(),
        }
    }
}
