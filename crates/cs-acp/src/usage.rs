//! What was used. The protocol has a field for it that few agents fill; others tell it in one of their own.

use cs_harness::{Event, UsageReport, UsageSpan, UsageTotals};
use serde_json::Value;

/// What the prompt used, from the answer to it.
pub(crate) fn of_prompt(result: &Value) -> Option<Event> {
    let told = &result["usage"];
    let own = &result["_meta"]["quota"]["token_count"];
    let totals = if told.is_object() {
        tokens(told)
    } else {
        UsageTotals {
            input_tokens: own["input_tokens"].as_u64(),
            output_tokens: own["output_tokens"].as_u64(),
            ..UsageTotals::default()
        }
    };
    report(UsageSpan::Process, totals)
}

/// What one request to the model used, where an agent tells it beside the words of the model.
pub(crate) fn of_request(update: &Value) -> Option<Event> {
    let told = tokens(&update["_meta"]["usage"]);
    let is_told = told != UsageTotals::default();
    let turns = is_told.then_some(1);
    report(UsageSpan::Step, UsageTotals { turns, ..told })
}

/// What the conversation has cost by now, where an agent tells it.
pub(crate) fn cost(update: &Value) -> Option<Event> {
    let cost = update.get("cost")?;
    if cost.get("currency")?.as_str()? != "USD" {
        return None;
    }
    let amount = cost.get("amount")?.as_f64()?;
    if !(0.0..1e12).contains(&amount) {
        return None;
    }
    let totals = UsageTotals {
        cost_micro_usd: Some((amount * 1e6).round() as u64),
        ..UsageTotals::default()
    };
    report(UsageSpan::Session, totals)
}

fn report(span: UsageSpan, totals: UsageTotals) -> Option<Event> {
    (totals != UsageTotals::default()).then_some(Event::Usage(UsageReport { span, totals }))
}

/// Reads counts of tokens. Most count what was kept from before and what was thought apart from the rest, some within it: the sum tells.
fn tokens(told: &Value) -> UsageTotals {
    let number = |key: &str| told[key].as_u64();
    let (input, output) = (number("inputTokens"), number("outputTokens"));
    let (cached, reasoning) = (number("cachedReadTokens"), number("thoughtTokens"));
    let is_within = number("totalTokens").is_some_and(|total| sum(&[input, output]) == Some(total));
    let (input_tokens, output_tokens) = if is_within {
        (input, output)
    } else {
        let input = [input, cached, number("cachedWriteTokens")];
        (sum(&input), sum(&[output, reasoning]))
    };
    UsageTotals {
        input_tokens,
        cached_tokens: cached,
        output_tokens,
        reasoning_tokens: reasoning,
        ..UsageTotals::default()
    }
}

fn sum(parts: &[Option<u64>]) -> Option<u64> {
    parts.iter().copied().flatten().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn totals(event: Option<Event>) -> Option<UsageTotals> {
        match event {
            Some(Event::Usage(report)) => Some(report.totals),
            _ => None,
        }
    }

    const SPENT: UsageTotals = UsageTotals {
        turns: None,
        input_tokens: Some(1500),
        cached_tokens: Some(300),
        output_tokens: Some(42),
        reasoning_tokens: Some(7),
        cost_micro_usd: None,
    };

    #[test]
    fn usage_is_read_where_agents_put_it() {
        let of = |result: Value| totals(of_prompt(&result));
        let told = json!({"usage": {"totalTokens": 1542, "inputTokens": 1200, "outputTokens": 35, "thoughtTokens": 7,
            "cachedReadTokens": 300}});
        assert_eq!(of(told), Some(SPENT));
        let own = of(json!({"_meta": {"quota": {"token_count": {"input_tokens": 5, "output_tokens": 2}}}}));
        assert_eq!(own.and_then(|totals| totals.input_tokens), Some(5));
        assert_eq!(of(json!({"stopReason": "end_turn"})), None);
    }

    #[test]
    fn what_one_request_used_is_read_beside_the_words_of_the_model() {
        let told = json!({"_meta": {"usage": {"inputTokens": 1500, "outputTokens": 42, "totalTokens": 1542,
            "thoughtTokens": 7, "cachedReadTokens": 300}, "durationMs": 1312}});
        let turns = Some(1);
        assert_eq!(totals(of_request(&told)), Some(UsageTotals { turns, ..SPENT }));
        for odd in [
            json!({}),
            json!({"_meta": {"usage": "much"}}),
            json!({"_meta": 7}),
        ] {
            assert_eq!(of_request(&odd), None, "{odd}");
        }
    }
}
