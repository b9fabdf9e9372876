//! `codebase list`: the codebases of the record, and what is set of them on this machine.

use std::collections::BTreeMap;

use cs_harness::Permissions;
use cs_model::CodebaseId;
use cs_record::Codebase;

use super::is_gone;
use crate::app::App;
use crate::checkouts::{Checkout, SandboxNote};
use crate::failure::Failure;
use crate::wire::CodebaseWire;

/// Carries out `codebase list`.
pub(super) async fn list(app: &App) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let here = desk.checkouts.list()?.into_iter();
    let here: BTreeMap<CodebaseId, Checkout> = here.map(|checkout| (checkout.codebase, checkout)).collect();
    let codebases = desk.ports.codebases.codebases().await?;
    let all = codebases
        .iter()
        .map(|codebase| wire(codebase, here.get(&codebase.id)));
    let all: Vec<CodebaseWire> = all.collect();
    if app.global.json {
        return app.out.json(&all);
    }
    if all.is_empty() {
        app.out
            .said("no codebase is registered; add one with `cs-panel codebase add PATH`");
        return Ok(());
    }
    for gone in all.iter().filter(|codebase| codebase.gone) {
        app.out.said(&format!(
            "the repository of codebase {0} is gone from there; `cs-panel codebase add PATH --name {1}` says where it is now",
            gone.name,
            crate::text::shell_word(&gone.name)
        ));
    }
    // Most people set none of it: then there is nothing to see of it.
    let verify = |codebase: &CodebaseWire| {
        codebase
            .landing
            .as_ref()
            .and_then(|landing| landing.verify.clone())
    };
    let agents = |codebase: &CodebaseWire| {
        let sandbox = codebase.sandbox.filter(|sandbox| *sandbox != "none");
        let words = [codebase.permissions, sandbox].into_iter().flatten();
        words.collect::<Vec<_>>().join(", ")
    };
    let is_prepared = |codebase: &CodebaseWire| {
        !codebase.bring.is_empty() || codebase.setup.is_some() || verify(codebase).is_some()
    };
    let shown = match (
        all.iter().any(is_prepared),
        all.iter().any(|codebase| !agents(codebase).is_empty()),
    ) {
        (_, true) => 6,
        (true, false) => 5,
        (false, false) => 2,
    };
    let row = |codebase: CodebaseWire| {
        let (verified, agents) = (verify(&codebase).unwrap_or_default(), agents(&codebase));
        let mut row = vec![
            codebase.name,
            codebase.path.unwrap_or_else(|| "not on this machine".to_owned()),
            codebase.bring.join(" "),
            codebase.setup.unwrap_or_default(),
            verified,
            agents,
        ];
        row.truncate(shown);
        row
    };
    let head = ["CODEBASE", "CHECKOUT", "BRINGS", "SETUP", "VERIFY", "AGENTS"];
    app.out.table(&head[..shown], all.into_iter().map(row).collect())
}

/// A codebase, as it is told to programs.
pub(super) fn wire(codebase: &Codebase, checkout: Option<&Checkout>) -> CodebaseWire {
    let wrapper = checkout.and_then(|checkout| match &checkout.agents.sandbox {
        Some(SandboxNote::Wrapper(argv)) => Some(argv.clone()),
        Some(SandboxNote::Bwrap) | None => None,
    });
    CodebaseWire {
        id: codebase.id,
        name: codebase.name.clone(),
        path: checkout.map(|checkout| checkout.path.to_string_lossy().into_owned()),
        gone: checkout.is_some_and(is_gone),
        bring: checkout
            .map(|checkout| checkout.bring.clone())
            .unwrap_or_default(),
        setup: checkout.and_then(|checkout| checkout.setup.clone()),
        permissions: checkout.and_then(|checkout| checkout.agents.permissions.map(Permissions::as_str)),
        sandbox: checkout.map(|checkout| match &checkout.agents.sandbox {
            None => "none",
            Some(SandboxNote::Bwrap) => "bwrap",
            Some(SandboxNote::Wrapper(_)) => "wrapper",
        }),
        wrapper,
        landing: checkout.map(|checkout| checkout.landing.clone().policy().into()),
    }
}
