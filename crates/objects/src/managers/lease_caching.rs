//! One caller at a time has the object, and its methods run there.
//!
//! Promise: who holds the lease reads and writes without asking anybody. What it wrote is at the owner before its caller has a result. Another caller gets the
//! lease when it is over, or is told that it is not to be had. The first who was told so comes next: for a quarter of a lease, the holder gets no further one.
//! A holder counts its lease from when it asked for it, and the owner an eighth longer from when it gave it. So a holder that stood still serves nothing
//! of which the owner thinks that it is over. An owner that got the object from another one does not know what that one has given: it gives no lease, and runs
//! no call, until all of those are over.
//! A holder has no lease while a write of its own is on its way: if its caller gives it up, the copy may have what the owner never gets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};
use serde::{Deserialize, Serialize};

use super::{Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message};
use crate::executor::Later;

/// `LeaseCaching lease=MILLISECONDS`.
#[derive(Clone, Copy, Debug)]
pub struct LeaseCaching;

const LEASE: &str = "lease";

#[derive(Serialize, Deserialize)]
enum Say {
    /// Give me the lease, and the state with it.
    Want,
    /// The state under the lease of this number.
    Write { lease: Number, state: Vec<u8> },
}

/// The epoch of the object in which a lease was given, and how many were given before it there.
type Number = (u64, u64);

#[derive(Serialize, Deserialize)]
struct Lease {
    number: Number,
    state: Vec<u8>,
}

impl Manager for LeaseCaching {
    const KIND: Kind =
        Kind { name: "LeaseCaching", slot: Slot::Cache, facts: &[Fact::ExecutesAtCaller], settings: &[(LEASE, 5_000)] };

    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        let length = Duration::from_millis(settings.get(LEASE));
        Some(Arc::new(Holder { length, held: Mutex::new(None) }))
    }

    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        let length = Duration::from_millis(settings.get(LEASE));
        Some(Arc::new(Owner { length, given: Mutex::default() }))
    }
}

struct Holder {
    length: Duration,
    /// The number of the lease, and its end.
    held: Mutex<Option<(Number, Instant)>>,
}

impl Holder {
    fn held(&self, now: Instant) -> Option<(Number, Instant)> {
        let held = *self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.filter(|(_, until)| now < *until)
    }

    fn set(&self, held: Option<(Number, Instant)>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// The lease, asked for if there is none.
    async fn lease(&self, kit: &Kit) -> Result<(Number, Instant), CallFailure> {
        if let Some(held) = self.held(kit.now()) {
            return Ok(held);
        }
        let until = kit.now() + self.length;
        let given = kit.claim(DeviceRight::Hold, message::write(&Say::Want)).await?;
        let Lease { number, state } = message::read(&given)?;
        kit.keep_copy(state).await.map_err(|problem| CallFailure::NotRun(NotRun::BadArguments(problem)))?;
        self.set(Some((number, until)));
        Ok((number, until))
    }

    async fn call(&self, kit: Kit, call: Rpc) -> Result<Answer, CallFailure> {
        // One after the other: a write is at the owner before the next method sees it.
        let (_turn, call) = kit.turn_for(call).await?;
        let (number, until) = self.lease(&kit).await?;
        let writes = !kit.reads(&call);
        if writes {
            self.set(None);
        }
        let answer = kit.run(call).await;
        if matches!(answer, Answer::NotHere | Answer::Moved { .. }) {
            // The copy is gone: the object has come here, or this node has another life.
            self.set(None);
            return Err(CallFailure::NotRun(NotRun::LeaseUnavailable));
        }
        if !writes {
            let is_over = kit.now() >= until;
            return if is_over { Err(CallFailure::NotRun(NotRun::LeaseUnavailable)) } else { Ok(answer) };
        }
        let state = kit.save().await.map_err(|_gone| CallFailure::Fenced)?;
        let written = kit.ask_owner(message::write(&Say::Write { lease: number, state })).await;
        if let Err(failure) = written {
            return Err(match failure {
                CallFailure::NotRun(NotRun::Conflict) => CallFailure::Fenced,
                CallFailure::NotRun(_) | CallFailure::Fenced | CallFailure::Gone | CallFailure::InDoubt => {
                    CallFailure::InDoubt
                }
                CallFailure::Broke(how) => CallFailure::Broke(how),
            });
        }
        self.set(Some((number, until)));
        Ok(answer)
    }
}

impl Proxy for Holder {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.is_owner() || !kit.has_class() {
                return kit.next(call).await;
            }
            self.call(kit, call).await.unwrap_or_else(Answer::Failed)
        })
    }
}

