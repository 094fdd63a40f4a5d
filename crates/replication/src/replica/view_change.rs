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
use iolite_values::Timestamp;

use super::Replica;
use super::configuration::Givers;
use super::standing::{Changing, Parts, Standing};
use crate::broken::Broken;
use crate::ir::{Entry, MemberRecord, merge};
use crate::journal::{COMPLETION_BYTES, JournalRecord, proposal_bytes};
use crate::node::{Outcome, Peer, ProposalId, RecordPart, RecordedEntry, ReplicaId, View, Vote};

/// A part of a record is about this large at most.
pub const PART_BYTES_MAX: usize = 1 << 20;

/// What got lost is sent again after this long, then after twice as long, and so on up to half a second; a record after so long for each of its parts, because they
/// may still be on their way.
pub const VIEW_CHANGE_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A view of which nothing was heard for so long is given up for the next, which is given twice as long, and so on: a part of a record may take longer.
pub const VIEW_CHANGE_PATIENCE: Duration = Duration::from_secs(1);

/// No longer silence is waited for.
pub const VIEW_CHANGE_PATIENCE_MAX: Duration = Duration::from_secs(8);

/// A view that has not begun by then is given up, whatever still arrives: its leader may begin it anew again and again, and never get there.
pub const VIEW_CHANGE_LASTS_MAX: Duration = Duration::from_secs(60);

impl Standing {
    /// On the way to `view`, with clocks that the next deadline sets.
    pub(super) fn joined(&self, view: View) -> Standing {
        Standing::Changing(Changing {
            view,
            last_normal: self.last_normal(),
            records: BTreeMap::new(),
            master: None,
            again_at: Some(Instant::default()),
            again_wait: VIEW_CHANGE_AGAIN_AFTER,
            give_up_at: None,
            give_up_last_at: None,
        })
    }
}

impl Changing {
    fn send_again_later(&mut self, now: Now, parts: usize) {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        self.again_at = Some(now.instant + self.again_wait.saturating_mul(parts));
        // Twice while a view is waited for, so that who waits for its leader hears of it.
        self.again_wait = (self.again_wait * 2).min(VIEW_CHANGE_PATIENCE / 2);
    }

    /// This view is waited for from now on.
    fn wait(&mut self, now: Now) {
        self.give_up_at = Some(now.instant + self.patience());
        self.give_up_last_at = Some(now.instant + VIEW_CHANGE_LASTS_MAX);
    }

    /// Something came of what this view begins with. Nothing does so without end: a record has so many parts, and its leader gives up like everybody.
    fn note_progress(&mut self, now: Now) {
        if let Some(last) = self.give_up_last_at {
            self.give_up_at = Some(last.min(now.instant + self.patience()));
        }
    }

    /// For how long this view is waited for: the more, the more of them did not begin.
    fn patience(&self) -> Duration {
        let before = if self.last_normal.epoch == self.view.epoch { self.last_normal.number + 1 } else { 0 };
        let failed = self.view.number.saturating_sub(before);
        VIEW_CHANGE_PATIENCE.saturating_mul(2_u32.saturating_pow(failed)).min(VIEW_CHANGE_PATIENCE_MAX)
    }
}

impl Replica {
    /// Leaves the view for the next one, so that every proposal that is under way gets its vote.
    pub fn begin_view_change(&mut self, now: Now) {
        if !self.is_alone() && self.is_member() && self.awaiting.is_none() {
            self.join(now, self.standing.view().next());
        }
    }

    pub(super) fn join(&mut self, now: Now, view: View) {
        self.persist(&JournalRecord::Joined(view));
        self.standing = self.standing.joined(view);
        let is_member = self.is_member();
        let Standing::Changing(changing) = &mut self.standing else { return };
        if is_member {
            changing.wait(now);
        }
        self.send_record(now);
    }

    /// What others do not know is said again; a view that does not begin is given up.
    pub(super) fn press_view_change(&mut self, now: Now) {
        if self.awaiting.is_some() {
            return;
        }
        let is_member = self.is_member();
        let Standing::Changing(changing) = &mut self.standing else { return };
        let view = changing.view;
        if changing.give_up_at.is_none() && is_member {
            // After a restart.
            changing.wait(now);
        }
        if changing.give_up_at.is_some_and(|at| at <= now.instant) {
            return self.join(now, view.next());
        }
        if changing.again_at.is_some_and(|at| at <= now.instant) {
            self.send_record(now);
        }
    }

