//! Searches for sizes, which `cheapest` and `compare` share: the SLO, the space, and several candidates at once.

use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use iolite_emulator::{Asked, PRICES, PlanFile, Prices, Slo, Space, Workload};

use crate::files;

/// The SLO that the command names, or else that of the workload; it must be of operations that the workload has.
pub fn slo(workload: &PlanFile, named: Option<&str>) -> Result<Slo> {
    let read = Workload::load(&workload.name, &workload.text)?;
    let slo = match named {
        Some(text) => Slo::read(text).map_err(anyhow::Error::msg)?,
        None => read.slo.clone().with_context(|| {
            format!("{} has no SLO: give one, as --slo \"get p90 < 60 ms\", or as `slo` in the workload", workload.name)
        })?,
    };
    for bound in slo.bounds() {
        let (what, rate) = match bound.asked {
            Asked::Put => ("puts", read.puts_per_second),
            Asked::Get => ("gets", read.gets_per_second),
        };
        if rate == 0.0 {
            bail!(
                "the SLO has `{bound}`, and {} has no {what}: take that bound out, or another workload",
                workload.name
            );
        }
    }
    Ok(slo)
}

pub fn prices(name: &str) -> Result<Prices> {
    let file = files::find("file of prices", PRICES, name)?;
    Ok(Prices::load(&file.name, &file.text)?)
}

/// The space of sizes; all of its numbers must be sensible.
pub fn space(servers: u32, disks: u32, seeds: u64) -> Result<Space> {
    if !(1..=1000).contains(&servers) || !(1..=64).contains(&disks) || !(1..=1000).contains(&seeds) {
        bail!("there are 1 to 1000 servers, 1 to 64 disks of each and 1 to 1000 seeds: take other numbers");
    }
    Ok(Space { servers, disks, seeds: (1..=seeds).collect() })
}

/// Does the same for each, as many at once as this machine has processors; the results are in the order of the inputs.
pub fn each<T: Sync, R: Send>(inputs: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..inputs.len());
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let take = || next.lock().expect("no thread fails while it takes a number").next();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(inputs.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(number) = take() {
                    let result = work(&inputs[number]);
                    results.lock().expect("no thread fails while it adds a result").push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("all threads have ended");
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_inputs() {
        let inputs: Vec<u64> = (0..100).collect();
        assert_eq!(each(&inputs, |input| input * 2), inputs.iter().map(|input| input * 2).collect::<Vec<_>>());
        assert!(each(&[], |input: &u64| *input).is_empty());
    }
}
