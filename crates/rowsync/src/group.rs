//! Groups: rows that calls have in common, and the calls.
//!
//! Invariant: a call that wrote a row of a group is of the group, and so is each row that it wrote. So no call is ever sent in part.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Counter, RowKey};

use crate::RowSync;
use crate::chain::Chain;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) keys: BTreeSet<RowKey>,
    pub(crate) calls: BTreeSet<Counter>,
}

impl RowSync {
    /// The group of a call that waits.
    pub(crate) fn group_of(&self, call: Counter) -> Group {
        let (mut group, mut open) = (Group::default(), vec![call]);
        while let Some(call) = open.pop() {
            if !group.calls.insert(call) {
                continue;
            }
            for key in self.calls.get(&call).into_iter().flat_map(|call| &call.keys) {
                if group.keys.insert(key.clone()) {
                    open.extend(self.waiting(key).into_iter().flat_map(Chain::calls));
                }
            }
        }
        group
    }

    /// All groups that wait: first the ones that have to be sent alone, then in the order of their first calls.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let mut seen = BTreeSet::new();
        let mut groups: BTreeMap<(bool, Counter), Group> = BTreeMap::new();
        for call in self.calls.keys().filter(|call| !self.is_sent(**call)) {
            if !seen.contains(call) {
                let group = self.group_of(*call);
                seen.extend(group.calls.iter().copied());
                groups.insert((!self.goes_alone(&group), *call), group);
            }
        }
        groups.into_values().collect()
    }

    /// Whether a set that one of its calls was in was refused.
    pub(crate) fn goes_alone(&self, group: &Group) -> bool {
        group.calls.iter().any(|call| self.calls.get(call).is_some_and(|call| call.alone))
    }
}
