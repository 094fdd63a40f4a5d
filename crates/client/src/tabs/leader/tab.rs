//! One tab that follows, as its leader knows it.

use std::collections::BTreeSet;

use iolite_machine::Instant;
use iolite_values::{Counter, Interest, Row};
use iolite_wire::client_storage::StoredEnd;
use iolite_wire::message::{Declination, Declined, SubscriptionId};
use iolite_wire::tabs::{JoinNumber, UpdateNumber};

use super::{Rows, Wanted, touches};
use crate::cache::RowId;

/// What the tab holds, and what it is to be told with the next update.
#[derive(Debug)]
pub(crate) struct Tab {
    pub(crate) join: JoinNumber,
    /// Asked for, and not held by the client yet.
    pub(crate) wanted: Wanted,
    /// Told to be unavailable at the moment.
    pub(crate) unavailable: BTreeSet<SubscriptionId>,
    /// Held by the tab.
    pub(crate) granted: Wanted,
    pub(crate) rows: Rows,
    pub(crate) mutations: BTreeSet<Counter>,
    pub(crate) ended: Vec<StoredEnd>,
    pub(crate) refused: BTreeSet<Counter>,
    pub(crate) dismissed: Vec<Counter>,
    /// Mutations that are pending no more, and whose end is not told yet.
    pub(crate) withdrawn: Vec<Counter>,
    /// What it asked for and cannot have.
    pub(crate) declined: Vec<Declined>,
    /// Something else changed: the connection, or this is its first update.
    pub(crate) due: bool,
    /// The last update that was sent.
    pub(crate) sent: UpdateNumber,
    pub(crate) awaited: Awaited,
    pub(crate) heard: Instant,
    pub(crate) news: News,
}

/// Whether a call that this tab announces is certainly new to the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The leader has not read the outbox since the tab joined.
    Trusted,
    /// It has, so it may have found the call there before the tab heard that it was stored. Only the outbox tells whether it is new.
    LookedUp,
}

/// What the leader waits for. `since` is noted with the next input, for only inputs tell the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Nothing,
    /// That the last update was applied: none is sent before.
    Applied {
        since: Option<Instant>,
    },
    Pong {
        since: Option<Instant>,
    },
}

impl Tab {
    pub(super) fn new(join: JoinNumber, now: Instant, news: News) -> Tab {
        Tab {
            join,
            wanted: Wanted::new(),
            unavailable: BTreeSet::new(),
            granted: Wanted::new(),
            rows: Rows::new(),
            mutations: BTreeSet::new(),
            ended: Vec::new(),
            refused: BTreeSet::new(),
            dismissed: Vec::new(),
            withdrawn: Vec::new(),
            declined: Vec::new(),
            due: true,
            sent: UpdateNumber(0),
            awaited: Awaited::Nothing,
            heard: now,
            news,
        }
    }

    /// Whether the last update was applied, so that another may be sent.
    pub(crate) fn can_take(&self) -> bool {
        match self.awaited {
            Awaited::Nothing | Awaited::Pong { .. } => true,
            Awaited::Applied { .. } => false,
        }
    }

    pub(crate) fn decline(&mut self, id: SubscriptionId, why: Declination) {
        self.wanted.remove(&id);
        self.granted.remove(&id);
        self.declined.push(Declined { subscription: id, why });
    }

    /// Of a row that left an answer only a part may be held any more, or nothing. The tab asks again for what it had of it, and for a query that
    /// the part seems to be an answer of.
    pub(crate) fn decline_unsure(&mut self, id: &RowId, row: &Row, holds: impl Fn(&Interest) -> bool) {
        let is_unsure = |interest: &Interest| match interest {
            Interest::Query(query) => query.table == id.0 && query.selects(&id.1, row),
            Interest::Range { .. } | Interest::Cell(_) => touches(interest, id) && !holds(interest),
        };
        let unsure = self.granted.iter().filter(|(_, interest)| is_unsure(interest));
        for subscription in unsure.map(|(subscription, _)| *subscription).collect::<Vec<_>>() {
            self.decline(subscription, Declination::Later);
        }
    }

    /// Whether there is something to tell, apart from what is wanted.
    pub(crate) fn has_news(&self) -> bool {
        let lists = !self.ended.is_empty() || !self.refused.is_empty() || !self.dismissed.is_empty();
        let lists = lists || !self.declined.is_empty() || !self.withdrawn.is_empty();
        self.due || lists || !self.rows.is_empty() || !self.mutations.is_empty()
    }
}
