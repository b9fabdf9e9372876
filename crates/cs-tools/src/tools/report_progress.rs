//! Saying how far the work is.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema, text};

const TEXT_MAX_BYTES: usize = 1 << 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// One line: what is done, and what you do now.
    text: String,
}

/// Notes one line; the last one counts.
pub(crate) struct ReportProgress;

#[async_trait]
impl Tool for ReportProgress {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "report_progress",
            description: "Tells the person in one line how far you are, without ending your turn. Each line takes the place of the last.",
            arguments: schema::<Arguments>(),
            reads_only: false,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let given: Arguments = arguments(called.arguments)?;
        let line = text("text", &given.text, TEXT_MAX_BYTES)?;
        called.host.report_progress(called.caller, &line).await?;
        Ok("Noted.".to_owned())
    }
}
