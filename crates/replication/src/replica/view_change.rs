//! View changes: a majority stops, its records are merged into one, and everybody goes on with that.
//!
//! Invariants:
//! - a replica that has joined a view answers nothing until it has the view's master record;
//! - a view has one master record: its leader makes one, writes it down, and only then sends it;
//! - a replica takes part in a view only when everything that its master record calls settled is here.
//!
//! A record is what is above the complete point only: what is settled needs no merging.
//! Source: TAPIR (TOCS 2018) 3.2.2, and the corrections of docs/protocols/ir.md.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Instant, Now};

use super::Replica;
use super::standing::{Changing, Parts, Standing};
use crate::broken::Broken;
use crate::ir::{Entry, MemberRecord, merge};
use crate::journal::{COMPLETION_BYTES, JournalRecord, proposal_bytes};
use crate::node::{Outcome, Peer, RecordPart, RecordedEntry, ReplicaId, View};

/// A part of a record is about this large at most.
pub const PART_BYTES_MAX: usize = 1 << 20;

/// What got lost is sent again after this long.
pub const VIEW_CHANGE_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A view that has not begun by then is given up for the next.
pub const VIEW_CHANGE_PATIENCE: Duration = Duration::from_secs(1);

impl Standing {
    /// On the way to `view`, with clocks that the next deadline sets.
    pub(super) fn joined(&self, view: View) -> Standing {
        Standing::Changing(Changing {
            view,
            last_normal: self.last_normal(),
            records: BTreeMap::new(),
            master: None,
            again_at: Instant::default(),
            give_up_at: Instant::default(),
        })
    }
}

impl Replica {
    /// Leaves the view for the next one, so that every proposal that is under way gets its vote.
    pub fn begin_view_change(&mut self, now: Now) {
        if !self.is_alone() {
            self.join(now, self.standing.view().next());
        }
    }

    pub(super) fn join(&mut self, now: Now, view: View) {
        self.persist(&JournalRecord::Joined(view));
        self.standing = self.standing.joined(view);
        let Standing::Changing(changing) = &mut self.standing else { return };
        changing.again_at = now.instant + VIEW_CHANGE_AGAIN_AFTER;
        changing.give_up_at = now.instant + VIEW_CHANGE_PATIENCE;
        self.send_record(now);
    }

    /// What others do not know is said again; a view that does not begin is given up.
    pub(super) fn press_view_change(&mut self, now: Now) {
        let Standing::Changing(changing) = &mut self.standing else { return };
        let view = changing.view;
        if changing.give_up_at == Instant::default() {
            // After a restart.
            changing.give_up_at = now.instant + VIEW_CHANGE_PATIENCE;
        }
        if changing.give_up_at <= now.instant {
            return self.join(now, view.next());
        }
        if changing.again_at <= now.instant {
            changing.again_at = now.instant + VIEW_CHANGE_AGAIN_AFTER;
            self.send_record(now);
        }
    }

    fn send_record(&mut self, now: Now) {
        let view = self.standing.view();
        let (leader, last_normal) = (self.settings.group.leader(view), self.standing.last_normal());
        for other in self.others() {
            self.tell(other, Peer::StartViewChange { view });
        }
        if leader == self.settings.id {
            return self.try_merge(now);
        }
        for part in self.own_parts(view) {
            self.tell(leader, Peer::DoViewChange { last_normal, part });
        }
    }

    fn own_parts(&self, view: View) -> Vec<RecordPart> {
        let entries = self.record.iter().map(|(id, entry)| entry.recorded(id)).collect();
        let head = RecordPart {
            view,
            complete: self.complete,
            barrier: self.barrier,
            number: 0,
            parts: 1,
            entries: Vec::new(),
            closed_lists: self.closed_lists.clone(),
        };
        cut(head, entries)
    }

    pub(super) fn on_start_view_change(&mut self, now: Now, view: View) {
        if view > self.standing.view() {
            self.join(now, view);
        }
    }

