//! What the leader of a shard does for clients, and what it knows beside the log.
//!
//! Invariants:
//! - what is prepared, or on its way to the log, holds its locks until its outcome is applied;
//! - everyone who asked is answered, at the latest when the node stands down.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_baseline_client::{
    Ask, Blocker, Control, Look, Outcome, Refused, Reply, Request, Settlement, Tell, TransactionId, Value, Values,
};
use iolite_host::LinkNumber;
use iolite_machine::Instant;

use super::locks::{Key, Locks, Mode};
use super::store::{Decision, Store};
use super::{Leads, Output, Ticket};
use crate::command::{Change, Command, Leadership, Loaded, Prepared};

pub type Outputs = VecDeque<Output>;

#[derive(Debug)]
pub struct Leading {
    leadership: Leadership,
    control: Control,
    pub(super) locks: Locks,
    /// Transactions that hold locks or wait for some.
    pub(super) active: BTreeMap<TransactionId, Active>,
    waiting: BTreeMap<Ticket, (Asker, Awaited)>,
    last_ticket: Ticket,
}

/// Who asked, and is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    pub link: LinkNumber,
    pub request: u64,
}

/// What somebody waits for.
#[derive(Debug)]
enum Awaited {
    Loaded,
    Prepared(TransactionId),
    Settled(TransactionId),
    /// That this node still leads, and so that what it found is so.
    Confirmed(Tell),
}

#[derive(Debug)]
pub struct Active {
    pub age: u64,
    pub link: LinkNumber,
    pub state: State,
}

#[derive(Debug)]
pub enum State {
    /// It holds locks for what it has read.
    Running,
    /// For locks.
    Waiting(Waiting),
    /// An older one took its locks; it is told when it next asks.
    Wounded,
    /// On its way to the log.
    Proposed,
    Prepared {
        since: Instant,
    },
}

#[derive(Debug)]
pub struct Waiting {
    pub asker: Asker,
    pub since: Instant,
    /// Locks that it wants, in this order.
    pub wants: Vec<(Key, Mode)>,
    pub then: Then,
}

#[derive(Debug)]
pub enum Then {
    Tell(Key),
    Propose(Prepared),
}

/// How long a transaction may be prepared before whoever it stands in the way of looks after it.
const ABANDONED_AFTER: Duration = Duration::from_secs(2);
/// How long a lock is waited for. Deadlocks of transactions that are prepared at one shard and wait at another one end by it.
const LOCKS_WITHIN: Duration = Duration::from_secs(3);

impl Leading {
    pub fn new(now: Instant, leadership: Leadership, control: Control, store: &Store) -> Leading {
        let (locks, active, waiting) = (Locks::default(), BTreeMap::new(), BTreeMap::new());
        // Unlike any ticket of an earlier leadership, whose answers may still come.
        let last_ticket = leadership.term << 32;
        let mut leading = Leading { leadership, control, locks, active, waiting, last_ticket };
        for prepared in store.all_prepared() {
            leading.lock_prepared(prepared);
            // No link of this leader is of its client.
            let active = Active { age: 0, link: LinkNumber::MAX, state: State::Prepared { since: now } };
            leading.active.insert(prepared.transaction, active);
        }
        leading
    }

    pub fn on_request(
        &mut self,
        now: Instant,
        store: &Store,
        link: LinkNumber,
        request: Request,
        outputs: &mut Outputs,
    ) {
        let asker = Asker { link, request: request.id };
        let Some(ask) = request.ask else { return };
        if runs(&ask).is_some_and(|transaction| self.is_in_log(transaction)) {
            return outputs.push_back(asker.told(Tell::Unsure(())));
        }
        match (ask, self.control) {
            (Ask::Get(get), Control::Optimistic) => outputs.push_back(asker.told(Tell::Value(store.value(&get.key)))),
            (Ask::Get(get), Control::Locking) => self.get_locked(now, store, asker, get, outputs),
            (Ask::Prepare(prepare), _) if store.decided(prepare.transaction).is_some() => {
                let done = store.decided(prepare.transaction) == Some(Decision::Committed);
                outputs.push_back(asker.told(if done { Tell::Done(()) } else { refused(None) }));
            }
            (Ask::Prepare(prepare), Control::Optimistic) => self.prepare_valid(now, store, asker, prepare, outputs),
            (Ask::Prepare(prepare), Control::Locking) => self.prepare_locked(now, store, asker, prepare, outputs),
            (Ask::Validate(validate), Control::Optimistic) => self.confirm_valid(now, store, asker, validate, outputs),
            (Ask::Validate(validate), Control::Locking) => self.confirm_locked(store, asker, validate, outputs),
            (Ask::Commit(transaction), _) => {
                if store.prepared(transaction).is_some() {
                    self.propose(Change::Commit(transaction), None, outputs);
                }
            }
            (Ask::Abort(transaction), _) => self.on_abort(store, transaction, outputs),
            (Ask::Settle(transaction), _) => self.on_settle(store, asker, transaction, outputs),
            (Ask::Load(load), _) => {
                let change = Change::Load(Loaded { pairs: load.pairs });
                self.propose(change, Some((asker, Awaited::Loaded)), outputs);
            }
            (Ask::Look(look), _) => self.on_look(now, store, asker, look, outputs),
        }
    }

