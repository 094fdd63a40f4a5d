//! Cells and ratios of the arms, with one number of data centres.
//!
//! Invariant: ours is the cell itself; all others are in its `beside`.

use std::time::Duration;

use serde_json::{Value, json};

use super::arm::Arm;
use super::plan::{Kind, Mix};
use super::several::{Lived, Several};
use super::tally::{Figures, Tally};
use crate::cells::Cells;

pub struct Comparison {
    centres: usize,
    client_rtts: Vec<Duration>,
    mix: Mix,
    clients: u32,
    arms: Vec<(Arm, Lived)>,
}

/// A number of what an arm came to.
type Figure = fn(&Lived) -> f64;

impl Comparison {
    /// A comparison of transactions by their round trips.
    pub fn latency(several: &Several, centres: usize, mix: Mix) -> Comparison {
        let (client_rtts, clients) = (several.client_rtts.clone(), several.shape.clients);
        Comparison { centres, client_rtts, mix, clients, arms: Vec::new() }
    }

    /// A comparison of one step of a rising load.
    pub fn load(several: &Several, centres: usize, clients: u32) -> Comparison {
        Comparison { clients, ..Comparison::latency(several, centres, several.mix) }
    }

    pub fn add(&mut self, arm: Arm, lived: Lived) {
        self.arms.push((arm, lived));
    }

    /// A cell and its ratios for each round trip.
    pub fn report(&self, cells: &mut Cells) {
        for (place, rtt) in self.client_rtts.iter().enumerate() {
            let Some(ours) = self.of(Arm::Ours) else { return };
            let of = |lived: &Lived| cell(&lived.tallies[place], lived.took);
            let mut own = of(ours);
            own["of"] = json!("latency");
            own["centres"] = json!(self.centres);
            own["client_rtt_ms"] = json!(rtt.as_millis());
            own["miss_share"] = json!(100 - self.mix.locality);
            own["beside"] = self.beside(of);
            cells.push(own);
            self.ratios_of(cells, place, rtt.as_secs_f64() * 1e3);
        }
    }

    fn ratios_of(&self, cells: &mut Cells, place: usize, rtt_ms: f64) {
        let at = format!("{} centres, {rtt_ms} ms", self.centres);
        let all = |arm| self.of(arm).map(|lived: &Lived| lived.tallies[place].figures(|_, _| true).latency_ms);
        let Some(ours) = all(Arm::Ours) else { return };
        for (arm, name) in [(Arm::Cloud, "cloud"), (Arm::CloudFt, "cloud_ft"), (Arm::NaiveFt, "naive_ft")] {
            let Some(other) = all(arm) else { continue };
            cells.ratio(&format!("median_of_{name}, {at}"), ours.p50, other.p50);
            if arm == Arm::Cloud {
                cells.ratio(&format!("p90_of_cloud_median, {at}"), ours.p90, other.p50);
            }
        }
        if let Some(lived) = self.of(Arm::Ours) {
            let misses = lived.tallies[place].figures(|_, missed| missed).latency_ms;
            cells.ratio(&format!("median_of_misses_of_round_trip, {at}"), misses.p50, rtt_ms);
        }
    }

    /// The share of fast transactions beside that of those which found all on the device, of all round trips.
    pub fn report_misses(&self, cells: &mut Cells) {
        let Some(ours) = self.of(Arm::Ours) else { return };
        self.report(cells);
        let (figures, share) = (ours.all().figures(|_, _| true), 100 - self.mix.locality);
        let hits = figures.count - figures.misses;
        cells.ratio(&format!("fast_of_all, miss share {share}"), figures.fast as f64, figures.count as f64);
        cells.ratio(&format!("hits_of_all, miss share {share}"), hits as f64, figures.count as f64);
    }

    /// A cell for all clients together, and what it needs of the busiest data centre.
    pub fn report_load(&self, cells: &mut Cells) {
        let Some(ours) = self.of(Arm::Ours) else { return };
        let mut own = load_cell(ours);
        own["of"] = json!("load");
        own["centres"] = json!(self.centres);
        own["clients"] = json!(self.clients);
        own["miss_share"] = json!(100 - self.mix.locality);
        own["beside"] = self.beside(load_cell);
        cells.push(own);
        if let Some(cloud) = self.of(Arm::Cloud) {
            let at = format!("{} centres, {} clients", self.centres, self.clients);
            cells.ratio(&format!("transactions_per_cpu_s_of_cloud, {at}"), ours.per_cpu_s(), cloud.per_cpu_s());
            cells.ratio(&format!("throughput_of_cloud, {at}"), ours.per_s(), cloud.per_s());
        }
    }

    /// The highest throughputs of all steps of one number of data centres.
    pub fn report_peaks(steps: &[Comparison], cells: &mut Cells) {
        let Some(centres) = steps.first().map(|step| step.centres) else { return };
        let best = |arm, of: Figure| steps.iter().filter_map(|step| step.of(arm).map(of)).fold(0.0, f64::max);
        let figures: [(&str, Figure); 2] = [("throughput", Lived::per_s), ("transactions_per_cpu_s", Lived::per_cpu_s)];
        for (name, of) in figures {
            let (ours, cloud) = (best(Arm::Ours, of), best(Arm::Cloud, of));
            cells.ratio(&format!("peak_{name}_of_cloud, {centres} centres"), ours, cloud);
        }
    }

    fn of(&self, arm: Arm) -> Option<&Lived> {
        self.arms.iter().find(|(other, _)| *other == arm).map(|(_, lived)| lived)
    }

    fn beside(&self, of: impl Fn(&Lived) -> Value) -> Value {
        let others = self.arms.iter().filter(|(arm, _)| *arm != Arm::Ours);
        let named = others.map(|(arm, lived)| {
            let mut cell = of(lived);
            cell["system"] = json!(arm.name());
            cell
        });
        named.collect()
    }
}

impl Lived {
    fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.tallies.iter().for_each(|tally| all.add(tally));
        all
    }

    fn busiest(&self) -> Duration {
        self.cpu.iter().copied().max().unwrap_or_default()
    }

    fn per_s(&self) -> f64 {
        self.all().figures(|_, _| true).count as f64 / self.took.as_secs_f64()
    }

    fn per_cpu_s(&self) -> f64 {
        self.all().figures(|_, _| true).count as f64 / self.busiest().as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

fn load_cell(lived: &Lived) -> Value {
    let mut whole = cell(&lived.all(), lived.took);
    let cpu: Vec<f64> = lived.cpu.iter().map(Duration::as_secs_f64).collect();
    whole["cpu_s_of_centres"] = json!(cpu);
    whole["transactions_per_cpu_s"] = json!(lived.per_cpu_s());
    whole
}

fn cell(tally: &Tally, took: Duration) -> Value {
    let Figures { count, fast, misses, latency_ms } = tally.figures(|_, _| true);
    let of = |condition: &dyn Fn(Kind, bool) -> bool| tally.figures(condition).latency_ms;
    json!({
        "transactions": count, "throughput_per_s": count as f64 / took.as_secs_f64(), "latency_ms": latency_ms,
        "reads_ms": of(&|kind, _| !kind.writes()), "updates_ms": of(&|kind, _| kind.writes()),
        "misses_ms": of(&|_, missed| missed), "misses": misses, "fast": fast,
    })
}
