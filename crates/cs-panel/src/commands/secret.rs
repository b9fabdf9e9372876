//! `secret ...`: values that agents of a codebase may ask for, and that are taken out of whatever they write.

mod typed;

use std::io::Read;

use clap::{Args, Subcommand};
use cs_model::{CodebaseId, IdSource, Time};
use cs_record::Codebase;
use cs_secrets::{
    ErrorClass, Kept, Listed, Place, SecretError, SecretKey, SecretName, SecretStore, SecretValue,
    SecretVersion, VALUE_MAX_BYTES,
};
use zeroize::Zeroizing;

use super::codebase::named;
use crate::app::{App, Desk};
use crate::failure::Failure;
use crate::os::SystemIds;
use crate::out;
use crate::wire::SecretWire;
use crate::wiring;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Set a value: it is read from standard input, or typed without being shown.
    Set(SetArgs),
    /// List which secrets there are, and where their values are.
    List,
    /// Remove a value.
    Rm(SecretArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    secret: SecretArgs,
    /// Nothing is taken from here: others see the arguments of a program.
    #[arg(hide = true)]
    value: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// The codebase that it belongs to.
    codebase: String,
    /// Its name, such as NPM_TOKEN.
    name: String,
}

/// Carries out `secret ...`.
pub(crate) async fn secret(app: &App, command: SecretCommand) -> Result<(), Failure> {
    match command {
        SecretCommand::Set(args) if args.value.is_some() => Err(Failure::Usage(
            "a value is not taken from the command line, where others can see it, and this one may be known by now; give it on standard \
             input, or type it when you are asked"
                .to_owned(),
        )),
        SecretCommand::Set(args) => set(app, &args.secret).await,
        SecretCommand::List => list(app).await,
        SecretCommand::Rm(args) => remove(app, &args).await,
    }
}

impl SecretArgs {
    async fn key(&self, desk: &Desk) -> Result<SecretKey, Failure> {
        let name: SecretName = self.name.parse().map_err(|error| {
            let name = crate::text::one_line(&self.name, 80);
            Failure::Usage(format!("`{name}`: {error}"))
        })?;
        let codebase = named(desk, &self.codebase).await?.id;
        Ok(SecretKey { codebase, name })
    }
}

async fn set(app: &App, args: &SecretArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let store = wiring::secrets(app, &desk)?;
    let key = args.key(&desk).await?;
    let value = SecretValue::new(read_value(args)?).map_err(|error| Failure::Usage(error.to_string()))?;
    let version = SecretVersion::from_uuid(SystemIds.uuid_v7());
    let kept = store.set(&key, &value, version).await?;
    let what = format!("secret {} of codebase {}", key.name, args.codebase);
    if app.global.json {
        let listed = Listed {
            key,
            version,
            place: kept.place,
        };
        return app.out.json(&wire(&listed, &args.codebase));
    }
    app.out
        .line(&format!("{what} is set, in {}", place_of(&desk, kept.place)))?;
    tell_no_keyring(app, &kept);
    Ok(())
}

/// The value: all of standard input without its last line break, or what a person types.
fn read_value(args: &SecretArgs) -> Result<Zeroizing<String>, Failure> {
    if out::stdin_is_terminal() {
        return typed::ask(&format!("value of {} (it is not shown): ", args.name));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    // One line break more than the longest value.
    let most = VALUE_MAX_BYTES as u64 + 2;
    std::io::stdin()
        .lock()
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::failed(error, "standard input cannot be read"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        Failure::Usage(
            "the value is no UTF-8 text; write it as base64, and let what needs it decode it".to_owned(),
        )
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(Zeroizing::new(text.strip_suffix('\r').unwrap_or(text).to_owned()))
}

async fn list(app: &App) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let store = wiring::secrets(app, &desk)?;
    let listed = store.list().await?;
    let codebases = desk.ports.codebases.codebases().await?;
    if app.global.json {
        let all = listed
            .iter()
            .map(|listed| wire(listed, &name_of(&codebases, listed.key.codebase)));
        return app.out.json(&all.collect::<Vec<_>>());
    }
    let next = store.next_place().await;
    if listed.is_empty() {
        app.out
            .said("no secrets; set one with `cs-panel secret set CODEBASE NAME`");
    } else {
        let row = |listed: &Listed| {
            vec![
                listed.key.name.to_string(),
                name_of(&codebases, listed.key.codebase),
                set_at(listed.version)
                    .map(|at| at.to_the_second())
                    .unwrap_or_default(),
                listed.place.to_string(),
            ]
        };
        let rows = listed.iter().map(row).collect();
        app.out.table(&["SECRET", "CODEBASE", "SET", "WHERE"], rows)?;
    }
    app.out
        .said(&format!("values go into {}", place_of(&desk, next.place)));
    tell_no_keyring(app, &next);
    Ok(())
}

async fn remove(app: &App, args: &SecretArgs) -> Result<(), Failure> {
    let desk = app.desk().await?;
    let key = args.key(&desk).await?;
    wiring::secrets(app, &desk)?.remove(&key).await?;
    if app.global.json {
        return list(app).await;
    }
    app.out.line(&format!(
        "secret {} of codebase {} is removed; what an agent was given of it by now, it has",
        key.name, args.codebase
    ))
}

fn tell_no_keyring(app: &App, kept: &Kept) {
    if let Some(why) = &kept.no_keyring {
        app.out.said(&format!(
            "not into the keyring of this system, which does not work here ({why}); `secrets = \"file\"` in the configuration says that \
             the file is meant"
        ));
    }
}

fn place_of(desk: &Desk, place: Place) -> String {
    match place {
        Place::Keyring => "the keyring of this system".to_owned(),
        Place::File => format!(
            "the file {}, which only you can read",
            desk.state.root().join("secrets.json").display()
        ),
    }
}

fn name_of(codebases: &[Codebase], id: CodebaseId) -> String {
    let known = codebases.iter().find(|codebase| codebase.id == id);
    known.map_or_else(|| id.short(), |codebase| codebase.name.clone())
}

fn set_at(version: SecretVersion) -> Option<Time> {
    version.made_at_unix_micros().map(Time::from_unix_micros)
}

fn wire(listed: &Listed, codebase: &str) -> SecretWire {
    SecretWire {
        name: listed.key.name.to_string(),
        codebase: codebase.to_owned(),
        set_at: set_at(listed.version),
        place: listed.place.to_string(),
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        let cure = match &error {
            SecretError::NotFound { .. } => "; `cs-panel secret list` lists them",
            SecretError::Keyring { .. } => "; unlock it, or set the secret again",
            SecretError::Exposed { .. } | SecretError::Corrupt { .. } | SecretError::File { .. } => "",
        };
        match error.class() {
            ErrorClass::Invalid => Self::Refused(format!("{error}{cure}")),
            ErrorClass::NotFound | ErrorClass::Transient | ErrorClass::Corrupt => {
                Self::plain(format!("{:#}{cure}", anyhow::Error::new(error)))
            }
        }
    }
}
