//! The contenders take turns, and their times are noted.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cs_record::RowStore;
use tokio::task::JoinSet;

use super::{Contender, Line, OverRecord, Size, Stage};

/// One record with both contenders.
#[derive(Debug)]
pub struct Desk<S, R> {
    /// The rows.
    pub stage: Arc<dyn Stage>,
    /// The record.
    pub ours: Arc<OverRecord<S>>,
    /// The hand-written statements.
    pub raw: Arc<R>,
}

/// How the work of a round is shared.
#[derive(Debug, Clone, Copy)]
struct Load {
    clients: usize,
    /// Takes of each client.
    takes: usize,
    /// Cards of each take.
    cards: u32,
}

impl Load {
    const fn new(clients: usize, takes: usize, cards: u32) -> Self {
        Self {
            clients,
            takes,
            cards,
        }
    }

    fn cards_in_all(self) -> usize {
        self.clients * self.takes * self.cards as usize
    }
}

/// The takes that the large record sees between its two measurements, in batches.
const CHURN_BATCH: u32 = 500;

/// Compares a store with hand-written statements on a small record and, where there is one, on a large one, and writes down what it
/// measures.
///
/// # Errors
/// When the lines cannot be written.
///
/// # Panics
/// When a contender takes less than was there: it would be measured doing nothing.
pub async fn compare<S, R>(
    out: &mut (impl Write + Send),
    store: &str,
    small: &Desk<S, R>,
    large: Option<&Desk<S, R>>,
    size: Size,
) -> io::Result<()>
where
    S: RowStore + std::fmt::Debug,
    R: Contender,
{
    for clients in [1, 4] {
        let load = Load::new(clients, 40 / clients, 1);
        single(out, store, small, load, size.pick(50, 6)).await?;
    }
    for clients in [1, 4] {
        let load = Load::new(clients, 2, 100);
        batch(out, store, small, load, size.pick(40, 6)).await?;
    }
    match (large, size.large_cards()) {
        (Some(large), Some(cards)) => grown(out, store, small, (large, cards), size).await,
        (None, _) | (_, None) => Ok(()),
    }
}

/// Takes from the small record and from the large one of so many cards, before and after many takes.
async fn grown<S, R>(
    out: &mut impl Write,
    store: &str,
    small: &Desk<S, R>,
    (large, large_cards): (&Desk<S, R>, usize),
    size: Size,
) -> io::Result<()>
where
    S: RowStore + std::fmt::Debug,
    R: Contender,
{
    let churn = size.pick(200_000, 5_000);
    for after_takes in [0, churn] {
        if after_takes > 0 {
            wear(large, after_takes).await;
        }
        for (load, rounds) in [
            (Load::new(1, 20, 1), size.pick(50, 6)),
            (Load::new(1, 1, 100), size.pick(80, 6)),
        ] {
            let times = growth(small, large, load, rounds).await;
            let [ours_small, raw_small, ours_large, raw_large] = times;
            Line::Growth {
                store: store.to_owned(),
                cards: load.cards,
                small_cards: size.small_cards(),
                large_cards,
                after_takes,
                ours_small,
                raw_small,
                ours_large,
                raw_large,
            }
            .write(out)?;
        }
    }
    Ok(())
}

/// Takes of one card each, and the settlements of all of them.
async fn single<S, R>(
    out: &mut impl Write,
    store: &str,
    desk: &Desk<S, R>,
    load: Load,
    rounds: usize,
) -> io::Result<()>
where
    S: RowStore + std::fmt::Debug,
    R: Contender,
{
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    // The first round makes the plans and the connections.
    for round in 0..=rounds {
        let times = (
            taken_and_settled(&*desk.stage, &desk.ours, load).await,
            taken_and_settled(&*desk.stage, &desk.raw, load).await,
        );
        if round > 0 {
            ours.push(times.0);
            raw.push(times.1);
        }
    }
    let part = |times: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| times.iter().map(pick).collect();
    for (operation, pick) in [
        ("take", (|times| times.0) as fn(&(f64, f64)) -> f64),
        ("settle", |times| times.1),
    ] {
        Line::Contest {
            store: store.to_owned(),
            operation: operation.to_owned(),
            cards: load.cards,
            clients: load.clients,
            ours: part(&ours, pick),
            raw: part(&raw, pick),
        }
        .write(out)?;
    }
    Ok(())
}

