//! Real time: who was told of an end before another call was made comes before it in timestamp order, if that is strict. (What is promised below that is held in
//! `strict`, at the gateways, which are told before clients are.)

use iolite_values::{Level, StoreIncarnation};

use super::{Commits, Invariant, Violation};
use crate::history::{History, Issued, Moment};

/// Goes through the completions in timestamp order. One that ended before a lower one was even called is out of order.
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    let mut latest_call: Option<(Moment, Issued)> = None;
    for (at, completed) in &commits.by_time {
        let Some(mutation) = completed.mutation else { continue };
        let Some(called) = history.calls.get(&mutation) else { continue };
        if let (Some(end), Some((call, earlier))) = (called.ends.get(&Some(store)), latest_call)
            && end.at < call
        {
            let what =
                format!("{mutation:?} at {at:?} had ended before {earlier:?} was called, which has a lower timestamp");
            return Err(Violation::new(Invariant::RealTime, what));
        }
        if completed.level == Level::Strict && latest_call.is_none_or(|(call, _)| called.at > call) {
            latest_call = Some((called.at, mutation));
        }
    }
    Ok(())
}
