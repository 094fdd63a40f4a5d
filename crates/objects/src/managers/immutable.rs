//! An object that never changes, and of which each node that calls it has a copy.
//!
//! Promise: a node that has a copy answers from it for as long as it runs, also after the object's own node has ended. Methods that write are refused.
//! All states of the object are the same one, so a move changes nothing for copies, and nobody keeps a book of them.
//! An object that is begun anew after its node has ended is another object: a node that has a copy of the old one answers from that.

use std::sync::{Arc, Mutex, PoisonError};

use iolite_machine::Instant;
use iolite_values::DeviceRight;
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::{Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot};
use crate::executor::Later;

/// `Immutable`.
#[derive(Clone, Copy, Debug)]
pub struct Immutable;

/// How long a node that gets no copy calls the owner before it asks again.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

impl Manager for Immutable {
    const KIND: Kind = Kind { name: "Immutable", slot: Slot::Cache, facts: &[Fact::RefusesWrites], settings: &[] };

    fn proxy(&self, _settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Cache { copy: Mutex::new(Copy::None) }))
    }

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Origin))
    }
}

fn refused() -> Answer {
    Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted))
}

#[derive(Clone, Copy, PartialEq)]
enum Copy {
    None,
    Here,
    /// There is none to be had before then.
    NotBefore(Instant),
}

struct Cache {
    copy: Mutex<Copy>,
}

impl Cache {
    fn copy(&self) -> Copy {
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, copy: Copy) {
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = copy;
    }

    /// Whether a copy is here, which is asked for if not.
    async fn has_copy(&self, kit: &Kit) -> bool {
        if self.copy() == Copy::Here {
            return true;
        }
        let _turn = kit.turn().await;
        match self.copy() {
            Copy::Here => return true,
            Copy::NotBefore(then) if kit.now() < then => return false,
            Copy::NotBefore(_) | Copy::None => {}
        }
        let kept = match kit.claim(DeviceRight::Read, Vec::new()).await {
            Ok(state) => kit.keep_copy(state).await.is_ok(),
            Err(CallFailure::NotRun(NotRun::NotPermitted | NotRun::TooLarge(_))) => false,
            // The call itself says what is wrong.
            Err(_) => return false,
        };
        self.set(if kept { Copy::Here } else { Copy::NotBefore(kit.now() + AGAIN) });
        kept
    }
}

impl Proxy for Cache {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.is_owner() || !kit.has_class() {
                return kit.next(call).await;
            }
            if !kit.reads(&call) {
                return refused();
            }
            if !self.has_copy(&kit).await {
                return kit.next(call).await;
            }
            match kit.run(call.clone()).await {
                Answer::NotHere | Answer::Moved { .. } => {
                    self.set(Copy::None);
                    kit.next(call).await
                }
                answer @ (Answer::Returned(_) | Answer::Threw(_) | Answer::Failed(_)) => answer,
            }
        })
    }
}

struct Origin;

impl InstanceManager for Origin {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move { if kit.reads(&call) { kit.next(call).await } else { refused() } })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            if said.claim == DeviceRight::Call {
                return Err(NotRun::NotPermitted);
            }
            kit.save().await.map_err(NotRun::BadArguments)
        })
    }
}
