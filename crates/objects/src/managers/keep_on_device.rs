//! An object lives at the device that uses it, and follows its user to another one.
//!
//! Promise: when one device of a user has called several times in a row, the object moves there, if that device has the class and may hold it. It is at one
//! node at any time, as one commit decides each move. Two devices that alternate do not make it go to and fro: another call in between begins the count anew,
//! and an object that has come, or was refused, rests for a while.
//!
//! The device asks for the object before it passes such a call on, so that call waits for the move, and those after it run at their caller. Servers look whether
//! the device may hold the object. If it does not come, the call is passed on all the same, and the device asks again later: after twice as many calls if others
//! have called in between, else after the rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId, ObjectEpoch};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::{Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot};
use crate::executor::Later;

/// `KeepOnDevice after=CALLS rest=MILLISECONDS`.
#[derive(Clone, Copy, Debug)]
pub struct KeepOnDevice;

const AFTER: &str = "after";
const REST: &str = "rest";

impl Manager for KeepOnDevice {
    const KIND: Kind = Kind {
        name: "KeepOnDevice",
        slot: Slot::Placement,
        facts: &[Fact::Moves],
        settings: &[(AFTER, 3), (REST, 5_000)],
    };

    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(User { after: settings.get(AFTER), rest: rest(settings), wish: Mutex::default() }))
    }

    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Owner { after: settings.get(AFTER), rest: rest(settings), used: Mutex::default() }))
    }
}

fn rest(settings: &Settings) -> Duration {
    Duration::from_millis(settings.get(REST))
}

/// The component at a node that calls.
struct User {
    after: u64,
    rest: Duration,
    wish: Mutex<Wish>,
}

#[derive(Default)]
struct Wish {
    /// Calls since it asked last, and how often it was refused as others call too.
    calls: u64,
    refused: u32,
    /// The node does not ask before.
    asks_from: Instant,
}

/// Asking is put off by doubling so often at most.
const DOUBLED: u32 = 5;

impl User {
    /// Counts a call. Whether the node asks for the object before it passes the call on.
    fn wants(&self, kit: &Kit, call: &Rpc) -> bool {
        // The object cannot come while a method of its own waits for this call.
        if kit.is_owner() || !kit.has_class() || call.chain.contains(kit.object()) {
            return false;
        }
        let mut wish = self.lock();
        wish.calls += 1;
        let wants = wish.calls >= self.after << wish.refused && kit.now() >= wish.asks_from;
        if wants {
            wish.calls = 0;
        }
        wants
    }

    /// Asks for the object. Whether it comes or not, the kernel finds it.
    async fn ask(&self, kit: &Kit) {
        let asked = kit.claim(DeviceRight::Hold, Vec::new()).await;
        let mut wish = self.lock();
        match asked {
            Err(CallFailure::NotRun(NotRun::Conflict)) => wish.refused = (wish.refused + 1).min(DOUBLED),
            Ok(_) | Err(_) => (wish.refused, wish.asks_from) = (0, kit.now() + self.rest),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Wish> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy for User {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if self.wants(&kit, &call) {
                self.ask(&kit).await;
            }
            kit.next(call).await
        })
    }
}

/// The component beside the object.
struct Owner {
    after: u64,
    rest: Duration,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    /// The device that called last, and how often in a row.
    by: Option<NodeId>,
    calls: u64,
    /// The object stays until then.
    rests_until: Instant,
}

impl Owner {
    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rests(&self, now: Instant) {
        *self.lock() = Used { by: None, calls: 0, rests_until: now + self.rest };
    }

    /// Whether the object follows this node, which makes another call now.
    fn follows(&self, now: Instant, node: NodeId) -> bool {
        let used = self.lock();
        used.by == Some(node) && used.calls + 1 >= self.after && now >= used.rests_until
    }
}

impl InstanceManager for Owner {
    fn on_create(self: Arc<Self>, kit: Kit) -> Later<()> {
        Box::pin(async move {
            // One that is new need not rest.
            if kit.epoch() > ObjectEpoch(1) {
                self.rests(kit.now());
            }
        })
    }

    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        let mut used = self.lock();
        // Servers and other nodes of the service are no devices that an object follows.
        let by = call.from.filter(|_| call.by_device);
        (used.by, used.calls) = (by, if used.by == by { used.calls + 1 } else { 1 });
        drop(used);
        kit.next(call)
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            if said.claim != DeviceRight::Hold {
                return Err(NotRun::NoSuchMethod);
            }
            if !self.follows(kit.now(), said.from) {
                return Err(NotRun::Conflict);
            }
            self.rests(kit.now());
            kit.move_to(said.from).await.map(|_row| Vec::new())
        })
    }
}
