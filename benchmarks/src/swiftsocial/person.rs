//! A person who runs one transaction after the other, and looks whether pages are whole and never go back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use iolite::{Client, View};
use tokio::sync::Barrier;

use super::Shape;
use super::ledger::{Holder, Ledger};
use super::network::{Network, User};
use super::plan::{Kind, Mix, Plan, Plans};
use super::scatter::Scatter;
use super::seat::{Call, Seat, Written};
use super::staleness::Watcher;
use super::tables::{Befriend, Page, Post, Status, page};
use super::tally::Tally;
use super::waiting::Waited;
use crate::cells::Cells;

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
    pub watched: Option<Watcher>,
    pub scatter: Option<Scatter>,
    seat: Seat,
    user: User,
    plans: Plans,
    shape: Shape,
    /// Messages that each page had, when it was last seen or written to.
    seen: BTreeMap<User, usize>,
    /// Numbers the texts of a person, so that none comes twice in a run.
    posts: u64,
}

impl Person {
    /// A person who has not done anything. Rounds of one run, in which the same people come again, have different numbers.
    pub fn new(seat: Seat, network: &Network, user: User, mix: Mix, shape: Shape, round: u32) -> Person {
        let plans = Plans::of(network, mix, user);
        let (tally, ledger, seen) = (Tally::default(), Ledger::default(), BTreeMap::new());
        Person {
            tally,
            ledger,
            watched: None,
            scatter: None,
            seat,
            user,
            plans,
            shape,
            seen,
            posts: u64::from(round) << 32,
        }
    }

    /// A closed loop: the next transaction begins when the one before has ended, after a pause.
    ///
    /// # Errors
    /// When a transaction fails, which none has a reason to.
    pub async fn live(mut self, together: Arc<Barrier>) -> anyhow::Result<Person> {
        let fast = self.shape.delay.mul_f64(FAST_SHARE);
        together.wait().await;
        let end = Instant::now() + self.shape.seconds;
        // Not all begin at once.
        let first_pause = self.shape.pause.mul_f64(f64::from(self.user.0 % 64) / 64.0);
        tokio::time::sleep(first_pause).await;
        for number in 1_u64.. {
            let plan = self.plans.next();
            let called = Instant::now();
            let waited = self.run(plan, called, fast).await?;
            let took = called.elapsed();
            self.tally.record(plan.kind, waited, took, fast);
            if let Some(scatter) = &mut self.scatter {
                scatter.add(plan.kind, waited, called, took);
            }
            if number.is_multiple_of(LOOKS_EVERY) {
                self.seat.keep_within();
            }
            if Instant::now() >= end {
                break;
            }
            self.rest().await;
        }
        Ok(self)
    }

    /// Without a pause a person who finds all here never waits: others go on meanwhile.
    async fn rest(&self) {
        if self.shape.pause.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(self.shape.pause).await;
        }
    }

    async fn run(&mut self, plan: Plan, called: Instant, fast: Duration) -> anyhow::Result<Waited> {
        match plan.kind {
            Kind::Page | Kind::Stranger => self.read_page(plan.target).await,
            Kind::Friends => {
                let (friends, waited) = self.seat.friends(self.user).await?;
                if let Some(watched) = &mut self.watched {
                    let ids = friends.iter().map(|friend| friend.id.as_str());
                    watched.read_rows([self.user.name().as_str()].into_iter().chain(ids), waited);
                }
                Ok(waited)
            }
            Kind::Status | Kind::Post | Kind::Befriend => self.write(plan, called, fast).await,
        }
    }

    async fn read_page(&mut self, of: User) -> anyhow::Result<Waited> {
        let (page, waited) = self.seat.page(of).await?;
        let seen = self.seen.entry(of).or_default();
        self.tally.pages += 1;
        self.tally.torn += u64::from(!page.is_whole());
        self.tally.went_back += u64::from(page.messages < *seen);
        *seen = page.messages;
        if let Some(watched) = &mut self.watched {
            watched.read_page(&of.name(), waited);
        }
        Ok(waited)
    }

    async fn write(&mut self, plan: Plan, called: Instant, fast: Duration) -> anyhow::Result<Waited> {
        let call = self.call(plan)?;
        let Written { waited, shown, handle } = self.seat.write(&call).await?;
        self.tally.record_shown(shown.duration_since(called), fast);
        if let (Some(watched), Some(handle)) = (&self.watched, &handle) {
            watched.wrote(&call, handle.clone());
        }
        if let (Some(scatter), Some(handle)) = (&self.scatter, handle) {
            scatter.wrote(plan.kind, called, handle);
        }
        Ok(waited)
    }

    /// The call of a plan, which is in the ledger from now on.
    fn call(&mut self, plan: Plan) -> anyhow::Result<Call> {
        let (by, to) = (self.user.name(), plan.target.name());
        self.posts += 1;
        Ok(match plan.kind {
            Kind::Status => {
                let status = Status { text: format!("{} at {}", plan.kind.name(), self.posts), by };
                self.ledger.status(self.user, &status.text);
                Call::Status(status)
            }
            Kind::Post => {
                let post = Post { text: format!("what up, {to}, for the {}th time", self.posts), by, to };
                self.ledger.post(plan.target, &post);
                *self.seen.entry(plan.target).or_default() += 1;
                Call::Post(post)
            }
            Kind::Befriend => {
                self.ledger.befriend(self.user, plan.target);
                Call::Befriend(Befriend { one: by, other: to })
            }
            Kind::Page | Kind::Friends | Kind::Stranger => bail!("{} writes nothing", plan.kind.name()),
        })
    }

    pub fn name(&self) -> String {
        self.user.name()
    }

    /// The client of the person's device, and the people whose pages it holds.
    pub fn held(&self) -> Option<Holder> {
        self.seat.held()
    }

    /// Waits until nothing is pending on the person's device.
    ///
    /// # Errors
    /// When that takes too long.
    pub async fn settle(&self, cells: &mut Cells) -> anyhow::Result<()> {
        let Some((client, _)) = self.held() else { return Ok(()) };
        settle(&client).await?;
        let refused = client.refused();
        if let Some(first) = refused.first() {
            cells.fault(format!("{}: {} calls were refused, such as {first:?}", self.user.name(), refused.len()));
        }
        Ok(())
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