    pub(super) fn on_do_view_change(&mut self, now: Now, from: ReplicaId, last_normal: View, part: RecordPart) {
        let view = part.view;
        if view > self.standing.view() {
            self.join(now, view);
        }
        match &mut self.standing {
            Standing::Changing(changing) if changing.view == view => {
                let empty = || Parts { last_normal, parts: BTreeMap::new() };
                changing.records.entry(from).or_insert_with(empty).add(last_normal, part);
                self.try_merge(now);
            }
            Standing::Normal { view: own, master } if *own == view => match master.clone() {
                Some(parts) => parts.into_iter().for_each(|part| self.tell(from, Peer::StartView { part })),
                // Lost in a restart: nobody else can make it again.
                None => self.begin_view_change(now),
            },
            Standing::Normal { .. } | Standing::Changing(_) => {}
        }
    }

    /// The leader merges when it has a majority's records, its own among them, and all that these call settled.
    fn try_merge(&mut self, now: Now) {
        let Standing::Changing(changing) = &self.standing else { return };
        let (view, own) = (changing.view, self.settings.id);
        if self.settings.group.leader(view) != own || changing.master.is_some() {
            return;
        }
        let whole = changing.records.values().filter(|parts| parts.are_all_there());
        let others: Vec<Parts> = whole.take(self.quorums.majority() - 1).cloned().collect();
        if others.len() + 1 < self.quorums.majority() {
            return;
        }
        let complete = others.iter().map(|parts| parts.first().complete).max().unwrap_or_default();
        if complete > self.complete {
            return self.fall_behind(now, complete);
        }
        let master = self.master(view, others);
        self.install(&master);
        for other in self.others() {
            for part in &master {
                self.tell(other, Peer::StartView { part: part.clone() });
            }
        }
        self.standing = Standing::Normal { view, master: Some(master) };
    }

    /// The master record of `view`, from the others' records and this replica's.
    fn master(&mut self, view: View, others: Vec<Parts>) -> Vec<RecordPart> {
        let complete = self.complete;
        let mut barrier = self.barrier;
        let own = self.record.iter().map(|(id, entry)| entry.recorded(id)).collect();
        let mut records = vec![MemberRecord { last_normal: self.standing.last_normal(), entries: own }];
        for Parts { last_normal, parts } in others {
            let mut entries = Vec::new();
            for (_, part) in parts {
                barrier = barrier.max(part.barrier);
                entries.extend(part.entries.into_iter().filter(|entry| entry.id.at > complete));
                for list in part.closed_lists {
                    if list.through > complete && !self.closed_lists.contains(&list) {
                        self.closed_lists.push(list);
                    }
                }
            }
            records.push(MemberRecord { last_normal, entries });
        }
        // What committed comes first: the rest is compared with it.
        let known = records.iter().flat_map(|record| &record.entries);
        let committed = known.filter(|entry| entry.outcome == Some(Outcome::Committed) && entry.proposal.is_some());
        for RecordedEntry { id, proposal, .. } in committed.cloned().collect::<Vec<_>>() {
            self.on_outcome(id, Outcome::Committed, proposal);
        }
        let merged = merge(self.quorums, self.kept(), &records, |proposal, kept| self.may_stand(proposal, kept));
        let head = RecordPart {
            view,
            complete,
            barrier,
            number: 0,
            parts: 1,
            entries: Vec::new(),
            closed_lists: self.closed_lists.clone(),
        };
        cut(head, merged.into_values().collect())
    }

    fn kept(&self) -> usize {
        let is_published = self.settings.broken == Broken::MergeAsFigure5;
        if is_published { self.quorums.kept_as_figure_5() } else { self.quorums.kept() }
    }

    pub(super) fn on_start_view(&mut self, now: Now, part: RecordPart) {
        let view = part.view;
        if view > self.standing.view() {
            self.join(now, view);
        }
        let Standing::Changing(changing) = &mut self.standing else { return };
        if changing.view == view {
            let empty = || Parts { last_normal: view, parts: BTreeMap::new() };
            changing.master.get_or_insert_with(empty).add(view, part);
            self.press_install(now);
        }
    }

