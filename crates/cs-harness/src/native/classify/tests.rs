use cs_model::FailureClass as Class;
use proptest::prelude::*;

use super::*;

fn by_message(message: &str) -> (Class, Option<u16>, Option<AskAgain>) {
    classify(&ErrorFacts {
        message,
        ..ErrorFacts::default()
    })
}

#[test]
fn a_message_tells_its_class() {
    let table = [
        (
            "unexpected status 401 Unauthorized: Incorrect API key provided",
            Class::Authentication,
            Some(401),
        ),
        (
            "unexpected status 403 Forbidden: Country, region, or territory not supported",
            Class::Authentication,
            Some(403),
        ),
        (
            "unexpected status 402 Payment Required: Insufficient credits.",
            Class::Credit,
            Some(402),
        ),
        (
            "exceeded retry limit, last status: 429 Too Many Requests, request id: req",
            Class::RateLimit,
            Some(429),
        ),
        (
            "unexpected status 502 Bad Gateway: <html>",
            Class::Overloaded,
            Some(502),
        ),
        (
            "429 You exceeded your current quota, please check your plan and billing details.",
            Class::Credit,
            Some(429),
        ),
        (
            "429 You exceeded your current quota, please check your plan and billing details. Please retry in 3600s.",
            Class::RateLimit,
            Some(429),
        ),
        (
            "Quota exceeded. Check your plan and billing details.",
            Class::Credit,
            None,
        ),
        ("API Error: 529 overloaded", Class::Overloaded, Some(529)),
        (
            "API Error: Request rejected (429) · slow down",
            Class::RateLimit,
            Some(429),
        ),
        (
            "{\"error\":{\"code\":503,\"message\":\"UNAVAILABLE\"}}",
            Class::Overloaded,
            Some(503),
        ),
        (
            "You’ve hit your usage limit. Purchase more credits or try again at 1:16 PM.",
            Class::RateLimit,
            None,
        ),
        (
            "You've hit your weekly limit · resets 3pm",
            Class::RateLimit,
            None,
        ),
        (
            "Rate limit reached for x. Visit https://provider.example/account/billing to raise it.",
            Class::RateLimit,
            None,
        ),
        (
            "The model `x` does not exist or you do not have access to it.",
            Class::InvalidRequest,
            None,
        ),
        (
            "Codex ran out of room in the model's context window.",
            Class::ContextOverflow,
            None,
        ),
        (
            "Selected model is at capacity. Please try a different model.",
            Class::Overloaded,
            None,
        ),
        ("Not logged in · Please run /login", Class::Authentication, None),
        (
            "Missing environment variable: `OPENAI_API_KEY`.",
            Class::Authentication,
            None,
        ),
        (
            "stream disconnected before completion: idle timeout waiting for SSE",
            Class::Infrastructure,
            None,
        ),
        (
            "Reconnecting... waiting for network (Connection failed: error sending request)",
            Class::Infrastructure,
            None,
        ),
        (
            "Incomplete response returned, reason: max_output_tokens",
            Class::Agent,
            None,
        ),
        ("something else, 401 of them", Class::Agent, None),
        ("4010 things", Class::Agent, None),
        ("", Class::Agent, None),
    ];
    for (message, class, status) in table {
        let (found, found_status, _) = by_message(message);
        assert_eq!((found, found_status), (class, status), "{message}");
    }
}

#[test]
fn a_code_wins_over_a_status_and_a_status_over_words() {
    let table = [
        (Some("insufficient_quota"), Some(429), "", Class::Credit),
        (Some("rate_limit_error"), Some(429), "slow down", Class::RateLimit),
        (
            Some("invalid_request_error"),
            Some(400),
            "Your credit balance is too low",
            Class::Credit,
        ),
        (
            Some("invalid_request_error"),
            Some(400),
            "prompt is too long: 9 tokens > 8",
            Class::ContextOverflow,
        ),
        (Some("invalid_request_error"), Some(402), "no", Class::Credit),
        (
            Some("invalid_request_error"),
            Some(400),
            "messages: odd",
            Class::InvalidRequest,
        ),
        (Some("ContextOverflowError"), None, "", Class::ContextOverflow),
        (Some("usageLimitExceeded"), None, "", Class::RateLimit),
        (Some("APIError"), Some(401), "", Class::Authentication),
        (
            Some("UnknownError"),
            None,
            "Unexpected server error",
            Class::Agent,
        ),
        (Some("unknown"), None, "Connection error.", Class::Infrastructure),
        (
            None,
            Some(401),
            "your billing address is unknown",
            Class::Authentication,
        ),
        (None, Some(503), "model not found", Class::Overloaded),
        (None, Some(404), "model: x not found", Class::InvalidRequest),
        (Some("connection_failed"), None, "", Class::Infrastructure),
        (None, Some(418), "", Class::Agent),
    ];
    for (word, status, message, class) in table {
        let facts = ErrorFacts {
            status,
            word,
            message,
            retry_after_ms: None,
        };
        assert_eq!(classify(&facts).0, class, "{facts:?}");
    }
}

#[test]
fn a_stated_wait_is_read() {
    let table = [
        ("Please try again in 2s.", Some(AskAgain::AfterMs(2_000))),
        ("please try again in 1m30.5s", Some(AskAgain::AfterMs(90_500))),
        ("try again in 20ms.", Some(AskAgain::AfterMs(20))),
        (
            "Try again in 3 days 4 hours and 5 minutes.",
            Some(AskAgain::AfterMs(273_900_000)),
        ),
        ("Please retry in 34.07s", Some(AskAgain::AfterMs(34_070))),
        (
            "Claude AI usage limit reached|1735689600",
            Some(AskAgain::AtUnix(1_735_689_600)),
        ),
        ("try again in a while", None),
        ("try again at 1:16 PM.", None),
    ];
    for (message, again) in table {
        assert_eq!(by_message(message).2, again, "{message}");
    }
    let facts = ErrorFacts {
        message: "try again in 2s",
        retry_after_ms: Some(7),
        ..ErrorFacts::default()
    };
    assert_eq!(facts.trouble().again, Some(AskAgain::AfterMs(7)));
}

proptest! {
    #[test]
    fn any_message_has_a_class(message in "(?s).{0,200}", word in "(?s).{0,20}") {
        for words in ["", "try again in ", "unexpected status ", "limit reached|"] {
            let message = format!("{words}{message}");
            let facts = ErrorFacts { word: Some(&word), message: &message, ..ErrorFacts::default() };
            classify(&facts);
        }
    }
}
