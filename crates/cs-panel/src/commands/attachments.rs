//! `attach` and `attachments ...`: files for the agent of a card.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cs_model::{AttachmentId, CardId, IdSource};
use cs_record::rules::{MAX_ATTACHED_BYTES, MAX_ATTACHMENT_BYTES};
use cs_record::{Attach, Attachment, Content, NewAttachment};
use cs_worktree::plain;

use super::media_type;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::text;
use crate::wire::AttachmentWire;

/// What is said of a size.
const MIB: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// The files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct AttachmentsArgs {
    #[command(subcommand)]
    command: Option<AttachmentsCommand>,
    /// The card whose files are listed: its id, or the first or last of the digits that are shown.
    #[arg(required = true)]
    card: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AttachmentsCommand {
    /// Write a file of a card to standard output, or to a file.
    Get(GetArgs),
    /// Take a file of a card away.
    Rm(RmArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// The name of the file, as `attachments` lists it.
    name: String,
    /// Write it to this file, which must not be there yet.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The card: its id, or the first or last of the digits that are shown.
    card: String,
    /// The name of the file, as `attachments` lists it.
    name: String,
}

impl AttachmentsArgs {
    /// Whether it takes something away.
    pub(crate) const fn takes_away(&self) -> bool {
        matches!(self.command, Some(AttachmentsCommand::Rm(_)))
    }
}

/// Carries out `attach`.
pub(crate) async fn attach(app: &App, args: &AttachArgs) -> Result<(), Failure> {
    let files = read_all(app, &args.files)?;
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(&args.card).await?;
    let person = app.person(&desk.state).await?;
    let attach = Attach { card, files, person };
    let became = desk.ports.attachments.attach(&attach).await?;
    if app.global.json {
        return json(app, &became);
    }
    for one in &became {
        app.out
            .line(&format!("{} is attached to card {}", line(one), card.short()))?;
    }
    app.out.said(
        "nothing starts for a file: its agent gets it with its next start, such as for your next message",
    );
    Ok(())
}

/// Carries out `attachments ...`.
pub(crate) async fn attachments(app: &App, args: &AttachmentsArgs) -> Result<(), Failure> {
    match (&args.command, &args.card) {
        (Some(AttachmentsCommand::Get(args)), _) => get(app, args).await,
        (Some(AttachmentsCommand::Rm(args)), _) => remove(app, args).await,
        (None, card) => list(app, card.as_deref().unwrap_or_default()).await,
    }
}

async fn list(app: &App, card: &str) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(card).await?;
    let all = desk.ports.attachments.attachments(card).await?;
    if app.global.json {
        return json(app, &all);
    }
    if all.is_empty() {
        app.out.said(&format!(
            "nothing is attached to card {0}; `cs-panel attach {0} FILE` does it",
            card.short()
        ));
        return Ok(());
    }
    let now = app.now();
    let row = |one: &Attachment| {
        let by = format!(
            "{}, {}",
            text::one_line(one.by.as_str(), 40),
            text::ago(now, one.at)
        );
        vec![
            text::harmless(&one.name).into_owned(),
            one.media_type.clone(),
            size(one.size_bytes),
            by,
        ]
    };
    app.out.table(
        &["FILE", "TYPE", "SIZE", "ATTACHED BY"],
        all.iter().map(row).collect(),
    )
}

async fn get(app: &App, args: &GetArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(&args.card).await?;
    let one = named(&desk, card, &args.name).await?;
    let content = desk.ports.attachments.attached(one.id).await?;
    let Some(out) = &args.out else {
        return app.out.bytes(content.bytes());
    };
    let path = app.env.absolute(out);
    write_new(&path, content.bytes())?;
    if app.global.json {
        return app.out.json(&AttachmentWire::from(&one));
    }
    app.out
        .line(&format!("{} is written to {}", line(&one), path.display()))
}

