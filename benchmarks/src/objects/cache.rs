//! Reads and writes of an object that devices far away call: `iolite bench object-cache --delay-ms 5,50`.
//!
//! The object is at a server. Two devices have it over links with a delay. The first one reads and writes; the second one reads, so that it has a cache too.
//! Source: Sapphire (Zhang 2017, 2.7.4, "Caching").

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use iolite::objects::{CallError, Host, Methods, Ref, sapphire};
use serde_json::json;

use super::far::Far;
use super::side::nanos_since;
use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::latency::{Latencies, Percentiles};

/// Parts of each class's time, between which the others have theirs.
const ROUNDS: u32 = 5;
/// The text of the object, beside its number.
const TEXT_BYTES: usize = 100;
/// The id of each object.
const OBJECT: &str = "kept";

/// A class of the same object, under other managers.
trait Kept: Methods {
    fn new() -> Self;
    fn read(kept: &Ref<Self>) -> impl Future<Output = Result<u64, CallError>>;
    fn write(kept: &Ref<Self>, number: u64) -> impl Future<Output = Result<(), CallError>>;
}

macro_rules! kept {
    ($class:ident, $name:tt, $($managers:tt)*) => {
        #[sapphire(name = $name, managers = $($managers)*, devices = "hold")]
        struct $class {
            number: u64,
            text: String,
        }

        #[sapphire::methods]
        impl $class {
            #[read]
            fn number(&self) -> u64 {
                self.number
            }

            fn change(&mut self, number: u64) {
                self.number = number;
            }
        }

        impl Kept for $class {
            fn new() -> $class {
                $class { number: 0, text: "x".repeat(TEXT_BYTES) }
            }

            async fn read(kept: &Ref<$class>) -> Result<u64, CallError> {
                kept.number().await
            }

            async fn write(kept: &Ref<$class>, number: u64) -> Result<(), CallError> {
                kept.change(number).await
            }
        }
    };
}

kept!(Plain, "KeptPlain", []);
kept!(Leased, "KeptLeased", [LeaseCaching]);
kept!(Consistent, "KeptConsistent", [ConsistentCaching]);

/// The two devices' references to one object, and what was measured.
struct Arm<T: Kept> {
    name: &'static str,
    first: Ref<T>,
    /// None: only one node at a time has the object.
    second: Option<Ref<T>>,
    /// The number that was written last.
    written: u64,
    reads: Latencies,
    read_count: u64,
    writes: Latencies,
    write_count: u64,
    /// The first read of the device that wrote, after it.
    reads_after: Latencies,
    /// Reads that showed another number than was written last.
    wrong: u64,
}

/// The medians that aims are about.
struct Middle {
    name: &'static str,
    read: Percentiles,
    write: Percentiles,
}

/// # Errors
/// When a host does not start, or a call fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let seconds = Duration::from_secs(arguments.seconds.into());
    let settings = json!({"seconds": arguments.seconds, "rounds": ROUNDS, "text_bytes": TEXT_BYTES, "caches": 2});
    let mut cells = Cells::new(&AppWorkload::ObjectCache.name(), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut table =
        format!("{:>8} {:<18} {:>10} {:>10} {:>14}\n", "delay ms", "", "read ms", "write ms", "read after ms");
    for &delay_ms in &arguments.delay_ms {
        let delay = Duration::from_millis(delay_ms.into());
        let arms = runtime.block_on(measure(delay, seconds)).with_context(|| format!("at {delay_ms} ms"))?;
        let middles = [
            arms.0.report(&mut cells, delay_ms, &mut table),
            arms.1.report(&mut cells, delay_ms, &mut table),
            arms.2.report(&mut cells, delay_ms, &mut table),
        ];
        let [none, caches @ ..] = &middles;
        for cache in caches {
            let name = |what: &str| format!("{delay_ms} ms: {what} of {}, of none", cache.name);
            cells.ratio(&name("read"), cache.read.p50, none.read.p50);
            cells.ratio(&name("write"), cache.write.p50, none.write.p50);
        }
    }
    cells.print_table(&table, arguments.json)
}

