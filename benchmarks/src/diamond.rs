//! The Twitter clone of the Diamond paper, on Iolite at every isolation and on Redis behind an HTTP server: `iolite bench retwis-diamond`.
//!
//! Source: Zhang 2017, 3.5.3, Figures 3.7 and 3.8.

mod crowd;
mod guarded;
mod http;
mod iolite;
mod person;
mod plan;
mod redis;
mod report;
mod web;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use iolite_node::config::WithoutWord;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::accounting::Pid;
use crate::arguments::{Arguments, name_of};
use crate::beside::{Beside, Record};
use crate::cluster::Links;
use crate::front::{FrontCluster, FrontSetup};
use crate::part::PartProcess;
use crate::peer::Peer;
use crate::redis::{Delays, RedisServers};
use crate::system_run;
use crowd::{Crowd, Crowds, Reaches};
use iolite::Tables;
use person::{Tally, Totals};
use plan::Kind;
use redis::App;
use report::{Cpu, Measured};
use web::Listening;

pub use crowd::run_crowd;
pub use guarded::measure_guarded;
pub use web::{WebArguments, run_web};

#[derive(Args, Debug)]
pub struct DiamondOptions {
    /// Of retwis-diamond: the isolation of its tables, rc, si or ss; several with commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "LEVEL")]
    pub isolation: Vec<Level>,
    /// Of retwis-diamond: measure si and ss also without data types in concurrency control
    #[arg(long)]
    pub no_docc: bool,
    /// Of retwis-diamond: measure it also with lists in strict order, whose appends conflict
    #[arg(long)]
    pub strict_lists: bool,
    /// Of retwis-diamond: one of its transactions, instead of the mix of all
    #[arg(long, value_name = "TRANSACTION")]
    pub only: Option<Kind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Level {
    /// Read committed
    Rc,
    /// Snapshot isolation
    Si,
    /// Strict serializability
    Ss,
}

/// In which order elements of lists come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ListOrder {
    /// In that of the commits: appends commute.
    Commit,
    /// In that in which they were seen: appends conflict.
    Strict,
}

/// One way to run the app on Iolite.
#[derive(Clone, Copy, Debug)]
struct Way {
    tables: Tables,
    without: WithoutWord,
}

/// What is the same for all systems.
#[derive(Clone, Debug)]
struct Setting {
    users: u32,
    zipf: f64,
    delay: Duration,
}

/// The paper's.
const USERS: u64 = 100_000;
const ZIPF: f64 = 0.8;

impl Level {
    const ALL: [Level; 3] = [Level::Rc, Level::Si, Level::Ss];

    /// As schemas call it.
    pub fn isolation(self) -> &'static str {
        match self {
            Level::Rc => "read-committed",
            Level::Si => "snapshot",
            Level::Ss => "strict-serializable",
        }
    }
}

impl ListOrder {
    /// As schemas call it.
    pub fn word(self) -> &'static str {
        match self {
            ListOrder::Commit => "commit",
            ListOrder::Strict => "strict",
        }
    }
}

impl DiamondOptions {
    /// What was asked for that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        let asked = [
            ("--isolation", !self.isolation.is_empty()),
            ("--no-docc", self.no_docc),
            ("--strict-lists", self.strict_lists),
            ("--only", self.only.is_some()),
        ];
        asked.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name))
    }

    /// Without validation of reads there is nothing that data types spare: so read committed is there once.
    fn ways(&self) -> Vec<Way> {
        let levels = if self.isolation.is_empty() { &Level::ALL[..] } else { &self.isolation };
        let mut ways = Vec::new();
        for &level in levels {
            let way = |lists, without| Way { tables: Tables { level, lists, guard: None }, without };
            ways.push(way(ListOrder::Commit, WithoutWord::Nothing));
            if self.strict_lists {
                ways.push(way(ListOrder::Strict, WithoutWord::Nothing));
            }
            if self.no_docc && level != Level::Rc {
                ways.push(way(ListOrder::Commit, WithoutWord::DataTypes));
            }
        }
        ways
    }
}

impl Way {
    fn name(self) -> String {
        let mut name = format!("iolite {}", name_of(&self.tables.level));
        if self.tables.lists == ListOrder::Strict {
            name.push_str(" strict");
        }
        if self.without == WithoutWord::DataTypes {
            name.push_str(" no-docc");
        }
        name
    }
}

