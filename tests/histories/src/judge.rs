//! Both checkers over one history.

use std::time::Instant;

use crate::form::{self, Malformed};
use crate::history::History;
use crate::last_state;
use crate::own::{self, Index, Standing};
use crate::peer;
use crate::report::{Counts, Milliseconds, Report};

/// Judges a history: whether it is strictly serializable, and whether its last state lost anything.
///
/// # Errors
/// [`Malformed`], if it was recorded in a way that nobody could judge.
pub fn judge(history: &History) -> Result<Report, Malformed> {
    form::check(history)?;
    let start = Instant::now();
    let mut index = Index::new(history);
    let verdict = own::check_index(&mut index);
    let mut findings = verdict.findings;
    let last_state = last_state::check(&index, &mut findings);
    let own_milliseconds = Milliseconds(start.elapsed().as_millis() as u64);
    let observed = index.numbers().filter(|&number| index.standing(number) == Standing::Observed).count();
    drop(index);
    Ok(Report {
        counts: Counts { unknown_observed: observed as u64, ..Counts::of(history) },
        violations: findings.counts().clone(),
        explained: findings.into_kept(),
        last_state,
        timestamps: verdict.stamped,
        edges: verdict.edges as u64,
        own_milliseconds,
        adya: peer::check(history),
    })
}
