//! Messages of JSON-RPC 2.0, one per line.

use cs_harness::Trouble;
use serde::Deserialize;
use serde_json::{Value, json};

/// A message of the agent: a request has a method and an id, a notification a method alone, a response an id alone.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: Option<Value>,
    pub(crate) method: Option<String>,
    #[serde(default)]
    pub(crate) params: Value,
    pub(crate) result: Option<Value>,
    pub(crate) error: Option<RpcError>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) data: Value,
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

/// The answer to a request that is none of those that were offered.
pub(crate) fn no_such_method(id: &Value, method: &str) -> Value {
    let message = format!("{method} was not offered");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}})
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
    let status = in_data.unwrap_or(error.code);
    let status = u16::try_from(status)
        .ok()
        .filter(|status| (400..600).contains(status));
    Trouble::of_error(status, word, &message)
}

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
                json!({"code": -32603, "message": "Internal error", "data": {"code": "insufficient_quota"}}),
                Class::Credit,
            ),
            (json!({"code": -32603, "message": "Internal error"}), Class::Agent),
            (json!({}), Class::Agent),
        ];
        for (error, class) in table {
            let read: RpcError = serde_json::from_value(error.clone()).unwrap();
            assert_eq!(trouble(&read).class, class, "{error}");
        }
    }
}