/// # Errors
/// When options do not fit together, or servers or clients do not start or fail. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(other) = arguments.transactions.beside.iter().find(|peer| **peer != Peer::Redis) {
        bail!("retwis-diamond is not measured on {}: --beside redis", other.name());
    }
    let beside = system_run::block_on(measure_all(arguments))?;
    iolite_host::print(&beside.text(arguments.json)?)?;
    Ok(if beside.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure_all(arguments: &Arguments) -> anyhow::Result<Beside> {
    let options = &arguments.transactions;
    let users = u32::try_from(options.keys.unwrap_or(USERS))?;
    let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
    let setting = Setting { users, zipf: options.zipf.unwrap_or(ZIPF), delay };
    let mut records: Vec<Record> = Vec::new();
    for way in arguments.diamond.ways() {
        records.push(on_iolite(arguments, &setting, way).await?.record(arguments)?);
    }
    if options.beside.contains(&Peer::Redis) {
        records.push(on_redis(arguments, &setting).await?.record(arguments)?);
    }
    let only = arguments.diamond.only.map(Kind::name);
    let settings = vec![
        ("workload", json!("retwis-diamond")),
        ("keys", json!(users)),
        ("zipf", json!(setting.zipf)),
        ("clients", json!(arguments.clients)),
        ("delay_ms", json!(arguments.delay_ms())),
        ("seed", json!(options.seed)),
        ("only", json!(only)),
    ];
    Ok(Beside { settings, records, lines: report::LINES })
}

async fn on_iolite(arguments: &Arguments, setting: &Setting, way: Way) -> anyhow::Result<Measured> {
    let Way { tables, without } = way;
    let (durability, seed) = (arguments.durability, arguments.transactions.seed);
    let setup = FrontSetup { durability, delay: setting.delay, replicas: 3, without, second_shard: None };
    let cluster = FrontCluster::start(setup).await?;
    let (near, at) = (cluster.near(), cluster.address());
    iolite::prepare(near, tables, setting.users, seed).await?;
    let reaches = Reaches::Iolite { at: at.clone(), tables };
    let (tally, cpu) = live_together(crowd(arguments, setting, reaches), cluster.stores(), cluster.gateway()).await?;
    let after = iolite::totals(near, tables, setting.users).await?;
    Ok(Measured {
        system: way.name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        durability_setting: format!("{}; {}", tables.level.isolation(), cluster.setting()),
        findings: tally.check(Totals::default(), after),
        tally,
        cpu,
    })
}

async fn on_redis(arguments: &Arguments, setting: &Setting) -> anyhow::Result<Measured> {
    // The front end is next to Redis, and clients are far from it.
    let delays = Delays { of_clients: Duration::ZERO, between_servers: Duration::ZERO };
    let servers = RedisServers::start(arguments.durability, delays).await?;
    let mut app = App::on(servers.connect().await?);
    app.prepare(setting.users, arguments.transactions.seed).await?;
    let mut web = PartProcess::start(&["bench-part", "retwis-web", "--redis", &servers.clients_address().to_string()])?;
    let Listening { address } = web.hear()?;
    let mut links = Links::with_delay(setting.delay)?;
    let reaches = Reaches::Http { front: links.to(address).await? };
    let stores = servers.nodes().into_iter().map(|node| node.root).collect();
    let (tally, cpu) = live_together(crowd(arguments, setting, reaches), stores, web.pid()).await?;
    let after = app.totals(setting.users).await?;
    Ok(Measured {
        system: "redis".to_owned(),
        version: servers.version().to_owned(),
        durability_setting: format!("reads are not guarded; {}", servers.setting()),
        findings: tally.check(Totals::default(), after),
        tally,
        cpu,
    })
}

fn crowd(arguments: &Arguments, setting: &Setting, reaches: Reaches) -> Crowd {
    Crowd {
        reaches,
        first: 0,
        people: arguments.clients,
        users: setting.users,
        zipf: setting.zipf,
        seed: arguments.transactions.seed,
        only: arguments.diamond.only,
        warm_up_seconds: arguments.transactions.warm_up,
        seconds: arguments.seconds,
    }
}

async fn live_together(crowd: Crowd, stores: Vec<Pid>, front: Pid) -> anyhow::Result<(Tally, Cpu)> {
    let second = |seconds: u32| Duration::from_secs(u64::from(seconds));
    let (warm_up, seconds) = (second(crowd.warm_up_seconds), second(crowd.seconds));
    tokio::task::spawn_blocking(move || {
        let mut crowds = Crowds::start(&crowd)?;
        let clients = crowds.pids();
        crowds.go()?;
        std::thread::sleep(warm_up);
        let before = Cpu::now(&stores, front, &clients);
        std::thread::sleep(seconds);
        let cpu = Cpu::now(&stores, front, &clients).since(&before);
        Ok((crowds.tally()?, cpu))
    })
    .await?
}
