//! One tab that follows, as its leader knows it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_values::{Counter, Interest, Row, TableId};
use iolite_wire::client_storage::StoredEnd;
use iolite_wire::message::{Declination, Declined, SubscriptionId};
use iolite_wire::tabs::{JoinNumber, UpdateNumber};

use super::{Rows, Wanted, touches};
use crate::cache::{Cache, Need, Needs, RowId};

/// What the tab holds, and what it is to be told with the next update.
#[derive(Debug)]
pub(crate) struct Tab {
    pub(crate) join: JoinNumber,
    /// Asked for, and not held by the client yet.
    pub(crate) wanted: BTreeMap<SubscriptionId, Wanted>,
    /// Told to be unavailable at the moment.
    pub(crate) unavailable: BTreeSet<SubscriptionId>,
    /// Held by the tab. Of a query the part that it was given.
    pub(crate) granted: BTreeMap<SubscriptionId, Interest>,
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
    /// Whether it goes without something for want of room.
    is_short: bool,
    /// Whether it is to be told that there may be room now for what it goes without, because of this leader or another.
    has_room: bool,
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
            wanted: BTreeMap::new(),
            unavailable: BTreeSet::new(),
            granted: BTreeMap::new(),
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
            is_short: false,
            has_room: true,
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

    pub(crate) fn decline_for_want_of_room(&mut self, id: SubscriptionId, reason: String) {
        self.decline(id, Declination::TooLarge(reason));
        self.is_short = true;
    }

    /// Others need less than before.
    pub(super) fn get_room(&mut self) {
        self.has_room |= self.is_short;
    }

    /// Whether it is told with this update that there may be room.
    pub(crate) fn take_room(&mut self) -> bool {
        if self.has_room {
            // It tries everything again, and what is declined then makes it short again.
            self.is_short = false;
        }
        std::mem::take(&mut self.has_room)
    }

    /// Whether something is held for it, or on its way.
    pub(crate) fn needs_anything(&self) -> bool {
        !self.wanted.is_empty() || !self.granted.is_empty()
    }

    /// Whether it was given anything of a row, which looks like this now.
    pub(crate) fn has(&self, id: &RowId, row: &Row) -> bool {
        self.granted.values().any(|interest| match interest {
            Interest::Query(query) => query.table == id.0 && query.selects(&id.1, row),
            Interest::Range { .. } | Interest::Cell(_) => touches(interest, id),
        })
    }

    /// What is to be held for it: what it has, and what it waits for, as far as that is there.
    pub(crate) fn kept(&self, cache: &Cache) -> BTreeSet<Interest> {
        let wanted = self.wanted.values().map(|own| own.held(cache).unwrap_or_else(|| own.interest.clone()));
        wanted.chain(self.granted.values().cloned()).collect()
    }

    /// What it has of a table. None while it waits for more of it, which what is held for it may have.
    pub(super) fn needs(&self, table: TableId) -> Option<Needs<'_>> {
        if self.wanted.values().any(|own| own.interest.table() == table) {
            return None;
        }
        let of_table = || self.granted.values().filter(move |own| own.table() == table);
        let is_query = |own: &&Interest| matches!(own, Interest::Query(_));
        let (queries, others) = (of_table().filter(is_query), of_table().filter(move |own| !is_query(own)));
        Some(Box::new(queries.chain(others).map(Need::Given)))
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
        self.due || self.has_room || lists || !self.rows.is_empty() || !self.mutations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_there_may_be_room_is_told_although_something_is_declined_before_it_is() {
        let mut tab = Tab::new(JoinNumber(1), Instant::default(), News::Trusted);
        tab.decline_for_want_of_room(SubscriptionId(1), "too much".into());
        assert!(tab.take_room(), "another leader has a cache of its own");
        tab.get_room();
        assert!(!tab.take_room(), "it goes without nothing");
        for id in [2, 3] {
            tab.decline_for_want_of_room(SubscriptionId(id), "too much".into());
            tab.get_room();
        }
        tab.decline_for_want_of_room(SubscriptionId(4), "too much".into());
        assert_eq!([tab.take_room(), tab.take_room()], [true, false]);
    }
}
