//! What the tasks of one store share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use iolite_store::{Attempts, CommitReply, Event, Refusal, Reply, Validity};
use iolite_values::{Read, Timestamp, Transaction};
use tokio::sync::mpsc;

use crate::facts::{RowFacts, RowId, Standing};
use crate::figures::Counts;
use crate::locks::LockSpace;
use crate::requests::{Requests, Ticket};
use crate::settings::{Clock, PostgresSettings};
use crate::stamps::Stamps;

/// A row is folded into a state of its own when so many commits lie above the last one.
pub const FOLD_AFTER: usize = 256;

#[derive(Debug)]
pub(crate) struct Shared {
    pub settings: PostgresSettings,
    pub space: LockSpace,
    pub counts: Arc<Counts>,
    pub requests: Requests,
    stamps: Mutex<Stamps>,
    attempts: Mutex<Attempts>,
    resolved: AtomicU64,
    events: mpsc::UnboundedSender<Event>,
    wanted: mpsc::UnboundedSender<Timestamp>,
    long: mpsc::UnboundedSender<RowId>,
}

/// Where the other ends of the channels go: to the host, the feed's task and the collector.
pub(crate) struct Ends {
    pub events: mpsc::UnboundedReceiver<Event>,
    pub wanted: mpsc::UnboundedReceiver<Timestamp>,
    pub long: mpsc::UnboundedReceiver<RowId>,
}

impl Shared {
    pub fn new(settings: PostgresSettings) -> (Shared, Ends) {
        let (events, events_end) = mpsc::unbounded_channel();
        let (wanted, wanted_end) = mpsc::unbounded_channel();
        let (long, long_end) = mpsc::unbounded_channel();
        let shared = Shared {
            space: LockSpace::of(settings.schema.as_str()),
            counts: Arc::default(),
            requests: Requests::new(),
            stamps: Mutex::new(Stamps::new(settings.coordinator)),
            attempts: Mutex::default(),
            resolved: AtomicU64::new(0),
            settings,
            events,
            wanted,
            long,
        };
        (shared, Ends { events: events_end, wanted: wanted_end, long: long_end })
    }

    /// What this store has announced as resolved, or is about to.
    pub fn resolved(&self) -> Timestamp {
        Timestamp::from_u64(self.resolved.load(Ordering::Acquire))
    }

    /// Announces, from `resolved` on.
    pub fn announce(&self, resolved: Timestamp, event: Event) {
        // First, so that whoever hears of it can read there.
        self.resolved.store(resolved.as_u64(), Ordering::Release);
        self.emit(event);
    }

    /// Answers a request, unless nobody waits for it any more, as when its caller was told that it is in doubt; the feed then goes where the answer sends its client.
    pub fn answer(&self, ticket: Ticket, reply: Reply) {
        let wanted = match &reply {
            Reply::Commit(CommitReply::Completed(completion)) => Some(completion.at),
            Reply::Commit(CommitReply::Conflict { at_least }) => Some(*at_least),
            Reply::Validated(Validity::Changed { at_least }) => Some(*at_least),
            Reply::Validated(Validity::Valid)
            | Reply::Commit(CommitReply::Forgotten | CommitReply::InDoubt { .. })
            | Reply::ReadAt(_)
            | Reply::Changes(_)
            | Reply::Completions(_)
            | Reply::LastOutcome(_)
            | Reply::Acknowledged
            | Reply::Refused(_) => None,
        };
        if self.requests.end(ticket) {
            self.emit(Event::Reply(ticket.id, reply));
        }
        if let Some(at) = wanted {
            // When the feed's task has ended, the store is being stopped.
            let _ = self.wanted.send(at);
        }
    }

    pub fn stamp(&self, standing: &Standing, floor: Timestamp) -> Result<Timestamp, Refusal> {
        lock(&self.stamps).next(wall_micros(self.settings.clock), standing, floor)
    }

    pub fn attempts(&self) -> MutexGuard<'_, Attempts> {
        lock(&self.attempts)
    }

    /// Has long rows among these folded.
    pub fn note_long<'a>(&self, rows: impl IntoIterator<Item = (&'a RowId, &'a RowFacts)>) {
        for (id, _) in rows.into_iter().filter(|(_, facts)| facts.commits.len() > FOLD_AFTER) {
            let _ = self.long.send(id.clone());
        }
    }

    fn emit(&self, event: Event) {
        // A host that does not listen any more has dropped the store.
        let _ = self.events.send(event);
    }
}

/// The state behind these locks is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wall_micros(clock: Clock) -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
    match clock {
        Clock::System => micros,
        Clock::Skewed { micros: ahead } => micros.saturating_add_signed(ahead),
    }
}

/// The rows of a transaction, and from where on each commit that touched them matters.
pub(crate) fn wanted_rows(transaction: &Transaction, rows: BTreeSet<RowId>) -> Vec<(RowId, Timestamp)> {
    let read: BTreeSet<RowId> = transaction
        .reads
        .iter()
        .filter_map(|read| match read {
            Read::Cell { cell, element: _ } => Some((cell.table, cell.row.clone())),
            Read::Range { .. } | Read::Query(_) => None,
        })
        .collect();
    let guarded = |id: &RowId| read.contains(id) || transaction.level.guards_writes();
    let since = |id: &RowId| if guarded(id) { transaction.snapshot } else { Timestamp::MAX };
    rows.into_iter().map(|id| (id.clone(), since(&id))).collect()
}
