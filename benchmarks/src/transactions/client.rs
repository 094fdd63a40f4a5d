//! One client: a transaction after the other, in a closed loop.
//!
//! Invariant: a transaction that aborts is run again with new reads until it commits, the loop is over, or its outcome is unknown; an
//! unknown one is never run again, and counts as unknown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::transactions::history::{Certainty, Write, WriteKind};
use crate::transactions::system::{Interrupted, Outcome, Session, System};
use crate::transactions::tally::{Tally, Window};
use crate::transactions::workload::{KeyNumber, Mode, Plan, Plans, Random, Step, Value, Writer};

/// What all clients share.
#[derive(Debug)]
pub struct Shared {
    pub window: Window,
    pub over: AtomicBool,
    tally: Mutex<Tally>,
}

pub struct Client<S: System> {
    system: Arc<S>,
    session: S::Session,
    number: u16,
    plans: Plans,
    pauses: Random,
    shared: Arc<Shared>,
    attempts: u64,
}

/// How one attempt ended.
enum End {
    Committed {
        commit_began: Instant,
    },
    Aborted,
    Unknown,
    /// Without effect, and the session is of no use any more.
    Broken(anyhow::Error),
}

/// A step that takes longer is a session that is broken; a commit, one whose outcome is unknown.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Sessions that break without a commit between them.
const BROKEN_IN_A_ROW: u32 = 5;
/// The first pause after a second conflict, at most; it doubles.
const PAUSE: Duration = Duration::from_micros(500);
const PAUSE_MOST: Duration = Duration::from_millis(50);
/// Of the streams of randomness, so that pauses change no plan.
const PAUSES: u64 = 1 << 32;

impl Shared {
    pub fn over(window: Window) -> Shared {
        Shared { window, over: AtomicBool::new(false), tally: Mutex::default() }
    }

    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().expect("nobody panics with it")
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl<S: System> Client<S> {
    pub fn new(system: Arc<S>, session: S::Session, number: u16, plans: Plans, seed: u64, shared: Arc<Shared>) -> Self {
        let pauses = Random::of(seed, PAUSES + u64::from(number));
        Client { system, session, number, plans, pauses, shared, attempts: 0 }
    }

    /// Returns when the run is over.
    ///
    /// # Errors
    /// When sessions break without reason.
    pub async fn run(mut self) -> anyhow::Result<()> {
        while !self.shared.is_over() {
            let plan = self.plans.next();
            self.transaction(&plan).await?;
        }
        Ok(())
    }

    async fn transaction(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (mut conflicts, mut broken) = (0, 0);
        loop {
            match self.attempt(plan).await {
                End::Committed { commit_began } => {
                    self.committed(plan.mode(), begun, commit_began);
                    return Ok(());
                }
                End::Unknown => {
                    self.count(|tally| tally.counts.unknown += 1);
                    return self.connect().await;
                }
                End::Aborted => conflicts += 1,
                End::Broken(error) => {
                    broken += 1;
                    if broken > BROKEN_IN_A_ROW {
                        return Err(error.context("a client's sessions break over and over"));
                    }
                    self.connect().await?;
                }
            }
            self.count(|tally| tally.counts.aborts += 1);
            self.pause(conflicts).await;
            if self.shared.is_over() {
                return Ok(());
            }
            self.count(|tally| tally.counts.retries += 1);
        }
    }

    async fn attempt(&mut self, plan: &Plan) -> End {
        self.attempts += 1;
        let writer = Writer::of(self.number, self.attempts);
        let mut writes = Vec::new();
        self.session.begin(plan.mode());
        for step in plan.steps() {
            match self.step(*step, writer).await {
                Ok(write) => writes.extend(write),
                Err(Interrupted::Aborted) => return End::Aborted,
                Err(Interrupted::Broken(error)) => return End::Broken(error),
            }
        }
        let commit_began = Instant::now();
        let outcome = match tokio::time::timeout(ANSWERS_WITHIN, self.session.commit()).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Unknown(anyhow!("no answer to a commit")),
        };
        match outcome {
            Outcome::Committed => {
                self.shared.tally().writes.append(&mut writes);
                End::Committed { commit_began }
            }
            Outcome::Aborted => End::Aborted,
            Outcome::Unknown(reason) => {
                let unknown = |write| Write { certainty: Certainty::Unknown, ..write };
                let mut tally = self.shared.tally();
                tally.writes.extend(writes.into_iter().map(unknown));
                tally.first_unknown.get_or_insert_with(|| format!("{reason:#}"));
                End::Unknown
            }
        }
    }

    async fn step(&mut self, step: Step, writer: Writer) -> Result<Option<Write>, Interrupted> {
        let (key, kind, count) = match step {
            Step::Get(key) => {
                self.get(key).await?;
                return Ok(None);
            }
            Step::Increment(key) => {
                let read = self.get(key).await?;
                (key, WriteKind::Increment { of: read.writer }, read.count + 1)
            }
            Step::Put(key) => (key, WriteKind::Put, 0),
        };
        self.session.put(key, Value { count, writer });
        Ok(Some(Write { key, writer, kind, certainty: Certainty::Committed }))
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        let answer = tokio::time::timeout(ANSWERS_WITHIN, self.session.get(key)).await;
        answer.unwrap_or_else(|_| Err(Interrupted::Broken(anyhow!("no answer to a get"))))
    }

    async fn connect(&mut self) -> anyhow::Result<()> {
        self.session = self.system.connect().await.context("a client cannot connect again")?;
        Ok(())
    }

    fn committed(&self, mode: Mode, begun: Instant, commit_began: Instant) {
        let now = Instant::now();
        let mut tally = self.shared.tally();
        let measured = self.shared.window.holds(now);
        tally.progress.committed += 1;
        if measured {
            tally.counts.committed += 1;
            tally.latency.record(nanos(now - begun));
            tally.commit_latency.record(nanos(now - commit_began));
            let Window { from, to } = self.shared.window;
            tally.intervals.record(now - from, to - from, nanos(now - begun));
        }
        match mode {
            Mode::ReadOnly => {}
            Mode::ReadWrite => {
                tally.progress.committed_writes += 1;
                if measured {
                    tally.write_commit_latency.record(nanos(now - commit_began));
                }
            }
        }
    }

    fn count(&self, count: impl FnOnce(&mut Tally)) {
        if self.shared.window.holds(Instant::now()) {
            count(&mut self.shared.tally());
        }
    }

    /// The first conflict is followed at once by the next attempt; later ones by a random pause.
    async fn pause(&mut self, conflicts: u32) {
        if conflicts > 1 {
            let most = PAUSE.saturating_mul(1 << (conflicts - 2).min(10)).min(PAUSE_MOST);
            let pause = Duration::from_nanos(self.pauses.below(nanos(most)));
            tokio::time::sleep(pause).await;
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
