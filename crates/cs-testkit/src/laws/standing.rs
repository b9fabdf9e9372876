//! Laws of standing rules.

use std::time::Duration;

use cs_fence::{Attempt, Fenced};
use cs_journal::Task;
use cs_model::{CodebaseId, IdSource, Person, RuleId};
use cs_record::{AddRule, ErrorClass, SendTo, StandingRule};

use super::World;

fn new_rule(world: &World, codebase: Option<CodebaseId>, body: &str) -> AddRule {
    AddRule {
        rule: RuleId::from_uuid(world.ids.uuid_v7()),
        codebase,
        body: body.to_owned(),
        person: world.person.clone(),
    }
}

async fn add(world: &World, codebase: Option<CodebaseId>, body: &str) -> StandingRule {
    world.clock.advance(Duration::from_secs(1));
    let add = new_rule(world, codebase, body);
    world.standing.add_rule(&add).await.expect("a good rule is taken")
}

async fn bodies(world: &World) -> Vec<String> {
    let all = world.standing.standing_rules().await.expect("it answers");
    all.into_iter().map(|rule| rule.body).collect()
}

/// The rules that an attempt is told now.
async fn told(world: &World, attempt: &Attempt) -> Vec<(String, u32)> {
    match world.daemon.run_brief(attempt).await.expect("it answers") {
        Fenced::Applied(brief) => brief
            .rules
            .into_iter()
            .map(|rule| (rule.body, rule.version))
            .collect(),
        Fenced::Stale(standing) => panic!("it is current: {standing}"),
    }
}

fn ada() -> Person {
    "Ada".parse().expect("a name")
}

/// An attempt is told the rules for all, then those of the codebase of its run, as they stand when it reads them: what was changed or
/// removed since the attempt before reaches the next (OW-8). Who is not current any more reads nothing.
pub async fn rules_are_read_anew_by_each_attempt(world: &World) {
    let other = CodebaseId::from_uuid(world.ids.uuid_v7());
    let added = world.codebases.add_codebase(other, "other", world.machine).await;
    added.expect("it is new");
    let here = add(world, Some(world.codebase), "run the tests").await;
    add(world, Some(other), "never here").await;
    let all = add(world, None, "be short").await;
    let card = world.card().await;
    let first = world.running_card(card).await;
    let expected = [("be short".to_owned(), 1), ("run the tests".to_owned(), 1)];
    assert_eq!(told(world, &first.attempt).await, expected);

    let edited = world
        .standing
        .edit_rule(here.id, "run all tests", &world.person)
        .await;
    assert_eq!(edited.expect("it is there").version, 2);
    assert!(world.standing.remove_rule(all.id).await.expect("it answers"));
    let _ = world.answer(&first.attempt, &World::words("done")).await;
    world.send(SendTo::Card(card), "more").await;
    let second = world.running_card(card).await;
    assert_eq!(
        told(world, &second.attempt).await,
        [("run all tests".to_owned(), 2)]
    );
    let stale = world.daemon.run_brief(&first.attempt).await.expect("it answers");
    assert!(matches!(stale, Fenced::Stale(_)), "{stale:?}");
    let _ = world.answer(&second.attempt, &World::words("done")).await;

    let plain = world.send(world.plain_card(), "tell me").await.card;
    let taken = world.take(Task::Turns).await.expect("it is ready");
    assert_eq!(taken.claimed.card, plain);
    assert_eq!(told(world, &taken.attempt).await, [], "it works on no codebase");
}

/// A rule that is added again is the same one, also after it was changed; the same words are no change; no change moves a rule.
pub async fn a_rule_is_written_once_and_keeps_its_place(world: &World) {
    let first = add(world, None, "one").await;
    let again = AddRule {
        rule: first.id,
        ..new_rule(world, None, "another")
    };
    let second = add(world, None, "two\u{0}\u{10}").await;
    assert_eq!(world.standing.add_rule(&again).await.expect("it answers"), first);
    assert_eq!(bodies(world).await, ["one", "two\u{0}\u{10}"]);

    world.clock.advance(Duration::from_secs(9));
    let bea: Person = "Bea".parse().expect("a name");
    let same = world.standing.edit_rule(first.id, "one", &bea).await;
    assert_eq!(same.expect("it is there"), first);
    let edited = world
        .standing
        .edit_rule(first.id, "eins", &bea)
        .await
        .expect("it is there");
    assert_eq!(
        (edited.version, &edited.by, edited.created_at),
        (2, &bea, first.created_at)
    );
    assert!(edited.updated_at > first.updated_at);
    assert_eq!(world.standing.add_rule(&again).await.expect("it answers"), edited);
    assert_eq!(bodies(world).await, ["eins", "two\u{0}\u{10}"]);
    let all = world.standing.standing_rules().await.expect("it answers");
    assert_eq!(all, [edited, second.clone()]);

    let id = second.id.to_string();
    let found = world.standing.find_rule(&id[id.len() - 8..]).await;
    assert_eq!(found.expect("it is there"), second.id);
    assert!(world.standing.remove_rule(second.id).await.expect("it answers"));
    assert!(!world.standing.remove_rule(second.id).await.expect("it answers"));
    assert_eq!(bodies(world).await, ["eins"]);
}

/// A rule has words, 64 KiB at most, and a codebase that is known; nothing is written of one that is refused.
pub async fn a_bad_rule_is_refused(world: &World) {
    let rule = add(world, None, "one").await;
    let longest = "ö".repeat(32 << 10);
    for bad in [String::new(), " \n\t".to_owned(), format!("{longest}x")] {
        let refused = world.standing.add_rule(&new_rule(world, None, &bad)).await;
        assert_eq!(refused.expect_err("it is bad").class(), ErrorClass::Invalid);
        let refused = world.standing.edit_rule(rule.id, &bad, &ada()).await;
        assert_eq!(refused.expect_err("it is bad").class(), ErrorClass::Invalid);
    }
    let nowhere = CodebaseId::from_uuid(world.ids.uuid_v7());
    let refused = world
        .standing
        .add_rule(&new_rule(world, Some(nowhere), "two"))
        .await;
    assert_eq!(
        refused.expect_err("nobody knows it").class(),
        ErrorClass::NotFound
    );
    let nothing = RuleId::from_uuid(world.ids.uuid_v7());
    let refused = world.standing.edit_rule(nothing, "two", &ada()).await;
    assert_eq!(
        refused.expect_err("it is not there").class(),
        ErrorClass::NotFound
    );
    for unknown in ["ffffffff", "x", ""] {
        let refused = world.standing.find_rule(unknown).await;
        assert_eq!(
            refused.expect_err("it is not there").class(),
            ErrorClass::NotFound
        );
    }
    assert_eq!(bodies(world).await, ["one"]);
    let edited = world.standing.edit_rule(rule.id, &longest, &ada()).await;
    assert_eq!(edited.expect("it just fits").body, longest);
}
