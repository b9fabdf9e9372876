//! Looking at what belongs to the caller.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::host::Shown;
use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema, text};

const NAME_MAX_BYTES: usize = 255;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What you want to see.
    what: What,
    /// The name of the attachment; for `attachment` only.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum What {
    Card,
    Turns,
    Run,
    Children,
    Attachment,
}

/// Shows the caller's card, its turns, its run, the runs it sent, an attachment.
pub(crate) struct Show;

#[async_trait]
impl Tool for Show {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "show",
            description: "Shows what belongs to your work: `card` (what it is about and how it stands), `turns` (what was said on it), \
                          `run` (your own run), `children` (the runs that you sent), `attachment` (a file of the card, by its name).",
            arguments: schema::<Arguments>(),
            reads_only: true,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let given: Arguments = arguments(called.arguments)?;
        let what = match (given.what, given.name) {
            (What::Attachment, Some(name)) => Shown::Attachment(text("name", &name, NAME_MAX_BYTES)?),
            (What::Attachment, None) => {
                return Err(Failure::Arguments(
                    "`name` is missing: the name of the attachment".to_owned(),
                ));
            }
            (_, Some(_)) => return Err(Failure::Arguments("`name` is for `attachment` only".to_owned())),
            (What::Card, None) => Shown::Card,
            (What::Turns, None) => Shown::Turns,
            (What::Run, None) => Shown::Run,
            (What::Children, None) => Shown::Children,
        };
        Ok(called.host.show(called.caller, &what).await?)
    }
}
