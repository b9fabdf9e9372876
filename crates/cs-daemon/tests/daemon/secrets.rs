//! Agents that were given secrets, and daemons that take them up.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cs_model::{CardId, CodebaseId};
use cs_secrets::{SecretKey, SecretStore, SecretValue, SecretVersion};
use libtest_mimic::Trial;

use crate::world::{World, trial};

const VALUE: &str = "hunter2/hunter2+";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a daemon that takes an agent up takes out what that was given before",
            taken_up,
        ),
        trial(
            "what an agent was given is known without the ledger too",
            without_ledger,
        ),
        trial(
            "words are held back while a secret cannot be read, and the agent's own files have them",
            held_back,
        ),
        trial(
            "a secret that can be read again by the end of its agent holds nothing back",
            back_in_time,
        ),
        trial("a secret that was set anew since holds the words back", set_anew),
        trial(
            "the next attempt of a run knows what the one before was given",
            next_attempt,
        ),
        trial("a secret that nobody was given stays in the words", not_given),
    ]
}

/// An agent that waits at its gate and then prints the secret in many forms.
fn talkative(world: &World) -> String {
    let printed = format!(
        "printf 'plain {VALUE} and %s\\nhun\\nter2/hunter2+\\n' \"$(printf %s {VALUE} | base64)\"; \
         echo '{{\"x\":\"hunter2\\/hunter2+\"}} hunter2%2Fhunter2%2B'"
    );
    world.gated("agent").replace("echo Done.", &printed)
}

const FREED: &str =
    "plain [secret TOKEN] and [secret TOKEN]\n[secret TOKEN]\n{\"x\":\"[secret TOKEN]\"} [secret TOKEN]";

struct Given {
    card: CardId,
    agent: String,
    key: SecretKey,
    words: String,
    execution: std::path::PathBuf,
}

async fn set(world: &World, key: &SecretKey, value: &str) -> SecretVersion {
    let version = SecretVersion::from_uuid(world.operation().as_uuid());
    let value = SecretValue::new(value.to_owned().into()).unwrap();
    world.secrets.set(key, &value, version).await.unwrap();
    version
}

/// An agent at its gate, which was given a secret by a daemon that has left. Nothing is noted yet.
async fn given(world: &World) -> Given {
    let agent = talkative(world);
    let card = world.send("agent").await;
    let daemon = world.daemon(&[("agent", &agent)]).await;
    world.until_runs("agent").await;
    world.until_noted(card).await;
    daemon.leave().await;
    let key = SecretKey {
        codebase: CodebaseId::from_uuid(world.operation().as_uuid()),
        name: "TOKEN".parse().unwrap(),
    };
    let version = set(world, &key, VALUE).await;
    let words = serde_json::json!({ "key": key, "version": version }).to_string();
    let mut executions = fs::read_dir(world.state().executions()).unwrap();
    let execution = executions.next().unwrap().unwrap().path();
    Given {
        card,
        agent,
        key,
        words,
        execution,
    }
}

async fn note_in_ledger(world: &World, given: &Given) {
    let run = &world.card(given.card).await.runs[0];
    let journal = world.journal();
    journal.give_secret(run.id, run.epoch, &given.words).unwrap();
}

fn note_beside(given: &Given) {
    fs::write(given.execution.join("secrets.json"), format!("[{}]", given.words)).unwrap();
}

async fn to_the_end(world: &World, given: &Given) -> String {
    world.open_gate("agent");
    world.run_once(&[("agent", &given.agent)]).await.unwrap();
    world.answers(given.card).await.concat()
}

/// Everything that the ledger of the machine holds.
fn ledger(world: &World) -> String {
    String::from_utf8_lossy(&fs::read(world.state().ledger()).unwrap()).into_owned()
}

/// Nothing of it is in the outcome of the ledger either (SC-3). Invariant 14.
async fn taken_up(world: World) {
    let given = given(&world).await;
    note_in_ledger(&world, &given).await;
    assert_eq!(to_the_end(&world, &given).await, FREED);
    assert!(!ledger(&world).contains("hunter2"), "{}", ledger(&world));
    for name in ["transcript.jsonl", "stdout.spool"] {
        let path = given.execution.join(name);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        assert!(
            fs::read_to_string(&path).unwrap().contains("hunter2"),
            "{name} is as it was written"
        );
    }
}

/// Invariant 14.
async fn without_ledger(world: World) {
    let given = given(&world).await;
    note_beside(&given);
    fs::remove_file(world.state().ledger()).unwrap();
    assert_eq!(to_the_end(&world, &given).await, FREED);
}

/// Invariant 14.
async fn held_back(world: World) {
    let given = given(&world).await;
    note_in_ledger(&world, &given).await;
    world.secrets.go_away();
    let answer = to_the_end(&world, &given).await;
    assert!(
        answer.starts_with("[the words of the agent are held back"),
        "{answer}"
    );
    assert!(answer.contains("(TOKEN)"), "{answer}");
    assert!(!ledger(&world).contains("hunter2"), "{}", ledger(&world));
    let transcript = fs::read_to_string(given.execution.join("transcript.jsonl")).unwrap();
    assert!(transcript.contains("hunter2"), "{transcript}");
}

async fn back_in_time(world: World) {
    let given = given(&world).await;
    note_in_ledger(&world, &given).await;
    world.secrets.go_away();
    let daemon = world.daemon(&[("agent", &given.agent)]).await;
    world.until_said("its agent still runs").await;
    world.secrets.come_back();
    world.open_gate("agent");
    world.until_said("answered").await;
    daemon.leave().await;
    assert_eq!(world.answers(given.card).await, [FREED]);
}

async fn set_anew(world: World) {
    let given = given(&world).await;
    note_in_ledger(&world, &given).await;
    set(&world, &given.key, "another value").await;
    let answer = to_the_end(&world, &given).await;
    assert!(
        answer.starts_with("[the words of the agent are held back"),
        "{answer}"
    );
}

/// It goes on with the conversation in which the first one got it.
async fn next_attempt(world: World) {
    let given = given(&world).await;
    note_in_ledger(&world, &given).await;
    note_beside(&given);
    assert_eq!(to_the_end(&world, &given).await, FREED);
    world.send_more(given.card).await;
    assert_eq!(to_the_end(&world, &given).await, FREED.repeat(2));
    // The same value once more.
    set(&world, &given.key, VALUE).await;
    world.send_more(given.card).await;
    assert_eq!(to_the_end(&world, &given).await, FREED.repeat(3));
    // Once there is another one nobody has any use for the old one, and nothing is held back for it.
    set(&world, &given.key, "another value").await;
    world.send_more(given.card).await;
    let answers = to_the_end(&world, &given).await;
    assert!(answers.contains(&format!("plain {VALUE} and")), "{answers}");
}

async fn not_given(world: World) {
    let given = given(&world).await;
    let answer = to_the_end(&world, &given).await;
    assert!(answer.starts_with(&format!("plain {VALUE} and")), "{answer}");
}
