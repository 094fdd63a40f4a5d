//! One pending mutation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_machine::{PersistId, WallTime};
use iolite_values::{Attempt, Counter, Decision, Digest, Domain, LaneNumber, LogId, Read, TableId, Timestamp, Write};
use iolite_wire::message::Submit;

use crate::cache::{Demand, RowId};
use crate::interface::{Broken, Pending};
use crate::tabs::Ticket;
use crate::text::fits;
use crate::transaction::{Lives, Stopped};
use crate::view::{Changed, Reader};

/// The call of a mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutationKind {
    /// A named function with its arguments in JSON: the only kind that survives a restart.
    Named { name: Arc<str>, arguments: Arc<str> },
    /// A closure, kept by the app's process under the mutation's counter. It works online only.
    Closure,
    /// Changed rows of a table that syncs, as kept calls left them. Nobody called it, and it never runs.
    ChangeSet,
}

impl MutationKind {
    /// Bytes of what is kept of the call, here and on the device.
    pub fn size_bytes(&self) -> usize {
        match self {
            MutationKind::Named { name, arguments } => name.len() + arguments.len(),
            MutationKind::Closure | MutationKind::ChangeSet => 0,
        }
    }
}

/// A call of a mutation, as the app made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    pub counter: Counter,
    pub kind: MutationKind,
    pub called_at: WallTime,
    /// The name that the tab gave it that called it, so that another tab which takes the lead recognises it.
    pub ticket: Option<Ticket>,
    /// The log that it is an operation of.
    pub log: Option<LogCall>,
}

impl Mutation {
    fn change_set(counter: Counter) -> Mutation {
        let called_at = WallTime::default();
        Mutation { counter, kind: MutationKind::ChangeSet, called_at, ticket: None, log: None }
    }
}

/// The part of a call that only operations of logs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCall {
    pub log: LogId,
    /// The seed of the operation's randomness.
    pub seed: [u8; 16],
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) mutation: Mutation,
    /// The domain of its last run's writes. Before its first run it counts as strong.
    pub(crate) domain: Domain,
    /// The lane in whose order it is submitted.
    pub(crate) lane: LaneNumber,
    pub(crate) state: RunState,
    pub(crate) stage: Stage,
    /// Whether something of it may have reached the store.
    pub(crate) trail: Trail,
    /// Whether it is stored as one of which nothing was sent: it has run to no end, or has a time that the server does not take yet.
    pub(crate) is_stored_unsent: bool,
    pub(crate) offline_check: OfflineCheck,
    /// Of a call by ticket.
    pub(crate) copies: Copies,
    /// The number of the last attempt. Those of each life of the app have numbers of their own.
    pub(crate) attempts: Attempt,
    /// The next attempt needs a snapshot at or above this.
    pub(crate) wait_for: Timestamp,
    /// Why it was given up, of each attempt that was submitted as given up.
    pub(crate) given_up: BTreeMap<Attempt, GivenUp>,
    /// Whether an attempt was sent whose run had read what a pending mutation before it writes. Never, but in a broken client.
    pub(crate) has_read_pending: bool,
    /// Runs in a row that missed something, each when what the one before it missed had come.
    pub(crate) misses: u32,
    /// For its next runs.
    pub(crate) lives: Lives,
    pub(crate) kept_rows: KeptRows,
    /// It was promised as a strong mutation, and writes a table that syncs now: an abort is recorded first, as an attempt may have taken effect.
    pub(crate) is_to_be_kept: bool,
    /// A data centre has said that it is in its store.
    pub(crate) is_in_centre: bool,
}

/// Whether a run sees what kept calls have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptRows {
    Shown,
    /// A strong mutation rests on confirmed rows: what is kept may never be committed.
    Below,
    /// It sees the kept rows once more, for it wrote a table that syncs when it saw the confirmed ones.
    ShownAgain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trail {
    None,
    /// An attempt was sent, or an earlier life of the app may have sent one: only the store can tell how it ended.
    MaybeSent,
}

/// Whether a mutation may still be refused because a table that it writes takes no changes without a connection. That is asked once, by the
/// first run after the call: what was called while there was a connection is sent, also if it is lost soon after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfflineCheck {
    Due,
    Done,
}

/// Whether the tab that made a call may store it once more, or make it again, since it does not know that it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    MayCome,
    /// The tab said that it knows.
    NoMore,
}