async fn measure(delay: Duration, seconds: Duration) -> anyhow::Result<(Arm<Plain>, Arm<Leased>, Arm<Consistent>)> {
    let server = Host::embedded().class::<Plain>().class::<Leased>().class::<Consistent>().start().await?;
    let mut far = Far::new(&server, delay)?;
    let device = async |far: &mut Far| {
        let host = far.connect().await?.class::<Plain>().class::<Leased>().class::<Consistent>();
        anyhow::Ok(host.start().await?)
    };
    let (first, second) = (device(&mut far).await?, device(&mut far).await?);
    let mut none = Arm::<Plain>::new("none", &server, &first, Some(&second)).await?;
    let mut lease = Arm::<Leased>::new("LeaseCaching", &server, &first, None).await?;
    let mut consistent = Arm::<Consistent>::new("ConsistentCaching", &server, &first, Some(&second)).await?;
    let part = seconds / (2 * ROUNDS);
    for _ in 0..ROUNDS {
        none.round(part).await?;
        lease.round(part).await?;
        consistent.round(part).await?;
    }
    // They end before the hosts do.
    Ok((none, lease, consistent))
}

impl<T: Kept> Arm<T> {
    async fn new(name: &'static str, server: &Host, first: &Host, second: Option<&Host>) -> anyhow::Result<Arm<T>> {
        server.create(OBJECT, T::new()).await?;
        let first = first.find(OBJECT).await?.context("a device does not find the object")?;
        let second = match second {
            Some(host) => Some(host.find(OBJECT).await?.context("a device does not find the object")?),
            None => None,
        };
        let latencies = Latencies::default;
        let (reads, writes, reads_after) = (latencies(), latencies(), latencies());
        let (read_count, write_count, written, wrong) = (0, 0, 0, 0);
        Ok(Arm { name, first, second, written, reads, read_count, writes, write_count, reads_after, wrong })
    }

    /// Reads for so long, and then writes for so long.
    async fn round(&mut self, part: Duration) -> anyhow::Result<()> {
        self.read_both().await?;
        let begun = Instant::now();
        while begun.elapsed() < part {
            let called = Instant::now();
            let number = T::read(&self.first).await?;
            self.reads.record(nanos_since(called));
            self.read_count += 1;
            self.check(number);
        }
        let begun = Instant::now();
        while begun.elapsed() < part {
            self.read_both().await?;
            let called = Instant::now();
            T::write(&self.first, self.written + 1).await?;
            self.writes.record(nanos_since(called));
            self.write_count += 1;
            self.written += 1;
            let called = Instant::now();
            let number = T::read(&self.first).await?;
            self.reads_after.record(nanos_since(called));
            self.check(number);
        }
        Ok(())
    }

    /// Both devices have caches when this returns.
    async fn read_both(&mut self) -> anyhow::Result<()> {
        let second = async {
            match &self.second {
                Some(second) => T::read(second).await.map(Some),
                None => Ok(None),
            }
        };
        let (first, second) = tokio::try_join!(T::read(&self.first), second)?;
        self.check(first);
        second.into_iter().for_each(|number| self.check(number));
        Ok(())
    }

    fn check(&mut self, number: u64) {
        self.wrong += u64::from(number != self.written);
    }

    fn report(&self, cells: &mut Cells, delay_ms: u32, table: &mut String) -> Middle {
        let [read, write, after] = [&self.reads, &self.writes, &self.reads_after].map(Latencies::percentiles);
        cells.push(json!({
            "delay_ms": delay_ms, "managers": self.name, "reads": self.read_count, "read_ms": read, "writes": self.write_count, "write_ms": write,
            "read_after_write_ms": after,
        }));
        if self.wrong > 0 || self.read_count == 0 || self.write_count == 0 {
            let Arm { name, wrong, read_count, write_count, .. } = self;
            let counts = format!("of {read_count} reads and {write_count} writes");
            cells.fault(format!(
                "{delay_ms} ms, {name}: {counts}, {wrong} reads showed another number than was written"
            ));
        }
        let (name, read_ms, write_ms, after_ms) = (self.name, read.p50, write.p50, after.p50);
        let _ = writeln!(table, "{delay_ms:>8} {name:<18} {read_ms:>10.3} {write_ms:>10.3} {after_ms:>14.3}");
        Middle { name, read, write }
    }
}
