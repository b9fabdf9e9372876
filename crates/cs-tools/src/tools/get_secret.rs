//! Reading a secret.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema, text};

const NAME_MAX_BYTES: usize = 128;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its name.
    name: String,
}

/// Gives a secret of the caller's codebase.
pub(crate) struct GetSecret;

#[async_trait]
impl Tool for GetSecret {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "get_secret",
            description: "Gives the value of a secret that the person has set for this codebase. Use it for the one command that needs \
                          it. Never write it into a file, a commit or an answer.",
            arguments: schema::<Arguments>(),
            reads_only: true,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let given: Arguments = arguments(called.arguments)?;
        let name = text("name", &given.name, NAME_MAX_BYTES)?;
        Ok(called.host.secret(called.caller, &name).await?)
    }
}
