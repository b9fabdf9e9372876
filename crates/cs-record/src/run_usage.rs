//! What the attempts of a run used up.

use cs_model::Epoch;
use cs_settle::{Usage, Used};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What the attempts of a run used up, as far as they told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunUsage {
    /// The last attempt that is counted.
    pub counted: Epoch,
    /// What all of them used up.
    pub all: Usage,
    /// What that last one used up.
    pub last: Usage,
    /// The agent's own name of its conversation, as an attempt told it last.
    pub session: Option<String>,
    /// The model that it worked with, as it was known last.
    pub model: Option<String>,
}

impl RunUsage {
    /// Returns what it is with an attempt more, unless that one is counted already.
    #[must_use]
    pub fn with(before: Option<&Self>, attempt: Epoch, used: &Used) -> Option<Self> {
        if *used == Used::default() {
            return None;
        }
        let Some(before) = before else {
            return Some(Self {
                counted: attempt,
                all: used.usage,
                last: used.usage,
                session: used.session.clone(),
                model: used.model.clone(),
            });
        };
        (before.counted < attempt).then(|| Self {
            counted: attempt,
            all: before.all.plus(&used.usage),
            last: used.usage,
            session: used.session.clone().or_else(|| before.session.clone()),
            model: used.model.clone().or_else(|| before.model.clone()),
        })
    }

    /// Returns the JSON text under which a store keeps it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let stored = Stored {
            counted: self.counted,
            all: self.all.into(),
            last: self.last.into(),
            session: self.session.clone(),
            model: self.model.clone(),
        };
        serde_json::to_string(&stored).expect("numbers and texts are JSON")
    }

    /// Reads what a store keeps.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is not what [`to_json`](Self::to_json) writes.
    pub fn from_json(text: &str) -> Result<Self, StoreError> {
        let stored: Stored = serde_json::from_str(text)
            .map_err(|error| StoreError::Corrupt(format!("what a run used cannot be read: {error}")))?;
        Ok(Self {
            counted: stored.counted,
            all: stored.all.into(),
            last: stored.last.into(),
            session: stored.session,
            model: stored.model,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    counted: Epoch,
    all: Numbers,
    last: Numbers,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    model: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Numbers {
    #[serde(default)]
    turns: Option<u64>,
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    reasoning_tokens: Option<u64>,
    #[serde(default)]
    cost_microusd: Option<u64>,
}

impl From<Usage> for Numbers {
    fn from(usage: Usage) -> Self {
        Self {
            turns: usage.turns,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost_microusd: usage.cost_microusd,
        }
    }
}

impl From<Numbers> for Usage {
    fn from(numbers: Numbers) -> Self {
        Self {
            turns: numbers.turns,
            input_tokens: numbers.input_tokens,
            cached_tokens: numbers.cached_tokens,
            output_tokens: numbers.output_tokens,
            reasoning_tokens: numbers.reasoning_tokens,
            cost_microusd: numbers.cost_microusd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(turns: Option<u64>, cached_tokens: Option<u64>) -> Used {
        Used {
            usage: Usage {
                turns,
                cached_tokens,
                ..Usage::default()
            },
            ..Used::default()
        }
    }

    #[test]
    fn an_attempt_is_counted_once_and_what_nobody_told_stays_unknown() {
        assert_eq!(RunUsage::with(None, Epoch::new(1), &Used::default()), None);
        let told = Used {
            session: Some("s".to_owned()),
            ..used(Some(2), None)
        };
        let first = RunUsage::with(None, Epoch::new(1), &told).expect("it is counted");
        assert_eq!(RunUsage::with(Some(&first), Epoch::new(1), &told), None);
        let third = RunUsage::with(Some(&first), Epoch::new(3), &used(Some(0), Some(9))).expect("counted");
        assert_eq!(RunUsage::with(Some(&third), Epoch::new(2), &told), None);
        assert_eq!(third.all, used(Some(2), Some(9)).usage);
        assert_eq!(third.last, used(Some(0), Some(9)).usage);
        assert_eq!(
            (third.all.cost_microusd, third.session.as_deref()),
            (None, Some("s"))
        );
        let text = third.to_json();
        assert_eq!(RunUsage::from_json(&text).expect("readable"), third);
        assert!(RunUsage::from_json("{}").is_err());
    }
}
