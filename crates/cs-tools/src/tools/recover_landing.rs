//! Bringing a half landing in order.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

/// Asks what became of the last landing of the caller's card, and undoes a half one.
pub(crate) struct RecoverLanding;

#[async_trait]
impl Tool for RecoverLanding {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "recover_landing",
            description: "Says what became of the last landing of your card, and undoes one that was cut short. Call it when you were told \
                          that a landing failed, before you work on.",
            arguments: schema::<Arguments>(),
            reads_only: false,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let Arguments {} = arguments(called.arguments)?;
        let id = called.id.effect(called.caller, "recover");
        Ok(called.host.recover_landing(called.caller, id).await?)
    }
}
