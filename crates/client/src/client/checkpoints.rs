//! Checkpoints of logs, at a member: it says what its state hashes to, gives the state to the gateway if that asks, and begins from a checkpoint where the
//! pages before are not there any more, or have not to be replayed.
//!
//! Invariants: a state is taken in the step that replays the last entry in front of a block, so it is that of all entries before; a member begins from a
//! checkpoint in one step, once all of it and the pages behind it are here.
//! Source: Hercules (Lebeck 2020, section 3.4.6).

use std::collections::BTreeMap;

use iolite_logs::{BLOCK_PAGES, Member, State};
use iolite_values::{Interest, LaneNumber, LogCheckpoint, LogId};
use iolite_wire::logs::LogState;
use iolite_wire::message::{FromClient, LogHash, LogPart, RowSnapshot};

use super::Client;
use super::logs::{locals, page_of};
use crate::cache::Cache;
use crate::interface::{Broken, MutationStatus, Output};
use crate::queue::{Entry, Stage};
use crate::view::Changed;

/// The states that members took, and the checkpoints from which they are to begin, by the lanes of their logs.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    made: BTreeMap<LaneNumber, Made>,
    /// The blocks in front of which members are to begin, whose checkpoints are on their way.
    pub(super) loading: BTreeMap<LaneNumber, u64>,
}

/// The last state that was taken of a log.
#[derive(Debug)]
struct Made {
    block: u64,
    index: u64,
    state: State,
    /// The gateway of this session knows its hash.
    is_said: bool,
}

/// Whether a member goes on by its pages.
pub(super) enum Begins {
    ByPages,
    /// Not before more is here.
    Later,
    /// The member has begun from a checkpoint.
    Now,
}

impl Checkpoints {
    pub(super) fn forget(&mut self, lane: LaneNumber) {
        self.made.remove(&lane);
        self.loading.remove(&lane);
    }

    /// Whether a log has to begin from a checkpoint that is not here yet.
    pub(super) fn hold_back(&self) -> bool {
        !self.loading.is_empty()
    }

    pub(super) fn session_lost(&mut self) {
        self.made.values_mut().for_each(|made| made.is_said = false);
    }
}

impl Client {
    /// The interests in checkpoints that a member follows.
    pub(super) fn followed_checkpoints(&self, lane: LaneNumber, log: &LogId) -> Vec<Interest> {
        let loading = self.checkpoints.loading.get(&lane);
        let parts = loading.and_then(|block| LogCheckpoint::parts_of(log, *block).ok());
        let pages = loading.into_iter().flat_map(|block| blocks_behind(log, *block));
        LogCheckpoint::heads(log).ok().into_iter().chain(parts).chain(pages).collect()
    }

    /// The last entry in front of a block is replayed: takes the state, to be compared with those of others.
    pub(super) fn take_state(&mut self, lane: LaneNumber) {
        let Some(member) = self.logs.member(lane) else { return };
        let ((page, place), index, log) = (member.position(), member.index(), member.log.clone());
        let block = page / BLOCK_PAGES;
        let is_behind = last_checkpoint(&self.cache, &log).is_some_and(|head| head.block > block);
        if place > 0 || page % BLOCK_PAGES > 0 || is_behind {
            return;
        }
        // One that is too large is kept nowhere: docs/limits.md, `wire::LOG_STATE`.
        let Some(state) = self.state_of(&log) else { return };
        self.checkpoints.made.insert(lane, Made { block, index, state, is_said: false });
    }

    fn state_of(&self, log: &LogId) -> Option<State> {
        let mut tables: Vec<Interest> = locals(&self.schema, log);
        tables.sort_unstable_by_key(Interest::table);
        let mut rows = Vec::new();
        for interest in &tables {
            let Interest::Range { table, range } = interest else { continue };
            rows.extend(self.cache.range(*table, range).map(|(key, row)| (*table, key, row)));
        }
        LogState::encode_of(rows).ok().map(State::new)
    }

    /// Says the hashes of the states that were taken.
    pub(super) fn tell_hashes(&mut self) -> bool {
        if !self.session.is_open() {
            return false;
        }
        let Some(lane) = self.checkpoints.made.iter().find(|(_, made)| !made.is_said).map(|(lane, _)| *lane) else {
            return false;
        };
        let log = self.logs.member(lane).map(|member| member.log.clone());
        let (Some(log), Some(made)) = (log, self.checkpoints.made.get_mut(&lane)) else { return false };
        made.is_said = true;
        let (block, index, hash, parts) = (made.block, made.index, made.state.hash(), made.state.parts());
        self.send(FromClient::LogHash(LogHash { log, block, index, hash, parts }));
        true
    }

    /// The gateway asks for a part of a state.
    pub(super) fn on_log_wanted(&mut self, LogPart { log, block, part, .. }: LogPart) {
        let Some(made) = self.logs.lane(&log).and_then(|lane| self.checkpoints.made.get(&lane)) else { return };
        let Some(state) = made.state.part(part).filter(|_| made.block == block).map(<[u8]>::to_vec) else { return };
        self.send(FromClient::LogPart(LogPart { log, block, part, state }));
    }

    /// Somebody has another state in front of a block.
    pub(super) fn on_log_differs(&mut self, hash: &LogHash) {
        let Some(lane) = self.logs.lane(&hash.log) else { return };
        self.note_difference(lane, hash.index);
    }

    fn note_difference(&mut self, lane: LaneNumber, index: u64) {
        if let Some(log) = self.logs.note_difference(lane, index) {
            self.outputs.push_back(Output::LogDiffers { log, index });
        }
    }

