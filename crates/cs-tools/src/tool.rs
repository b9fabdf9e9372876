//! What a tool is.

use async_trait::async_trait;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::call::{CallId, Caller};
use crate::host::{Host, HostError};

/// What is told of a tool before it is called. Agents decide by the flags whether they ask their person first and whether they repeat a
/// call, so they are true.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does, when to call it, and what follows.
    pub description: &'static str,
    /// A JSON schema of its arguments.
    pub arguments: Map<String, Value>,
    /// Whether it changes nothing.
    pub reads_only: bool,
}

/// Why a call came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It cannot be understood.
    Arguments(String),
    /// The host did not do it.
    Host(HostError),
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

/// One call as a tool sees it.
#[derive(Debug)]
pub(crate) struct Called<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) caller: &'a Caller,
    pub(crate) id: &'a CallId,
    pub(crate) arguments: Map<String, Value>,
}

/// A tool.
#[async_trait]
pub(crate) trait Tool: Sync {
    fn spec(&self) -> ToolSpec;

    /// Does it and says so.
    async fn call(&self, called: Called<'_>) -> Result<String, Failure>;
}

/// Reads arguments as what a tool takes.
pub(crate) fn arguments<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(given)).map_err(|error| Failure::Arguments(error.to_string()))
}

/// Refuses a text that is empty or too long.
pub(crate) fn text(name: &str, text: &str, max_bytes: usize) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::Arguments(format!("`{name}` is empty")));
    }
    if text.len() > max_bytes {
        let length = text.len();
        return Err(Failure::Arguments(format!(
            "`{name}` has {length} bytes, {max_bytes} at most are taken: make it shorter"
        )));
    }
    Ok(text.to_owned())
}

/// The schema of what a tool takes, in the form that every agent reads: nothing refers to anything.
pub(crate) fn schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.remove("title");
    schema
}
