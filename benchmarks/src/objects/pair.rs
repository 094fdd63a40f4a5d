//! A server and its clients, each a process, and what was measured between them.

use std::time::Duration;

use anyhow::Context;

use crate::latency::{Latencies, LatencyCounts, Percentiles};
use crate::part::PartProcess;

use super::arm::{Arm, Setup, Started};
use super::side::{Listening, Looped, Part, Ran, Ready};

pub struct Pair {
    pub arm: Arm,
    pub version: String,
    pub loops: Vec<Loop>,
    server: PartProcess,
}

/// A client with so many calls in flight.
pub struct Loop {
    pub in_flight: u32,
    client: PartProcess,
    /// All calls, also of the warm-up.
    called: u64,
    measured: Vec<Looped>,
}

impl Pair {
    /// # Errors
    /// When a process does not start.
    pub fn start(arm: Arm, setup: &Setup) -> anyhow::Result<Pair> {
        let Started { mut server, version, client } = arm.start(setup)?;
        let listening: Listening =
            server.hear().with_context(|| format!("the server of {} does not start", arm.name()))?;
        let mut loops = Vec::new();
        for &in_flight in arm.in_flight() {
            let mut client = client.start(&listening, in_flight, setup)?;
            let Ready::Ready = client.hear().with_context(|| format!("a client of {} does not start", arm.name()))?;
            loops.push(Loop { in_flight, client, called: 0, measured: Vec::new() });
        }
        Ok(Pair { arm, version, loops, server })
    }

    /// # Errors
    /// When a client ends.
    pub fn warm_up(&mut self, time: Duration) -> anyhow::Result<()> {
        self.loops.iter_mut().try_for_each(|one| one.run(time).map(drop))
    }

    /// Measures each of its loops for so long.
    ///
    /// # Errors
    /// As [`Pair::warm_up`].
    pub fn run(&mut self, time: Duration) -> anyhow::Result<()> {
        for one in &mut self.loops {
            let looped = one.run(time)?;
            one.measured.push(looped);
        }
        Ok(())
    }

    /// A fault if there were no calls, or if the server did not run each of them.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn fault(&mut self) -> anyhow::Result<Option<String>> {
        self.server.tell(&())?;
        let Ran(ran) = self.server.hear()?;
        let called: u64 = self.loops.iter().map(|one| one.called).sum();
        let is_idle = self.loops.iter().any(|one| one.calls() == 0);
        let fault = format!("{}: clients made {called} calls, and the server ran {ran}", self.arm.name());
        Ok((is_idle || ran != called).then_some(fault))
    }
}

impl Loop {
    fn run(&mut self, time: Duration) -> anyhow::Result<Looped> {
        self.client.tell(&Part::of(time))?;
        let looped: Looped = self.client.hear()?;
        self.called += looped.latency.count();
        Ok(looped)
    }

    /// Calls that were measured.
    pub fn calls(&self) -> u64 {
        self.measured.iter().map(|looped| looped.latency.count()).sum()
    }

    pub fn latency(&self) -> Percentiles {
        percentiles(self.measured.iter().map(|looped| &looped.latency))
    }

    /// The median of each part, which tells how much it varied while the run went on.
    pub fn medians_ms(&self) -> Vec<f64> {
        self.measured.iter().map(|looped| percentiles([&looped.latency]).p50).collect()
    }

    pub fn calls_per_second(&self) -> f64 {
        let nanos: u64 = self.measured.iter().map(|looped| looped.nanos).sum();
        if nanos == 0 { 0.0 } else { self.calls() as f64 * 1e9 / nanos as f64 }
    }
}

pub fn percentiles<'a>(counts: impl IntoIterator<Item = &'a LatencyCounts>) -> Percentiles {
    let mut latencies = Latencies::default();
    counts.into_iter().for_each(|counts| latencies.add(counts));
    latencies.percentiles()
}