    /// A checkpoint stands in front of a block of which the state was taken here: it is the same, or members differ.
    fn compare_with_checkpoint(&mut self, lane: LaneNumber, head: LogCheckpoint) {
        let Some(made) = self.checkpoints.made.get(&lane).filter(|made| made.block <= head.block) else { return };
        let differs = made.block == head.block && made.state.hash() != head.hash;
        self.checkpoints.made.remove(&lane);
        if differs {
            self.note_difference(lane, head.index);
        }
    }

    /// Begins from the last checkpoint, if the log is new here, or if its next page is gone.
    pub(super) fn begin_from_checkpoint(&mut self, lane: LaneNumber) -> Begins {
        let Some(member) = self.logs.member(lane).filter(|member| member.stuck().is_none()) else {
            return Begins::ByPages;
        };
        let (goes_on, log) = (goes_on_by_pages(&self.cache, member), member.log.clone());
        let page_is_there = page_of(&self.cache, &log, member.position().0).is_some_and(|page| page.exists());
        let is_new = member.index() == 0;
        if !knows_checkpoints(&self.cache, &log) {
            // Its page may be gone, so that nothing can be said of what is not in it.
            return if is_new || !page_is_there { Begins::Later } else { Begins::ByPages };
        }
        let Some(head) = last_checkpoint(&self.cache, &log) else { return Begins::ByPages };
        self.compare_with_checkpoint(lane, head);
        if goes_on {
            return Begins::ByPages;
        }
        if self.checkpoints.loading.insert(lane, head.block) != Some(head.block) {
            self.follow_pages(lane);
        }
        let all = self.followed_checkpoints(lane, &log);
        if !all.iter().all(|interest| self.cache.interests.holds_itself(interest)) {
            return Begins::Later;
        }
        match self.loaded_state(&log, &head) {
            Some(rows) => self.begin_at(lane, &log, &head, rows),
            None => self.stop_log(lane, "its checkpoint cannot be read"),
        }
        Begins::Now
    }

    /// The state of a checkpoint whose parts are here.
    fn loaded_state(&self, log: &LogId, head: &LogCheckpoint) -> Option<Vec<RowSnapshot>> {
        let mut bytes = Vec::new();
        for part in 0..head.parts {
            let key = LogCheckpoint::part_key(log, head.block, part).ok()?;
            bytes.extend_from_slice(LogCheckpoint::read_part(self.cache.row(LogCheckpoint::table(), &key)?)?);
        }
        let state = State::new(bytes);
        let rows = LogState::decode(state.bytes()).ok().filter(|_| state.hash() == head.hash)?.rows;
        rows.iter().all(|row| self.row_fits_schema(row)).then_some(rows)
    }

    fn begin_at(&mut self, lane: LaneNumber, log: &LogId, head: &LogCheckpoint, rows: Vec<RowSnapshot>) {
        self.hold_locals(log);
        let touched = self.cache.replace_local(&locals(&self.schema, log), rows);
        let first = head.block * BLOCK_PAGES;
        let skipped = u64::from(self.broken == Broken::SkipAtRejoin);
        self.logs.set_member(lane, Member::at(log.clone(), first, skipped, head.index + skipped));
        self.checkpoints.forget(lane);
        // What stands behind the checkpoint is a part of the beginning, and waits for no batch.
        self.batches.open(lane);
        self.logs.forget_difference(lane);
        self.disk.changed_logs.insert(lane);
        self.follow_pages(lane);
        self.queue.unsettle(touched.iter().cloned());
        self.note_rows(touched);
        self.changed = Changed::Everything;
        self.compare_due = true;
    }

    /// Everything that is here is replayed. Own operations that were committed and are not among it were in the state of a checkpoint.
    pub(super) fn end_those_in_checkpoints(&mut self, lane: LaneNumber) -> bool {
        if self.logs.member(lane).is_none_or(|member| member.stuck().is_some()) {
            return false;
        }
        let first = self.queue.first_of(lane).and_then(|counter| self.queue.entry(counter));
        let in_past = first.filter(|entry| match entry.stage {
            Stage::Committed { at, .. } => at <= self.cache.at(),
            _ => false,
        });
        let Some(counter) = in_past.map(Entry::counter) else { return false };
        // Whether the operation gave up when others replayed it, the state does not say.
        let reason = "others replayed it while this device was away: whether it took effect is not known".to_owned();
        self.end(counter, MutationStatus::Quarantined { reason });
        true
    }
}

/// Whether it is known here which checkpoints there are.
fn knows_checkpoints(cache: &Cache, log: &LogId) -> bool {
    LogCheckpoint::heads(log).is_ok_and(|heads| cache.interests.holds_itself(&heads))
}

/// The last checkpoint, if it is known here that there is one.
fn last_checkpoint(cache: &Cache, log: &LogId) -> Option<LogCheckpoint> {
    let Interest::Range { table, range } = LogCheckpoint::heads(log).ok()? else { return None };
    let heads = cache.range(table, &range).filter_map(|(key, row)| LogCheckpoint::read_head(key, row));
    heads.max_by_key(|head| head.block)
}

/// Whether the page of a member is the one that it goes on with: it does not begin from a checkpoint first. Until then nothing is appended, since a page
/// that is gone looks like one that is not there yet.
pub(super) fn goes_on_by_pages(cache: &Cache, member: &Member) -> bool {
    let is_new = member.index() == 0;
    knows_checkpoints(cache, &member.log)
        && last_checkpoint(cache, &member.log).is_none_or(|head| !is_new && member.position().0 >= head.pages_from)
}

/// The pages that a member follows which begins in front of a block.
fn blocks_behind(log: &LogId, block: u64) -> impl Iterator<Item = Interest> {
    let firsts = [block * BLOCK_PAGES, (block + 1) * BLOCK_PAGES];
    firsts.into_iter().filter_map(|first| log.pages(first, BLOCK_PAGES).ok())
}
