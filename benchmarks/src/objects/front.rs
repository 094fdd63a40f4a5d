//! Calls a second that one, two and three copies of an object take: `iolite bench object-front`.
//!
//! Each copy is at a node of its own. Its method waits 1 ms, alone: that stands for a machine of its own that works so long.
//! Source: Sapphire (Zhang 2017, 2.7.4, "Scalability"), Figure 2.8.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use iolite::objects::{CallError, Host, Methods, Ref, sapphire};
use serde_json::json;

use super::side::nanos_since;
use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::latency::Latencies;

/// Parts of each class's time, between which the others have theirs.
const ROUNDS: u32 = 5;
/// Calls on their way at once. Each copy has some that wait, whose turn comes next.
const IN_FLIGHT: u32 = 24;
/// The method's wait.
const WAIT: Duration = Duration::from_millis(1);
/// The caller asks for the copies every 5 s.
const COPIES_WITHIN: Duration = Duration::from_secs(20);
const COPYING: Duration = Duration::from_millis(500);
const OBJECT: &str = "front";

/// The next copy's number.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A class with a number of copies.
trait Front: Methods + Default {
    const COPIES: usize;
    fn call(front: &Ref<Self>) -> impl Future<Output = Result<(), CallError>>;
    fn copy(front: &Ref<Self>) -> impl Future<Output = Result<(u64, u64), CallError>>;
}

macro_rules! front {
    ($class:ident, $name:tt, $copies:tt) => {
        #[sapphire(name = $name, managers = [LoadBalancedFrontEnd { copies: $copies }])]
        struct $class {
            /// Each copy is made anew, so it has a number of its own.
            #[serde(skip, default = "next")]
            number: u64,
            #[serde(skip)]
            runs: u64,
        }

        #[sapphire::methods]
        impl $class {
            async fn call(&mut self) {
                self.runs += 1;
                // The runtime's own timer counts whole milliseconds.
                let waited = tokio::task::spawn_blocking(|| std::thread::sleep(WAIT)).await;
                waited.expect("a thread that sleeps does not panic");
            }

            #[read]
            fn copy(&self) -> (u64, u64) {
                (self.number, self.runs)
            }
        }

        impl Default for $class {
            fn default() -> $class {
                $class { number: next(), runs: 0 }
            }
        }

        impl Front for $class {
            const COPIES: usize = $copies;

            async fn call(front: &Ref<$class>) -> Result<(), CallError> {
                front.call().await
            }

            async fn copy(front: &Ref<$class>) -> Result<(u64, u64), CallError> {
                front.copy().await
            }
        }
    };
}

front!(Front1, "Front1", 1);
front!(Front2, "Front2", 2);
front!(Front3, "Front3", 3);

struct Arm<T: Front> {
    front: Ref<T>,
    latencies: Latencies,
    calls: u64,
    nanos: u64,
    /// The runs of each copy.
    runs: Vec<u64>,
}

/// # Errors
/// When a host does not start, copies are not made, or a call fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let seconds = Duration::from_secs(arguments.seconds.into());
    let settings = json!({
        "seconds": arguments.seconds, "rounds": ROUNDS, "in_flight": IN_FLIGHT, "wait_ms": WAIT.as_millis() as u64, "nodes": 3,
    });
    let mut cells = Cells::new(&AppWorkload::ObjectFront.name(), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (one, two, three) = runtime.block_on(measure(seconds))?;
    let mut table = format!("{:>7} {:>9} {:>9}  {}\n", "copies", "calls/s", "p50 ms", "runs of each");
    let rates =
        [one.report(&mut cells, &mut table), two.report(&mut cells, &mut table), three.report(&mut cells, &mut table)];
    cells.ratio("calls per second of 2 copies, of 1", rates[1], rates[0]);
    cells.ratio("calls per second of 3 copies, of 1", rates[2], rates[0]);
    cells.print_table(&table, arguments.json)
}

async fn measure(seconds: Duration) -> anyhow::Result<(Arm<Front1>, Arm<Front2>, Arm<Front3>)> {
    let server = Host::embedded().start().await?;
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let node = Host::connect(server.url(), server.token()).serves();
        nodes.push(node.class::<Front1>().class::<Front2>().class::<Front3>().start().await?);
    }
    let caller = Host::connect(server.url(), server.token()).start().await?;
    let (one, two, three) = tokio::join!(Arm::new(&caller), Arm::new(&caller), Arm::new(&caller));
    let (mut one, mut two, mut three) = (one?, two?, three?);
    let part = seconds / ROUNDS;
    for _ in 0..ROUNDS {
        one.round(part).await?;
        two.round(part).await?;
        three.round(part).await?;
    }
    one.count().await?;
    two.count().await?;
    three.count().await?;
    Ok((one, two, three))
}

impl<T: Front> Arm<T> {
    /// The object, once it has all of its copies.
    async fn new(caller: &Host) -> anyhow::Result<Arm<T>> {
        let front: Ref<T> = caller.create(OBJECT, T::default()).await?;
        // The coordinator makes the copies meanwhile, so the caller need not ask twice.
        tokio::time::sleep(COPYING).await;
        let begun = Instant::now();
        while begun.elapsed() < COPIES_WITHIN {
            if copies(&front).await?.len() == T::COPIES {
                return Ok(Arm { front, latencies: Latencies::default(), calls: 0, nanos: 0, runs: Vec::new() });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("there are not {} copies after {COPIES_WITHIN:?}", T::COPIES)
    }

    async fn round(&mut self, part: Duration) -> anyhow::Result<()> {
        let front = self.front.clone();
        let call = || async {
            let called = Instant::now();
            T::call(&front).await?;
            Ok::<_, CallError>(nanos_since(called))
        };
        let begun = Instant::now();
        let mut open: FuturesUnordered<_> = (0..IN_FLIGHT).map(|_| call()).collect();
        while let Some(nanos) = open.next().await {
            self.latencies.record(nanos?);
            self.calls += 1;
            if begun.elapsed() < part {
                open.push(call());
            }
        }
        self.nanos += nanos_since(begun);
        Ok(())
    }

    async fn count(&mut self) -> anyhow::Result<()> {
        let copies = copies(&self.front).await.context("the copies are asked for their runs")?;
        self.runs = copies.into_iter().map(|(_, runs)| runs).collect();
        Ok(())
    }

    fn report(&self, cells: &mut Cells, table: &mut String) -> f64 {
        let (copies, latency) = (T::COPIES, self.latencies.percentiles());
        let rate = if self.nanos == 0 { 0.0 } else { self.calls as f64 * 1e9 / self.nanos as f64 };
        let runs: u64 = self.runs.iter().sum();
        cells.push(json!({
            "copies": copies, "calls": self.calls, "throughput_per_s": rate, "latency_ms": latency, "runs": self.runs,
        }));
        if runs != self.calls || self.calls == 0 {
            cells.fault(format!("{copies} copies: they ran {runs} calls of {}", self.calls));
        }
        let _ = writeln!(table, "{copies:>7} {rate:>9.0} {:>9.2}  {:?}", latency.p50, self.runs);
        rate
    }
}

/// The number and the runs of each copy. Calls go round, so as many calls reach all.
async fn copies<T: Front>(front: &Ref<T>) -> Result<BTreeSet<(u64, u64)>, CallError> {
    let mut copies = BTreeSet::new();
    for _ in 0..T::COPIES {
        copies.insert(T::copy(front).await?);
    }
    Ok(copies)
}
