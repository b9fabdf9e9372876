//! What goes wrong by itself: daemons, machines, disks and the record.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;

use crate::actor::Actor;
use crate::invariant::Event;
use crate::machine::Machine;
use crate::people;
use crate::world::World;

/// The weather.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    was_long_absent: bool,
}

#[async_trait]
impl Actor for Weather {
    async fn act(&mut self, world: &Arc<World>) {
        let Some(machine) = world.dice.pick(&world.machines) else {
            return;
        };
        if world.profile.long_absence && !self.was_long_absent {
            self.was_long_absent = true;
            return nine_days(world, machine).await;
        }
        if !world.dice.chance(world.profile.storm) {
            return;
        }
        let index = machine.index;
        match world.dice.below(13) {
            0..=2 => {
                let span = world.dice.span(Duration::from_secs(1), Duration::from_secs(90));
                world.fault("record away", format_args!("for {span:?}"));
                world.take_away(span);
            }
            3..=5 => {
                world.fault("crash", format_args!("machine {index}"));
                machine.crash();
            }
            6 => {
                world.fault("reboot", format_args!("machine {index}"));
                machine.reboot();
            }
            7 => {
                let is_full = !machine.is_full();
                world.fault("disk full or not", format_args!("machine {index}: {is_full}"));
                machine.set_full(is_full);
                world.see(&Event::Full {
                    machine: index,
                    is_full,
                });
            }
            8 | 12 if world.dice.chance(world.profile.ledger_lost) => {
                if let Some(card) = machine.cards_at_work().first().filter(|_| world.profile.spite) {
                    people::stop(world, *card).await;
                }
                lose_ledger(world, machine);
            }
            9 => {
                let is_away = !machine.is_away();
                world.fault("machine away or back", format_args!("machine {index}: {is_away}"));
                machine.set_away(is_away);
                if is_away {
                    machine.crash();
                }
            }
            10 => {
                let span = world.dice.span(Duration::from_secs(20), Duration::from_secs(200));
                world.fault("machine cut off", format_args!("machine {index} for {span:?}"));
                machine.cut_off(span);
            }
            11 => {
                world.note(format_args!("a person commits on machine {index}"));
                machine.bases().commit();
            }
            _ => {}
        }
    }

    /// The disks have room, and who was away is back: that is the end of these faults.
    async fn settle(&mut self, world: &Arc<World>) {
        for machine in &world.machines {
            if machine.is_full() {
                machine.set_full(false);
                let (machine, is_full) = (machine.index, false);
                world.see(&Event::Full { machine, is_full });
            }
            if machine.is_away() {
                machine.set_away(false);
            }
        }
    }
}

/// The daemon dies, and its ledger is gone when the next one comes.
pub(crate) fn lose_ledger(world: &World, machine: &Machine) {
    let index = machine.index;
    world.fault("ledger lost", format_args!("machine {index}"));
    world.see(&Event::LedgerLost { machine: index });
    machine.crash();
    machine.set_away(true);
    let ledger = machine.state.ledger();
    let _gone = std::fs::remove_file(ledger);
    machine.set_away(false);
}

/// A machine is away for nine days, most likely with an answer that it never got. The others are off for most of that time, since
/// nothing but time is to pass.
async fn nine_days(world: &Arc<World>, machine: &Arc<Machine>) {
    world.fault("nine days away", format_args!("machine {}", machine.index));
    for other in &world.machines {
        other.set_away(true);
        other.crash();
    }
    sleep(Duration::from_secs(9 * 24 * 60 * 60)).await;
    for other in world.machines.iter().filter(|other| other.index != machine.index) {
        other.set_away(false);
    }
    sleep(Duration::from_secs(120)).await;
    machine.set_away(false);
}
