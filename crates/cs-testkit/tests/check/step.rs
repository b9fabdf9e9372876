//! What an act makes of a state.

use std::sync::Arc;

use cs_fence::Attempt;
use cs_journal::pure::{Event, RunEvent, RunKey, Stage, confirmed};
use cs_journal::{ClaimError, Receipt};
use cs_model::{Epoch, OperationId, RunState, TurnId, TurnState};
use cs_record::{HandBack, PeopleActs, Send, SendTo};

use crate::act::{Act, Fate, take_of};
use crate::machine::{Exec, Flight, Hand, Machine, Outcome, Refused, Take, operation, report, request};
use crate::record::{Rows, at_once, card, now, person, turn};
use crate::seams::{self, Variant};
use crate::state::{Message, State, Violation};

/// Carries out an act; nothing when it changes nothing.
pub(crate) fn step(variant: Variant, before: &State, act: Act) -> Option<State> {
    let mut state = before.clone();
    let mut system = System {
        variant,
        state: &mut state,
    };
    match system.act(act) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(Refused) => state.violation = Some(Violation::Refused),
    }
    Some(state)
}

struct System<'a> {
    variant: Variant,
    state: &'a mut State,
}

impl System<'_> {
    fn act(&mut self, act: Act) -> Result<bool, Refused> {
        match act {
            Act::Say => self.say(),
            Act::Stop => {
                self.state.left.stops -= 1;
                return Ok(self.person(|record| at_once(record.stop_card(card(), &person())).is_ok()));
            }
            Act::HandBack => {
                self.state.left.hand_backs -= 1;
                let free = HandBack {
                    card: card(),
                    agent: None,
                    to_any_machine: true,
                    person: person(),
                };
                return Ok(self.person(|record| at_once(record.hand_back(&free)).is_ok()));
            }
            Act::Arrive { message } => {
                let message = self.state.late.remove(message);
                self.arrive(message);
            }
            Act::Begin { on, take } => self.begin(on, take)?,
            Act::Send { on, operation, fate } => self.send(on, operation, fate),
            Act::Confirm { on, operation, fate } => self.confirm(on, operation, fate)?,
            Act::DropWindow { on, at } => self.drop_window(on, at),
            Act::Adopt { on, at } => self.state.machine_mut(on).set_hand(at, Hand::Taken),
            Act::Recover { on, key } => {
                let machine = self.state.machine_mut(on);
                if !machine.holds.hold_run(&machine.ledger, key) {
                    return Ok(false);
                }
                machine.hands.push((key, Hand::Taken));
                machine.hands.sort_unstable();
            }
            Act::Step { on, at } => self.go_on(on, at)?,
            Act::FailStart { on, at } => {
                self.state.left.failures -= 1;
                let machine = self.state.machine_mut(on);
                let (key, _) = machine.hands[at];
                machine.run_event(
                    key,
                    RunEvent::Failed {
                        reason: "no".to_owned(),
                    },
                )?;
            }
            Act::Tell { on, at, fate } => self.tell(on, at, fate)?,
            Act::Report { on, at, fate } => self.report(on, at, fate)?,
            Act::End { on, exec, outcome } => {
                self.state
                    .machine_mut(on)
                    .execs
                    .insert(exec, Exec::Ended(outcome));
            }
            Act::Cut { on, exec } => {
                self.state.left.cuts = self.state.left.cuts.saturating_sub(1);
                self.state.machine_mut(on).execs.insert(exec, Exec::Gone);
            }
            Act::Crash { on } => self.state.machine_mut(on).crash(),
        }
        Ok(true)
    }

    fn say(&mut self) {
        self.state.left.turns -= 1;
        let id = turn(2 + usize::from(self.state.left.turns));
        let send = Send::new(id, SendTo::Card(card()), person(), "and this");
        self.person(|record| at_once(record.send(&send)).is_ok());
    }

    /// A person acts; says whether the record took it.
    fn person(&mut self, act: impl FnOnce(&cs_record::Record<cs_testkit::MemoryStore>) -> bool) -> bool {
        let (rows, done) = self.state.rows.after(0, act);
        self.state.rows = rows;
        done
    }

    /// A request arrives of which nobody waits for the answer.
    fn arrive(&mut self, message: Message) {
        match message {
            Message::Claim {
                from,
                operation,
                take,
            } => drop(self.claimed(from, operation, take)),
            Message::Reconcile { from, operation } => {
                let (rows, _) = seams::reconcile(self.variant, &self.state.rows, from, operation);
                self.state.rows = rows;
            }
            Message::Tell { attempt, outcome, .. } => drop(self.told(&attempt, outcome)),
            Message::Report { from, attempt } => self.reported(from, &attempt),
        }
    }

    fn begin(&mut self, on: usize, take: Take) -> Result<(), Refused> {
        let machine = self.state.machine_mut(on);
        machine.begun += 1;
        let operation = operation(on, machine.begun);
        machine.append(&Event::ClaimBegun {
            operation,
            request: request(operation, take),
        })?;
        machine.holds.fly(operation);
        machine.flights.insert(operation, Flight::Begun);
        Ok(())
    }

    fn send(&mut self, on: usize, operation: OperationId, fate: Fate) {
        let take = take_of(&self.state.machines[on].ledger.claims()[&operation].task);
        self.spend(
            fate,
            Message::Claim {
                from: on,
                operation,
                take,
            },
        );
        let answer = self.arrives(fate).then(|| self.claimed(on, operation, take));
        let is_heard = matches!(fate, Fate::Good | Fate::Doubled) && matches!(answer, Some(Ok(_)));
        let machine = self.state.machine_mut(on);
        if is_heard {
            machine.flights.insert(operation, Flight::Answered);
        } else {
            machine.flights.remove(&operation);
            machine.holds.land(operation);
        }
    }

    /// The record carries out a claim, and is judged.
    fn claimed(&mut self, from: usize, operation: OperationId, take: Take) -> Result<Receipt, ClaimError> {
        let (rows, answer) = seams::claim(&self.state.rows, from, operation, take);
        let before = std::mem::replace(&mut self.state.rows, Arc::clone(&rows));
        if rows.is_same(&before) {
            if matches!(
                answer,
                Err(ClaimError::Corrupt(_) | ClaimError::Away(_) | ClaimError::ClockApart { .. })
            ) {
                self.found(Violation::Corrupt);
            }
            return answer;
        }
        let was_running = before
            .run
            .as_ref()
            .is_some_and(|run| run.state == RunState::Running);
        if self.state.facts.cancelled.contains(&operation) || before.entry(operation).is_some() {
            self.found(Violation::TwiceOrCancelled);
        }
        if was_running || rows.epoch().get() != before.epoch().get() + 1 {
            self.found(Violation::StaleEffect);
        }
        let given = rows.turns.iter().filter(|turn| turn.state == TurnState::Leased);
        self.state.facts.given.push(given.map(|turn| turn.id).collect());
        answer
    }

    fn confirm(&mut self, on: usize, operation: OperationId, fate: Fate) -> Result<(), Refused> {
        self.spend(fate, Message::Reconcile { from: on, operation });
        let machine = self.state.machine_mut(on);
        let asked = machine.ledger.claims()[&operation].task.action();
        if machine.flights.remove(&operation).is_none()
            && !machine.holds.fly_again(&machine.ledger, operation)
        {
            return Err(Refused);
        }
        let mut answer = None;
        if self.arrives(fate) {
            let (rows, said) = seams::reconcile(self.variant, &self.state.rows, on, operation);
            self.state.rows = rows;
            answer = Some(said);
        }
        let is_heard = matches!(fate, Fate::Good | Fate::Doubled);
        if let (true, Some(said)) = (is_heard, answer) {
            match said.map(|said| confirmed(operation, asked, said)) {
                Ok(Ok(Some(receipt))) => self.record(on, operation, receipt)?,
                Ok(Ok(None)) => {
                    self.state.facts.cancelled.insert(operation);
                    self.state
                        .machine_mut(on)
                        .append(&Event::ClaimCancelled { operation })?;
                }
                Ok(Err(_)) | Err(_) => self.found(Violation::Corrupt),
            }
        }
        self.state.machine_mut(on).holds.land(operation);
        Ok(())
    }

    /// Writes what a claim took; the attempts are held before anybody else can see them.
    fn record(&mut self, on: usize, operation: OperationId, receipt: Receipt) -> Result<(), Refused> {
        let keys: Vec<RunKey> = receipt.runs.iter().map(|row| (row.run, row.epoch)).collect();
        let machine = self.state.machine_mut(on);
        machine.append(&Event::ClaimRecorded { operation, receipt })?;
        for key in keys {
            if machine.holds.hold_run(&machine.ledger, key) {
                machine.hands.push((key, Hand::Window));
            }
        }
        machine.hands.sort_unstable();
        Ok(())
    }

    fn drop_window(&mut self, on: usize, at: usize) {
        let variant = self.variant;
        let machine = self.state.machine_mut(on);
        if variant == Variant::AdoptionAfterFinish {
            let (key, _) = machine.hands[at];
            machine.holds.release_run(key);
        } else {
            machine.let_go(at);
        }
    }

    /// The steps of a task that need no answer but the one of a read.
    fn go_on(&mut self, on: usize, at: usize) -> Result<(), Refused> {
        let (rows, variant) = (Arc::clone(&self.state.rows), self.variant);
        let machine = self.state.machine_mut(on);
        let (key, hand) = machine.hands[at];
        let exec = machine.exec(key);
        let entry = machine.ledger.runs().get(&key).ok_or(Refused)?;
        let attempt = entry.attempt;
        match (entry.stage.clone(), hand, exec) {
            (Stage::Claimed, ..) => prepare(variant, machine, at, 1),
            (Stage::Prepared { dir }, Hand::Window | Hand::Taken | Hand::Checked, _) => prepare(
                variant,
                machine,
                at,
                1 + dir.parse::<u8>().expect("the model's own number"),
            ),
            (Stage::Prepared { dir }, Hand::Prepared, None) => {
                let dir = dir.parse().expect("the model's own number");
                machine.execs.insert((key.1, dir), Exec::Held);
                Ok(())
            }
            (Stage::Prepared { .. }, Hand::Prepared, Some(_)) => {
                machine.run_event(key, RunEvent::Registered { shim: "s".to_owned() })
            }
            (Stage::Registered { .. }, _, None) => interrupt(machine, on, key),
            (Stage::Registered { .. }, Hand::Checked, Some((place, Exec::Held))) => {
                machine.execs.insert(place, Exec::Works);
                Ok(())
            }
            (Stage::Registered { .. }, _, Some((place, Exec::Held))) => {
                if seams::is_current(&rows, &attempt) {
                    machine.set_hand(at, Hand::Checked);
                    return Ok(());
                }
                machine.execs.remove(&place);
                machine.run_event(key, RunEvent::Void)?;
                machine.let_go(at);
                Ok(())
            }
            (Stage::Registered { .. }, ..) => {
                machine.run_event(
                    key,
                    RunEvent::Started {
                        agent: "a".to_owned(),
                    },
                )?;
                machine.set_hand(at, Hand::Taken);
                Ok(())
            }
            (Stage::Started(_), _, Some((_, Exec::Ended(outcome)))) => {
                machine.run_event(key, outcome_event(outcome))
            }
            (Stage::Started(_), _, Some((place, Exec::Gone))) => {
                machine.execs.remove(&place);
                interrupt(machine, on, key)
            }
            (Stage::Started(_), _, None) => interrupt(machine, on, key),
            (Stage::Acknowledged(_), ..) => {
                machine.execs.retain(|(epoch, _), _| *epoch != key.1);
                machine.run_event(key, RunEvent::Closed)?;
                machine.let_go(at);
                Ok(())
            }
            (
                Stage::Started(_) | Stage::Settling { .. } | Stage::Failed { .. } | Stage::Interrupted { .. },
                ..,
            ) => Err(Refused),
        }
    }

    fn tell(&mut self, on: usize, at: usize, fate: Fate) -> Result<(), Refused> {
        let (key, _) = self.state.machines[on].hands[at];
        let entry = self.state.machines[on].ledger.runs().get(&key).ok_or(Refused)?;
        let (attempt, stage) = (entry.attempt, entry.stage.clone());
        let outcome = match &stage {
            Stage::Settling { outcome, .. } => Outcome::read(outcome),
            Stage::Started(_) => match self.state.machines[on].exec(key) {
                Some((_, Exec::Ended(outcome))) => outcome,
                _ => return Err(Refused),
            },
            _ => Outcome::Failure,
        };
        self.spend(
            fate,
            Message::Tell {
                from: on,
                attempt,
                outcome,
            },
        );
        self.state.facts.told.insert(key.1);
        if self.arrives(fate) {
            let said = self.told(&attempt, outcome);
            if matches!(fate, Fate::Good | Fate::Doubled) && said {
                self.state.facts.heard.insert(key.1);
                let machine = self.state.machine_mut(on);
                if let Stage::Started(_) = stage {
                    machine.run_event(key, outcome_event(outcome))?;
                }
                machine.run_event(key, RunEvent::Acknowledged)?;
                if let Stage::Failed { .. } = stage {
                    machine.let_go(at);
                }
            }
        }
        Ok(())
    }

    /// The record is told an outcome, and judged. Says whether it answered.
    fn told(&mut self, attempt: &Attempt, outcome: Outcome) -> bool {
        let (rows, said) = seams::tell(self.variant, &self.state.rows, attempt, outcome);
        let before = std::mem::replace(&mut self.state.rows, Arc::clone(&rows));
        let Ok(is_applied) = said else {
            self.found(Violation::Corrupt);
            return false;
        };
        if is_applied == rows.is_same(&before) {
            self.found(Violation::Corrupt);
        }
        if is_applied {
            let epoch = attempt.epoch;
            if epoch != before.epoch() {
                self.found(Violation::StaleEffect);
            }
            if !self.state.facts.answered.insert(epoch) {
                self.found(Violation::AnsweredTwice);
            }
            let settled: Vec<TurnId> = newly_settled(&before, &rows).collect();
            if settled.iter().any(|turn| !self.was_given(epoch, *turn)) {
                self.found(Violation::ForeignTurn);
            }
            if outcome == Outcome::Answer {
                self.state.facts.answered_turns.extend(settled);
            }
        }
        true
    }

    fn report(&mut self, on: usize, at: usize, fate: Fate) -> Result<(), Refused> {
        let (key, _) = self.state.machines[on].hands[at];
        let attempt = self.state.machines[on]
            .ledger
            .runs()
            .get(&key)
            .ok_or(Refused)?
            .attempt;
        self.spend(fate, Message::Report { from: on, attempt });
        if self.arrives(fate) {
            self.reported(on, &attempt);
            if matches!(fate, Fate::Good | Fate::Doubled) {
                let machine = self.state.machine_mut(on);
                machine.run_event(key, RunEvent::Acknowledged)?;
                machine.let_go(at);
            }
        }
        Ok(())
    }

    fn reported(&mut self, from: usize, attempt: &Attempt) {
        let (rows, said) = seams::report(self.variant, &self.state.rows, from, attempt);
        let before = std::mem::replace(&mut self.state.rows, Arc::clone(&rows));
        if said.is_err() {
            self.found(Violation::Corrupt);
        }
        let is_done = self.state.facts.answered.contains(&attempt.epoch);
        if !rows.is_same(&before) && (attempt.epoch != before.epoch() || is_done) {
            self.found(Violation::StaleEffect);
        }
    }

    fn was_given(&self, epoch: Epoch, turn: TurnId) -> bool {
        let place = usize::try_from(epoch.get()).expect("small") - 1;
        self.state
            .facts
            .given
            .get(place)
            .is_some_and(|given| given.contains(&turn))
    }

    /// Takes a fault from the budget, and keeps the copy that may still arrive.
    fn spend(&mut self, fate: Fate, message: Message) {
        if fate != Fate::Good {
            self.state.left.faults -= 1;
        }
        if matches!(fate, Fate::Late | Fate::Doubled) {
            self.state.late.push(message);
        }
    }

    fn arrives(&self, fate: Fate) -> bool {
        match fate {
            Fate::Good | Fate::AnswerLost | Fate::Doubled => true,
            Fate::Lost | Fate::Late => false,
        }
    }

    fn found(&mut self, violation: Violation) {
        self.state.violation.get_or_insert(violation);
    }
}

