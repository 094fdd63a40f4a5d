//! The cheapest size of a candidate that meets an SLO, and the prices at which the order of two candidates turns.
//!
//! The search takes it that more servers or more disks never make a store slower. It walks along the border between sizes that meet the SLO and
//! sizes that do not: from one server with all disks, a disk less after each success and a server more after each failure. So it runs at most
//! as many sizes as there are servers and disks together.

use super::{Candidate, Parts, Prices, Size, Slo, Trial};

/// The sizes and seeds of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The most servers in all.
    pub servers: u32,
    /// The most disks of a server.
    pub disks: u32,
    pub seeds: Vec<u64>,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    pub design: String,
    pub promise: &'static str,
    pub hardware: String,
    /// The cheapest size that meets the SLO.
    pub met: Option<Trial>,
    /// The closest of those that do not.
    pub failed: Option<Trial>,
    /// Sizes that were run.
    pub sizes: usize,
}

/// A price at which two candidates cost the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub of: &'static str,
    pub now: f64,
    pub at: f64,
}

pub fn smallest(candidate: &Candidate, slo: &Slo, space: &Space) -> Searched {
    let mut searched = Searched {
        design: candidate.design.clone(),
        promise: candidate.promise,
        hardware: candidate.hardware.clone(),
        met: None,
        failed: None,
        sizes: 0,
    };
    let mut size = Size { servers: 1, disks: if candidate.has_disks { space.disks } else { 1 } };
    while size.servers <= candidate.servers_within(space.servers) && size.disks >= 1 {
        let is_dearer = searched.met.as_ref().is_some_and(|met| candidate.cost(size) >= met.cost);
        if is_dearer {
            size.disks -= 1;
            continue;
        }
        let trial = candidate.run(size, slo, &space.seeds);
        searched.sizes += 1;
        if trial.meets() {
            searched.met = Some(trial);
            size.disks -= 1;
        } else {
            let is_closer = searched.failed.as_ref().is_none_or(|had| had.closeness() <= trial.closeness());
            if is_closer {
                searched.failed = Some(trial);
            }
            size.servers += 1;
        }
    }
    searched
}

/// The prices at which `next`, which is dearer, costs as little as `best`, each with the others as they are.
pub fn turns(best: &Trial, next: &Trial, prices: &Prices, disk: Option<f64>) -> Vec<Turn> {
    let Parts { servers, diskless, disks } = best.parts;
    let each = [
        ("a server", prices.server, servers, next.parts.servers),
        ("a server without disks", prices.diskless_server, diskless, next.parts.diskless),
        ("a disk", disk.unwrap_or(0.0), disks, next.parts.disks),
    ];
    let turn = |(of, now, of_best, of_next): (&'static str, f64, u32, u32)| {
        let more = f64::from(of_best) - f64::from(of_next);
        let at = now + (next.cost - best.cost) / more;
        (more != 0.0 && now > 0.0 && at > 0.0).then_some(Turn { of, now, at })
    };
    each.into_iter().filter_map(turn).collect()
}
