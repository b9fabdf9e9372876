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

const CLASSES: [FailureClass; 7] = [
    FailureClass::Agent,
    FailureClass::Agent,
    FailureClass::Overloaded,
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

    /// Plays one command and returns what it answered. What makes a card go on is played more often than what ends it.
    pub async fn play(&mut self, (command, which): Move) -> String {
        self.world
            .clock
            .advance(Duration::from_secs(u64::from(which) * 3));
        match command % 42 {
            0..=1 => self.send_new().await,
            2..=4 => self.send_more(which).await,
            5..=9 => self.claim(Action::TakeTurns, which).await,
            10..=12 => self.claim(Action::TakeRearms, which).await,
            13..=16 => self.claim(Action::TakeResumes, which).await,
            17..=19 => self.claim(Action::TakeLandings, which).await,
            20..=22 => self.answer(which, false).await,
            23..=26 => self.answer(which, true).await,
            27..=29 => self.give_up(which).await,
            30 => self.interrupt(which).await,
            31 => self.record_process(which).await,
            32..=33 => self.clear_process(which).await,
            34..=35 => self.reply(which).await,
            36..=37 => self.accept(which).await,
            38..=39 => self.settle_landing(which).await,
            40 => self.stop(which).await,
            _ => self.pause(which).await,
        }
    }

    /// Returns what the record looks like now, after checking that what cards are stored to be ready for is what their rows say.
    ///
    /// # Panics
    /// When it is not.
    pub async fn look(&self) -> String {
        self.world.check_readiness().await;
        self.world.picture().await
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
        let Some(card) = pick(&self.cards, which % 4) else {
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
        let claimed = self.world.claim(action, 1 + u32::from(which % 3)).await;
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
        let Some(attempt) = pick(&self.attempts, which % 4) else {
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
        let Some(attempt) = pick(&self.attempts, which / 64) else {
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

    async fn record_process(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which % 3) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world
                .attempts
                .record_process(&attempt, &World::process(7))
                .await
        )
    }

    async fn clear_process(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which % 6) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world
                .attempts
                .clear_process(&attempt, &World::process(7))
                .await
        )
    }

    async fn reply(&self, which: u8) -> String {
        let Some(ask) = pick(&self.asks, which % 4) else {
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
        let Some(card) = pick(&self.cards, which % 4) else {
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
        let Some(attempt) = pick(&self.landings, which / 128) else {
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
        let Some(card) = pick(&self.cards, which % 4) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world.people.stop_card(card, &self.world.person).await
        )
    }

    /// Pauses, tries to take something, and ends the pause.
    async fn pause(&mut self, which: u8) -> String {
        let scope = if which.is_multiple_of(2) {
            PauseScope::Everything
        } else {
            PauseScope::Machine(self.world.machine)
        };
        let paused = self.world.machines.pause(scope, None, &self.world.person).await;
        let claimed = self.claim(Action::TakeTurns, which).await;
        let ended = self.world.machines.unpause(scope).await;
        format!("{paused:?} {claimed} {ended:?}")
    }
}