    fn send_record(&mut self, now: Now) {
        let view = self.standing.view();
        let (leader, last_normal) = (self.configuration.group().leader(view), self.standing.last_normal());
        let is_beginning = !self.has_begun();
        for other in self.others() {
            if is_beginning {
                self.tell_configuration(other);
            }
            self.tell(other, Peer::StartViewChange { view });
        }
        let is_leader = leader == self.settings.id;
        let parts = if is_leader { Vec::new() } else { self.own_parts(view) };
        if let Standing::Changing(changing) = &mut self.standing {
            changing.send_again_later(now, parts.len().max(1));
        }
        if is_leader {
            return self.try_merge(now);
        }
        for part in parts {
            self.tell(leader, Peer::DoViewChange { last_normal, part });
        }
    }

    fn own_parts(&self, view: View) -> Vec<RecordPart> {
        let entries = self.record.iter().map(|(id, entry)| entry.recorded(id)).collect();
        let head = RecordPart {
            complete: self.complete,
            barrier: self.closed(),
            terms: self.terms_in_order(),
            ..RecordPart::empty(view)
        };
        cut(head, entries)
    }

    pub(super) fn on_start_view_change(&mut self, now: Now, from: ReplicaId, view: View) {
        if view > self.standing.view() {
            return self.join(now, view);
        }
        let leader = self.configuration.group().leader(view);
        match &mut self.standing {
            // It has not given up: records still arrive there.
            Standing::Changing(changing) if changing.view == view && leader == from => changing.note_progress(now),
            Standing::Changing(_) | Standing::Normal { .. } => {}
        }
    }

    pub(super) fn on_do_view_change(&mut self, now: Now, from: ReplicaId, last_normal: View, part: RecordPart) {
        let view = part.view;
        if view > self.standing.view() {
            self.join(now, view);
        }
        let is_member = self.configuration.group().contains(from);
        match &mut self.standing {
            Standing::Normal { view: own, .. } if !is_member => {
                let view = *own;
                self.tell(from, Peer::Begun { view });
            }
            Standing::Changing(changing) if changing.view == view => {
                let empty = || Parts { last_normal, parts: BTreeMap::new() };
                if changing.records.entry(from).or_insert_with(empty).add(last_normal, part) {
                    changing.note_progress(now);
                }
                self.try_merge(now);
            }
            // Once for a record of many parts.
            Standing::Normal { view: own, .. } if *own == view && part.number + 1 < part.parts => {}
            Standing::Normal { view: own, master } if *own == view => match master.clone() {
                Some(parts) => parts.into_iter().for_each(|part| self.tell(from, Peer::StartView { part })),
                // Lost in a restart: nobody else can make it again.
                None => self.begin_view_change(now),
            },
            Standing::Normal { .. } | Standing::Changing(_) => {}
        }
    }

    /// The leader merges when it has the records of enough, and all that these call settled.
    fn try_merge(&mut self, now: Now) {
        let Standing::Changing(changing) = &self.standing else { return };
        let (view, own) = (changing.view, self.settings.id);
        if self.configuration.group().leader(view) != own || changing.master.is_some() {
            return;
        }
        let Some(givers) = self.givers(changing) else { return };
        let complete = givers.others.iter().map(|parts| parts.first().complete).max().unwrap_or_default();
        if complete > self.complete {
            return self.fall_behind(now, complete);
        }
        let master = self.master(view, givers);
        self.install(&master);
        for other in self.others() {
            self.tell_begun(other, view, &master);
        }
        self.standing = Standing::Normal { view, master: Some(master) };
    }

    fn tell_begun(&mut self, to: ReplicaId, view: View, master: &[RecordPart]) {
        if !self.configuration.group().contains(to) {
            return self.tell(to, Peer::Begun { view });
        }
        for part in master {
            self.tell(to, Peer::StartView { part: part.clone() });
        }
    }

