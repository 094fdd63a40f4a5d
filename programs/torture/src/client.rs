//! One client after the other in one place: it runs transactions, and is now and then given up in the middle of one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use iolite::{Client, MutationEnd, Mutators, Options, Schema};
use iolite_histories::{Commit, CommitTimestamp, Moment, Outcome};

use crate::moment::moment;
use crate::random::Random;
use crate::step::{Plan, Planner, SCHEMA, transact};

/// A transaction as its client knows it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub plan: Plan,
    pub invoked: Moment,
    pub completed: Moment,
    pub outcome: Outcome,
}

/// Where clients connect to.
#[derive(Clone, Debug)]
pub struct Target {
    pub urls: Vec<String>,
    pub token: String,
}

impl Target {
    /// A new client, of one of the gateways.
    pub fn connect(&self, number: usize) -> anyhow::Result<Client> {
        let mutators = Mutators::new().with("transact", |tx, plan: Plan| transact(tx, &plan));
        let schema = Schema::from_json(SCHEMA).context("the schema is valid")?;
        let url = &self.urls[number % self.urls.len()];
        Ok(Client::connect(url, &self.token, schema, Options::new().mutators(mutators))?)
    }
}

/// How long a client is waited for that is given up in the end.
const GIVES_UP_AFTER: Duration = Duration::from_secs(60);
/// Where nothing can be done without a gateway.
const OFFLINE_PAUSE: Duration = Duration::from_millis(100);
/// Of a hundred transactions so many are given up on purpose.
const GIVEN_UP_PERCENT: u64 = 3;

/// Runs transactions until it is told to stop; then the last one to its end.
pub async fn run_client(number: u32, target: Target, seed: u64, stop: Arc<AtomicBool>) -> anyhow::Result<Vec<Asked>> {
    let mut planner = Planner::new(seed, number);
    let mut random = Random::new(seed, 1_000_000 + u64::from(number));
    let mut asked = Vec::new();
    let mut place = number as usize;
    let mut client = target.connect(place)?;
    while !stop.load(Ordering::Relaxed) {
        let plan = planner.next();
        let invoked = moment();
        let handle = client.mutate("transact", &plan)?;
        let patience = if random.percent(GIVEN_UP_PERCENT) { random.millis(0, 300) } else { GIVES_UP_AFTER };
        let ended = tokio::time::timeout(patience, handle.confirmed()).await;
        let outcome = match ended {
            Ok(Ok(at)) => {
                planner.acknowledged(&plan);
                Outcome::Committed(Commit::At(CommitTimestamp(at.as_u64())))
            }
            Ok(Err(MutationEnd::Rejected { .. })) => Outcome::Aborted,
            Ok(Err(MutationEnd::Cancelled { .. })) => {
                // It never began: its data were not on the device, and no gateway was there.
                tokio::time::sleep(OFFLINE_PAUSE).await;
                Outcome::Aborted
            }
            Ok(Err(MutationEnd::Closed)) | Err(_) => {
                // As a process that is killed: nobody asks for this one again. The next client may be another gateway's.
                place += 1;
                client = target.connect(place)?;
                Outcome::Unknown
            }
            Ok(Err(end @ MutationEnd::Quarantined { .. })) => {
                anyhow::bail!("transaction {} of client {number}: {end}", plan.number)
            }
        };
        asked.push(Asked { plan, invoked, completed: moment(), outcome });
    }
    Ok(asked)
}
