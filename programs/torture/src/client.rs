//! One client after the other in one place: it runs transactions, and is now and then given up in the middle of one.
//!
//! Invariant: a client is given up on purpose only, and not after the faults: who gets no answer then is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use iolite::{Client, MutationEnd, Mutators, Options, Schema};
use iolite_histories::{Commit, CommitTimestamp, Outcome};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::book::Book;
use crate::random::Random;
use crate::step::{Plan, Planner, SCHEMA, transact};

/// Where clients connect to.
#[derive(Clone, Debug)]
pub struct Target {
    pub urls: Vec<String>,
    pub token: String,
}

impl Target {
    /// A new client, which knows all gateways and goes round.
    pub fn connect(&self) -> anyhow::Result<Client> {
        let mutators = Mutators::new().with("transact", |tx, plan: Plan| transact(tx, &plan));
        let schema = Schema::from_json(SCHEMA).context("the schema is valid")?;
        Ok(Client::connect_to_one_of(&self.urls, &self.token, schema, Options::new().mutators(mutators))?)
    }
}

/// Where nothing can be done without a gateway.
const OFFLINE_PAUSE: Duration = Duration::from_millis(100);
/// Of a hundred transactions so many are given up on purpose.
const GIVEN_UP_PERCENT: u64 = 3;

/// All clients of a run.
#[derive(Debug)]
pub struct Clients {
    running: Vec<JoinHandle<anyhow::Result<()>>>,
    healed: Arc<AtomicBool>,
    book: Book,
}

impl Clients {
    /// # Errors
    /// About the address of a gateway.
    pub fn start(count: u32, target: &Target, seed: u64, book: &Book) -> anyhow::Result<Clients> {
        let healed = Arc::new(AtomicBool::new(false));
        let mut running = Vec::new();
        for number in 0..count {
            let own = OneClient::new(number, target.clone(), seed, book.clone())?;
            running.push(tokio::spawn(own.run(healed.clone())));
        }
        Ok(Clients { running, healed, book: book.clone() })
    }

    /// Tells them that the faults have ended, and waits until each has had an answer to what it asked since.
    ///
    /// # Errors
    /// Whose answer has not come in time, and who failed, one line each.
    pub async fn settle(&mut self, within: Duration) -> Result<(), Vec<String>> {
        self.healed.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        let mut problems = Vec::new();
        for (number, client) in self.running.iter_mut().enumerate() {
            match timeout(within.saturating_sub(begun.elapsed()), client).await {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(error))) => problems.push(format!("client {number} failed: {error:#}")),
                Ok(Err(error)) => problems.push(format!("client {number} failed: {error}")),
                Err(_) => {
                    let waits = self.book.waits_for(number as u32);
                    problems.push(format!("no answer within {within:?} after the faults: {waits}"));
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Ends them wherever they are.
    pub async fn end(mut self) {
        self.running.iter().for_each(JoinHandle::abort);
        for client in self.running.drain(..).filter(|client| !client.is_finished()) {
            // That it was cancelled is known.
            let _ = client.await;
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.running.iter().for_each(JoinHandle::abort);
    }
}

/// What became of a transaction.
enum End {
    Committed(CommitTimestamp),
    Rejected,
    /// Its data were not on the device, and no gateway was there.
    NeverBegan,
    GivenUp,
}

impl End {
    fn outcome(&self) -> Outcome {
        match self {
            End::Committed(at) => Outcome::Committed(Commit::At(*at)),
            End::Rejected | End::NeverBegan => Outcome::Aborted,
            End::GivenUp => Outcome::Unknown,
        }
    }

    /// Whether the store has had a part in it.
    fn is_answer(&self) -> bool {
        match self {
            End::Committed(_) | End::Rejected => true,
            End::NeverBegan | End::GivenUp => false,
        }
    }
}

struct OneClient {
    number: u32,
    target: Target,
    client: Client,
    planner: Planner,
    random: Random,
    book: Book,
}

impl OneClient {
    fn new(number: u32, target: Target, seed: u64, book: Book) -> anyhow::Result<OneClient> {
        let client = target.connect()?;
        let (planner, random) = (Planner::new(seed, number), Random::new(seed, 1_000_000 + u64::from(number)));
        Ok(OneClient { number, target, client, planner, random, book })
    }

    /// Runs transactions, until one that began after the faults has its answer.
    async fn run(mut self, healed: Arc<AtomicBool>) -> anyhow::Result<()> {
        loop {
            let is_healed = healed.load(Ordering::Relaxed);
            let end = self.transact(is_healed).await?;
            if is_healed && end.is_answer() {
                return Ok(());
            }
        }
    }

    async fn transact(&mut self, is_healed: bool) -> anyhow::Result<End> {
        let plan = self.planner.next();
        self.book.begins(self.number, plan.clone());
        let handle = self.client.mutate("transact", &plan)?;
        let is_given_up = self.random.percent(GIVEN_UP_PERCENT) && !is_healed;
        let ended = if is_given_up {
            timeout(self.random.millis(0, 300), handle.confirmed()).await.ok()
        } else {
            Some(handle.confirmed().await)
        };
        let end = match ended {
            Some(Ok(at)) => End::Committed(CommitTimestamp(at.as_u64())),
            Some(Err(MutationEnd::Rejected { .. })) => End::Rejected,
            Some(Err(MutationEnd::Cancelled { .. })) => End::NeverBegan,
            Some(Err(MutationEnd::Closed)) | None => End::GivenUp,
            Some(Err(end @ (MutationEnd::Quarantined { .. } | MutationEnd::Overruled))) => {
                anyhow::bail!("its transaction {}: {end}", plan.number)
            }
        };
        self.book.ends(self.number, end.outcome());
        match end {
            End::Committed(_) => self.planner.acknowledged(&plan),
            End::Rejected => {}
            End::NeverBegan => tokio::time::sleep(OFFLINE_PAUSE).await,
            End::GivenUp => {
                // As a process that is killed: nobody asks for this one again. The next client may begin at another gateway.
                self.client = self.target.connect()?;
            }
        }
        Ok(end)
    }
}
