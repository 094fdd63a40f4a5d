//! The members of logs, as the gateway tells them.
//!
//! Invariant: members are known of joined logs only. While there is no connection they are those that were told last.
//! Source: Hercules (Lebeck 2020, section 3.4.6).

use std::collections::{BTreeMap, BTreeSet};

use iolite_logs::origin_of;
use iolite_values::{Id, LaneNumber, LogId};
use iolite_wire::message::LogMembers;

use super::Client;
use crate::interface::Output;

/// The origins of the members of each joined log.
pub(super) type Members = BTreeMap<LaneNumber, BTreeSet<Id>>;

/// A client for which an operation of a log waits before it counts as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogMember {
    /// The name that the entries of this member carry. It does not say which client it is.
    pub origin: Id,
    /// Whether it is this client.
    pub is_own: bool,
}

impl Client {
    /// The members of a log that is joined, in the order of their origins: none before the gateway has told them.
    pub fn log_members(&self, log: &LogId) -> Vec<LogMember> {
        let own = origin_of(self.identity.client());
        let members = self.logs.lane(log).and_then(|lane| self.members.get(&lane)).into_iter().flatten();
        members.map(|origin| LogMember { origin: *origin, is_own: *origin == own }).collect()
    }

    pub(super) fn note_members(&mut self, told: Vec<LogMembers>) {
        for LogMembers { log, is_whole, joined, left } in told {
            // Those of a log that was left meanwhile are of no use.
            let Some(lane) = self.logs.lane(&log) else { continue };
            let members = self.members.entry(lane).or_default();
            let before = members.clone();
            if is_whole {
                *members = joined;
            } else {
                members.extend(joined);
                members.retain(|origin| !left.contains(origin));
            }
            if *members != before {
                self.outputs.push_back(Output::LogMembers(log));
            }
        }
    }
}
