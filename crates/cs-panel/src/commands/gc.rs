//! `gc`: what the record forgets.

use clap::Args;
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::text;
use crate::wire::OldOperationWire;

/// How many rows go in one transaction, so that nobody waits long for it.
const AT_ONCE: u32 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Only list what would go, and why.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct GcWire {
    dry_run: bool,
    operations: Vec<OldOperationWire>,
}

/// Carries out `gc`.
pub(crate) async fn gc(app: &App, args: &GcArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let mut operations = Vec::new();
    loop {
        let limit = if args.dry_run { u32::MAX } else { AT_ONCE };
        let gone = desk
            .ports
            .housekeeping
            .forget_operations(limit, args.dry_run)
            .await?;
        let is_last = args.dry_run || gone.len() < AT_ONCE as usize;
        operations.extend(gone.iter().map(OldOperationWire::from));
        if is_last {
            break;
        }
    }
    if app.global.json {
        let dry_run = args.dry_run;
        return app.out.json(&GcWire { dry_run, operations });
    }
    let count = text::count(operations.len(), "journal row");
    if !args.dry_run {
        return app.out.line(&format!("{count} forgotten"));
    }
    if !operations.is_empty() {
        let row = |row: &OldOperationWire| {
            vec![
                row.operation.to_string(),
                row.kind.clone(),
                row.at.to_the_second(),
                "over 7 days old, and so is the end of all that it took".to_owned(),
            ]
        };
        let head = ["OPERATION", "KIND", "WRITTEN", "WHY"];
        app.out.table(&head, operations.iter().map(row).collect())?;
    }
    app.out.said(&format!("{count} would be forgotten"));
    Ok(())
}
