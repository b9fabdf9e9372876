//! What it costs a server that many daemons look whether there is work.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cs_model::{IdSource, MachineId};
use cs_postgres::PostgresStore;
use cs_record::DaemonReads;
use cs_testkit::bench::{Line, OverRecord, Size};
use sqlx::{PgPool, Row};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// What a thousand daemons send that look every 2 s, each look being one statement.
const PER_SECOND: u32 = 500;
const CLIENTS: u32 = 5;

/// Lets a thousand machines look at that rate for some time.
pub(crate) async fn measure(pool: &PgPool, ours: &Arc<OverRecord<PostgresStore>>, size: Size) -> Line {
    let until = Duration::from_secs(size.pick(10, 2) as u64);
    let machines: Vec<MachineId> = (0..1_000)
        .map(|_| MachineId::from_uuid(ours.ids().uuid_v7()))
        .collect();
    let machines = Arc::new(machines);
    let (before, begun) = (server_ticks(pool).await, Instant::now());
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (ours, machines) = (Arc::clone(ours), Arc::clone(&machines));
        clients.spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_secs(1) * CLIENTS / PER_SECOND);
            tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let (mut looks, mut place) = (0_u32, client as usize);
            while begun.elapsed() < until {
                tick.tick().await;
                let agents = [ours.agent().to_owned()];
                let machine = machines[place % machines.len()];
                let peeked = ours.record().peek(machine, &agents).await;
                peeked.expect("the record answers");
                (looks, place) = (looks + 1, place + CLIENTS as usize);
            }
            looks
        });
    }
    let looks: u32 = clients.join_all().await.into_iter().sum();
    let seconds = begun.elapsed().as_secs_f64();
    let after = server_ticks(pool).await;
    let spent: u64 = after
        .iter()
        .map(|(pid, ticks)| ticks.saturating_sub(before.get(pid).copied().unwrap_or(0)))
        .sum();
    Line::Looks {
        per_second: f64::from(looks) / seconds,
        core_share: spent as f64 / TICKS_PER_SECOND / seconds,
    }
}

/// The unit of the processor times in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the processor time of each process of the server.
async fn server_ticks(pool: &PgPool) -> BTreeMap<i32, u64> {
    let rows = sqlx::query("select pid from pg_stat_activity")
        .fetch_all(pool)
        .await
        .expect("the server answers");
    let ticks = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything; user and system time are the 12th and 13th after it.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let time = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some((pid, time(11)? + time(12)?))
    };
    rows.iter().filter_map(|row| ticks(row.get(0))).collect()
}
