//! Several calls of one node as one, without a lock.
//!
//! Promise: of two transactions that conflict one commits, and the other gets `Conflict`. Nothing of a transaction is visible before it is committed. A
//! commit that is said again after a lost reply gets the same answer.
//!
//! The owner counts the versions of the object: each call that writes makes one, and each commit that has written. A transaction rests on the version with which
//! it began, and commits only if that is still the one. Versions and names of transactions mean something for one component beside the object. After a move a
//! commit is refused with `Conflict`, and one that was in doubt stays in doubt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::transactions::{Aside, Caller, Outcome, Say, Ticket, Tickets, begun, is_marked};
use super::{InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message};
use crate::Broken;
use crate::executor::Later;

/// `OptimisticTransactions`.
#[derive(Clone, Copy, Debug)]
pub struct OptimisticTransactions;

impl Manager for OptimisticTransactions {
    const KIND: Kind = Kind { name: "OptimisticTransactions", slot: Slot::Transaction, facts: &[], settings: &[] };

    fn proxy(&self, _settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Caller::new(None)))
    }

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Owner::default()))
    }
}

#[derive(Default)]
struct Owner {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    tickets: Tickets,
    version: u64,
    /// The transaction of the object's own node.
    aside: Option<Aside>,
}

impl Owner {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn aside(&self, ticket: Option<Ticket>) -> Option<Aside> {
        self.held().aside.clone().filter(|aside| ticket.is_none_or(|ticket| aside.ticket == ticket))
    }

    fn end_aside(&self, ticket: Ticket) {
        self.held().aside.take_if(|aside| aside.ticket == ticket);
    }

    async fn begin(&self, kit: &Kit, node: NodeId) -> MessageResult {
        let _turn = kit.turn().await;
        let state = kit.save().await.map_err(NotRun::BadArguments)?;
        let mut held = self.held();
        let version = held.version;
        let ticket = held.tickets.next(kit, version);
        let (reply, aside) = begun(kit, node, ticket, state)?;
        if aside.is_some() {
            held.aside = aside;
        }
        Ok(reply)
    }

    async fn commit(
        &self,
        kit: &Kit,
        node: NodeId,
        (ticket, again, state): (Ticket, bool, Option<Vec<u8>>),
    ) -> MessageResult {
        let _turn = kit.turn().await;
        let aside = self.aside(Some(ticket)).filter(|aside| aside.has_written).map(|aside| aside.state);
        {
            let mut held = self.held();
            if held.tickets.is_committed(node, ticket) {
                return Ok(message::write(&Outcome::Committed));
            }
            let has_changed = ticket.version != held.version && kit.broken != Broken::CommitOverOthers;
            if ticket.epoch != held.tickets.epoch(kit) || has_changed {
                let outcome = held.tickets.not_now(kit, ticket, again);
                drop(held);
                self.end_aside(ticket);
                return Ok(message::write(&outcome));
            }
        }
        let state = aside.or(state);
        let has_written = state.is_some();
        if let Some(state) = state {
            kit.load(state).await.map_err(NotRun::BadArguments)?;
        }
        self.end_aside(ticket);
        let mut held = self.held();
        held.version += u64::from(has_written);
        held.tickets.commits(node, ticket);
        Ok(message::write(&Outcome::Committed))
    }

    async fn call(&self, kit: &Kit, call: Rpc) -> Result<Answer, CallFailure> {
        let (_turn, call) = kit.turn_for(call).await?;
        if is_marked(&call) {
            let own = self.aside(None).filter(|_| call.from == Some(kit.node()));
            let mut aside = own.ok_or(CallFailure::NotRun(NotRun::Conflict))?;
            let answer = aside.run(kit, call).await?;
            self.held().aside = Some(aside);
            return Ok(answer);
        }
        if !kit.reads(&call) {
            self.held().version += 1;
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
                    self.end_aside(ticket);
                    Ok(Vec::new())
                }
            }
        })
    }
}