struct Owner {
    length: Duration,
    given: Mutex<Given>,
}

#[derive(Clone, Copy, Default)]
struct Given {
    number: Number,
    to: Option<(NodeId, Instant)>,
    /// The first that was refused since.
    next: Option<Asker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// A node that wants the lease.
    Node(NodeId),
    /// Nodes that keep no copies.
    Plain,
}

impl Owner {
    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the object is free for this one, who otherwise comes next: for a quarter of a lease after the one that is given, nobody else does.
    fn admits(&self, now: Instant, asker: Asker) -> bool {
        let mut given = self.given();
        let Some((to, until)) = given.to else { return true };
        let is_holder = asker == Asker::Node(to);
        let is_admitted = if now < until {
            is_holder && given.next.is_none()
        } else {
            given.next.is_none_or(|next| next == asker) || now >= until + self.length / 4
        };
        if is_admitted {
            given.next = None;
        } else if !is_holder {
            given.next.get_or_insert(asker);
        }
        is_admitted
    }

    async fn give(&self, kit: &Kit, node: NodeId) -> MessageResult {
        let _turn = kit.turn().await;
        if !self.admits(kit.now(), Asker::Node(node)) {
            return Err(NotRun::LeaseUnavailable);
        }
        let state = kit.save().await.map_err(NotRun::BadArguments)?;
        let number = (kit.epoch().0, self.given().number.1 + 1);
        let until = kit.now() + self.length + self.length / 8;
        *self.given() = Given { number, to: Some((node, until)), next: None };
        Ok(message::write(&Lease { number, state }))
    }

    async fn take(&self, kit: &Kit, node: NodeId, lease: Number, state: Vec<u8>) -> MessageResult {
        let _turn = kit.turn().await;
        let given = *self.given();
        if given.number != lease || given.to.is_none_or(|(to, until)| to != node || kit.now() >= until) {
            return Err(NotRun::Conflict);
        }
        kit.load(state).await.map_err(NotRun::BadArguments)?;
        Ok(Vec::new())
    }
}

impl InstanceManager for Owner {
    fn on_create(self: Arc<Self>, kit: Kit) -> Later<()> {
        Box::pin(async move {
            // In its first epoch the object has had no other owner.
            if kit.epoch().0 > 1 {
                let to = Some((kit.node(), kit.now() + self.length + self.length / 8));
                self.given().to = to;
            }
        })
    }

    /// A call of a node that keeps no copy. It runs here, unless somebody has the lease.
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            let (_turn, call) = match kit.turn_for(call).await {
                Ok(turn) => turn,
                Err(failure) => return Answer::Failed(failure),
            };
            if !self.admits(kit.now(), Asker::Plain) {
                return Answer::Failed(CallFailure::NotRun(NotRun::LeaseUnavailable));
            }
            kit.clone().next(call).await
        })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            match message::read_or_refuse(&said.body)? {
                Say::Want if said.claim == DeviceRight::Hold => self.give(&kit, said.from).await,
                Say::Want => Err(NotRun::NotPermitted),
                Say::Write { lease, state } => self.take(&kit, said.from, lease, state).await,
            }
        })
    }
}
