//! Laws of attachments.

use std::time::Duration;

use cs_fence::Fenced;
use cs_journal::Task;
use cs_model::{AttachmentId, CardId, IdSource, TurnState};
use cs_record::{Attach, Attachment, Content, ContentHash, ErrorClass, NewAttachment, RecordError, SendTo};

use super::World;

const MIB: usize = 1 << 20;

fn file(world: &World, name: &str, bytes: impl Into<Vec<u8>>) -> NewAttachment {
    NewAttachment {
        id: AttachmentId::from_uuid(world.ids.uuid_v7()),
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        content: Content::from(bytes.into()),
    }
}

async fn attach(
    world: &World,
    card: CardId,
    files: Vec<NewAttachment>,
) -> Result<Vec<Attachment>, RecordError> {
    world.clock.advance(Duration::from_secs(1));
    let person = world.person.clone();
    world.files.attach(&Attach { card, files, person }).await
}

async fn names(world: &World, card: CardId) -> Vec<String> {
    let all = world.files.attachments(card).await.expect("it answers");
    all.into_iter().map(|one| one.name).collect()
}

/// What was attached comes back byte for byte, with a turn and later; it reaches the attempts that begin after it, and starts nothing by
/// itself (OW-9). The same again changes nothing.
pub async fn what_is_attached_reaches_the_next_attempt(world: &World) {
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let mut turn = world.new_turn(world.new_card(), "look at this");
    turn.attachments = vec![
        file(world, "all bytes.bin", bytes.clone()),
        file(world, "empty", ""),
    ];
    let card = world.people.send(&turn).await.expect("a good turn").card;
    let again = world.people.send(&turn).await.expect("the same turn");
    assert_eq!(again.card, card);
    let all = world.files.attachments(card).await.expect("it answers");
    assert_eq!(names(world, card).await, ["all bytes.bin", "empty"]);
    assert_eq!(
        (all[0].size_bytes, all[0].sha256),
        (70_000, ContentHash::of(&bytes))
    );
    assert_eq!((&all[0].by, all[0].card), (&world.person, card));
    let read = world.files.attached(all[0].id).await.expect("it is there");
    assert_eq!(read.bytes(), bytes);

    let first = world.running_card(card).await;
    let brief = world.daemon.run_brief(&first.attempt).await.expect("it answers");
    assert!(matches!(brief, Fenced::Applied(brief) if brief.attachments == all));
    let read = world.daemon.attached(all[1].id).await.expect("it is there");
    assert_eq!(read.bytes(), b"");
    let _ = world.answer(&first.attempt, &World::words("seen")).await;

    let later = file(world, "later", "late");
    let became = attach(world, card, vec![later.clone()])
        .await
        .expect("it is taken");
    assert_eq!(attach(world, card, vec![later]).await.expect("the same"), became);
    assert!(world.take(Task::Turns).await.is_none(), "a file starts nothing");
    world.send(SendTo::Card(card), "and this").await;
    let second = world.running_card(card).await;
    let brief = world.daemon.run_brief(&second.attempt).await.expect("it answers");
    assert!(matches!(brief, Fenced::Applied(brief) if brief.attachments.len() == 3));
    let _ = world.answer(&second.attempt, &World::words("done")).await;
    let other = world.card().await;
    assert_eq!(names(world, other).await, [""; 0]);
}

/// A file whose name is taken gets a number; one that was taken away is gone, and its name is free.
pub async fn files_of_a_card_have_different_names(world: &World) {
    let card = world.card().await;
    let two = vec![file(world, "a.png", "1"), file(world, "a.png", "2")];
    let became = attach(world, card, two).await.expect("they are taken");
    assert_eq!(
        (became[0].name.as_str(), became[1].name.as_str()),
        ("a.png", "a-2.png")
    );
    let other = world.card().await;
    let same = attach(world, other, vec![file(world, "a.png", "3")]).await;
    assert_eq!(same.expect("it is another card")[0].name, "a.png");
    let gone = became[0].id;
    assert!(
        !world.files.detach(other, gone).await.expect("it answers"),
        "it is not of this card"
    );
    assert!(world.files.detach(card, gone).await.expect("it answers"));
    assert!(!world.files.detach(card, gone).await.expect("it answers"));
    let missing = world.files.attached(gone).await;
    assert_eq!(missing.expect_err("it is gone").class(), ErrorClass::NotFound);
    let third = attach(world, card, vec![file(world, "a.png", "4")]).await;
    assert_eq!(third.expect("its name is free")[0].name, "a.png");
    assert_eq!(names(world, card).await, ["a-2.png", "a.png"]);
}

/// A file is 20 MiB long at most, a card has 100 MiB of them at most, and a closed card takes none; of several files and their turn all are
/// taken, or nothing is.
pub async fn a_bad_file_is_refused_with_its_turn(world: &World) {
    let card = world.card().await;
    let big = vec![0; 20 * MIB];
    for (name, bytes) in [
        ("../x", b"x".to_vec()),
        ("", b"x".to_vec()),
        ("big", [&big[..], b"x"].concat()),
    ] {
        let mut turn = world.new_turn(SendTo::Card(card), "see");
        turn.attachments = vec![file(world, "good", "x"), file(world, name, bytes.clone())];
        let refused = world.people.send(&turn).await.expect_err("it is bad");
        assert_eq!(refused.class(), ErrorClass::Invalid, "{refused}");
        turn.to = world.new_card();
        world
            .people
            .send(&turn)
            .await
            .expect_err("it is bad on a new card too");
        let refused = attach(world, card, vec![file(world, name, bytes)]).await;
        assert_eq!(refused.expect_err("it is bad").class(), ErrorClass::Invalid);
    }
    assert_eq!(names(world, card).await, [""; 0]);
    let cards = world
        .cards
        .cards(cs_record::CardFilter::All)
        .await
        .expect("it answers");
    assert_eq!(cards.rows.len(), 1);
    let turns = world
        .cards
        .turns(card, cs_model::TurnSeq::START, 9)
        .await
        .expect("it answers");
    assert_eq!(
        turns.iter().map(|turn| turn.state).collect::<Vec<_>>(),
        [TurnState::Pending]
    );

    let closed = world.card().await;
    let closing = world.people.close_card(closed, &world.person).await;
    closing.expect("nothing moves");
    let refused = attach(world, closed, vec![file(world, "late", "x")]).await;
    assert_eq!(refused.expect_err("it is closed").class(), ErrorClass::Conflict);
    let nowhere = CardId::from_uuid(world.ids.uuid_v7());
    let refused = attach(world, nowhere, vec![file(world, "x", "x")]).await;
    assert_eq!(
        refused.expect_err("it is not there").class(),
        ErrorClass::NotFound
    );
    let refused = world.files.attachments(nowhere).await;
    assert_eq!(
        refused.expect_err("it is not there").class(),
        ErrorClass::NotFound
    );
}

/// All files of a card have 100 MiB at most.
pub async fn a_card_that_is_full_takes_no_more(world: &World) {
    let card = world.card().await;
    let big = vec![0; 20 * MIB];
    for number in 0..5 {
        let big = file(world, &format!("big {number}"), big.clone());
        attach(world, card, vec![big]).await.expect("there is room");
    }
    let refused = attach(world, card, vec![file(world, "one more", "x")]).await;
    assert_eq!(
        refused.expect_err("the card is full").class(),
        ErrorClass::Conflict
    );
    assert_eq!(names(world, card).await.len(), 5);
}
