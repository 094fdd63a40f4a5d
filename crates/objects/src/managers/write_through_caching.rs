//! Nodes read copies, and writes go to the owner, which tells the caches.
//!
//! Promise: writes have one order, the owner's. A node sees its own writes at once, and what it reads never goes back. A copy may be older than the object,
//! by its lease at most: then its next read asks the owner.
//! The owner numbers the states, and sends each to all caches. A cache takes a state that is later than its own, and no other one, so updates that come in
//! another order, twice or never do no harm. Where a cache has heard of a later state than it has, its next read fetches that.
//! A node that has read or written at the owner itself may have seen more than its copy has: its next read asks too. The update that its own write has led
//! to spares it that.
//! A number has the object's epoch in it, so states of a new owner are later than all before. It learns of the caches when their leases are over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::NodeId;
use iolite_wire::objects::{Answer, Rpc, RpcId};
use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use super::caches::{Cached, LEASE, Origin, Version};
use super::kit::all;
use super::{InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message};
use crate::executor::Later;

/// `WriteThroughCaching lease=MILLISECONDS`.
#[derive(Clone, Copy, Debug)]
pub struct WriteThroughCaching;

/// A state to which a write has led.
#[derive(Serialize, Deserialize)]
struct Update {
    version: Version,
    write: WriteKey,
    state: Vec<u8>,
}

/// The id of a write, as messages have it.
type WriteKey = (u128, u64, Vec<u32>);

fn key(id: &RpcId) -> WriteKey {
    (id.kernel.as_u128(), id.counter, id.path.clone())
}

impl Manager for WriteThroughCaching {
    const KIND: Kind = Kind { name: "WriteThroughCaching", slot: Slot::Cache, facts: &[], settings: &[(LEASE, 5_000)] };

    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        let cached = Cached::new(Duration::from_millis(settings.get(LEASE)));
        Some(Arc::new(Cache { cached, writes: Mutex::default() }))
    }

    fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Owner(Origin::new(Duration::from_millis(settings.get(LEASE))))))
    }
}

struct Cache {
    cached: Cached,
    writes: Mutex<LiteMap<WriteKey, Write>>,
}

/// A write of this node that is under way, or in doubt.
struct Write {
    /// The caller waits no longer, and does not repeat it.
    until: Instant,
    is_repeated: bool,
    led_to: Option<Version>,
}

impl Cache {
    fn writes(&self) -> MutexGuard<'_, LiteMap<WriteKey, Write>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, kit: Kit, call: Rpc) -> Answer {
        let (key, now, until) = (key(&call.id), kit.now(), kit.now() + call.time_left);
        {
            let mut writes = self.writes();
            writes.retain(|_, write| now < write.until);
            let is_repeated = writes.contains_key(&key);
            writes.insert(key.clone(), Write { until, is_repeated, led_to: None });
        }
        let answer = kit.next(call).await;
        if matches!(answer, Answer::Returned(_) | Answer::Threw(_)) {
            match self.writes().remove(&key) {
                Some(Write { is_repeated: false, led_to: Some(version), .. }) => self.cached.needs(version),
                // The update may be that of another try, or lost.
                Some(_) | None => self.cached.has_seen(),
            }
        }
        answer
    }
}

impl Proxy for Cache {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if !kit.reads(&call) {
                return self.write(kit, call).await;
            }
            if let Some(answer) = self.cached.read(&kit, &call).await {
                return answer;
            }
            let answer = kit.next(call).await;
            self.cached.has_seen();
            answer
        })
    }

    /// An update. One that is not of the owner says that there is something to ask for, at most.
    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            let Update { version, write, state } = message::read_or_refuse(&said.body)?;
            if !self.cached.is_from(said.from) {
                self.cached.needs(version);
                return Ok(Vec::new());
            }
            if let Some(write) = self.writes().get_mut(&write) {
                write.led_to = write.led_to.max(Some(version));
            }
            self.cached.take(&kit, version, state).await?;
            Ok(Vec::new())
        })
    }
}

struct Owner(Origin);

impl Owner {
    /// Sends the state to all caches. One that cannot be reached is none any more.
    async fn publish(self: &Arc<Self>, kit: &Kit, write: &RpcId, version: Version) {
        let caches = self.0.caches(kit.now());
        if caches.is_empty() {
            return;
        }
        // Without a state there is nothing to send: the caches ask when their leases are over.
        let Ok(state) = kit.save().await else { return };
        let body = message::write(&Update { version, write: key(write), state });
        let send = |(node, until): (NodeId, Instant)| -> Later<()> {
            let (kit, owner, body) = (kit.clone(), self.clone(), body.clone());
            Box::pin(async move {
                if kit.ask_proxy(node, body).await.is_err() {
                    owner.0.end(node, until);
                }
            })
        };
        // Before the answer of the write: its caller has the update first, if nothing is lost.
        kit.spawn(Box::pin(all(caches.into_iter().map(send).collect()))).await;
    }
}

impl InstanceManager for Owner {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            if kit.reads(&call) {
                return kit.next(call).await;
            }
            let id = call.id.clone();
            match kit.turn_for(call).await {
                Ok((_turn, call)) => {
                    let answer = kit.clone().next(call).await;
                    let version = self.0.next_version(&kit);
                    self.publish(&kit, &id, version).await;
                    answer
                }
                Err(failure) => Answer::Failed(failure),
            }
        })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move { self.0.give(&kit, &said).await })
    }
}
