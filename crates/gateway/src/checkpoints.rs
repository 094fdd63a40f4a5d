//! Checkpoints of logs: the members' hashes are compared, a state that all have alike is stored, and pages that it makes needless are taken away.
//!
//! Invariants: a head stands in the store only when all parts of its state do, and they hash to what every member has said; pages are taken away by the
//! transaction that writes the head which replaces them.
//!
//! All of this begins anew with the gateway: members that come to the next block say their hashes, and the heads are read again.
//! Source: Hercules (Lebeck 2020, section 3.4.6).

use std::collections::{BTreeMap, BTreeSet};

use iolite_logs::{BLOCK_PAGES, Compared, Hashes, PARTS_MAX, Page, Said, StateHasher};
use iolite_store::{CommitReply, ReadLimit, ReadReply, Request, RequestId};
use iolite_values::{Cell, ClientId, Counter, Decision, LogCheckpoint, LogId, LogPages, Operation, Write};
use iolite_wire::message::{FromGateway, LogHash, LogPart};

use crate::interface::Broken;
use crate::store::Purpose;
use crate::{Gateway, SessionId};

/// Pages that one transaction takes away.
const TRIMMED_AT_ONCE: u64 = 1024;

/// The checkpoints of all logs that are under way.
#[derive(Debug, Default)]
pub struct Checkpoints {
    logs: BTreeMap<LogId, OfLog>,
    /// The writes that the store has not answered.
    writes: BTreeMap<Counter, LogId>,
    /// The heads that are being read.
    reads: BTreeMap<RequestId, LogId>,
    /// How often members of a log had different states.
    pub differences: u64,
}

#[derive(Debug, Default)]
struct OfLog {
    hashes: Hashes,
    head: Head,
    taking: Option<Taking>,
}

/// The last checkpoint, as far as this gateway knows.
#[derive(Clone, Copy, Debug, Default)]
enum Head {
    #[default]
    Unknown,
    Reading,
    Known(Option<LogCheckpoint>),
}

/// A state that is being stored.
#[derive(Debug)]
struct Taking {
    from: ClientId,
    block: u64,
    said: Said,
    /// Takes in the parts that have come.
    hasher: StateHasher,
    parts: u64,
    /// The last part, or the head, is with the store.
    is_storing: bool,
}

impl Gateway {
    /// How often members of a log were found with different states, since this gateway began.
    pub fn log_differences(&self) -> u64 {
        self.checkpoints.differences
    }

    /// A member says what its state hashes to.
    pub(crate) fn on_log_hash(&mut self, id: SessionId, hash: LogHash) {
        let Some(client) = self.open(id).map(|open| open.client) else { return };
        let LogHash { log, block, index, hash, parts } = hash;
        let members = self.members_waited_for(&log);
        // Every page before the block has an entry.
        let is_possible = (1..=u64::from(u32::MAX)).contains(&block)
            && (1..=PARTS_MAX).contains(&parts)
            && (block * BLOCK_PAGES..=i64::MAX as u64).contains(&index);
        if !is_possible || !members.contains(&client) {
            return;
        }
        let own = self.checkpoints.logs.entry(log.clone()).or_default();
        own.hashes.say(client, block, Said { index, hash, parts });
        // Who says something new has not got what it was asked for, or has gone on.
        if own.taking.as_ref().is_some_and(|taking| taking.from == client && !taking.is_storing) {
            own.taking = None;
        }
        if self.settings.broken == Broken::TrimBeforeDelivery {
            self.trim_at_once(&log, block);
        }
        self.compare(&log, &members);
    }

    /// The members of a log, but for those for which nobody waits.
    fn members_waited_for(&self, log: &LogId) -> BTreeSet<ClientId> {
        self.members.of(log).filter(|client| !self.delivery.is_out(*client)).collect()
    }

    /// A client is no member of a log any more: what it has said does not count.
    pub(crate) fn forget_hashes(&mut self, client: ClientId, log: &LogId) {
        let Some(own) = self.checkpoints.logs.get_mut(log) else { return };
        own.hashes.forget(client);
        let is_idle = own.taking.as_ref().is_none_or(|taking| !taking.is_storing);
        if is_idle && self.members.of(log).next().is_none() {
            self.checkpoints.logs.remove(log);
        }
    }

