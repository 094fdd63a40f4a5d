//! A process with many people: each has a client, or a connection, of their own.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::http::HttpPerson;
use super::iolite::{IolitePerson, Tables};
use super::person::{Course, Person, Tally, live};
use super::plan::{Kind, Plans};
use crate::accounting::Pid;
use crate::child::Address;
use crate::draws::Zipf;
use crate::part::{PartProcess, hear, say};

/// What a crowd does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Crowd {
    pub reaches: Reaches,
    /// The number of its first person, and how many they are.
    pub first: u32,
    pub people: u32,
    pub users: u32,
    pub zipf: f64,
    pub seed: u64,
    pub only: Option<Kind>,
    pub warm_up_seconds: u32,
    pub seconds: u32,
}

/// The system that people use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reaches {
    Iolite { at: Address, tables: Tables },
    Http { front: SocketAddr },
}

#[derive(Debug, Serialize, Deserialize)]
enum Word {
    Ready,
    Go,
}

/// People of one process: fewer than make it the bottleneck while others wait for it.
const PEOPLE_OF_A_PROCESS: u32 = 16;

/// All people of a run.
pub struct Crowds {
    processes: Vec<PartProcess>,
}

impl Crowds {
    /// Starts as many processes as these people need; all are connected when this returns.
    pub fn start(crowd: &Crowd) -> anyhow::Result<Crowds> {
        let mut processes = Vec::new();
        for first in (0..crowd.people).step_by(PEOPLE_OF_A_PROCESS as usize) {
            let people = PEOPLE_OF_A_PROCESS.min(crowd.people - first);
            let mut process = PartProcess::start(&["bench-part", "retwis"])?;
            process.tell(&Crowd { first, people, ..crowd.clone() })?;
            processes.push(process);
        }
        for process in &mut processes {
            let Word::Ready = process.hear()? else { bail!("a crowd is not ready") };
        }
        Ok(Crowds { processes })
    }

    pub fn pids(&self) -> Vec<Pid> {
        self.processes.iter().map(PartProcess::pid).collect()
    }

    pub fn go(&mut self) -> anyhow::Result<()> {
        self.processes.iter_mut().try_for_each(|process| process.tell(&Word::Go))
    }

    /// What all came to, when all have ended.
    pub fn tally(&mut self) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        for process in &mut self.processes {
            tally.add(&process.hear()?);
        }
        Ok(tally)
    }
}

/// Runs one crowd to its end.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_crowd() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let crowd: Crowd = hear().await?;
        match &crowd.reaches {
            Reaches::Iolite { at, tables } => {
                meet(&crowd, |number| IolitePerson::connect(at, *tables, Some(number))).await
            }
            Reaches::Http { front } => meet(&crowd, |_| HttpPerson::connect(*front)).await,
        }
    })
}

async fn meet<P, F>(crowd: &Crowd, connect: impl Fn(u32) -> F) -> anyhow::Result<()>
where
    P: Person + 'static,
    F: Future<Output = anyhow::Result<P>>,
{
    let mut people = Vec::new();
    for number in crowd.first..crowd.first + crowd.people {
        people.push(connect(number).await?);
    }
    say(&Word::Ready)?;
    let Word::Go = hear().await? else { bail!("a crowd begins when it is told to") };
    let zipf = Arc::new(Zipf::new(u64::from(crowd.users), crowd.zipf));
    let second = |seconds: u32| Duration::from_secs(u64::from(seconds));
    let course = Course { seed: crowd.seed, warm_up: second(crowd.warm_up_seconds), seconds: second(crowd.seconds) };
    let lives = people
        .into_iter()
        .zip(crowd.first..)
        .map(|(person, number)| live(person, Plans::of(zipf.clone(), crowd.seed, number, crowd.only), course));
    let mut tally = Tally::default();
    for one in futures_util::future::join_all(lives).await {
        tally.add(&one.context("a person cannot go on")?);
    }
    say(&tally)
}
