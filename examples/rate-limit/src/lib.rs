//! A deployment manager of an app's own: each caller has so many calls of an object in a while.
//!
//! Promise: of the calls that one node makes within `per` milliseconds, at most `calls` run. The others are refused with `Busy` before their method begins, and
//! take nothing from other callers. A program that starts again under its name is the same caller.
//!
//! The counts are at the object's node: they begin anew when the object moves, and when its node ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite::objects::managers::{
    Answer, CallFailure, InstanceManager, Instant, Kind, Kit, Later, Manager, Message, MessageResult, NodeName, NotRun,
    Rpc, Settings, Slot, message,
};
use iolite::objects::{CallError, Object, Ref};

/// `RateLimit { calls: 20, per: secs(1) }`, which it is without settings too.
#[derive(Clone, Copy, Debug)]
pub struct RateLimit;

impl Manager for RateLimit {
    const KIND: Kind =
        Kind { name: "RateLimit", slot: Slot::Serial, facts: &[], settings: &[("calls", 20), ("per", 1_000)] };

    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        let per = Duration::from_millis(settings.get("per"));
        Some(Arc::new(Gate { calls: settings.get("calls"), per, recent: Mutex::default() }))
    }
}

impl RateLimit {
    /// The calls of an object that this host may make at the moment.
    ///
    /// # Errors
    /// [`CallError`]: the object cannot be reached, or its class has no such manager.
    pub async fn left<T: Object>(object: &Ref<T>) -> Result<u64, CallError> {
        let reply = Ref::tell::<RateLimit>(object, Vec::new()).await?;
        message::read(&reply).map_err(|_| CallError::Broke { how: "the object has another RateLimit".to_owned() })
    }
}

/// The part beside the object.
struct Gate {
    calls: u64,
    per: Duration,
    /// When each caller's last calls came.
    recent: Mutex<BTreeMap<NodeName, VecDeque<Instant>>>,
}

impl Gate {
    /// The calls that a caller may make now. If it makes one, that is counted.
    fn left(&self, now: Instant, caller: NodeName, calls: bool) -> u64 {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, times| {
            times.retain(|time| now.since(*time) < self.per);
            !times.is_empty()
        });
        let left = self.calls.saturating_sub(recent.get(&caller).map_or(0, |times| times.len() as u64));
        if calls && left > 0 {
            recent.entry(caller).or_default().push_back(now);
        }
        left
    }
}

impl InstanceManager for Gate {
    /// A call has come.
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            // A server writes who calls. A call of the object's own node comes by none.
            let caller = call.from.unwrap_or(kit.node()).name;
            match self.left(kit.now(), caller, true) {
                0 => Answer::Failed(CallFailure::NotRun(NotRun::Busy)),
                _ => kit.next(call).await,
            }
        })
    }

    /// A caller asks for the calls that it has left: `RateLimit::left`.
    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move { Ok(message::write(&self.left(kit.now(), said.from.name, false))) })
    }
}