/// Takes of many cards each.
async fn batch<S, R>(
    out: &mut impl Write,
    store: &str,
    desk: &Desk<S, R>,
    load: Load,
    rounds: usize,
) -> io::Result<()>
where
    S: RowStore + std::fmt::Debug,
    R: Contender,
{
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let times = (
            taken(&*desk.stage, &desk.ours, load).await,
            taken(&*desk.stage, &desk.raw, load).await,
        );
        if round > 0 {
            ours.push(times.0);
            raw.push(times.1);
        }
    }
    Line::Contest {
        store: store.to_owned(),
        operation: "take".to_owned(),
        cards: load.cards,
        clients: load.clients,
        ours,
        raw,
    }
    .write(out)
}

/// Four times in turn: the record and the hand-written statement on the small and on the large record, with 100 cards ready.
async fn growth<S, R>(small: &Desk<S, R>, large: &Desk<S, R>, load: Load, rounds: usize) -> [Vec<f64>; 4]
where
    S: RowStore + std::fmt::Debug,
    R: Contender,
{
    let mut times: [Vec<f64>; 4] = Default::default();
    for round in 0..=rounds {
        let once = [
            from_a_hundred(&*small.stage, &small.ours, load).await,
            from_a_hundred(&*small.stage, &small.raw, load).await,
            from_a_hundred(&*large.stage, &large.ours, load).await,
            from_a_hundred(&*large.stage, &large.raw, load).await,
        ];
        if round > 0 {
            for (times, time) in times.iter_mut().zip(once) {
                times.push(time);
            }
        }
    }
    times
}

async fn wear<S, R: Contender>(desk: &Desk<S, R>, takes: usize) {
    for _ in 0..takes / CHURN_BATCH as usize {
        desk.stage.make_ready(CHURN_BATCH as usize).await;
        let held = desk.raw.take(CHURN_BATCH).await;
        assert_eq!(held.len(), CHURN_BATCH as usize, "all that is ready is taken");
        desk.stage.settle_all().await;
    }
}

async fn taken_and_settled<C: Contender>(stage: &dyn Stage, contender: &Arc<C>, load: Load) -> (f64, f64) {
    stage.make_ready(load.cards_in_all()).await;
    let (take, held) = take(contender, load).await;
    let settle = settle(contender, load.clients, held).await;
    (take, settle)
}

async fn taken<C: Contender>(stage: &dyn Stage, contender: &Arc<C>, load: Load) -> f64 {
    stage.make_ready(load.cards_in_all()).await;
    let (time, _) = take(contender, load).await;
    stage.settle_all().await;
    time
}

async fn from_a_hundred<C: Contender>(stage: &dyn Stage, contender: &Arc<C>, load: Load) -> f64 {
    stage.make_ready(100).await;
    let (time, _) = take(contender, load).await;
    // What is left would be ready in the next round too.
    contender.take(100).await;
    stage.settle_all().await;
    time
}

/// All clients take at once. Returns the milliseconds of one take, and what was taken.
async fn take<C: Contender>(contender: &Arc<C>, load: Load) -> (f64, Vec<C::Held>) {
    let mut clients = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..load.clients {
        let contender = Arc::clone(contender);
        clients.spawn(async move {
            let mut held = Vec::new();
            for _ in 0..load.takes {
                held.extend(contender.take(load.cards).await);
            }
            held
        });
    }
    let held: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let spent = begun.elapsed();
    assert_eq!(held.len(), load.cards_in_all(), "all that is ready is taken");
    (per_operation(spent, load.clients * load.takes), held)
}

/// All clients settle at once. Returns the milliseconds of one settlement.
async fn settle<C: Contender>(contender: &Arc<C>, count: usize, mut held: Vec<C::Held>) -> f64 {
    let all = held.len();
    let mut clients = JoinSet::new();
    let begun = Instant::now();
    for left in (1..=count).rev() {
        let part = held.split_off(held.len() - held.len() / left);
        let contender = Arc::clone(contender);
        clients.spawn(async move {
            for held in part {
                contender.settle(held).await;
            }
        });
    }
    clients.join_all().await;
    per_operation(begun.elapsed(), all)
}

fn per_operation(spent: Duration, operations: usize) -> f64 {
    spent.as_secs_f64() * 1_000.0 / operations as f64
}
