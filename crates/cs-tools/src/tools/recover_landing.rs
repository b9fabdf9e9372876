//! Going on after a landing that came to nothing.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// Says what became of the last landing of the caller's card, and what to do about it.
pub(crate) struct RecoverLanding;

#[async_trait]
impl Tool for RecoverLanding {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "recover_landing",
            description: "Says what became of the last landing of your card and what you have to do about it: which files are in \
                          conflict, or what the verification said. Call it when you were told that a landing failed, before you work \
                          on. A landing that was cut short is put in order by the panel itself.",
            arguments: schema::<Arguments>(),
            reads_only: true,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let Arguments {} = arguments(called.arguments)?;
        Ok(called.host.last_landing(called.caller).await?)
    }
}