/// Who gave a mutation up, and why. The store records it either way, so that no earlier attempt takes effect afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// Its own closure.
    ByApp(String),
    /// The client, which cannot run or send it.
    ByClient(String),
}

/// What came of the closure's last run.
#[derive(Debug)]
pub(crate) enum RunState {
    /// It has to run (again).
    Due,
    /// It missed something, and has no effect until that is there, or what it saw is another.
    Missing(Stopped),
    Done(Ran),
    /// A change set: sent as it is. The rows that it writes are shown by the kept calls, and it rests on nothing in the queue.
    Frozen(Frozen),
    /// A call of tables that merge. It has taken place at this device: these effects are shown and sent as they are, and it never runs again.
    TookPlace(Vec<Write>),
}

/// The reads and writes of a change set.
#[derive(Clone, Debug)]
pub(crate) struct Frozen {
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Vec<Write>,
}

/// Why a mutation runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stale {
    /// What it missed is there.
    HasCome,
    /// What it saw is another.
    IsAnother,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) reads: Vec<(Read, Digest)>,
    /// Rows of which it was known neither that they are there nor that they are not, and that it created.
    pub(crate) assumed: BTreeSet<RowId>,
    pub(crate) result: RunResult,
}

#[derive(Debug)]
pub(crate) enum RunResult {
    Writes(Vec<Write>),
    GivenUp(GivenUp),
}

/// How far a mutation is on its way.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Its closure has not run to its end yet, so it may still turn out to be a mistake. (A call from the outbox was promised before its closure
    /// ran, so it is never in this stage.)
    Called,
    /// On its way to the disk: it may not be sent.
    Saving(PersistId),
    /// On disk (a closure: in memory): the lane may submit it.
    Saved,
    Submitted(Submit),
    /// Its session was lost before the answer. It is sent again, unchanged.
    Unanswered(Submit),
    /// This attempt was committed, which the confirmed state has not reached yet.
    Committed {
        at: Timestamp,
        attempt: Attempt,
    },
}

impl Ran {
    pub(crate) fn writes(&self) -> &[Write] {
        match &self.result {
            RunResult::Writes(writes) => writes,
            RunResult::GivenUp(_) => &[],
        }
    }

    pub(crate) fn decision(&self) -> Decision {
        match &self.result {
            RunResult::Writes(writes) => Decision::Commit(writes.clone()),
            RunResult::GivenUp(given_up) => Decision::Abort(given_up.reason().to_owned()),
        }
    }
}

impl GivenUp {
    pub(crate) fn reason(&self) -> &str {
        match self {
            GivenUp::ByApp(reason) | GivenUp::ByClient(reason) => reason,
        }
    }
}

impl Broken {
    /// Whether an entry is sent before it is stored.
    pub(super) fn sends_unstored(self, entry: &Entry) -> bool {
        self == Broken::SendBeforeStored && entry.took_place()
    }
}

impl Entry {
    pub(crate) fn new(mutation: Mutation, stage: Stage) -> Entry {
        let (attempts, wait_for, given_up) = (Attempt(0), Timestamp::ZERO, BTreeMap::new());
        let (state, trail, offline_check) = (RunState::Due, Trail::None, OfflineCheck::Due);
        let (copies, misses, lives) = (Copies::MayCome, 0, Lives::AsFarAsKnown);
        let domain = mutation.log.as_ref().map_or(Domain::Strong, |call| Domain::Log(call.log.clone()));
        let lane = LaneNumber::STRONG;
        Entry {
            mutation,
            domain,
            lane,
            state,
            stage,
            trail,
            is_stored_unsent: false,
            offline_check,
            copies,
            attempts,
            wait_for,
            given_up,
            has_read_pending: false,
            is_in_centre: false,
            misses,
            lives,
            kept_rows: KeptRows::Shown,
            is_to_be_kept: false,
        }
    }

    /// A change set of a table. It leaves once it is stored, with what the kept calls are.
    pub(crate) fn change_set(counter: Counter, table: TableId, frozen: Frozen, with: PersistId) -> Entry {
        let mutation = Mutation::change_set(counter);
        let (state, domain) = (RunState::Frozen(frozen), Domain::Rows(table));
        Entry { state, domain, offline_check: OfflineCheck::Done, ..Entry::new(mutation, Stage::Saving(with)) }
    }

