//! The tools. A new one is a file here and a line in [`ALL`].

mod ask;
mod get_secret;
mod offer_landing;
mod recover_landing;
mod report_progress;
mod show;

use crate::tool::{Tool, ToolSpec};

/// Every tool, in the order in which agents see them.
pub(crate) const ALL: [&dyn Tool; 6] = [
    &ask::Ask,
    &offer_landing::OfferLanding,
    &report_progress::ReportProgress,
    &show::Show,
    &get_secret::GetSecret,
    &recover_landing::RecoverLanding,
];

/// What agents are told of the tools.
#[must_use]
pub fn catalog() -> Vec<ToolSpec> {
    ALL.iter().map(|tool| tool.spec()).collect()
}

pub(crate) fn find(name: &str) -> Option<&'static dyn Tool> {
    ALL.into_iter().find(|tool| tool.spec().name == name)
}