    fn compare(&mut self, log: &LogId, members: &BTreeSet<ClientId>) {
        if members.is_empty() {
            return;
        }
        let is_member = |own: &Taking| members.contains(&own.from);
        let Some(own) = self.checkpoints.logs.get_mut(log) else { return };
        let Some((block, compared)) = own.hashes.compare(members) else { return };
        // Whoever was asked for an earlier state and did not give it is not waited for.
        if own.taking.as_ref().is_some_and(|taking| taking.is_storing || taking.block >= block && is_member(taking)) {
            return;
        }
        own.taking = None;
        match (compared, own.head) {
            (Compared::Different(each), _) => {
                own.hashes.forget_to(block);
                self.checkpoints.differences += 1;
                self.tell_differences(log, block, each);
            }
            (Compared::Alike(_), Head::Unknown) => self.read_heads(log),
            (Compared::Alike(_), Head::Reading) => {}
            (Compared::Alike(_), Head::Known(Some(head))) if head.block >= block => own.hashes.forget_to(block),
            (Compared::Alike(said), Head::Known(_)) => {
                let Some(from) = own.hashes.first_with(block, said) else { return };
                own.taking =
                    Some(Taking { from, block, said, hasher: StateHasher::default(), parts: 0, is_storing: false });
                self.want_part(log);
            }
        }
    }

    fn tell_differences(&mut self, log: &LogId, block: u64, each: Vec<(ClientId, Said)>) {
        for (client, Said { index, hash, parts }) in each {
            let Some(id) = self.clients.get(&client).copied() else { continue };
            self.say(id, FromGateway::LogDiffers(LogHash { log: log.clone(), block, index, hash, parts }));
        }
    }