    /// The abort of a change set that an earlier life of the app may have sent.
    pub(crate) fn closing_set(counter: Counter, table: TableId, attempts: Attempt) -> Entry {
        let mut entry =
            Entry { domain: Domain::Rows(table), ..Entry::restored(Mutation::change_set(counter), attempts) };
        entry.close("the app was started again before its outcome was known");
        entry
    }

    /// From now on it is given up, whatever it was. Its outcome tells whether an attempt took effect before.
    pub(crate) fn close(&mut self, reason: &str) {
        let result = RunResult::GivenUp(GivenUp::ByClient(reason.to_owned()));
        self.state = RunState::Done(Ran { reads: Vec::new(), assumed: BTreeSet::new(), result });
        self.wait_for = Timestamp::ZERO;
        if let Stage::Called | Stage::Saving(_) | Stage::Submitted(_) | Stage::Unanswered(_) = self.stage {
            self.stage = Stage::Saved;
        }
    }

    /// Whether its run sees what kept calls have written. One that has run is strong: no other stays in the queue.
    pub(crate) fn sees_kept(&self) -> bool {
        self.kept_rows != KeptRows::Below && !matches!(self.state, RunState::Done(_))
    }

    /// Whether it has taken place at this device, and runs no more.
    pub(crate) fn took_place(&self) -> bool {
        matches!(self.state, RunState::TookPlace(_))
    }

    /// Whether it leaves when the confirmed state contains it. An operation of a log leaves when it is replayed, a change set with its outcome.
    pub(crate) fn leaves_when_contained(&self) -> bool {
        match self.domain {
            Domain::Strong | Domain::Causal => true,
            Domain::Log(_) | Domain::Rows(_) => false,
        }
    }

    /// Whether its closure has run to its end, and may run again.
    pub(crate) fn has_run(&self) -> bool {
        matches!(self.state, RunState::Done(_))
    }

    /// Whether an attempt of it as a strong mutation may have reached the store.
    pub(crate) fn may_be_strong(&self) -> bool {
        self.trail == Trail::MaybeSent && self.domain == Domain::Strong
    }

    /// Whether it is a change set, and no call.
    pub(crate) fn is_change_set(&self) -> bool {
        matches!(self.mutation.kind, MutationKind::ChangeSet)
    }

    /// One that an earlier life of the app stored, and may have sent. Attempts of this life are numbered from above `attempts`.
    pub(crate) fn restored(mutation: Mutation, attempts: Attempt) -> Entry {
        let (trail, offline_check) = (Trail::MaybeSent, OfflineCheck::Done);
        // A call that was kept is not in the queue: this one is strong, as far as that life knew.
        let kept_rows = KeptRows::Below;
        Entry { trail, offline_check, attempts, kept_rows, ..Entry::new(mutation, Stage::Saved) }
    }

    /// The same, of a call that had run to no end, so that nothing of it was sent.
    pub(crate) fn unsent(self) -> Entry {
        Entry { trail: Trail::None, is_stored_unsent: true, ..self }
    }

    /// A call that took place in an earlier life of the app, which stored its effects.
    pub(crate) fn restored_effects(
        mutation: Mutation,
        attempts: Attempt,
        effects: Vec<Write>,
        lane: LaneNumber,
        trail: Trail,
    ) -> Entry {
        let (domain, state) = (Domain::Causal, RunState::TookPlace(effects));
        Entry { domain, state, lane, trail, ..Entry::restored(mutation, attempts) }
    }

    /// The same, in the lane of its log.
    pub(crate) fn in_lane(self, lane: LaneNumber) -> Entry {
        Entry { lane, ..self }
    }

    /// The same, of an operation whose entry is known to be committed.
    pub(crate) fn committed(self, at: Option<Timestamp>) -> Entry {
        let Some(at) = at else { return self };
        Entry { stage: Stage::Committed { at, attempt: self.attempts }, ..self }
    }

    pub(crate) fn counter(&self) -> Counter {
        self.mutation.counter
    }

    /// Whether a restart of the client would find it. A closure counts while its process lives.
    pub(crate) fn is_durable(&self) -> bool {
        !matches!(self.stage, Stage::Called | Stage::Saving(_))
    }