    /// Goes on in the new view, if its master record and all that it calls settled are here.
    pub(super) fn press_install(&mut self, now: Now) {
        let Standing::Changing(changing) = &self.standing else { return };
        let Some(parts) = changing.master.as_ref().filter(|parts| parts.are_all_there()) else {
            return self.try_merge(now);
        };
        let complete = parts.first().complete;
        if complete > self.complete {
            return self.fall_behind(now, complete);
        }
        let master: Vec<RecordPart> = parts.parts.values().cloned().collect();
        let view = changing.view;
        self.install(&master);
        self.standing = Standing::Normal { view, master: None };
    }

    fn install(&mut self, master: &[RecordPart]) {
        let barrier = master.iter().map(|part| part.barrier).max().unwrap_or_default();
        self.raise_barrier(barrier);
        for part in master {
            self.persist(&JournalRecord::Master(part.clone()));
        }
        let entries = master.iter().flat_map(|part| part.entries.iter().cloned()).collect();
        let lists = master.iter().flat_map(|part| part.closed_lists.iter().cloned());
        self.closed_lists = lists.filter(|list| list.through > self.complete()).collect();
        self.replace_record(entries);
    }

    /// The master record instead of the own one. What this replica promised, and the outcomes that it knows, stay.
    fn replace_record(&mut self, entries: Vec<RecordedEntry>) {
        let before = std::mem::take(&mut self.record);
        self.prepared.clear();
        let complete = self.complete;
        for recorded in entries.into_iter().filter(|entry| entry.id.at > complete) {
            let id = recorded.id;
            let mut entry = Entry::from(recorded);
            if let Some(own) = before.get(id) {
                entry.promised = entry.promised.max(own.promised);
                entry.proposal = entry.proposal.or_else(|| own.proposal.clone());
                let agree = entry.outcome.is_none() || own.outcome.is_none() || entry.outcome == own.outcome;
                assert!(agree, "Commit and Abort of one proposal: {id:?}");
                entry.outcome = entry.outcome.or(own.outcome);
            }
            self.set_entry(id, entry);
        }
    }

    /// A part of a master record in the journal. The journal has them in order; the last one makes it count.
    pub(super) fn replay_master(&mut self, part: RecordPart) {
        let (view, is_first) = (part.view, part.number == 0);
        if is_first || !matches!(&self.standing, Standing::Changing(changing) if changing.view == view) {
            self.standing = self.standing.joined(view);
        }
        let Standing::Changing(changing) = &mut self.standing else { return };
        let empty = || Parts { last_normal: view, parts: BTreeMap::new() };
        let parts = changing.master.get_or_insert_with(empty);
        parts.add(view, part);
        if !parts.are_all_there() {
            return;
        }
        let parts: Vec<RecordPart> = parts.parts.values().cloned().collect();
        self.complete = self.complete.max(parts[0].complete);
        self.closed_lists = parts.iter().flat_map(|part| part.closed_lists.iter().cloned()).collect();
        self.replace_record(parts.into_iter().flat_map(|part| part.entries).collect());
        self.standing = Standing::Normal { view, master: None };
    }
}

/// A record in parts of bounded size; at least one.
fn cut(head: RecordPart, entries: Vec<RecordedEntry>) -> Vec<RecordPart> {
    let mut parts: Vec<Vec<RecordedEntry>> = vec![Vec::new()];
    let mut bytes = 0;
    for entry in entries {
        let own = COMPLETION_BYTES + entry.proposal.as_ref().map_or(0, |proposal| proposal_bytes(proposal));
        bytes += own;
        if bytes > PART_BYTES_MAX && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(Vec::new());
            bytes = own;
        }
        parts.last_mut().expect("there is one").push(entry);
    }
    let count = u32::try_from(parts.len()).expect("a record fits into memory");
    let parts = (0..count).zip(parts).map(|(number, entries)| {
        let closed_lists = if number == 0 { head.closed_lists.clone() } else { Vec::new() };
        RecordPart { number, parts: count, entries, closed_lists, ..head.clone() }
    });
    parts.collect()
}
