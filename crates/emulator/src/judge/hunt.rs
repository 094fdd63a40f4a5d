//! A hunt over seeds: few objects, one disk a node, messages that are late by up to some milliseconds, and the judge at the end of each run.

use crate::judge::{Verdict, judge};
use crate::plan::{Plan, PlanError, PlanFiles};
use crate::quantity::Span;
use crate::virtual_time::{Roughness, run};

/// The seed at which the judge found something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub seed: u64,
    pub what: String,
}

/// How late messages are at most: about what a disk takes.
const DELAY: Span = Span::from_millis(8);

/// On one disk, where the plan names no number, operations wait for each other, and a read can overtake the write that it should see.
const DISKS: u32 = 1;

/// Runs a plan from each seed until the judge finds that its promise is broken.
///
/// # Errors
/// What keeps the plan from starting.
pub fn hunt(files: &PlanFiles, seeds: impl Iterator<Item = u64>) -> Result<Option<Found>, PlanError> {
    let roughness = Roughness { delay: DELAY, stops: Vec::new() };
    let disks = files.disks.or(Some(DISKS));
    for seed in seeds {
        let plan = Plan::read(&PlanFiles { seed, disks, ..files.clone() })?;
        let ran = run(&plan, &roughness)?;
        match judge(plan.design.promise, &ran.history, |key| plan.before(key)) {
            Verdict::Holds { .. } => {}
            Verdict::Broken { key, what } => {
                return Ok(Some(Found { seed, what: format!("object {}: {what}", key.0) }));
            }
        }
    }
    Ok(None)
}
