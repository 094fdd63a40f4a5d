//! Nodes read copies, and no copy is read any more when a write has run.
//!
//! Promise: linearizable. A write (a) tells every cache to stop, (b) waits until each has said so, or its lease has ended as the owner counts, and (c) runs
//! only then. So a cache that is cut off delays a write for a lease at most, and serves nothing old afterwards.
//! Reads by nodes that are no caches run beside the object, at any time: a write is there at once or not yet. A cache asks again at its next read.
//! An owner that got the object by a move does not know the caches of the last one. It lets the first write wait until all their leases are over.
//! Source: Zhang 2017, section 2.5. Deviation: the paper runs a write first, so that one cache can show it while another one shows what was before.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::NodeId;
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::caches::{Cached, LEASE, Origin, Version};
use super::kit::all;
use super::{Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message};
use crate::Broken;
use crate::executor::Later;

/// `ConsistentCaching lease=MILLISECONDS`.
#[derive(Clone, Copy, Debug)]
pub struct ConsistentCaching;

impl Manager for ConsistentCaching {
    const KIND: Kind = Kind {
        name: "ConsistentCaching",
        slot: Slot::Cache,
        facts: &[Fact::CoherentCopies],
        settings: &[(LEASE, 5_000)],
    };

    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Cache(Cached::new(Duration::from_millis(settings.get(LEASE))))))
    }

    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        let origin = Origin::new(Duration::from_millis(settings.get(LEASE)));
        Some(Arc::new(Owner { origin, writes_from: Mutex::new(None) }))
    }
}

struct Cache(Cached);

impl Proxy for Cache {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.reads(&call)
                && let Some(answer) = self.0.read(&kit, &call).await
            {
                return answer;
            }
            kit.next(call).await
        })
    }

    /// A write is going to run. Reads that have begun are concurrent with it.
    fn on_message(self: Arc<Self>, _kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            self.0.needs(message::read_or_refuse(&said.body)?);
            Ok(Vec::new())
        })
    }
}

struct Owner {
    origin: Origin,
    /// The leases that the last owner gave are over then.
    writes_from: Mutex<Option<Instant>>,
}

impl Owner {
    async fn write(&self, kit: &Kit, call: Rpc) -> Answer {
        let until = kit.now() + call.time_left;
        let version = self.origin.next_version(kit);
        if kit.broken == Broken::ExecuteThenInvalidate {
            let answer = kit.clone().next(call).await;
            self.stop_all(kit, version).await;
            return answer;
        }
        self.stop_all(kit, version).await;
        let time_left = until.since(kit.now());
        if time_left.is_zero() {
            return Answer::Failed(CallFailure::NotRun(NotRun::Busy));
        }
        kit.clone().next(Rpc { time_left, ..call }).await
    }

    async fn stop_all(&self, kit: &Kit, version: Version) {
        let earlier = *self.writes_from.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(then) = earlier.filter(|then| kit.now() < *then) {
            kit.sleep_until(then).await;
        }
        let caches = self.origin.caches(kit.now());
        all(caches.iter().map(|(node, until)| stop(kit.clone(), *node, *until, version)).collect()).await;
        caches.into_iter().for_each(|(node, until)| self.origin.end(node, until));
    }
}

/// Tells one cache to stop. Its word counts, or the end of its lease.
fn stop(kit: Kit, node: NodeId, until: Instant, version: Version) -> Later<()> {
    Box::pin(async move {
        let asker = kit.clone();
        let asked = Box::pin(async move { asker.ask_proxy(node, message::write(&version)).await });
        if !matches!(kit.within(until, asked).await, Some(Ok(_))) {
            kit.sleep_until(until).await;
        }
    })
}

impl InstanceManager for Owner {
    fn on_create(self: Arc<Self>, kit: Kit) -> Later<()> {
        Box::pin(async move {
            // In its first epoch the object has had no other owner.
            let is_first = kit.epoch().0 <= 1;
            let then = (!is_first).then(|| kit.now() + self.origin.lease());
            *self.writes_from.lock().unwrap_or_else(PoisonError::into_inner) = then;
        })
    }

    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.reads(&call) {
                return kit.next(call).await;
            }
            match kit.turn_for(call).await {
                Ok((_turn, call)) => self.write(&kit, call).await,
                Err(failure) => Answer::Failed(failure),
            }
        })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move { self.origin.give(&kit, &said).await })
    }
}
