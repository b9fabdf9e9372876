use crate::UsageTotals;

/// The day on which the prices of this table were in force.
pub const PRICES_OF: &str = "2026-06-04";

/// What a model costs, in millionths of a US dollar for a million tokens: the list price for a direct customer of its maker.
///
/// For agents that report no cost themselves. Long contexts, fast lanes and regions cost more; subscriptions cost otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// The name of the model.
    pub model: &'static str,
    /// Tokens that go in and were not kept.
    pub input: u64,
    /// Tokens that go in and were kept from before.
    pub cached: u64,
    /// Tokens that come out.
    pub output: u64,
}

/// Finds the price of a model: of exactly this one, or of a dated edition of it. A model that is not known has no price.
pub fn price_of(model: &str) -> Option<&'static Price> {
    let name = model.strip_prefix("openai/").unwrap_or(model);
    PRICES
        .iter()
        .find(|price| name.strip_prefix(price.model).is_some_and(is_edition))
}

/// Nothing, or `-2026-03-05`.
fn is_edition(rest: &str) -> bool {
    let is_date = |date: &str| {
        date.len() == 10
            && date.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    rest.is_empty() || rest.strip_prefix('-').is_some_and(is_date)
}

impl Price {
    /// What these tokens cost, in millionths of a US dollar; nothing where it is not known how many they were.
    pub fn micro_usd(&self, used: &UsageTotals) -> Option<u64> {
        let (input, output) = (used.input_tokens?, used.output_tokens?);
        let cached = used.cached_tokens.unwrap_or(0).min(input);
        let cost = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let total = cost(input - cached, self.input) + cost(cached, self.cached) + cost(output, self.output);
        Some(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

const fn price(model: &'static str, input: u64, cached: u64, output: u64) -> Price {
    Price {
        model,
        input,
        cached,
        output,
    }
}

/// From <https://developers.openai.com/api/docs/pricing>.
const PRICES: &[Price] = &[
    price("gpt-5.5", 5_000_000, 500_000, 30_000_000),
    price("gpt-5.4", 2_500_000, 250_000, 15_000_000),
    price("gpt-5.4-mini", 750_000, 75_000, 4_500_000),
    price("gpt-5.4-nano", 200_000, 20_000, 1_250_000),
    price("gpt-5.1", 1_250_000, 125_000, 10_000_000),
    price("gpt-5", 1_250_000, 125_000, 10_000_000),
    price("gpt-5-codex", 1_250_000, 125_000, 10_000_000),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_tokens_cost_less_and_are_part_of_those_that_went_in() {
        let used = UsageTotals {
            input_tokens: Some(1_500),
            cached_tokens: Some(300),
            output_tokens: Some(42),
            reasoning_tokens: Some(7),
            ..UsageTotals::default()
        };
        let price = price_of("gpt-5.5").unwrap();
        assert_eq!(price.micro_usd(&used), Some(6_000 + 150 + 1_260));
        assert_eq!(price.micro_usd(&UsageTotals::default()), None);
    }

    #[test]
    fn a_model_that_is_not_known_has_no_price() {
        for unknown in [
            "gpt-5.5-pro",
            "gpt-5.50",
            "gpt",
            "",
            "gpt-5.4-2026",
            "claude-sonnet-4-5",
        ] {
            assert_eq!(price_of(unknown), None, "{unknown}");
        }
        for known in ["gpt-5.4-mini", "openai/gpt-5.4-mini", "gpt-5.4-mini-2026-03-05"] {
            assert_eq!(price_of(known).unwrap().model, "gpt-5.4-mini", "{known}");
        }
    }
}
