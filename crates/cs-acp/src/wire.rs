//! Messages of JSON-RPC 2.0, one per line.

use cs_harness::{Trouble, cap_text, read_json};
use cs_model::FailureClass;
use serde_json::{Value, json};

/// A message of the agent: a request has a method and an id, a notification a method alone, a response an id alone.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: Option<Value>,
    pub(crate) method: Option<String>,
    pub(crate) params: Value,
    pub(crate) result: Option<Value>,
    pub(crate) error: Option<RpcError>,
}

#[derive(Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl Message {
    /// Reads a line; nothing where it is no message. A field of another shape than expected is as good as one that is missing: an
    /// answer that is awaited must not get lost over it.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let Ok(Value::Object(mut all)) = read_json(line) else {
            return None;
        };
        let mut take = |key: &str| all.remove(key).filter(|value| !value.is_null());
        Some(Self {
            id: take("id"),
            method: take("method").and_then(text),
            params: take("params").unwrap_or_default(),
            result: take("result"),
            error: take("error").map(RpcError::read),
        })
    }
}

impl RpcError {
    pub(crate) fn read(mut error: Value) -> Self {
        let mut take = |key: &str| error.get_mut(key).map(Value::take).unwrap_or_default();
        let code = take("code");
        Self {
            code: code
                .as_i64()
                .or_else(|| code.as_str()?.trim().parse().ok())
                .unwrap_or(0),
            message: text(take("message")).unwrap_or_default(),
            data: take("data"),
        }
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Whether an id is this number, which some write as a text.
pub(crate) fn is_number(id: &Value, number: u64) -> bool {
    id.as_u64() == Some(number) || id.as_str().is_some_and(|id| id.parse() == Ok(number))
}

/// The code with which an agent says that nobody is signed in.
const NOT_SIGNED_IN: i64 = -32000;

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(crate) fn response(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The code of an answer to a request that is about something else.
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// The answer to a request that cannot be taken.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The answer to a request that is none of those that were offered.
pub(crate) fn no_such_method(id: &Value, method: &str) -> Value {
    error(id, -32601, &format!("{} was not offered", cap_text(method)))
}

/// What an error tells. There is no common vocabulary: some agents put the status of HTTP into the code, some name the error in
/// the data, most only have a message.
pub(crate) fn trouble(error: &RpcError) -> Trouble {
    let text = |key: &str| error.data.get(key).and_then(Value::as_str);
    let word = match error.code {
        NOT_SIGNED_IN => Some("unauthenticated"),
        _ => ["code", "errorName", "name", "type"].into_iter().find_map(text),
    };
    let details = text("details")
        .or_else(|| text("message"))
        .or(error.data.as_str());
    let message = match details {
        Some(details) if !error.message.contains(details) => format!("{}: {details}", error.message),
        Some(_) | None => error.message.clone(),
    };
    let in_data = ["status", "statusCode"]
        .iter()
        .find_map(|key| error.data.get(*key)?.as_i64());
    let status = |number| {
        let status = u16::try_from(number).ok();
        status.filter(|status| (400..600).contains(status))
    };
    // Where the provider's own message stands in the data, its status stands at the beginning of that.
    let in_details = || Trouble::of_error(None, None, details?).status;
    let told = in_data.map_or_else(|| status(error.code), status);
    let trouble = Trouble::of_error(told.or_else(in_details), word, &message);
    if in_data.is_none() && error.code == OF_ITS_OWN {
        // Where the message knows what it is about, it knows better.
        let by_message = Trouble::of_error(None, word, &message);
        if by_message.class != FailureClass::Agent {
            return by_message;
        }
    }
    trouble
}

/// The status that agents put in the place of a code where they know none: the provider may have answered with another, or with nothing.
const OF_ITS_OWN: i64 = 500;

#[cfg(test)]
mod tests {
    use cs_model::FailureClass as Class;

    use super::*;

    #[test]
    fn an_error_is_read_wherever_an_agent_puts_it() {
        let table = [
            (
                json!({"code": -32000, "message": "Authentication required"}),
                Class::Authentication,
            ),
            (
                json!({"code": 429, "message": "Resource has been exhausted"}),
                Class::RateLimit,
            ),
            (
                json!({"code": -32603, "message": "Internal error: Incorrect API key provided",
                    "data": {"errorName": "APIError"}}),
                Class::Authentication,
            ),
            (
                json!({"code": -32603, "message": "Internal error",
                    "data": {"details": "401 Incorrect API key provided: dummy."}}),
                Class::Authentication,
            ),
            (
                json!({"code": -32603, "message": "Internal error",
                    "data": {"details": "403 Country, region, or territory not supported"}}),
                Class::Authentication,
            ),
            (
                json!({"code": -32603, "message": "Internal error", "data": {"code": "insufficient_quota"}}),
                Class::Credit,
            ),
            (
                json!({"code": 500, "message": "models/x is not found for API version v1beta, or is not supported"}),
                Class::InvalidRequest,
            ),
            (
                json!({"code": 500, "message": "terminated"}),
                Class::Infrastructure,
            ),
            (
                json!({"code": 500, "message": "An internal error has occurred."}),
                Class::Overloaded,
            ),
            (json!({"code": -32603, "message": "Internal error"}), Class::Agent),
            (json!({}), Class::Agent),
        ];
        for (error, class) in table {
            assert_eq!(trouble(&RpcError::read(error.clone())).class, class, "{error}");
        }
    }

    #[test]
    fn a_message_with_an_odd_field_is_still_a_message() {
        let read = |text: &str| Message::read(text.as_bytes());
        let answer =
            read(r#"{"id":"3","method":null,"error":null,"result":{"stopReason":"end_turn"}}"#).unwrap();
        assert!(is_number(&answer.id.unwrap(), 3) && answer.method.is_none() && answer.error.is_none());
        assert_eq!(answer.result.unwrap()["stopReason"], "end_turn");
        let error = read(r#"{"id":3,"error":{"code":"429","message":7}}"#)
            .unwrap()
            .error
            .unwrap();
        assert_eq!((trouble(&error).class, error.code), (Class::RateLimit, 429));
        assert_eq!(read(r#"{"id":3,"error":"no"}"#).unwrap().error.unwrap().code, 0);
        let cut = read(r#"{"id":4,"result":{"text":"a \ud83d"}}"#).unwrap();
        assert_eq!(cut.result.unwrap()["text"], "a \u{fffd}");
        assert!(read("[]").is_none() && read("7").is_none());
    }
}
