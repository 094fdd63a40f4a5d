//! Carries out what the client core asks for.

use std::collections::BTreeMap;

use iolite_client::{
    BlobOutput, Centre, Client as Core, Closed, Connection, DownloadNumber, Gateway, Input, LogMember, MutationKind,
    MutationStatus, Output, ReactionId, Run, RunOf,
};
use iolite_host::Clock;
use iolite_machine::{Instant, Machine, Now};
use iolite_values::{Attempt, Counter, LogId, TableId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::client::Settled;
use crate::closure;
use crate::mutation::MutationHandle;
use crate::mutators::Mutators;
use crate::options::Closures;
use crate::reaction::{ReactionError, Reactive};
use crate::shared::CALLED;
use crate::storage::{StorageWriter, Stored};
use crate::transact::Transactional;
use crate::transaction::Transaction;

/// The core, and what it is to the app and to the world.
pub(crate) struct Inner {
    pub(crate) core: Core,
    pub(crate) mutators: Mutators,
    pub(crate) closures: BTreeMap<Counter, Box<dyn Transactional>>,
    /// Closures that have ended. They are dropped outside the lock, since what they own may call the client.
    pub(crate) ended: Vec<Box<dyn Transactional>>,
    pub(crate) reactions: BTreeMap<ReactionId, Box<dyn Reactive>>,
    pub(crate) mutations: BTreeMap<Counter, watch::Sender<MutationStatus>>,
    /// Mutations that somebody follows and that are not delivered yet, each with whether it is.
    pub(crate) deliveries: BTreeMap<Counter, watch::Sender<bool>>,
    /// Logs whose members somebody follows.
    pub(crate) members: BTreeMap<LogId, watch::Sender<Vec<LogMember>>>,
    /// The last attempts of pending mutations.
    pub(crate) attempts: BTreeMap<Counter, Attempt>,
    pub(crate) attempts_total: u64,
    pub(crate) settled: Vec<mpsc::UnboundedSender<Settled>>,
    pub(crate) connection: watch::Sender<Connection>,
    pub(crate) centre: watch::Sender<Option<Centre>>,
    pub(crate) storage: StorageWriter,
    /// The app is to be asked for a token.
    pub(crate) is_token_wanted: bool,
    pub(crate) orders: Vec<LinkOrder>,
    pub(crate) blob_orders: Vec<BlobOutput>,
    /// Fetches that somebody waits for.
    pub(crate) fetches: BTreeMap<DownloadNumber, oneshot::Sender<Result<(), String>>>,
    /// Causal tables whose conflicts somebody follows.
    conflicts: BTreeMap<TableId, watch::Sender<u64>>,
    pub(crate) compare: Closures,
}

/// What is wrong with a closure whose two runs differ.
const DIFFERS: &str = "the closure did not do the same when it ran twice: it may depend on its arguments and on what it reads, \
    and on nothing else; use now_micros, random and new_id of the transaction";

/// What the link's task is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkOrder {
    Connect(Gateway),
    Disconnect,
    Send(Vec<u8>),
}

#[derive(Debug)]
pub(crate) struct LinkWork {
    pub(crate) orders: Vec<LinkOrder>,
    pub(crate) deadline: Option<Instant>,
}

impl Inner {
    pub(crate) fn new(core: Core, mutators: Mutators, compare: Closures, storage: StorageWriter) -> Inner {
        Inner {
            connection: watch::Sender::new(core.connection()),
            centre: watch::Sender::new(None),
            core,
            mutators,
            closures: BTreeMap::new(),
            ended: Vec::new(),
            reactions: BTreeMap::new(),
            mutations: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            members: BTreeMap::new(),
            attempts: BTreeMap::new(),
            attempts_total: 0,
            settled: Vec::new(),
            storage,
            is_token_wanted: false,
            orders: Vec::new(),
            blob_orders: Vec::new(),
            fetches: BTreeMap::new(),
            conflicts: BTreeMap::new(),
            compare,
        }
    }

    /// Hands the core what happened, and its deadline if that is over.
    pub(crate) fn take_in(&mut self, now: Now, inputs: impl IntoIterator<Item = Input>) {
        for input in inputs {
            self.core.handle(now, input);
        }
        if self.core.deadline().is_some_and(|deadline| deadline <= now.instant) {
            self.core.on_deadline(now);
        }
    }

    /// Carries out outputs until there are none.
    pub(crate) fn pump(&mut self, clock: &Clock) {
        while let Some(output) = self.core.poll() {
            match output {
                Output::Connect(gateway) => self.orders.push(LinkOrder::Connect(gateway)),
                Output::Disconnect => self.orders.push(LinkOrder::Disconnect),
                Output::Send(frame) => self.orders.push(LinkOrder::Send(frame)),
                Output::Persist { id, changes, awaited } => {
                    if self.storage.apply(&changes, awaited) == Stored::Already {
                        self.core.handle(clock.now(), Input::Persisted(id));
                    }
                }
                Output::Run(of) => self.run(of),
                Output::Mutation { counter, attempt, status } => self.on_status(counter, attempt, status),
                Output::Delivered(counter) => {
                    if let Some(sender) = self.deliveries.remove(&counter) {
                        sender.send_replace(true);
                    }
                }
                Output::Connection(connection) => drop(self.connection.send_replace(connection)),
                Output::Centre(centre) => drop(self.centre.send_replace(Some(centre))),
                // Whoever has the log may ask it.
                Output::LogStopped { .. } | Output::LogDiffers { .. } => {}
                Output::LogMembers(log) => {
                    if let Some(sender) = self.members.get(&log) {
                        sender.send_replace(self.core.log_members(&log));
                    }
                }
                Output::Unavailable(id) => self.fail_reaction(id, ReactionError::Unavailable),
                Output::ReactionFailed { reaction, message } => {
                    self.fail_reaction(reaction, ReactionError::Failed(message));
                }
                // A process has its storage for itself, so nobody follows it, and nobody but it calls.
                Output::TokenWanted => self.is_token_wanted = true,
                Output::ToTab(..) | Output::ReadOutbox | Output::Adopted { .. } => {}
                Output::Blobs(order) => self.blob_orders.push(order),
                Output::Conflicts(table) => {
                    if let Some(sender) = self.conflicts.get(&table) {
                        sender.send_modify(|changes| *changes += 1);
                    }
                }
            }
        }
    }

