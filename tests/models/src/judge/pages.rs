//! Whether the pages of logs are in the order of timestamps.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{LogPages, Operation, Timestamp, Value};
use iolite_wire::logs::LogEntry;

use crate::plan::Plan;

/// Members replay all that was committed to a page, and then go on to the next one: nothing stands behind the entry that turns a page.
pub(super) fn pages_hold(plan: &Plan, at: &BTreeMap<usize, Timestamp>) -> bool {
    let in_order: BTreeMap<Timestamp, usize> = at.iter().map(|(which, at)| (*at, *which)).collect();
    let writes = in_order.values().flat_map(|which| plan.submissions[*which].transaction.writes());
    let mut turned = BTreeSet::new();
    for write in writes {
        let Operation::Append { value: Value::Bytes(bytes), .. } = &write.operation else { continue };
        let (Some((_, page)), Ok(entry)) = (LogPages::read_key(&write.cell.row), LogEntry::decode(bytes)) else {
            continue;
        };
        if turned.contains(&page) {
            return false;
        }
        if entry.turns {
            turned.insert(page);
        }
    }
    true
}