    pub fn on_applied(&mut self, now: Instant, store: &Store, change: &Change, ticket: Ticket, outputs: &mut Outputs) {
        match change {
            Change::Load(_) => {}
            Change::Prepare(prepared) => match store.decided(prepared.transaction) {
                Some(_) => self.end_one(store, prepared.transaction, outputs),
                None => {
                    if let Some(active) = self.active.get_mut(&prepared.transaction) {
                        active.state = State::Prepared { since: now };
                    }
                }
            },
            Change::Commit(transaction) | Change::Abort(transaction) => {
                self.end_one(store, *transaction, outputs);
            }
        }
        if let Some((asker, awaited)) = self.waiting.remove(&ticket) {
            outputs.push_back(asker.told(awaited.tell(store)));
        }
    }

    pub fn on_confirmed(&mut self, ticket: Ticket, leads: Leads, outputs: &mut Outputs) {
        if let Some((asker, awaited)) = self.waiting.remove(&ticket) {
            let tell = match (awaited, leads) {
                (Awaited::Confirmed(tell), Leads::Yes) => tell,
                (Awaited::Confirmed(_) | Awaited::Loaded | Awaited::Prepared(_) | Awaited::Settled(_), _) => {
                    Tell::Unsure(())
                }
            };
            outputs.push_back(asker.told(tell));
        }
    }

    /// What its client had begun there is given up, but for what is prepared.
    pub fn on_closed(&mut self, store: &Store, link: LinkNumber, outputs: &mut Outputs) {
        let of_link = self.active.iter().filter(|(_, active)| active.link == link && !active.state.is_in_log());
        let begun: Vec<TransactionId> = of_link.map(|(transaction, _)| *transaction).collect();
        begun.into_iter().for_each(|transaction| self.end_one(store, transaction, outputs));
    }

    pub fn deadline(&self) -> Option<Instant> {
        let waiting = self.active.values().filter_map(|active| active.state.waiting_since());
        waiting.min().map(|since| since + LOCKS_WITHIN)
    }

    pub fn on_deadline(&mut self, now: Instant, store: &Store, outputs: &mut Outputs) {
        let is_over = |active: &Active| active.state.waiting_since().is_some_and(|since| since + LOCKS_WITHIN <= now);
        let over = self.active.iter().filter(|(_, active)| is_over(active)).map(|(transaction, _)| *transaction);
        for transaction in over.collect::<Vec<_>>() {
            self.give_up_waiting(now, store, transaction, outputs);
        }
    }

    /// Answers everyone: somebody else leads.
    pub fn end(self, outputs: &mut Outputs) {
        let waiting = self.active.into_values().filter_map(|active| match active.state {
            State::Waiting(waiting) => Some(waiting.asker),
            State::Running | State::Wounded | State::Proposed | State::Prepared { .. } => None,
        });
        let askers = waiting.chain(self.waiting.into_values().map(|(asker, _)| asker));
        outputs.extend(askers.map(|asker| asker.told(Tell::Unsure(()))));
    }

    pub fn validate(&self, store: &Store) {
        self.locks.validate();
        for prepared in store.all_prepared() {
            let holds = |key: &[u8], mode| self.locks.holds(prepared.transaction, key, mode);
            assert!(prepared.reads.iter().all(|key| holds(key, Mode::Read)), "what is prepared keeps its locks");
            assert!(
                prepared.writes.iter().all(|pair| holds(&pair.key, Mode::Write)),
                "what is prepared keeps its locks"
            );
        }
    }

    /// Writes a prepared transaction to the log; it has all locks that it needs.
    pub(super) fn propose_prepared(&mut self, asker: Asker, age: u64, prepared: Prepared, outputs: &mut Outputs) {
        let transaction = prepared.transaction;
        self.active.insert(transaction, Active { age, link: asker.link, state: State::Proposed });
        self.propose(Change::Prepare(prepared), Some((asker, Awaited::Prepared(transaction))), outputs);
    }

    /// Tells that something is so, if this node still leads.
    pub(super) fn tell_confirmed(&mut self, asker: Asker, tell: Tell, outputs: &mut Outputs) {
        self.last_ticket += 1;
        self.waiting.insert(self.last_ticket, (asker, Awaited::Confirmed(tell)));
        outputs.push_back(Output::Confirm(self.last_ticket));
    }

    /// The one in the way, if it is one to be looked after.
    pub(super) fn abandoned(&self, now: Instant, store: &Store, transaction: TransactionId) -> Option<Blocker> {
        match self.active.get(&transaction)?.state {
            State::Prepared { since } if since + ABANDONED_AFTER <= now => {
                let participants = store.prepared(transaction)?.participants.clone();
                Some(Blocker { transaction, participants })
            }
            State::Prepared { .. } | State::Running | State::Waiting(_) | State::Wounded | State::Proposed => None,
        }
    }