/// Writes a file that was not there, whole or not at all.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.display();
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Refused(format!(
            "{name} is there already, nothing was written; give another name with --out"
        )),
        _ => Failure::failed(error, format!("{name} cannot be made")),
    })?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|error| {
            // What is not whole is not left.
            let _ = fs::remove_file(path);
            Failure::failed(error, format!("{name} cannot be written"))
        })
}

async fn remove(app: &App, args: &RmArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let card = desk.ports.reads.find_card(&args.card).await?;
    let one = named(&desk, card, &args.name).await?;
    desk.ports.attachments.detach(card, one.id).await?;
    if app.global.json {
        return json(app, &desk.ports.attachments.attachments(card).await?);
    }
    app.out.line(&format!(
        "{} is taken away from card {}: its agent has it no more from its next start on",
        line(&one),
        card.short()
    ))
}

async fn named(desk: &Desk, card: CardId, name: &str) -> Result<Attachment, Failure> {
    let all = desk.ports.attachments.attachments(card).await?;
    all.into_iter().find(|one| one.name == name).ok_or_else(|| {
        Failure::plain(format!(
            "card {0} has no attachment `{1}`; `cs-panel attachments {0}` lists them",
            card.short(),
            text::one_line(name, 80)
        ))
    })
}

/// The name and the size of a file.
pub(crate) fn line(one: &Attachment) -> String {
    format!("{} ({})", text::harmless(&one.name), size(one.size_bytes))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => text::count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        1024..MIB => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
    }
}

fn json(app: &App, all: &[Attachment]) -> Result<(), Failure> {
    app.out
        .json(&all.iter().map(AttachmentWire::from).collect::<Vec<_>>())
}

/// Reads files that are to be attached. Nothing was written yet when one of them cannot be.
pub(crate) fn read_all(app: &App, files: &[PathBuf]) -> Result<Vec<NewAttachment>, Failure> {
    let mut all: Vec<NewAttachment> = Vec::with_capacity(files.len());
    let mut bytes = 0;
    for file in files {
        let one = read(&app.env.absolute(file))?;
        bytes += one.content.len_bytes();
        if bytes > MAX_ATTACHED_BYTES {
            return Err(Failure::Usage(format!(
                "these files have more than {} together, the limit of a card, nothing was sent; give fewer or smaller ones",
                size(MAX_ATTACHED_BYTES)
            )));
        }
        all.push(one);
    }
    Ok(all)
}

fn read(file: &Path) -> Result<NewAttachment, Failure> {
    let shown = file.display();
    let bad = |why: &str| Failure::Usage(format!("{shown} cannot be attached, nothing was sent: {why}"));
    let name = file.file_name().ok_or_else(|| bad("it has no name"))?;
    let name = name
        .to_str()
        .ok_or_else(|| bad("its name is no UTF-8; give a copy with another name"))?;
    let name = text::plain_name(name);
    if name.is_empty() {
        return Err(bad("its name cannot be shown; give a copy with another name"));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => {
            bad(&error.to_string())
        }
        _ => Failure::failed(error, format!("{shown} cannot be read, nothing was sent")),
    };
    let mut source = plain::open(file).map_err(failed)?;
    let before = source.metadata().map_err(failed)?;
    if !before.is_file() {
        return Err(bad("it is a device; put a plain file in its place"));
    }
    if before.len() > MAX_ATTACHMENT_BYTES {
        return Err(bad(&format!(
            "it has {}, the limit is {}; make it smaller, or put it where its agent can fetch it",
            size(before.len()),
            size(MAX_ATTACHMENT_BYTES)
        )));
    }
    let mut bytes = Vec::new();
    (&mut source)
        .take(before.len() + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let after = source.metadata().map_err(failed)?;
    let is_same = bytes.len() as u64 == before.len()
        && after.len() == before.len()
        && after.modified().ok() == before.modified().ok();
    if !is_same {
        return Err(bad(
            "it was changed while it was read; wait until nothing writes to it, then try again",
        ));
    }
    Ok(NewAttachment {
        id: AttachmentId::from_uuid(SystemIds.uuid_v7()),
        media_type: media_type::of(&name, &bytes).to_owned(),
        name,
        content: Content::from(bytes),
    })
}
