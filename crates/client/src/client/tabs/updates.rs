//! Updates of tabs that follow: made of what they were noted to lack.

use std::collections::BTreeSet;

use iolite_values::{Id, Row, Write};
use iolite_wire::message::{Goodbye, GoodbyeReason, RowSnapshot};
use iolite_wire::tabs::{TabConnection, TabMutation, TabNotice, TabUpdate, UpdateNumber};

use crate::cache::Demand;
use crate::client::Client;
use crate::interface::PendingMutation;
use crate::queue::{Entry, Mutation, MutationKind};
use crate::reason::shortened;
use crate::session::Connection;
use crate::tabs::{Awaited, Parts, TabId, reach};

impl Client {
    /// Sends an update to one tab that has something new to learn and can take it, once what tabs wait for is asked for.
    pub(in crate::client) fn inform_tabs(&mut self) -> bool {
        if self.ask_again_for_tabs() {
            return true;
        }
        let can_fetch = self.session.can_fetch();
        for tab in self.leader.tabs() {
            let Some(known) = self.leader.tab_mut(tab) else { continue };
            let held = known.wanted.values().any(|wanted| wanted.held(&self.cache).is_some());
            let told = |id| known.unavailable.contains(id);
            let unavailable = !can_fetch && !known.wanted.keys().all(told);
            if known.can_take() && (known.has_news() || held || unavailable) {
                self.inform(tab, can_fetch);
                return true;
            }
        }
        false
    }

    fn inform(&mut self, tab: TabId, can_fetch: bool) {
        let connection = connection(&self.session.connection());
        let Some(known) = self.leader.tab_mut(tab) else { return };
        known.awaited = Awaited::Applied { since: None };
        known.due = false;
        let join = known.join;
        let empty = TabUpdate::empty(UpdateNumber(0), self.cache.at(), connection);
        let mut parts = Parts::new(empty, self.limits.tab_part_bytes);
        self.collect_data(tab, can_fetch, &mut parts);
        self.collect_mutations(tab, &mut parts);
        self.collect_room(tab, &mut parts);
        for mut part in parts.finish() {
            part.number = self.leader.next_number(tab);
            if !self.tell_tab(tab, join, TabNotice::Update(Box::new(part))) {
                self.forget_tab(tab);
                let what = "a row or a mutation is too large to be shown in a second tab";
                return self.refuse_tab(tab, join, GoodbyeReason::Limit, what);
            }
        }
    }

    fn collect_data(&mut self, tab: TabId, can_fetch: bool, parts: &mut Parts) {
        let Some(known) = self.leader.tab_mut(tab) else { return };
        for (table, key) in std::mem::take(&mut known.rows) {
            let row = self.cache.row(table, &key).cloned().unwrap_or_default();
            let id = (table, key);
            if !self.cache.interests.holds_row(&id) {
                known.decline_unsure(&id, &row, |interest| self.cache.interests.holds(interest));
            }
            // What it was not given of a row is none of its business, but it may have had the row until now.
            let row = if known.has(&id, &row) { row } else { Row::default() };
            let (table, key) = id;
            parts.row(RowSnapshot { table, key, row });
        }
        for (id, wanted) in std::mem::take(&mut known.wanted) {
            if let Some(held) = wanted.held(&self.cache) {
                // Perhaps by another interest than the one that was asked for: that one has to stay, too.
                self.cache.interests.require(&held, None, Demand::Tab(tab));
                parts.snapshot(id, self.cache.snapshot(&held), reach(&held, &wanted.interest));
                known.unavailable.remove(&id);
                known.granted.insert(id, held);
                continue;
            }
            if can_fetch {
                known.unavailable.remove(&id);
            } else if known.unavailable.insert(id) {
                parts.room(0).unavailable.push(id);
            }
            known.wanted.insert(id, wanted);
        }
        if !known.declined.is_empty() {
            // Whether the tab still wants it, it says by asking again.
            self.settle_tab(tab);
        }
        // What it waited for it has now, or cannot have.
        self.cache.interests.doubt(Demand::Tab(tab), &BTreeSet::new());
    }

    fn collect_room(&mut self, tab: TabId, parts: &mut Parts) {
        if self.leader.tab_mut(tab).is_some_and(|known| known.take_room()) {
            parts.room(0).has_room = true;
        }
    }

    fn collect_mutations(&mut self, tab: TabId, parts: &mut Parts) {
        let Some(known) = self.leader.tab_mut(tab) else { return };
        let mutations = std::mem::take(&mut known.mutations);
        for counter in mutations {
            if let Some(entry) = self.queue.entry(counter).filter(|entry| !entry.is_change_set()) {
                parts.mutation(mirrored(entry));
            } else if let Some(kept) = self.pending_kept(counter) {
                parts.mutation(shown(kept, self.writes_of_kept(counter)));
            }
        }
        let Some(known) = self.leader.tab_mut(tab) else { return };
        for end in std::mem::take(&mut known.ended) {
            parts.room(0).ended.push(end);
        }
        for counter in std::mem::take(&mut known.refused) {
            if let Some(refused) = self.refused.get(&counter) {
                parts.room(refused.arguments.len()).refused.push(refused.to_stored());
            }
        }
        for counter in std::mem::take(&mut known.dismissed) {
            parts.room(0).dismissed.push(counter);
        }
        for counter in std::mem::take(&mut known.withdrawn) {
            parts.room(0).withdrawn.push(counter);
        }
        for declined in std::mem::take(&mut known.declined) {
            parts.room(0).declined.push(declined);
        }
    }
}

fn mirrored(entry: &Entry) -> TabMutation {
    let (name, arguments) = match &entry.mutation.kind {
        MutationKind::Named { name, arguments } => (Some(name.clone()), Some(arguments.clone())),
        MutationKind::Closure | MutationKind::ChangeSet => (None, None),
    };
    let Mutation { counter, called_at, ticket, .. } = entry.mutation;
    let pending = PendingMutation { counter, name, arguments, called_at, ticket, status: entry.status() };
    shown(pending, entry.writes().to_vec())
}

fn shown(pending: PendingMutation, writes: Vec<Write>) -> TabMutation {
    let PendingMutation { counter, name, arguments, called_at, ticket, status } = pending;
    TabMutation {
        counter,
        name: name.map(|name| name.to_string()),
        arguments: arguments.map(|arguments| arguments.to_string()).unwrap_or_default(),
        called_at_micros: called_at.as_micros(),
        ticket: ticket.map(Id::from),
        durable: status.durable,
        sent: status.sent,
        waits_for_data: status.waits_for_data,
        in_conflict: status.in_conflict,
        centres: status.centres,
        would_reject: status.would_reject.map(shortened),
        writes,
    }
}

fn connection(connection: &Connection) -> TabConnection {
    match connection {
        Connection::Offline => TabConnection::Offline,
        Connection::Connecting => TabConnection::Connecting,
        Connection::Online => TabConnection::Online,
        Connection::Refused { reason, message } => {
            let message = shortened(message.clone());
            TabConnection::Refused(Goodbye { reason: *reason, message, retry_after: None })
        }
    }
}
