//! What the random commands do not reach does the same on Postgres as in memory: launchers, owners of another codebase than their
//! card's, and machines that serve one person.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use cs_fence::{Attempt, ProcessFact, TokenHash};
use cs_journal::{Child, ClaimRequest, Task};
use cs_model::{
    AskId, AskTo, CardId, CodebaseId, IdSource, MachineId, Opening, OperationId, Priority, TurnId,
};
use cs_record::{Present, Send, SendTo};
use cs_settle::{Answer, NewAsk};
use cs_testkit::laws::World;
use cs_testkit::laws::random::Player;
use cs_testkit::{MemoryStore, SetClock};

use crate::acts::{child, request};
use crate::schema::Schema;

/// A world, and what it has answered so far.
struct Tour {
    world: World,
    said: Vec<String>,
}

impl Tour {
    fn say(&mut self, said: impl Debug) {
        self.said.push(format!("{said:#?}"));
    }

    async fn claim(&mut self, machine: MachineId, task: Task) -> Vec<Attempt> {
        self.world.clock.advance(Duration::from_secs(1));
        let world = &self.world;
        let request = ClaimRequest {
            task,
            ..request(world, 9)
        };
        let operation = OperationId::from_uuid(world.ids.uuid_v7());
        let receipt = world.claims.claim(machine, operation, &request).await;
        self.say(&receipt);
        let runs = receipt.expect("the record answers").runs;
        runs.iter().map(|run| run.attempt(&request.seed)).collect()
    }

    async fn send_new(&mut self, opening: Opening, codebase: Option<CodebaseId>, priority: i16) {
        let world = &self.world;
        let to = SendTo::NewCard {
            card: CardId::from_uuid(world.ids.uuid_v7()),
            title: "make it go".to_owned(),
            codebase,
            base: None,
            agent: "mine".parse().expect("a name"),
            opening,
        };
        let turn = TurnId::from_uuid(world.ids.uuid_v7());
        let mut send = Send::new(turn, to, world.person.clone(), "please \0");
        send.plan.priority = Priority::new(priority);
        let sent = world.people.send(&send).await;
        self.say(sent);
    }

    async fn answer(&mut self, attempt: &Attempt) {
        let said = self
            .world
            .settlements
            .answer(attempt, &Answer::words("done \0"))
            .await;
        self.say(said);
    }

    async fn brief(&mut self, attempt: &Attempt) {
        let brief = self.world.daemon.run_brief(attempt).await;
        self.say(brief);
    }

    async fn present(&mut self, machine: MachineId, person: &str, serves_everyone: bool) {
        let present = Present {
            machine,
            name: "a machine".to_owned(),
            person: person.parse().expect("a name"),
            boot_id: "boot".to_owned(),
            daemon: TokenHash::from_bytes([7; 32]),
            follows: Vec::new(),
            codebases: vec![self.world.codebase],
            serves_everyone,
        };
        let said = self.world.machines.present(&present).await;
        self.say(said);
    }

    async fn peek(&mut self, machine: MachineId) {
        let peeked = self.world.daemon.peek(machine, &["mine".to_owned()]).await;
        self.say(peeked);
    }

    /// A launcher finds the codebase and sends the owner, whose workers ask and report.
    async fn launcher_owner_and_workers(&mut self) {
        let (machine, codebase) = (self.world.machine, self.world.codebase);
        self.send_new(Opening::Launcher, None, 0).await;
        let launcher = self.claim(machine, Task::Turns).await.remove(0);
        self.brief(&launcher).await;
        let owner = Child {
            codebase: Some(codebase),
            ..child(launcher)
        };
        let owner_of = self.claim(machine, Task::Child(owner.clone())).await.remove(0);
        assert!(
            self.claim(machine, Task::Child(owner)).await.is_empty(),
            "it has its owner"
        );
        self.answer(&launcher).await;
        let worker = Child {
            model: Some("small \0".to_owned()),
            effort: Some("low".to_owned()),
            ..child(owner_of)
        };
        let first = self.claim(machine, Task::Child(worker.clone())).await.remove(0);
        let second = self.claim(machine, Task::Child(worker)).await.remove(0);
        let question = NewAsk {
            id: AskId::from_uuid(self.world.ids.uuid_v7()),
            question: "which way?".to_owned(),
            choices: Vec::new(),
            offer: None,
            to: AskTo::Parent,
        };
        let process = ProcessFact {
            pid: 7,
            start_ticks: 700,
            boot_id: "boot".to_owned(),
        };
        let noted = self.world.attempts.record_process(&first, &process).await;
        self.say(noted);
        let asked = self.world.agents.ask(&first, &question).await;
        self.say(asked);
        self.answer(&first).await;
        let cleared = self.world.attempts.clear_process(&first, &process).await;
        self.say(cleared);
        self.answer(&owner_of).await;
        let again = self.claim(machine, Task::Rearms).await.remove(0);
        self.brief(&again).await;
        let settled = self.world.agents.settle_ask(&again, question.id, "left").await;
        self.say(settled);
        self.answer(&second).await;
        self.answer(&again).await;
        let first = self.claim(machine, Task::Rearms).await.remove(0);
        self.brief(&first).await;
        self.answer(&first).await;
        let reads = self.claim(machine, Task::Rearms).await.remove(0);
        self.brief(&reads).await;
        self.answer(&reads).await;
    }

    /// Of two machines with the codebase one serves another person.
    async fn machines_of_two_people(&mut self) {
        let (mine, other) = (self.world.machine, MachineId::from_uuid(self.world.ids.uuid_v7()));
        let codebase = Some(self.world.codebase);
        for priority in [-100, 3, 100] {
            self.send_new(Opening::Owner, codebase, priority).await;
        }
        self.present(other, "Bob", false).await;
        self.peek(other).await;
        assert!(
            self.claim(other, Task::Turns).await.is_empty(),
            "nothing of it is Bob's"
        );
        self.present(mine, "Ada", false).await;
        self.peek(mine).await;
        self.present(other, "Bob", true).await;
        self.peek(other).await;
        assert_eq!(self.claim(other, Task::Turns).await.len(), 3);
        self.peek(mine).await;
    }
}

async fn tour(world: World) -> Vec<String> {
    let mut tour = Tour {
        world,
        said: Vec::new(),
    };
    tour.launcher_owner_and_workers().await;
    tour.machines_of_two_people().await;
    let mut said = tour.said;
    said.push(Player::new(tour.world).look().await);
    said
}

#[tokio::test]
async fn postgres_does_on_a_tour_what_memory_does() {
    let clock = Arc::new(SetClock::new());
    let memory = World::new(MemoryStore::new(Arc::clone(&clock) as _), clock, ()).await;
    let postgres = Arc::new(Schema::new().await).world().await;
    let (memory, postgres) = (tour(memory).await, tour(postgres).await);
    assert_eq!(memory.len(), postgres.len());
    for (memory, postgres) in memory.into_iter().zip(postgres) {
        assert_eq!(memory, postgres);
    }
}