    /// Releases what a transaction holds, and goes on with those that waited for it.
    pub(super) fn end_one(&mut self, store: &Store, transaction: TransactionId, outputs: &mut Outputs) {
        self.active.remove(&transaction);
        let granted = self.locks.release(transaction);
        self.go_on(store, granted, outputs);
    }

    fn propose(&mut self, change: Change, awaited: Option<(Asker, Awaited)>, outputs: &mut Outputs) {
        let ticket = match awaited {
            None => 0,
            Some(awaited) => {
                self.last_ticket += 1;
                self.waiting.insert(self.last_ticket, awaited);
                self.last_ticket
            }
        };
        outputs.push_back(Output::Propose(Command { under: self.leadership, ticket, change: Some(change) }));
    }

    /// Whether only an entry of the log ends it.
    fn is_in_log(&self, transaction: TransactionId) -> bool {
        self.active.get(&transaction).is_some_and(|active| active.state.is_in_log())
    }

    fn on_abort(&mut self, store: &Store, transaction: TransactionId, outputs: &mut Outputs) {
        if self.is_in_log(transaction) {
            self.propose(Change::Abort(transaction), None, outputs);
        } else {
            self.end_one(store, transaction, outputs);
        }
    }

    fn on_settle(&mut self, store: &Store, asker: Asker, transaction: TransactionId, outputs: &mut Outputs) {
        if let Some(outcome) = store.outcome(transaction) {
            return outputs.push_back(asker.told(settled(outcome)));
        }
        if self.is_in_log(transaction) {
            // It will be known soon what became of it.
            return outputs.push_back(asker.told(refused(None)));
        }
        self.end_one(store, transaction, outputs);
        self.propose(Change::Abort(transaction), Some((asker, Awaited::Settled(transaction))), outputs);
    }

    fn on_look(&mut self, now: Instant, store: &Store, asker: Asker, look: Look, outputs: &mut Outputs) {
        // Nobody's own transaction: whoever is about to write is in the way.
        let nobody = TransactionId::default();
        let in_the_way = look.keys.iter().find_map(|key| self.locks.in_the_way(nobody, key, Mode::Read).pop());
        match in_the_way {
            Some(writer) => outputs.push_back(asker.told(refused(self.abandoned(now, store, writer)))),
            None => {
                let values: Vec<Value> = look.keys.iter().map(|key| store.value(key)).collect();
                self.tell_confirmed(asker, Tell::Values(Values { values }), outputs);
            }
        }
    }

    fn lock_prepared(&mut self, prepared: &Prepared) {
        let reads = prepared.reads.iter().map(|key| (key, Mode::Read));
        let writes = prepared.writes.iter().map(|pair| (&pair.key, Mode::Write));
        for (key, mode) in reads.chain(writes) {
            let locked = self.locks.try_lock(prepared.transaction, key, mode);
            assert_eq!(locked, Ok(()), "what is prepared does not conflict");
        }
    }
}

impl Asker {
    pub fn told(self, tell: Tell) -> Output {
        Output::Reply(self.link, Reply { id: self.request, tell: Some(tell) })
    }
}

impl Awaited {
    /// What to tell once the log has it.
    fn tell(self, store: &Store) -> Tell {
        match self {
            Awaited::Loaded => Tell::Done(()),
            Awaited::Prepared(transaction) => match store.outcome(transaction) {
                Some(Outcome::Prepared | Outcome::Committed) => Tell::Done(()),
                Some(Outcome::Aborted) | None => refused(None),
            },
            Awaited::Settled(transaction) => store.outcome(transaction).map_or(Tell::Unsure(()), settled),
            Awaited::Confirmed(_) => Tell::Unsure(()),
        }
    }
}

impl State {
    /// Whether only an entry of the log ends it.
    pub fn is_in_log(&self) -> bool {
        match self {
            State::Proposed | State::Prepared { .. } => true,
            State::Running | State::Waiting(_) | State::Wounded => false,
        }
    }

    fn waiting_since(&self) -> Option<Instant> {
        match self {
            State::Waiting(waiting) => Some(waiting.since),
            State::Running | State::Wounded | State::Proposed | State::Prepared { .. } => None,
        }
    }
}

/// The transaction that goes on by this.
fn runs(ask: &Ask) -> Option<TransactionId> {
    match ask {
        Ask::Get(get) => Some(get.transaction),
        Ask::Prepare(prepare) => Some(prepare.transaction),
        Ask::Validate(validate) => Some(validate.transaction),
        Ask::Commit(_) | Ask::Abort(_) | Ask::Settle(_) | Ask::Load(_) | Ask::Look(_) => None,
    }
}

pub fn refused(blocker: Option<Blocker>) -> Tell {
    Tell::Refused(Refused { blocker })
}

fn settled(outcome: Outcome) -> Tell {
    Tell::Settled(Settlement { outcome: outcome.into() })
}
