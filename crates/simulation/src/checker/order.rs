//! The order of one client's mutations: they take effect in the order of their counters.

use std::collections::BTreeMap;

use iolite_values::{ClientId, Counter};

use super::{Commits, Invariant, Violation};
use crate::history::History;

/// Goes through the completions in timestamp order.
///
/// # Errors
/// A mutation that completed after a later one of the same client. A closure that its process left behind may: nothing waits for it.
pub fn check(history: &History, commits: &Commits) -> Result<(), Violation> {
    let mut last: BTreeMap<ClientId, Counter> = BTreeMap::new();
    for (at, completed) in &commits.by_time {
        let called = completed.mutation.and_then(|mutation| history.calls.get(&mutation));
        if called.is_none_or(|called| called.is_lost()) {
            continue;
        }
        let (client, counter) = (completed.transaction.client, completed.transaction.counter);
        let earlier = last.insert(client, counter);
        if let Some(earlier) = earlier.filter(|earlier| *earlier > counter) {
            let what = format!("{:?} at {at:?} comes after {earlier:?} of the same client", completed.mutation);
            return Err(Violation::new(Invariant::ClientOrder, what));
        }
    }
    Ok(())
}
