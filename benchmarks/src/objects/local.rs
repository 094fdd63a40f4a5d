//! A null call inside of one process, without managers and through three that do nothing: the cost of the managers' layers.
//!
//! Source: the managers' own cost, which Sapphire (Zhang 2017, 2.7.4) does not measure apart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use iolite::objects::managers::{Answer, InstanceManager, Kind, Kit, Later, Manager, Proxy, Rpc, Settings, Slot};
use iolite::objects::{CallError, Host, Ref, sapphire};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cells::Cells;
use crate::latency::{Latencies, Percentiles};
use crate::part::{PartProcess, hear, say};

use super::pair::percentiles;
use super::report::row;
use super::side::{Looped, Part, Ready, nanos_since};

/// Calls of one object before those of the other one.
const CALLS_IN_TURN: u32 = 500;
const OBJECT: &str = "local";

#[sapphire(name = "LocalNull")]
struct Bare {}

#[sapphire::methods]
impl Bare {
    fn call(&mut self) {}
}

#[sapphire(name = "LocalManaged", managers = [self::First, self::Second, self::Third])]
struct Managed {}

#[sapphire::methods]
impl Managed {
    fn call(&mut self) {}
}

/// A manager that passes calls on, at the caller and beside the object.
macro_rules! passes_on {
    ($manager:ident, $name:literal, $slot:ident) => {
        #[derive(Debug)]
        struct $manager;

        impl Manager for $manager {
            const KIND: Kind = Kind { name: $name, slot: Slot::$slot, facts: &[], settings: &[] };

            fn proxy(&self, _settings: &Settings) -> Option<Arc<dyn Proxy>> {
                Some(Arc::new($manager))
            }

            fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
                Some(Arc::new($manager))
            }
        }

        impl Proxy for $manager {
            fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
                Box::pin(async move { kit.next(call).await })
            }
        }

        impl InstanceManager for $manager {
            fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
                Box::pin(async move { kit.next(call).await })
            }
        }
    };
}

passes_on!(First, "PassesFirst", Delivery);
passes_on!(Second, "PassesSecond", Serial);
passes_on!(Third, "PassesThird", Placement);

/// The process's answer: calls without managers, and with three.
#[derive(Debug, Serialize, Deserialize)]
struct Both {
    none: Looped,
    three: Looped,
}

/// The process, and what was measured in it.
pub struct Local {
    process: PartProcess,
    measured: Vec<Both>,
}

impl Local {
    /// # Errors
    /// When the process does not start.
    pub fn start() -> anyhow::Result<Local> {
        let mut process = PartProcess::start(&["bench-part", "local-call"])?;
        let Ready::Ready = process.hear()?;
        Ok(Local { process, measured: Vec::new() })
    }

    /// # Errors
    /// When the process ends.
    pub fn warm_up(&mut self, time: Duration) -> anyhow::Result<()> {
        self.both(time).map(drop)
    }

    /// Measures for so long.
    ///
    /// # Errors
    /// As [`Local::warm_up`].
    pub fn run(&mut self, time: Duration) -> anyhow::Result<()> {
        let both = self.both(time)?;
        self.measured.push(both);
        Ok(())
    }

    fn both(&mut self, time: Duration) -> anyhow::Result<Both> {
        self.process.tell(&Part::of(time))?;
        self.process.hear()
    }

    pub fn report(&self, cells: &mut Cells, table: &mut String) {
        let none: Vec<_> = self.measured.iter().map(|both| &both.none).collect();
        let three: Vec<_> = self.measured.iter().map(|both| &both.three).collect();
        let medians = [("none", none), ("three", three)].map(|(managers, looped)| {
            let latency: Percentiles = percentiles(looped.iter().map(|one| &one.latency));
            let calls: u64 = looped.iter().map(|one| one.latency.count()).sum();
            let nanos: u64 = looped.iter().map(|one| one.nanos).sum();
            let rounds: Vec<f64> = looped.iter().map(|one| percentiles([&one.latency]).p50).collect();
            let rate = calls as f64 * 1e9 / (nanos.max(1)) as f64;
            cells.push(json!({
                "from": "process", "to": "itself", "managers": managers, "calls": calls, "latency_ms": latency, "round_p50_ms": rounds,
                "throughput_per_s": rate,
            }));
            row(table, &format!("local, {managers}"), 1, latency, rate);
            (latency.p50, rate)
        });
        let [(none, none_rate), (three, three_rate)] = medians;
        cells.ratio("local call: p50 through three managers, of none", three, none);
        cells.ratio("local call: calls per second through three managers, of none", three_rate, none_rate);
    }
}

/// The process: a server that calls its own objects, until its parent is gone.
///
/// # Errors
/// When the server does not start, or a call fails.
pub fn run_local() -> anyhow::Result<()> {
    // As a side of the other systems: one thread, and the work is a task of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::spawn(answer()).await? })
}

async fn answer() -> anyhow::Result<()> {
    let host = Host::embedded().class::<Bare>().class::<Managed>();
    let host = host.manager(First).manager(Second).manager(Third).start().await?;
    let bare = host.create(OBJECT, Bare {}).await?;
    let managed = host.create(OBJECT, Managed {}).await?;
    say(&Ready::Ready)?;
    while let Ok(part) = hear::<Part>().await {
        let both = alternate(&bare, &managed, part.time()).await?;
        say(&both)?;
    }
    Ok(())
}

async fn alternate(bare: &Ref<Bare>, managed: &Ref<Managed>, time: Duration) -> anyhow::Result<Both> {
    let (mut none, mut three) = ((Latencies::default(), 0), (Latencies::default(), 0));
    let begun = Instant::now();
    while begun.elapsed() < time {
        none.1 += in_turn(&mut none.0, || bare.call()).await?;
        three.1 += in_turn(&mut three.0, || managed.call()).await?;
    }
    let looped = |(latencies, nanos): (Latencies, u64)| Looped { latency: latencies.counts(), nanos };
    Ok(Both { none: looped(none), three: looped(three) })
}

/// Makes some calls. Their nanoseconds together.
async fn in_turn<F: Future<Output = Result<(), CallError>>>(
    latencies: &mut Latencies,
    call: impl Fn() -> F,
) -> Result<u64, CallError> {
    let begun = Instant::now();
    for _ in 0..CALLS_IN_TURN {
        let called = Instant::now();
        call().await?;
        latencies.record(nanos_since(called));
    }
    Ok(nanos_since(begun))
}