fn newly_settled<'a>(before: &'a Rows, after: &'a Rows) -> impl Iterator<Item = TurnId> + 'a {
    let settled = after.turns.iter().filter(|turn| turn.state == TurnState::Settled);
    settled.map(|turn| turn.id).filter(|id| {
        let was = before.turns.iter().find(|turn| turn.id == *id);
        was.is_some_and(|turn| turn.state != TurnState::Settled)
    })
}

fn prepare(variant: Variant, machine: &mut Machine, at: usize, dir: u8) -> Result<(), Refused> {
    let (key, _) = machine.hands[at];
    if variant != Variant::PreparedBeside && machine.ledger.running_beside(key).is_some() {
        machine.let_go(at);
        return Ok(());
    }
    machine.run_event(key, RunEvent::Prepared { dir: dir.to_string() })?;
    machine.set_hand(at, Hand::Prepared);
    Ok(())
}

fn interrupt(machine: &mut Machine, on: usize, key: RunKey) -> Result<(), Refused> {
    machine.run_event(
        key,
        RunEvent::Interrupted {
            operation: report(on, key.1),
            at: now(),
        },
    )
}

fn outcome_event(outcome: Outcome) -> RunEvent {
    RunEvent::Outcome {
        outcome: outcome.text().to_owned(),
        session: None,
    }
}
