//! Random commands, so that two stores can be compared.

use std::time::Duration;

use cs_fence::{Attempt, Interruption, LandingAttempt};
use cs_journal::{Child, Target, Task};
use cs_model::{AskId, AskTo, Cap, CardId, Clock, FailureClass, LandMethod, PauseKind, Priority};
use cs_record::{AcceptLanding, AnswerAsk, Chosen, HandBack, LandingResult, Route, Scope, SendTo};
use cs_settle::Capped;

use super::World;
use super::landed::{passed, verify_failed};
use super::usage::some_use;
use super::world::AGENT;

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

const CLASSES: [FailureClass; 9] = [
    FailureClass::Authentication,
    FailureClass::Credit,
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
        match command % 64 {
            0..=1 => self.send_new().await,
            2..=4 => self.send_more(which).await,
            5..=9 => self.claim(Task::Turns, which).await,
            10..=12 => self.claim(Task::Rearms, which).await,
            13..=16 => self.claim(Task::Resumes, which).await,
            17..=19 => self.claim(Task::Landings, which).await,
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
            41 => self.pause(which).await,
            42..=44 => self.dispatch(which).await,
            45..=46 => self.ask(which).await,
            47 => self.settle_ask(which).await,
            48 => self.retry(which).await,
            49 => self.close(which).await,
            50 => self.hand_back(which).await,
            51..=52 => self.target(which).await,
            53 => self.claim(Task::Recovery, which).await,
            54..=55 => self.plan(which).await,
            56 => self.limit(which).await,
            57 => self.unpark().await,
            58..=61 => self.brief(which).await,
            _ => self.forget(which).await,
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
        let mut turn = self.world.new_turn(SendTo::Card(card), "more");
        turn.choice.model = match which % 3 {
            0 => None,
            1 => Some(Chosen::OfTheAgent),
            _ => Some(Chosen::This(format!("model-{which}"))),
        };
        format!("{:?}", self.world.people.send(&turn).await)
    }

    async fn claim(&mut self, task: Task, which: u8) -> String {
        let claimed = self.world.claim(task, 1 + u32::from(which % 3)).await;
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
        if which % 16 == 7 {
            let capped = Capped {
                cap: Cap::Wall,
                reason: "it worked for too long".to_owned(),
                used: some_use(which),
            };
            return format!("{:?}", self.world.settlements.capped(&attempt, &capped).await);
        }
        if which % 16 == 11 {
            let used = some_use(which);
            return format!("{:?}", self.world.settlements.used(&attempt, &used).await);
        }
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
        let (attempts, process) = (&self.world.attempts, World::process(7));
        format!("{:?}", attempts.record_process(&attempt, &process).await)
    }

    async fn clear_process(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which % 6) else {
            return String::new();
        };
        let (attempts, process) = (&self.world.attempts, World::process(7));
        format!("{:?}", attempts.clear_process(&attempt, &process).await)
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
        let mut accept = AcceptLanding::new(self.world.landing_id(), card, self.world.person.clone());
        if which % 16 >= 12 {
            accept.onto = Some("next".to_owned());
            accept.method = Some(LandMethod::Squash);
        }
        format!("{:?}", self.world.people.accept_landing(&accept).await)
    }

    async fn settle_landing(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.landings, which / 128) else {
            return String::new();
        };
        let report = "as it is".to_owned();
        let commit = "0123abcd".to_owned();
        let result = match which % 8 {
            0 => LandingResult::Published { report },
            1 => verify_failed(report, &commit),
            4 => passed(report, commit),
            5 => LandingResult::Conflict { report },
            2 | 6 => LandingResult::Refused { report },
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
        let scope = match which % 3 {
            0 => Scope::Everything,
            1 => Scope::Machine(self.world.machine),
            _ => Scope::Codebase(self.world.codebase),
        };
        let kind = if which.is_multiple_of(2) {
            PauseKind::Pause
        } else {
            PauseKind::Drain
        };
        let paused = self
            .world
            .machines
            .pause(scope, kind, None, &self.world.person)
            .await;
        let claimed = self.claim(Task::Turns, which).await;
        let ended = self.world.machines.unpause(scope).await;
        format!("{paused:?} {claimed} {ended:?}")
    }

    async fn dispatch(&mut self, which: u8) -> String {
        let Some(parent) = pick(&self.attempts, which % 4) else {
            return String::new();
        };
        let child = Child {
            parent,
            codebase: None,
            model: (which.is_multiple_of(3)).then(|| "small".to_owned()),
            effort: None,
            brief: if which == 7 {
                String::new()
            } else {
                format!("part {which}")
            },
        };
        self.claim(Task::Child(child), which).await
    }

    async fn ask(&mut self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which % 3) else {
            return String::new();
        };
        let mut question = self.world.question(&[], None).ask.expect("it asks");
        question.to = if which.is_multiple_of(2) {
            AskTo::Parent
        } else {
            AskTo::Person
        };
        self.asks.push(question.id);
        format!("{:?}", self.world.agents.ask(&attempt, &question).await)
    }

    async fn settle_ask(&self, which: u8) -> String {
        let (Some(attempt), Some(ask)) = (pick(&self.attempts, which % 4), pick(&self.asks, which / 8 % 4))
        else {
            return String::new();
        };
        format!("{:?}", self.world.agents.settle_ask(&attempt, ask, "left").await)
    }

    async fn retry(&self, which: u8) -> String {
        let Some(card) = pick(&self.cards, which % 4) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world.people.retry_card(card, &self.world.person).await
        )
    }

    async fn close(&self, which: u8) -> String {
        let Some(card) = pick(&self.cards, which % 8) else {
            return String::new();
        };
        format!(
            "{:?}",
            self.world.people.close_card(card, &self.world.person).await
        )
    }

    async fn hand_back(&self, which: u8) -> String {
        let Some(card) = pick(&self.cards, which % 4) else {
            return String::new();
        };
        let hand_back = HandBack {
            card,
            agent: None,
            to_any_machine: which.is_multiple_of(2),
            person: self.world.person.clone(),
        };
        format!("{:?}", self.world.people.hand_back(&hand_back).await)
    }

    async fn target(&mut self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which % 4) else {
            return String::new();
        };
        let target = Target {
            run: attempt.run,
            after: attempt.epoch,
        };
        let task = if which.is_multiple_of(2) {
            Task::Resume(target)
        } else {
            Task::Activate(target)
        };
        self.claim(task, which).await
    }

    async fn plan(&self, which: u8) -> String {
        let (Some(card), Some(after)) = (pick(&self.cards, which % 4), pick(&self.cards, which / 4 % 4))
        else {
            return String::new();
        };
        let mut turn = self.world.new_turn(SendTo::Card(card), "in time");
        turn.plan.after = (which.is_multiple_of(2)).then_some(after).into_iter().collect();
        turn.plan.priority = Priority::new(i16::from(which % 3));
        turn.plan.not_before =
            (which.is_multiple_of(5)).then(|| self.world.clock.now().plus(Duration::from_secs(60)));
        format!("{:?}", self.world.people.send(&turn).await)
    }

    async fn limit(&mut self, which: u8) -> String {
        let scope = if which.is_multiple_of(2) {
            Scope::Machine(self.world.machine)
        } else {
            Scope::Codebase(self.world.codebase)
        };
        let most = Some(u32::from(which / 2 % 4)).filter(|most| *most < 3);
        let set = self.world.machines.limit(scope, most, &self.world.person).await;
        let claimed = self.claim(Task::Turns, which).await;
        format!("{set:?} {claimed}")
    }

    async fn unpark(&self) -> String {
        let route = Route {
            machine: self.world.machine,
            agent: AGENT.parse().expect("a name"),
        };
        format!("{:?}", self.world.machines.unpark(&route).await)
    }

    async fn brief(&self, which: u8) -> String {
        let Some(attempt) = pick(&self.attempts, which % 4) else {
            return String::new();
        };
        format!("{:?}", self.world.daemon.run_brief(&attempt).await)
    }

    async fn forget(&self, which: u8) -> String {
        // Eight days pass at once, so that there is something to forget.
        if which.is_multiple_of(16) {
            self.world.clock.advance(Duration::from_secs(8 * 24 * 3600));
        }
        let dry_run = which.is_multiple_of(2);
        let old = self
            .world
            .housekeeping
            .forget_operations(u32::from(which % 5), dry_run)
            .await;
        format!("{old:?}")
    }
}
