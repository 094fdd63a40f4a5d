//! Several calls of one node as one, under a lock.
//!
//! Promise: from `begin` to `commit` nobody else changes the object, and nothing of the transaction is visible. Others read what was committed last; calls of
//! theirs that write, and their `begin`, are refused with `LeaseUnavailable`.
//!
//! The lock is a lease. Its node counts it from when it asked, and the owner an eighth longer from when it gave it. Its end drops the transaction, and a later
//! commit is refused with `Conflict`. So is one after the object has moved: the component at its new node has given no such lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::transactions::{Aside, Caller, Outcome, Say, Ticket, Tickets, begun, is_marked};
use super::{InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message};
use crate::executor::Later;

/// `LockingTransactions lock=MILLISECONDS`.
#[derive(Clone, Copy, Debug)]
pub struct LockingTransactions;

const LOCK: &str = "lock";

impl Manager for LockingTransactions {
    const KIND: Kind =
        Kind { name: "LockingTransactions", slot: Slot::Transaction, facts: &[], settings: &[(LOCK, 5_000)] };

    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Caller::new(Some(length(settings)))))
    }

    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Owner { length: length(settings), held: Mutex::default() }))
    }
}

fn length(settings: &Settings) -> Duration {
    Duration::from_millis(settings.get(LOCK))
}

struct Owner {
    length: Duration,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    tickets: Tickets,
    lock: Option<Lock>,
}

#[derive(Clone)]
struct Lock {
    ticket: Ticket,
    node: NodeId,
    until: Instant,
    aside: Option<Aside>,
}

impl Owner {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock that somebody has.
    fn lock(&self, now: Instant) -> Option<Lock> {
        let mut held = self.held();
        if held.lock.as_ref().is_some_and(|lock| now >= lock.until) {
            held.lock = None;
        }
        held.lock.clone()
    }

    /// A node that begins while it has the lock has lost the reply that gave it.
    async fn begin(&self, kit: &Kit, node: NodeId) -> MessageResult {
        let _turn = kit.turn().await;
        if self.lock(kit.now()).is_some_and(|lock| lock.node != node) {
            return Err(NotRun::LeaseUnavailable);
        }
        let state = kit.save().await.map_err(NotRun::BadArguments)?;
        let ticket = self.held().tickets.next(kit, 0);
        let (reply, aside) = begun(kit, node, ticket, state)?;
        let until = kit.now() + self.length + self.length / 8;
        self.held().lock = Some(Lock { ticket, node, until, aside });
        Ok(reply)
    }

    async fn commit(
        &self,
        kit: &Kit,
        node: NodeId,
        (ticket, again, state): (Ticket, bool, Option<Vec<u8>>),
    ) -> MessageResult {
        let _turn = kit.turn().await;
        if self.held().tickets.is_committed(node, ticket) {
            return Ok(message::write(&Outcome::Committed));
        }
        let lock = self.lock(kit.now()).filter(|lock| lock.node == node && lock.ticket == ticket);
        let Some(lock) = lock else {
            return Ok(message::write(&self.held().tickets.not_now(kit, ticket, again)));
        };
        let aside = lock.aside.filter(|aside| aside.has_written).map(|aside| aside.state);
        if let Some(state) = aside.or(state) {
            kit.load(state).await.map_err(NotRun::BadArguments)?;
        }
        let mut held = self.held();
        held.lock = None;
        held.tickets.commits(node, ticket);
        Ok(message::write(&Outcome::Committed))
    }

    async fn call(&self, kit: &Kit, call: Rpc) -> Result<Answer, CallFailure> {
        let (_turn, call) = kit.turn_for(call).await?;
        let lock = self.lock(kit.now());
        if is_marked(&call) {
            let own = lock.filter(|lock| call.from == Some(lock.node));
            let (Some(ticket), Some(mut aside)) = own.map_or((None, None), |lock| (Some(lock.ticket), lock.aside))
            else {
                return Err(CallFailure::NotRun(NotRun::Conflict));
            };
            let answer = aside.run(kit, call).await?;
            if let Some(lock) = self.held().lock.as_mut().filter(|lock| lock.ticket == ticket) {
                lock.aside = Some(aside);
            }
            return Ok(answer);
        }
        if lock.is_some() && !kit.reads(&call) {
            return Err(CallFailure::NotRun(NotRun::LeaseUnavailable));
        }
        Ok(kit.clone().next(call).await)
    }
}

impl InstanceManager for Owner {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move { self.call(&kit, call).await.unwrap_or_else(Answer::Failed) })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            match message::read_or_refuse(&said.body)? {
                Say::Begin | Say::Commit { .. } if said.claim != DeviceRight::Hold => Err(NotRun::NotPermitted),
                Say::Begin => self.begin(&kit, said.from).await,
                Say::Commit { ticket, again, state } => self.commit(&kit, said.from, (ticket, again, state)).await,
                Say::Abort { ticket } => {
                    let _turn = kit.turn().await;
                    let mut held = self.held();
                    if held.lock.as_ref().is_some_and(|lock| lock.node == said.from && lock.ticket == ticket) {
                        held.lock = None;
                    }
                    Ok(Vec::new())
                }
            }
        })
    }
}
