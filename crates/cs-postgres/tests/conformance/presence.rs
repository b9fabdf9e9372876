//! What it costs to say that a daemon is still there.

use std::sync::Arc;

use cs_fence::TokenHash;
use cs_record::Present;

use crate::schema::Schema;

/// Refuses to write what a daemon says of itself, as opposed to when it was seen.
const NOTHING_NEW: &str = "
    create function nothing_new() returns trigger language plpgsql as $$ begin raise 'something new'; end $$;
    create trigger nothing_new before update of name, person, boot_id, daemon on machines
    for each statement execute function nothing_new()";

#[tokio::test]
async fn a_daemon_that_says_nothing_new_only_renews_when_it_was_seen() {
    let schema = Arc::new(Schema::new().await);
    let world = schema.world().await;
    let same = Present {
        machine: world.machine,
        name: "desk\0".to_owned(),
        person: world.person.clone(),
        boot_id: "boot".to_owned(),
        daemon: TokenHash::from_bytes([1; 32]),
        follows: Vec::new(),
        codebases: vec![world.codebase],
        serves_everyone: false,
    };
    world.machines.present(&same).await.expect("it is free");
    let done = sqlx::raw_sql(NOTHING_NEW).execute(&mut schema.raw().await).await;
    done.expect("a trigger can be made");
    world.machines.present(&same).await.expect("nothing is new");
    let renamed = Present {
        name: "table".to_owned(),
        ..same
    };
    assert!(world.machines.present(&renamed).await.is_err(), "the name is new");
}