    /// A number that changes whenever the conflicts of a table do.
    pub(crate) fn follow_conflicts(&mut self, table: TableId) -> watch::Receiver<u64> {
        self.conflicts.entry(table).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// A handle on a mutation that was just called.
    pub(crate) fn follow(&mut self, counter: Counter) -> MutationHandle {
        self.follow_from(counter, MutationStatus::Pending(CALLED))
    }

    pub(crate) fn follow_from(&mut self, counter: Counter, status: MutationStatus) -> MutationHandle {
        let sender = self.mutations.entry(counter).or_insert_with(|| watch::Sender::new(status));
        let delivered = self.deliveries.entry(counter).or_insert_with(|| watch::Sender::new(false));
        MutationHandle::new(counter, sender.subscribe(), delivered.subscribe())
    }

    fn run(&mut self, of: RunOf) {
        let (run, mut closed) = self.run_once(of);
        if self.compare == Closures::Compared && closed == Closed::Returned {
            let (again, closed_again) = self.run_once(of);
            if closed_again != closed || !run.agrees_with(&again) {
                closed = Closed::Failed(DIFFERS.into());
            }
        }
        let counts = !run.is_stopped() && closed == Closed::Returned;
        self.core.finish(run, closed);
        if let (true, RunOf::Reaction(id)) = (counts, of)
            && let Some(reaction) = self.reactions.get_mut(&id)
        {
            reaction.publish();
        }
    }

    fn run_once(&mut self, of: RunOf) -> (Run, Closed) {
        let mut run = self.core.begin(of);
        let mutation = match of {
            RunOf::Mutation(counter) => self.core.mutation(counter).map(|mutation| mutation.kind.clone()),
            RunOf::Replay(_) => self.core.replayed_call(),
            RunOf::Reaction(_) => None,
        };
        let mut transaction = Transaction::new(self.core.transaction(&mut run));
        let closed = match (of, mutation) {
            (RunOf::Mutation(_) | RunOf::Replay(_), Some(MutationKind::Named { name, arguments })) => {
                let mutator = self.mutators.get(&name);
                mutator.map(|mutator| closure::run(|| mutator(&mut transaction, &arguments)))
            }
            (RunOf::Mutation(counter), Some(MutationKind::Closure)) => {
                let closure = self.closures.get_mut(&counter);
                closure.map(|closure| closure::run(|| closure.run(&mut transaction)))
            }
            (RunOf::Mutation(_), None | Some(MutationKind::ChangeSet)) | (RunOf::Replay(_), _) => None,
            (RunOf::Reaction(id), _) => {
                let reaction = self.reactions.get_mut(&id);
                reaction.map(|reaction| closure::run(|| reaction.run(&mut transaction)))
            }
        };
        (run, closed.unwrap_or(Closed::Unknown))
    }

    fn on_status(&mut self, counter: Counter, attempt: Attempt, status: MutationStatus) {
        self.note_attempt(counter, attempt);
        if let (MutationStatus::Confirmed { .. }, Some(closure)) = (&status, self.closures.get_mut(&counter)) {
            closure.took_effect(attempt);
        }
        if let Some(sender) = self.mutations.get(&counter) {
            sender.send_replace(status.clone());
        }
        if matches!(status, MutationStatus::Pending(_)) {
            return;
        }
        self.ended.extend(self.closures.remove(&counter));
        self.mutations.remove(&counter);
        if !(matches!(status, MutationStatus::Confirmed { .. }) && self.core.follows_delivery()) {
            self.deliveries.remove(&counter);
        }
        self.attempts.remove(&counter);
        self.settled.retain(|listener| listener.send(Settled { counter, status: status.clone() }).is_ok());
    }

    /// What is told first of a mutation is no attempt of this client's: none, or those of its earlier lives.
    fn note_attempt(&mut self, counter: Counter, attempt: Attempt) {
        let before = self.attempts.insert(counter, attempt);
        if before.is_some_and(|before| before < attempt) {
            self.attempts_total += 1;
            if let Some(closure) = self.closures.get_mut(&counter) {
                closure.submitted(attempt);
            }
        }
    }

    fn fail_reaction(&mut self, id: ReactionId, error: ReactionError) {
        if let Some(reaction) = self.reactions.get_mut(&id) {
            reaction.fail(error);
        }
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("core", &self.core.identity()).finish_non_exhaustive()
    }
}
