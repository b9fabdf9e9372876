//! Keeps a secret in a directory, and takes it out of what a program writes.

use std::sync::Arc;

use cs_model::CodebaseId;
use cs_secrets::{
    MachineSecrets, Prefer, Redactor, SecretKey, SecretStore, SecretValue, SecretVersion, SystemKeyring,
};
use uuid::Uuid;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let store = MachineSecrets::new(dir.path(), "example", Prefer::File, Arc::new(SystemKeyring));
    let key = SecretKey {
        codebase: CodebaseId::from_uuid(Uuid::from_u128(1)),
        name: "NPM_TOKEN".parse()?,
    };
    let value = SecretValue::new("npm_0123456789".to_owned().into())?;
    let kept = store
        .set(&key, &value, SecretVersion::from_uuid(Uuid::from_u128(2)))
        .await?;
    assert_eq!(kept.place.to_string(), "file");

    let secret = store.get(&key).await?;
    let redactor = Redactor::new([(&key.name, &secret.value)])?;
    assert_eq!(
        redactor.redact("it is npm_0123456789"),
        "it is [secret NPM_TOKEN]"
    );

    let mut pieces = redactor.pieces();
    let mut freed = pieces.push("half of it: npm_01");
    freed += &pieces.push("23456789, and more");
    freed += &pieces.finish();
    assert_eq!(freed, "half of it: [secret NPM_TOKEN], and more");
    Ok(())
}
