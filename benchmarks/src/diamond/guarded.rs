//! The app with rules on its rows' own columns, beside the app without: people are users with tokens on both sides.
//!
//! Invariant: both clusters are there for the whole run, and people live on one and on the other in turn.

use std::time::Duration;

use anyhow::Context;
use iolite_node::config::WithoutWord;
use serde_json::json;

use super::crowd::{Crowd, Reaches};
use super::iolite::{self, Tables};
use super::person::{KindTally, Tally, Totals};
use super::report::Cpu;
use super::{Level, ListOrder, ZIPF, live_together};
use crate::arguments::{Arguments, name_of};
use crate::cells::Cells;
use crate::front::{FrontCluster, FrontSetup};
use crate::latency::{Latencies, Percentiles};
use crate::rights::{Guard, put_into_effect};

/// Users of the app, who are fewer than the paper's: a load takes seconds.
const USERS: u64 = 10_000;
/// How many people live on each side in turn.
const PEOPLE: u32 = 16;
/// Turns of each side, where the time is enough.
const TURNS: u32 = 4;

/// One cluster, and what people did on it.
struct Side {
    guard: Guard,
    tables: Tables,
    cluster: FrontCluster,
    tally: Tally,
    cpu: Cpu,
    seconds: u32,
}

/// Measures one isolation.
///
/// # Errors
/// When a server or a client does not start or fails.
pub async fn measure_guarded(arguments: &Arguments, level: Level, cells: &mut Cells) -> anyhow::Result<()> {
    let users = u32::try_from(arguments.transactions.keys.unwrap_or(USERS))?;
    let mut sides = Vec::new();
    for guard in Guard::BOTH {
        sides.push(Side::start(arguments, level, guard, users).await?);
    }
    let turns = TURNS.min(arguments.seconds);
    for turn in 0..turns {
        // There and back: none is always the first.
        for place in 0..sides.len() {
            let place = if turn % 2 == 0 { place } else { sides.len() - 1 - place };
            sides[place].turn(arguments, users, arguments.seconds / turns).await?;
        }
    }
    for side in &sides {
        side.report(level, users, cells).await?;
    }
    let [rules, open] = &sides[..] else { anyhow::bail!("both guards are measured") };
    let name = name_of(&level);
    let of = |side: &Side| side.tally.sum(|kind| kind.committed) as f64;
    cells.ratio(&format!("retwis {name}: op/s with rules of open"), of(rules), of(open));
    let front = |side: &Side| side.cpu.front.as_secs_f64() / of(side).max(1.0);
    cells.ratio(&format!("retwis {name}: gateway's time with rules of open"), front(rules), front(open));
    Ok(())
}

impl Side {
    async fn start(arguments: &Arguments, level: Level, guard: Guard, users: u32) -> anyhow::Result<Side> {
        let tables = Tables { level, lists: ListOrder::Commit, guard: Some(guard) };
        let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
        let (durability, without) = (arguments.durability, WithoutWord::Nothing);
        let setup = FrontSetup { durability, delay, replicas: 3, without, second_shard: None };
        let cluster = FrontCluster::start(setup).await?;
        let rights = tables.rights().context("people are users")?;
        put_into_effect(cluster.near(), durability, &tables.schema(), &rights)?;
        iolite::prepare(cluster.near(), tables, users, arguments.transactions.seed).await?;
        let none = Duration::ZERO;
        let cpu = Cpu { stores: none, front: none, clients: none };
        Ok(Side { guard, tables, cluster, tally: Tally::default(), cpu, seconds: 0 })
    }

    async fn turn(&mut self, arguments: &Arguments, users: u32, seconds: u32) -> anyhow::Result<()> {
        let options = &arguments.transactions;
        let crowd = Crowd {
            reaches: Reaches::Iolite { at: self.cluster.address().clone(), tables: self.tables },
            first: 0,
            people: arguments.rights.writers.min(PEOPLE),
            users,
            zipf: options.zipf.unwrap_or(ZIPF),
            seed: options.seed,
            only: None,
            warm_up_seconds: options.warm_up,
            seconds,
        };
        let (tally, cpu) = live_together(crowd, self.cluster.stores(), self.cluster.gateway()).await?;
        self.tally.add(&tally);
        self.seconds += seconds;
        let Cpu { stores, front, clients } = &mut self.cpu;
        (*stores, *front, *clients) = (*stores + cpu.stores, *front + cpu.front, *clients + cpu.clients);
        Ok(())
    }

    /// With what a fresh session of the operator finds.
    async fn report(&self, level: Level, users: u32, cells: &mut Cells) -> anyhow::Result<()> {
        let after = iolite::totals(self.cluster.near(), self.tables, users).await?;
        let findings = self.tally.check(Totals::default(), after);
        let committed = self.tally.sum(|kind| kind.committed);
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / (committed as f64).max(1.0);
        let mut latencies = Latencies::default();
        self.tally.kinds.values().for_each(|kind| latencies.add(&kind.latency));
        let latency: Percentiles = latencies.percentiles();
        cells.push(json!({
            "of": "retwis", "level": name_of(&level), "guard": self.guard.name(), "users": users,
            "committed": committed, "throughput_per_s": committed as f64 / f64::from(self.seconds),
            "aborts": self.tally.sum(KindTally::aborts), "latency_ms": latency,
            "gateway_cpu_us_per_op": micros(self.cpu.front), "stores_cpu_us_per_op": micros(self.cpu.stores),
            "clients_cpu_us_per_op": micros(self.cpu.clients),
        }));
        if findings.lost_updates + findings.violations > 0 || committed == 0 {
            cells.fault(format!("retwis {} {}: {findings:?} of {committed}", name_of(&level), self.guard.name()));
        }
        Ok(())
    }
}