    pub(crate) fn status(&self) -> Pending {
        let would_reject = match &self.state {
            RunState::Done(Ran { result: RunResult::GivenUp(given_up), .. }) => Some(given_up.reason().to_owned()),
            RunState::Done(_) | RunState::Due | RunState::Missing(_) | RunState::Frozen(_) | RunState::TookPlace(_) => {
                None
            }
        };
        let waits_for_data = matches!(self.state, RunState::Missing(_));
        let (durable, sent) = (self.is_durable(), !self.is_unsent());
        let centres = u32::from(self.is_in_centre);
        Pending { waits_for_data, durable, sent, would_reject, in_conflict: false, centres }
    }

    pub(super) fn is_committed(&self) -> bool {
        matches!(self.stage, Stage::Committed { .. })
    }

    /// Whether it is an operation of a log whose entry is committed.
    pub(crate) fn waits_to_be_replayed(&self) -> bool {
        self.mutation.log.is_some() && self.is_committed()
    }

    /// Nothing of it was ever sent, so it can be taken back.
    pub(crate) fn is_unsent(&self) -> bool {
        self.trail == Trail::None
    }

    /// Why the last run would see something else now, if any of what it saw changed.
    pub(crate) fn staleness(&self, reader: Reader<'_>, changed: &Changed) -> Option<Stale> {
        match &self.state {
            RunState::Due | RunState::Frozen(_) | RunState::TookPlace(_) => None,
            RunState::Missing(stopped) if reader.has_come(stopped) => Some(Stale::HasCome),
            RunState::Missing(stopped) => {
                let is_other = reader.is_another_state(Demand::Mutation(self.counter()), stopped, changed);
                is_other.then_some(Stale::IsAnother)
            }
            RunState::Done(ran) => self.would_run_otherwise(ran, reader, changed).then_some(Stale::IsAnother),
        }
    }

    fn would_run_otherwise(&self, ran: &Ran, reader: Reader<'_>, changed: &Changed) -> bool {
        let has_come = |(table, key): &RowId| reader.exists(*table, key);
        if ran.assumed.iter().any(|id| changed.concerns_row(id) && has_come(id)) {
            return true;
        }
        // An edit that only removes has read nothing.
        if self.rows().any(|id| changed.concerns_row(&id)) && !fits(ran.writes(), reader) {
            return true;
        }
        let concerned = ran.reads.iter().any(|(read, _)| changed.concerns(read));
        concerned && !reader.would_repeat(Demand::Mutation(self.counter()), &ran.reads)
    }

    /// After an attempt that the store refused: whether what it assumed may be why, so that its next run is not to assume it.
    pub(super) fn doubts_lives(&mut self) -> bool {
        let RunState::Done(ran) = &self.state else { return false };
        let doubts = !ran.assumed.is_empty();
        if doubts {
            (self.lives, self.state) = (Lives::ForSure, RunState::Due);
        }
        doubts
    }

    /// The writes of its last run. A change set writes nothing that the kept calls do not show.
    pub(crate) fn writes(&self) -> &[Write] {
        match &self.state {
            RunState::Done(ran) => ran.writes(),
            RunState::TookPlace(writes) => writes,
            RunState::Due | RunState::Missing(_) | RunState::Frozen(_) => &[],
        }
    }

    /// The writes that the store is to make.
    pub(crate) fn writes_to_send(&self) -> &[Write] {
        match &self.state {
            RunState::Frozen(frozen) => &frozen.writes,
            RunState::Done(_) | RunState::Due | RunState::Missing(_) | RunState::TookPlace(_) => self.writes(),
        }
    }

    /// What its last run saw.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Read> {
        let ran = match &self.state {
            RunState::Done(ran) => Some(ran),
            RunState::Due | RunState::Missing(_) | RunState::Frozen(_) | RunState::TookPlace(_) => None,
        };
        ran.into_iter().flat_map(|ran| &ran.reads).map(|(read, _)| read)
    }

    /// The same, and what it saw before it was stopped.
    pub(crate) fn looked_at(&self) -> impl Iterator<Item = &Read> {
        let stopped = match &self.state {
            RunState::Missing(stopped) => Some(stopped),
            RunState::Due | RunState::Done(_) | RunState::Frozen(_) | RunState::TookPlace(_) => None,
        };
        let stopped = stopped.into_iter().flat_map(|stopped| &stopped.reads).map(|(read, _)| read);
        self.reads().chain(stopped)
    }

    /// The rows that its last run wrote.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowId> {
        self.writes().iter().map(|write| (write.cell.table, write.cell.row.clone()))
    }
}
