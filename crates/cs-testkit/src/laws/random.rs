//! Random commands, so that two stores can be compared.

use std::time::Duration;

use cs_fence::{Attempt, Interruption, LandingAttempt};
use cs_journal::Action;
use cs_model::{AskId, CardId, Clock, FailureClass};
use cs_record::{AcceptLanding, AnswerAsk, LandingResult, PauseScope, SendTo};

use super::World;

/// Plays random commands on a world, and prints what each did. Two worlds over equal stores print the same.
#[derive(Debug)]
pub struct Player {
    world: World,
    cards: Vec<CardId>,
    attempts: Vec<Attempt>,
    asks: Vec<AskId>,
    landings: Vec<LandingAttempt>,
}

/// One command: which, and which of the known things it is about.
pub type Move = (u8, u8);

const ACTIONS: [Action; 4] = [
    Action::TakeTurns,
    Action::TakeRearms,
    Action::TakeResumes,
    Action::TakeLandings,
];
const CLASSES: [FailureClass; 5] = [
    FailureClass::Agent,
    FailureClass::RateLimit,
    FailureClass::Interrupted,
    FailureClass::InvalidRequest,
    FailureClass::Cancelled,
];

fn pick<T: Copy>(things: &[T], which: u8) -> Option<T> {
    // Newer things are the more interesting ones.
    let back = usize::from(which) % things.len().max(1);
    things
        .len()
        .checked_sub(1 + back)
        .and_then(|index| things.get(index))
        .copied()
}

impl Player {
    /// Makes a player of a fresh world.
    #[must_use]
    pub fn new(world: World) -> Self {
        Self {
            world,
            cards: Vec::new(),
            attempts: Vec::new(),
            asks: Vec::new(),
            landings: Vec::new(),
        }
    }

    /// Plays one command; returns what it answered and what the record looks like now.
    ///
    /// # Panics
    /// When the stored readiness of a card is not what its rows say.
    pub async fn play(&mut self, (command, which): Move) -> String {
        self.world.clock.advance(Duration::from_secs(u64::from(which)));
        let said = match command % 16 {
            0 => self.send_new().await,
            1 => self.send_more(which).await,
            2..=5 => self.claim(ACTIONS[usize::from(command % 16 - 2)], which).await,
            6 => self.answer(which, false).await,
            7 => self.answer(which, true).await,
            8 => self.give_up(which).await,
            9 => self.interrupt(which).await,
            10 => self.process(which).await,
            11 => self.reply(which).await,
            12 => self.accept(which).await,
            13 => self.settle_landing(which).await,
            14 => self.stop(which).await,
            _ => self.pause(which).await,
        };
        self.world.check_readiness().await;
        format!("{said}\n{}", self.world.picture().await)
    }

    async fn send_new(&mut self) -> String {
        let sent = self
            .world
            .people
            .send(&self.world.new_turn(self.world.new_card(), "please"))
            .await;
        if let Ok(sent) = &sent {
            self.cards.push(sent.card);
        }
        format!("{sent:?}")
    }

    async fn send_more(&self, which: u8) -> String {
        let Some(card) = pick(&self.cards, which) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world
                .people
                .send(&self.world.new_turn(SendTo::Card(card), "more"))
                .await
        )
    }

    async fn claim(&mut self, action: Action, which: u8) -> String {
        let claimed = self.world.claim(action, u32::from(which % 4)).await;
        if let Ok((receipt, request)) = &claimed {
            self.attempts
                .extend(receipt.runs.iter().map(|run| run.attempt(&request.seed)));
            self.landings.extend(
                receipt
                    .landings
                    .iter()
                    .map(|landing| landing.attempt(&request.seed)),
            );
        }
        format!("{:?}", claimed.map(|(receipt, _)| receipt))
    }

    async fn answer(&mut self, which: u8, asks: bool) -> String {
        let Some(attempt) = pick(&self.attempts, which) else {
            return String::new();
        };
        let offer = (which.is_multiple_of(2)).then(cs_settle::Offer::default);
        let answer = if asks {
            self.world.question(&[], offer)
        } else {
            World::words("done")
        };
        self.asks.extend(answer.ask.as_ref().map(|ask| ask.id));
        format!("{:?}", self.world.settlements.answer(&attempt, &answer).await)
    }

    async fn give_up(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which / 8) else {
            return String::new();
        };
        let class = CLASSES[usize::from(which) % CLASSES.len()];
        format!("{:?}", self.world.give_up(&attempt, class).await)
    }

    async fn interrupt(&self, which: u8) -> String {
        let reports: Vec<_> = (0..which % 3)
            .filter_map(|back| pick(&self.attempts, back))
            .map(|attempt| Interruption {
                attempt,
                at: self.world.clock.now(),
            })
            .collect();
        let operation = self.world.operation();
        let said = self
            .world
            .attempts
            .interrupt(self.world.machine, operation, &reports)
            .await;
        let again = self
            .world
            .attempts
            .interrupt(self.world.machine, operation, &reports)
            .await;
        format!("{said:?} {again:?}")
    }

    async fn process(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which / 2) else {
            return String::new();
        };
        let process = World::process(7);
        if which.is_multiple_of(2) {
            return format!(
                "{:?}",
                self.world.attempts.record_process(&attempt, &process).await
            );
        }
        format!(
            "{:?}",
            self.world.attempts.clear_process(&attempt, &process).await
        )
    }

    async fn reply(&self, which: u8) -> String {
        let Some(ask) = pick(&self.asks, which) else {
            return String::new();
        };
        let answer = AnswerAsk {
            ask,
            body: "left".to_owned(),
            person: self.world.person.clone(),
        };
        format!("{:?}", self.world.people.answer_ask(&answer).await)
    }

    async fn accept(&self, which: u8) -> String {
        let Some(card) = pick(&self.cards, which) else {
            return String::new();
        };
        let accept = AcceptLanding {
            landing: self.world.landing_id(),
            card,
            person: self.world.person.clone(),
        };
        format!("{:?}", self.world.people.accept_landing(&accept).await)
    }

    async fn settle_landing(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.landings, which / 4) else {
            return String::new();
        };
        let report = "as it is".to_owned();
        let commit = "0123abcd".to_owned();
        let result = match which % 4 {
            0 => LandingResult::Landed { commit, report },
            1 => LandingResult::Conflict { report },
            2 => LandingResult::Refused { report },
            _ => return format!("{:?}", self.world.landings.release_landing(&attempt).await),
        };
        format!(
            "{:?}",
            self.world.landings.settle_landing(&attempt, &result).await
        )
    }

    async fn stop(&self, which: u8) -> String {
        let Some(card) = pick(&self.cards, which) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world.people.stop_card(card, &self.world.person).await
        )
    }

    async fn pause(&self, which: u8) -> String {
        let scope = if which.is_multiple_of(2) {
            PauseScope::Everything
        } else {
            PauseScope::Machine(self.world.machine)
        };
        if which % 8 < 2 {
            return format!(
                "{:?}",
                self.world.machines.pause(scope, None, &self.world.person).await
            );
        }
        format!("{:?}", self.world.machines.unpause(scope).await)
    }
}
