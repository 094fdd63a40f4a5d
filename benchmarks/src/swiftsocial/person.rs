//! A person with a whole client and a socket of its own: runs one transaction after the other, and looks whether pages are whole and never go back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use iolite::{Client, MutationHandle, MutationStatus, Options, View};
use tokio::sync::Barrier;

use super::Shape;
use super::held::Held;
use super::ledger::{Holder, Ledger};
use super::network::{Network, User};
use super::plan::{Kind, Mix, Plan, Plans};
use super::tables::{Befriend, Page, Post, Status, connect, friends, page};
use super::tally::Tally;
use super::waiting::{Waited, watched};
use crate::cells::Cells;
use crate::child::Address;

/// The cache of the SDK is bounded by bytes: so many are counted for a row at most, a person with 25 friends who merge included.
const ROW_BYTES: usize = 4 << 10;
/// A hit takes this share of the delay at most.
pub const FAST_SHARE: f64 = 0.02;
/// Rows that are held are counted once in so many transactions.
const LOOKS_EVERY: u64 = 32;
/// Until all that was called is confirmed, after a run.
const SETTLES_WITHIN: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub struct Person {
    pub tally: Tally,
    pub ledger: Ledger,
    client: Client,
    user: User,
    network: Network,
    held: Held,
    /// Messages that each page had, when it was last seen or written to.
    seen: BTreeMap<User, usize>,
    posts: u32,
}

impl Person {
    /// Connects and fetches the pages that are held.
    ///
    /// # Errors
    /// When the server refuses the client, or does not have the people.
    pub async fn arrive(
        at: &Address,
        network: &Network,
        shape: Shape,
        number: u32,
        device: &Path,
    ) -> anyhow::Result<Person> {
        let rows = shape.cache_rows as usize;
        let user = network.played_by(number, shape.clients);
        let options = Options::new().directory(device).cache_bytes_max(rows * ROW_BYTES).user(user.name());
        let client = connect(at, options).await?;
        let people: Vec<User> = [user].into_iter().chain(network.known(user)).collect();
        let held = Held::fetch(&client, &people, rows).await?;
        let (tally, ledger) = (Tally::default(), Ledger::default());
        Ok(Person { tally, ledger, client, user, network: *network, held, seen: BTreeMap::new(), posts: 0 })
    }

    /// A closed loop: the next transaction begins when the one before has ended.
    ///
    /// # Errors
    /// When a transaction fails, which none has a reason to.
    pub async fn live(mut self, mix: Mix, shape: Shape, together: Arc<Barrier>) -> anyhow::Result<Person> {
        let fast = shape.delay.mul_f64(FAST_SHARE);
        let mut plans = Plans::of(&self.network, mix, self.user);
        together.wait().await;
        let end = Instant::now() + shape.seconds;
        for number in 1_u64.. {
            let plan = plans.next();
            let called = Instant::now();
            let waited = self.run(plan, called, fast).await?;
            self.tally.record(plan.kind, waited, called.elapsed(), fast);
            if number.is_multiple_of(LOOKS_EVERY) {
                self.held.keep_within();
            }
            if Instant::now() >= end {
                break;
            }
            // A person who finds all here never waits: others go on meanwhile.
            tokio::task::yield_now().await;
        }
        Ok(self)
    }

    async fn run(&mut self, plan: Plan, called: Instant, fast: Duration) -> anyhow::Result<Waited> {
        match plan.kind {
            Kind::Page | Kind::Stranger => self.read_page(plan.target).await,
            Kind::Friends => {
                let name = self.user.name();
                let (read, waited) = watched(self.client.read(View::Optimistic, move |tx| friends(tx, &name))).await;
                read?;
                Ok(waited)
            }
            Kind::Status | Kind::Post | Kind::Befriend => {
                let (handle, waited) = self.call(plan)?;
                self.tally.record_shown(called.elapsed(), fast);
                handle.durable().await?;
                Ok(waited)
            }
        }
    }

    async fn read_page(&mut self, of: User) -> anyhow::Result<Waited> {
        let name = of.name();
        let (page, waited) = watched(self.client.read(View::Optimistic, move |tx| page(tx, &name))).await;
        let page = page?;
        let seen = self.seen.entry(of).or_default();
        self.tally.pages += 1;
        self.tally.torn += u64::from(!page.is_whole());
        self.tally.went_back += u64::from(page.messages < *seen);
        *seen = page.messages;
        Ok(waited)
    }

    /// Calls a mutation. The app sees its effect when this returns.
    fn call(&mut self, plan: Plan) -> anyhow::Result<(MutationHandle, Waited)> {
        let (by, to) = (self.user.name(), plan.target.name());
        let handle = match plan.kind {
            Kind::Status => {
                let status = Status { text: format!("{} at {}", plan.kind.name(), self.posts), by };
                self.ledger.status(self.user, &status.text);
                self.client.mutate("status", &status)?
            }
            Kind::Post => {
                let post = Post { text: format!("what up, {to}, for the {}th time", self.posts), by, to };
                self.ledger.post(plan.target, &post);
                *self.seen.entry(plan.target).or_default() += 1;
                self.client.mutate("post", &post)?
            }
            Kind::Befriend => {
                self.ledger.befriend(self.user, plan.target);
                self.client.mutate("befriend", &Befriend { one: by, other: to })?
            }
            Kind::Page | Kind::Friends | Kind::Stranger => bail!("{} writes nothing", plan.kind.name()),
        };
        self.posts += 1;
        let waits = matches!(handle.status(), MutationStatus::Pending(pending) if pending.waits_for_data);
        Ok((handle, if waits { Waited::ForData } else { Waited::Not }))
    }

    /// Waits until nothing is pending.
    ///
    /// # Errors
    /// When that takes too long.
    pub async fn settle(&self, cells: &mut Cells) -> anyhow::Result<()> {
        settle(&self.client).await?;
        let refused = self.client.refused();
        if let Some(first) = refused.first() {
            cells.fault(format!("{}: {} calls were refused, such as {first:?}", self.user.name(), refused.len()));
        }
        Ok(())
    }

    /// The client, and the people whose pages it holds.
    pub fn held(&self) -> Holder {
        (self.client.clone(), self.held.people().collect())
    }
}

/// Waits until nothing of a client is pending.
///
/// # Errors
/// When that takes too long.
pub async fn settle(client: &Client) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let pending = client.pending().len();
        if pending == 0 {
            return Ok(());
        }
        if begun.elapsed() > SETTLES_WITHIN {
            bail!("{pending} calls are not confirmed after {SETTLES_WITHIN:?}");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// A page of the confirmed view.
///
/// # Errors
/// When it cannot be read.
pub async fn confirmed_page(client: &Client, of: User) -> anyhow::Result<Page> {
    let name = of.name();
    let page = client.read(View::Confirmed, move |tx| page(tx, &name)).await?;
    Ok((*page).clone())
}