    fn read_heads(&mut self, log: &LogId) {
        let Ok(interest) = LogCheckpoint::heads(log) else { return };
        let at = self.position();
        let id = self.ask(Purpose::Heads, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
        self.checkpoints.reads.insert(id, log.clone());
        if let Some(own) = self.checkpoints.logs.get_mut(log) {
            own.head = Head::Reading;
        }
    }

    /// The heads of a log; none if they could not be read.
    pub(crate) fn on_heads(&mut self, id: RequestId, reply: Option<ReadReply>) {
        let Some(log) = self.checkpoints.reads.remove(&id) else { return };
        let Some(own) = self.checkpoints.logs.get_mut(&log) else { return };
        own.head = match reply {
            None => Head::Unknown,
            Some(reply) => {
                let heads = reply.rows.iter().filter_map(|row| LogCheckpoint::read_head(&row.key, &row.row));
                Head::Known(heads.max_by_key(|head| head.block))
            }
        };
        let members = self.members_waited_for(&log);
        self.compare(&log, &members);
    }

    /// Asks for the next part of the state that is taken.
    fn want_part(&mut self, log: &LogId) {
        let Some(taking) = self.checkpoints.logs.get(log).and_then(|own| own.taking.as_ref()) else { return };
        let (block, part, from) = (taking.block, taking.parts, taking.from);
        let Some(id) = self.clients.get(&from).copied() else { return };
        self.say(id, FromGateway::LogWanted(LogPart { log: log.clone(), block, part, state: Vec::new() }));
    }

    /// A member gives a part that it was asked for. Whatever else it gives is for nobody.
    pub(crate) fn on_log_part(&mut self, id: SessionId, part: LogPart) {
        let Some(client) = self.open(id).map(|open| open.client) else { return };
        let LogPart { log, block, part, state } = part;
        let Some(taking) = self.checkpoints.logs.get_mut(&log).and_then(|own| own.taking.as_mut()) else { return };
        let is_wanted = (taking.from, taking.block, taking.parts) == (client, block, part) && !taking.is_storing;
        if !is_wanted {
            return;
        }
        taking.hasher.add(&state);
        taking.parts += 1;
        taking.is_storing = true;
        let Ok(key) = LogCheckpoint::part_key(&log, block, part) else { return };
        self.store_checkpoint(&log, LogCheckpoint::write_part(&key, &state));
    }

    fn store_checkpoint(&mut self, log: &LogId, writes: Vec<Write>) {
        let counter = self.commit_own(Purpose::Checkpoint, self.position(), Vec::new(), Decision::Commit(writes));
        self.checkpoints.writes.insert(counter, log.clone());
    }

    pub(crate) fn on_checkpoint_stored(&mut self, counter: Counter, reply: &CommitReply) {
        match reply {
            CommitReply::Completed(_) => {}
            CommitReply::Conflict { .. } | CommitReply::Forgotten | CommitReply::InDoubt { .. } => {
                return self.on_checkpoint_failed(counter);
            }
        }
        self.own_ended(counter);
        let Some(log) = self.checkpoints.writes.remove(&counter) else { return };
        let Some(own) = self.checkpoints.logs.get_mut(&log) else { return };
        let Some(taking) = own.taking.as_mut() else { return };
        if taking.parts < taking.said.parts {
            taking.is_storing = false;
            return self.want_part(&log);
        }
        if taking.parts == taking.said.parts {
            // The head is next. It counts as a part of its own.
            taking.parts += 1;
            return self.read_last_page(&log);
        }
        self.head_stored(&log);
    }

    /// The store did not take a write: the next block is another chance.
    pub(crate) fn on_checkpoint_failed(&mut self, counter: Counter) {
        self.own_ended(counter);
        let Some(log) = self.checkpoints.writes.remove(&counter) else { return };
        self.give_up_taking(&log);
    }

    fn give_up_taking(&mut self, log: &LogId) {
        let Some(own) = self.checkpoints.logs.get_mut(log) else { return };
        if let Some(taking) = own.taking.take() {
            own.hashes.forget_to(taking.block);
        }
        own.head = Head::Unknown;
    }

    /// Reads the last page in front of the block. Members say that they have replayed it, and a member alone may say anything.
    fn read_last_page(&mut self, log: &LogId) {
        let block = self.checkpoints.logs.get(log).and_then(|own| own.taking.as_ref()).map(|taking| taking.block);
        let interest = block.and_then(|block| log.pages(block * BLOCK_PAGES - 1, 1).ok());
        let Some(interest) = interest else { return self.give_up_taking(log) };
        let at = self.position();
        let id = self.ask(Purpose::LastPage, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
        self.checkpoints.reads.insert(id, log.clone());
    }

    /// The last page in front of the block that is taken; none if it could not be read.
    pub(crate) fn on_last_page(&mut self, id: RequestId, reply: Option<ReadReply>) {
        let Some(log) = self.checkpoints.reads.remove(&id) else { return };
        let is_closed = reply.is_some_and(|reply| reply.rows.iter().any(|row| Page::of(Some(&row.row)).is_closed()));
        if is_closed { self.store_head(&log) } else { self.give_up_taking(&log) }
    }

    fn store_head(&mut self, log: &LogId) {
        let kept = self.settings.limits.log_blocks_kept;
        let Some(own) = self.checkpoints.logs.get_mut(log) else { return };
        let Some(taking) = own.taking.as_mut() else { return };
        let Said { index, hash, parts } = taking.said;
        if std::mem::take(&mut taking.hasher).hash() != hash {
            // It has given another state than it has said.
            return self.give_up_taking(log);
        }
        let earlier = match own.head {
            Head::Known(head) => head,
            Head::Unknown | Head::Reading => None,
        };
        let trimmed = earlier.map_or(0, |head| head.pages_from);
        let pages_from = (taking.block.saturating_sub(kept) * BLOCK_PAGES).clamp(trimmed, trimmed + TRIMMED_AT_ONCE);
        let head = LogCheckpoint { block: taking.block, index, hash, parts, pages_from };
        let Ok(writes) = head_writes(log, &head, earlier.as_ref()) else { return };
        own.head = Head::Known(Some(head));
        self.store_checkpoint(log, writes);
    }

    fn head_stored(&mut self, log: &LogId) {
        let Some(own) = self.checkpoints.logs.get_mut(log) else { return };
        if let Some(taking) = own.taking.take() {
            own.hashes.forget_to(taking.block);
        }
        let members = self.members_waited_for(log);
        self.compare(log, &members);
    }

    /// Takes pages away too early, on purpose: not every member has replayed them.
    fn trim_at_once(&mut self, log: &LogId, block: u64) {
        let gone = (0..block * BLOCK_PAGES).filter_map(|page| log.page(page).ok()).map(remove_page);
        let writes = gone.collect();
        self.commit_own(Purpose::Checkpoint, self.position(), Vec::new(), Decision::Commit(writes));
    }
}

/// The writes of a head, which takes the place of an earlier one and of pages.
fn head_writes(
    log: &LogId,
    head: &LogCheckpoint,
    earlier: Option<&LogCheckpoint>,
) -> Result<Vec<Write>, iolite_values::KeyError> {
    let mut writes = head.write_head(&LogCheckpoint::head_key(log, head.block)?);
    for page in earlier.map_or(0, |own| own.pages_from)..head.pages_from {
        writes.push(remove_page(log.page(page)?));
    }
    if let Some(earlier) = earlier {
        writes.push(LogCheckpoint::remove(LogCheckpoint::head_key(log, earlier.block)?));
        for part in 0..earlier.parts {
            writes.push(LogCheckpoint::remove(LogCheckpoint::part_key(log, earlier.block, part)?));
        }
    }
    Ok(writes)
}

fn remove_page(key: iolite_values::RowKey) -> Write {
    Write { cell: Cell::row(LogPages::table(), key), operation: Operation::Delete }
}
