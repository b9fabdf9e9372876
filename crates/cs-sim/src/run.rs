//! One simulation, from its seed to its report.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cs_daemon::StateDir;
use cs_model::{Clock, CodebaseId, IdSource};
use cs_record::{Codebases, Record};
use cs_testkit::{MemoryStore, SeededIds};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::actor::{self, Actor};
use crate::broken::Mutant;
use crate::clock::SimClock;
use crate::dice::Dice;
use crate::invariant::{Event, Moment, at_rest};
use crate::machine::{Machine, Made, live};
use crate::profile::{Kind, Profile};
use crate::report::Report;
use crate::world::{Parts, World};

/// What can be chosen of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What is broken on purpose.
    pub mutant: Option<Mutant>,
    /// What it is about; nothing: what its seed says.
    pub kind: Option<Kind>,
    /// How many of the last events the report holds.
    pub last: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mutant: None,
            kind: None,
            last: 60,
        }
    }
}

/// So long after the last fault everything must be at rest.
const REST_WITHIN: Duration = Duration::from_secs(4 * 60 * 60);
/// How often it is looked whether it is.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Simulates from one seed. The same seed gives the same report, but for the names of files.
///
/// # Errors
/// The temporary directory cannot be made, or there is no thread for the simulation.
pub fn simulate(seed: u64, options: Options) -> std::io::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let dir = temporary()?;
    runtime.block_on(async {
        let world = Arc::new(build(seed, options, dir.path()).await?);
        let mut machines = JoinSet::new();
        for machine in &world.machines {
            machines.spawn(live(Arc::clone(&world), Arc::clone(machine)));
        }
        let mut actors = actor::all();
        rough(&world, &mut actors).await;
        calm(&world, &mut actors).await;
        while let Some(ended) = machines.try_join_next() {
            if let Err(error) = ended {
                world.fail("no daemon panics", error.to_string());
            }
        }
        machines.shutdown().await;
        Ok(world.report(seed))
    })
}

fn temporary() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
}

async fn build(seed: u64, options: Options, dir: &Path) -> std::io::Result<World> {
    let dice = Dice::new(seed);
    let profile = Profile::choose(&dice).in_world_of(options.kind.unwrap_or(Kind::of(seed)));
    let clock = Arc::new(SimClock::new(Duration::from_secs(60)));
    let ids = Arc::new(SeededIds::new(dice.number(), clock.clone()));
    let codebases: Vec<_> = (0..2).map(|_| CodebaseId::from_uuid(ids.uuid_v7())).collect();
    let store = MemoryStore::new(clock.clone());
    let record = Record::new(store.handle(), ids.clone());
    let mut machines = Vec::new();
    for index in 0..profile.machines {
        // A clock of a machine is a little ahead of the record's, or behind.
        let clock = Arc::new(SimClock::new(dice.span(Duration::ZERO, Duration::from_secs(120))));
        let state = StateDir::open(&dir.join(index.to_string())).map_err(std::io::Error::other)?;
        let here: Vec<_> = codebases.iter().copied().skip(index % 2).collect();
        let machine = Machine::new(Made {
            index,
            state,
            ids: Arc::new(SeededIds::new(dice.number(), clock.clone())),
            clock,
            codebases: here.clone(),
            slots: 1 + u32::try_from(dice.below(3)).unwrap_or(0),
        });
        for (number, codebase) in here.iter().enumerate() {
            let name = format!("codebase-{}", number + index % 2);
            let added = record.add_codebase(*codebase, &name, machine.id).await;
            added.map_err(std::io::Error::other)?;
        }
        machines.push(Arc::new(machine));
    }
    Ok(World::new(Parts {
        dice,
        profile,
        options,
        clock,
        ids,
        store,
        machines,
        codebases,
    }))
}

/// Things go wrong.
async fn rough(world: &Arc<World>, actors: &mut [Box<dyn Actor>]) {
    let until = world.profile.chaos;
    let mut acted = Duration::ZERO;
    while acted < until && !world.is_broken() {
        let pause = world.dice.span(Duration::ZERO, world.profile.pace * 2);
        acted += pause + Duration::from_millis(1);
        sleep(pause).await;
        let index = world.dice.below(actors.len());
        if let Some(actor) = actors.get_mut(index) {
            actor.act(world).await;
        }
    }
}

/// Nothing goes wrong any more: everything comes to rest by itself. No machine is started again, nothing is tried again, and people do
/// only what they are asked for.
async fn calm(world: &Arc<World>, actors: &mut [Box<dyn Actor>]) {
    world.calm();
    world.note(format_args!("the faults stop"));
    let mut waited = Duration::ZERO;
    while !world.is_broken() && waited < REST_WITHIN {
        for actor in actors.iter_mut() {
            actor.settle(world).await;
        }
        sleep(LOOK_EVERY).await;
        waited += LOOK_EVERY;
        if !world.awaits_late() && is_at_rest(world) {
            break;
        }
    }
    world.see(&Event::AtRest);
}

fn is_at_rest(world: &World) -> bool {
    let Some(rows) = world.store.rows() else {
        return false;
    };
    let moment = Moment {
        event: &Event::Step,
        rows: &rows,
        machines: &world.machines,
        now: world.clock.now(),
    };
    at_rest(&moment).is_ok()
}
