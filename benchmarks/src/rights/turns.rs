//! Arms of one run that are measured in turns, so that what the machine does meanwhile falls on all of them.
//!
//! Invariant: of each turn, the first calls do not count: they bring back what the other arms have driven out of the caches.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::fanout::Fan;
use crate::latency::{Latencies, Percentiles};

/// How long one arm is called before the next one is.
const TURN: Duration = Duration::from_millis(250);
/// Calls of each kind before those that count, in each turn.
const WARM_UP: usize = 2;
/// The same before the first turn.
const WARM_UP_FIRST: usize = 20;

/// One who calls and all who see it, in one of the ways that are compared.
pub struct Arm {
    /// The kinds of calls, which come in turn.
    kinds: Vec<Kind>,
    fan: Fan,
}

/// Calls of one kind.
pub struct Kind {
    pub name: &'static str,
    seen: Latencies,
    confirmed: Latencies,
    busy: Duration,
    calls: u64,
    /// The server's time in the turns of this arm, which its kinds share alike.
    server: Duration,
}

impl Kind {
    fn new(name: &'static str) -> Kind {
        let (seen, confirmed) = (Latencies::default(), Latencies::default());
        Kind { name, seen, confirmed, busy: Duration::ZERO, calls: 0, server: Duration::ZERO }
    }

    pub fn seen_ms(&self) -> Percentiles {
        self.seen.percentiles()
    }

    /// Calls a second, of one who calls again when everybody has seen the last call.
    pub fn throughput_per_s(&self) -> f64 {
        if self.busy.is_zero() { 0.0 } else { self.calls as f64 / self.busy.as_secs_f64() }
    }

    pub fn server_us(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.server.as_secs_f64() * 1e6 / self.calls as f64 }
    }

    /// The record of it in the report.
    pub fn cell(&self, what: Value) -> Value {
        let Value::Object(mut cell) = what else { panic!("a cell has names") };
        cell.extend(Map::from_iter([
            ("calls".to_owned(), json!(self.calls)),
            ("latency_ms".to_owned(), json!(self.seen_ms())),
            ("commit_latency_ms".to_owned(), json!(self.confirmed.percentiles())),
            ("throughput_per_s".to_owned(), json!(self.throughput_per_s())),
            ("server_cpu_us_per_op".to_owned(), json!(self.server_us())),
        ]));
        Value::Object(cell)
    }
}

impl Arm {
    pub fn new(names: &[&'static str], fan: Fan) -> Arm {
        Arm { kinds: names.iter().map(|name| Kind::new(name)).collect(), fan }
    }

    fn warm_up(&mut self, times: usize) -> anyhow::Result<()> {
        for _ in 0..times * self.kinds.len() {
            self.fan.once()?;
        }
        Ok(())
    }

    /// Each kind as often as the others, so that a turn ends as it began.
    fn turn(&mut self) -> anyhow::Result<()> {
        self.warm_up(WARM_UP)?;
        let (begun, before) = (Instant::now(), self.fan.server_cpu());
        while begun.elapsed() < TURN {
            for kind in &mut self.kinds {
                let called = Instant::now();
                let (seen_nanos, confirmed_nanos) = self.fan.once()?;
                kind.busy += called.elapsed();
                kind.seen.record(seen_nanos);
                kind.confirmed.record(confirmed_nanos);
                kind.calls += 1;
            }
        }
        let used = self.fan.server_cpu().saturating_sub(before) / u32::try_from(self.kinds.len()).unwrap_or(1);
        self.kinds.iter_mut().for_each(|kind| kind.server += used);
        Ok(())
    }

    /// Ends its clients.
    ///
    /// # Errors
    /// When one of them does not say what its run came to.
    pub fn end(mut self) -> anyhow::Result<Vec<Kind>> {
        self.fan.end()?;
        Ok(self.kinds)
    }
}

/// Measures each arm for so long.
///
/// # Errors
/// When a client fails.
pub fn in_turns(arms: &mut [Arm], time: Duration) -> anyhow::Result<()> {
    for arm in arms.iter_mut() {
        arm.warm_up(WARM_UP_FIRST)?;
    }
    let rounds = (time.as_millis() / TURN.as_millis()).max(1);
    for round in 0..rounds {
        // There and back: none is always the first.
        let mut order: Vec<&mut Arm> = arms.iter_mut().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        order.into_iter().try_for_each(Arm::turn)?;
    }
    Ok(())
}
