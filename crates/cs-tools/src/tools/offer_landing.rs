//! Offering the work for landing.

use async_trait::async_trait;
use cs_model::AskId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::host::Offer;
use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema, text};

const TEXT_MAX_BYTES: usize = 16 << 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What you did, in a few sentences for the person who decides.
    summary: String,
    /// How you tried it out and what came of it: commands and their results.
    evidence: String,
}

/// Offers what is committed in the caller's tree.
pub(crate) struct OfferLanding;

#[async_trait]
impl Tool for OfferLanding {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "offer_landing",
            description: "Offers the work that you have committed for landing on the base branch. Commit everything first: what is \
                          not committed is not offered. The person decides, and it is verified before anything moves.",
            arguments: schema::<Arguments>(),
            reads_only: false,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let given: Arguments = arguments(called.arguments)?;
        let offer = Offer {
            summary: text("summary", &given.summary, TEXT_MAX_BYTES)?,
            evidence: text("evidence", &given.evidence, TEXT_MAX_BYTES)?,
        };
        let id = AskId::from_uuid(called.id.effect(called.caller, "offer"));
        called.host.offer_landing(called.caller, id, &offer).await?;
        Ok("The offer is written down. End your turn with a short word for the person: they accept it, or tell you more.".to_owned())
    }
}
