use cs_model::FailureClass;

/// The status that stands in a message (in lower case) where programs and providers are known to put it.
pub(super) fn status(message: &str) -> Option<u16> {
    let after = |words: &str| {
        message
            .match_indices(words)
            .find_map(|(at, _)| leading_status(&message[at + words.len()..]))
    };
    BEFORE_A_STATUS
        .iter()
        .find_map(|words| after(words))
        .or_else(|| leading_status(message))
}

const BEFORE_A_STATUS: [&str; 7] = [
    "unexpected status ",
    "last status: ",
    "api error: request rejected (",
    "api error: ",
    "\"status\":",
    "\"code\":",
    "http ",
];

/// Three digits that end there, between 400 and 599.
fn leading_status(text: &str) -> Option<u16> {
    let text = text.trim_start();
    let digits = text.get(..3)?;
    let rest = text.get(3..)?;
    let ends = rest.is_empty() || rest.starts_with([' ', ':', ',', ')', '}', '"', '\n', '.']);
    let number = digits.parse().ok()?;
    (ends && (400..600).contains(&number)).then_some(number)
}

/// The class that the words of a message (in lower case) tell of.
pub(super) fn class(message: &str) -> Option<FailureClass> {
    let known = WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| has(message, word)));
    known.map(|(class, _)| *class)
}

/// Whether the parts, between which `*` stands, follow each other in the message.
fn has(message: &str, parts: &str) -> bool {
    let mut rest = message;
    parts.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The first line that fits decides. Limits of time come before money: their messages offer to buy more.
const WORDS: &[(FailureClass, &[&str])] = &[
    (
        FailureClass::ContextOverflow,
        &[
            "context window",
            "context length",
            "context_length_exceeded",
            "prompt is too long",
            "ran out of room",
            "exceeds the maximum number of tokens",
            "input is too long",
            "too many tokens in the prompt",
        ],
    ),
    (
        FailureClass::RateLimit,
        &[
            "usage limit",
            "hit your*limit",
            "daily quota",
            "rate limit reached",
            "rate limit exceeded",
            "rate_limit_exceeded",
            "per minute",
        ],
    ),
    (
        FailureClass::Credit,
        &[
            "insufficient_quota",
            "credit balance",
            "quota exceeded",
            "exceeded your current quota",
            "billing",
            "insufficient credits",
            "insufficient balance",
            "insufficient funds",
        ],
    ),
    (
        FailureClass::InvalidRequest,
        &[
            "model*does not exist",
            "model*not found",
            "not found for api version",
            "model_not_found",
            "model metadata",
            "model*not supported",
            "unknown model",
        ],
    ),
    (
        FailureClass::Overloaded,
        &[
            "at capacity",
            "overloaded",
            "high demand",
            "service unavailable",
            "unavailable\"",
            "internal server error",
        ],
    ),
    (
        FailureClass::Authentication,
        &[
            "api key not valid",
            "invalid api key",
            "incorrect api key",
            "invalid x-api-key",
            "invalid bearer token",
            "no api key",
            "not logged in",
            "please run /login",
            "missing environment variable",
            "token has expired",
            "token expired",
            "refresh token",
        ],
    ),
    (FailureClass::RateLimit, &["rate limit", "too many requests"]),
    (
        FailureClass::Infrastructure,
        &[
            "stream disconnected",
            "stream closed",
            "stream ended",
            "connection failed",
            "connection error",
            "connection refused",
            "connection reset",
            "connection closed",
            "unable to connect",
            "cannot connect",
            "could not connect",
            "waiting for network",
            "error sending request",
            "network error",
            "fetch failed",
            "socket hang up",
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "timed out",
            "timeout",
            "terminated",
            "database is locked",
        ],
    ),
];