    /// The master record of `view`.
    fn master(&mut self, view: View, givers: Givers) -> Vec<RecordPart> {
        let Givers { quorums, own, others } = givers;
        let complete = self.complete;
        let mut records = Vec::new();
        let mut barriers = Vec::new();
        if own {
            barriers.push((self.standing.last_normal(), self.closed()));
            let entries = self.record.iter().map(|(id, entry)| entry.recorded(id)).collect();
            records.push(MemberRecord { last_normal: self.standing.last_normal(), entries });
        }
        for Parts { last_normal, parts } in others {
            let mut entries = Vec::new();
            for (_, part) in parts {
                barriers.push((last_normal, part.barrier));
                self.register_all(&part.terms);
                entries.extend(part.entries.into_iter().filter(|entry| entry.id.at > complete));
            }
            records.push(MemberRecord { last_normal, entries });
        }
        // What committed comes first: the rest is compared with it.
        let known = records.iter().flat_map(|record| &record.entries);
        let committed = known.filter(|entry| entry.outcome == Some(Outcome::Committed) && entry.proposal.is_some());
        for RecordedEntry { id, proposal, .. } in committed.cloned().collect::<Vec<_>>() {
            self.on_outcome(id, Outcome::Committed, proposal);
        }
        if self.settings.broken == Broken::BeginFromFewer && records.len() < quorums.majority() {
            records.push(MemberRecord { last_normal: View::default(), entries: Vec::new() });
        }
        let mut merged = merge(quorums.broken(self.settings.broken), &records);
        if self.settings.broken.merges_as_published() {
            self.validate_again(&records, &mut merged);
        }
        // What was closed in an earlier view, those of the latest have closed too.
        let (_, closed) = barriers.into_iter().max().unwrap_or_default();
        let split = self.known_split().cloned();
        let highest = split.as_ref().and_then(|_| highest_accepted(&merged)).unwrap_or_default();
        let head = RecordPart {
            complete,
            barrier: closed.max(complete).max(highest),
            terms: self.terms_in_order(),
            split,
            ..RecordPart::empty(view)
        };
        cut(head, merged.into_values().collect())
    }

    pub(super) fn on_start_view(&mut self, now: Now, part: RecordPart) {
        if !self.is_member() {
            return;
        }
        let view = part.view;
        if view > self.standing.view() {
            self.join(now, view);
        }
        let Standing::Changing(changing) = &mut self.standing else { return };
        if changing.view == view {
            let empty = || Parts { last_normal: view, parts: BTreeMap::new() };
            if changing.master.get_or_insert_with(empty).add(view, part) {
                changing.note_progress(now);
            }
            self.press_install(now);
        }
    }

    /// Goes on in the new view, if its master record and all that it calls settled are here.
    pub(super) fn press_install(&mut self, now: Now) {
        // A part of a shard begins with what the shard's replicas tell, also one that is the whole group.
        if self.awaiting.is_some() {
            return;
        }
        let Standing::Changing(changing) = &self.standing else { return };
        let Some(parts) = changing.master.as_ref().filter(|parts| parts.are_all_there()) else {
            return self.try_merge(now);
        };
        let complete = parts.first().complete;
        if complete > self.complete && self.settings.broken != Broken::TakePartBehind {
            return self.fall_behind(now, complete);
        }
        let master: Vec<RecordPart> = parts.parts.values().cloned().collect();
        let view = changing.view;
        self.install(&master);
        self.standing = Standing::Normal { view, master: None };
    }

    pub(super) fn install(&mut self, master: &[RecordPart]) {
        let barrier = master.iter().map(|part| part.barrier).max().unwrap_or_default();
        self.raise_barrier(barrier);
        for part in master {
            self.complete_after = self.persist(&JournalRecord::Master(part.clone()));
            self.register_all(&part.terms);
        }
        let entries = master.iter().flat_map(|part| part.entries.iter().cloned()).collect();
        self.replace_record(entries);
        self.note_last_view(&master[0]);
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
        parts.iter().for_each(|part| self.register_all(&part.terms));
        self.note_last_view(&parts[0]);
        self.replace_record(parts.into_iter().flat_map(|part| part.entries).collect());
        self.standing = Standing::Normal { view, master: None };
        self.awaiting = None;
    }
}

/// The highest timestamp at which something committed or may yet.
fn highest_accepted(merged: &BTreeMap<ProposalId, RecordedEntry>) -> Option<Timestamp> {
    merged.values().filter(|entry| entry.vote == Vote::Ok).map(|entry| entry.id.at).max()
}

/// A record in parts of bounded size; at least one. The lives of coordinators, and how the shard ends, are in the first.
fn cut(head: RecordPart, entries: Vec<RecordedEntry>) -> Vec<RecordPart> {
    let next = RecordPart { terms: Vec::new(), split: None, ..head.clone() };
    let (mut parts, mut last, mut bytes) = (Vec::new(), head, 0);
    for entry in entries {
        let own = COMPLETION_BYTES + entry.proposal.as_ref().map_or(0, |proposal| proposal_bytes(proposal));
        if bytes > 0 && bytes + own > PART_BYTES_MAX {
            parts.push(std::mem::replace(&mut last, next.clone()));
            bytes = 0;
        }
        bytes += own;
        last.entries.push(entry);
    }
    parts.push(last);
    let count = u32::try_from(parts.len()).expect("a record fits into memory");
    (0..count).zip(parts).map(|(number, part)| RecordPart { number, parts: count, ..part }).collect()
}
