//! Several copies of an object take its calls in turn.
//!
//! Promise: there are so many copies, one of which is the object itself, as long as so many nodes of the service run its class. Calls go to all of them evenly,
//! and go on at the others when a node is lost. Nothing keeps the copies the same: each begins with the object's state, and keeps what is written there.
//! The coordinator looks after the copies. Which nodes have them is its memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{NodeId, NodeName};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Placed, Rpc};
use serde::{Deserialize, Serialize};

use super::coordinating::{Recalled, read_nodes, write_nodes};
use super::{
    Coordinator, Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Proxy, Settings, Slot, message,
};
use crate::executor::Later;
use crate::limits::COPIES_MAX;

/// `LoadBalancedFrontEnd copies=NUMBER`.
#[derive(Clone, Copy, Debug)]
pub struct LoadBalancedFrontEnd;

const COPIES: &str = "copies";

/// How often the coordinator looks after the copies, and callers after a failure ask it for them.
const EVERY: Duration = Duration::from_secs(5);

#[derive(Serialize, Deserialize)]
enum Say {
    /// Do you have a copy?
    Have,
    /// Keep a copy of this state.
    Take(Vec<u8>),
    /// Your state?
    Save,
}

impl Manager for LoadBalancedFrontEnd {
    const KIND: Kind = Kind {
        name: "LoadBalancedFrontEnd",
        slot: Slot::Replication,
        facts: &[Fact::CopiesWithoutConsistency],
        settings: &[(COPIES, 3)],
    };

    fn proxy(&self, _settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Spreads(Mutex::default())))
    }

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Original))
    }

    fn coordinator(&self, settings: &Settings) -> Option<Arc<dyn Coordinator>> {
        Some(Arc::new(LooksAfter { others: others(settings.get(COPIES)) }))
    }
}

/// The copies beside the object itself.
fn others(copies: u64) -> usize {
    copies.clamp(1, COPIES_MAX) as usize - 1
}

/// At a node that calls the object, or has a copy.
struct Spreads(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The nodes that have copies beside the object itself.
    copies: Vec<NodeId>,
    /// When the coordinator is asked again.
    until: Instant,
    calls: usize,
}

impl Spreads {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All places, the one first whose turn it is. None: the object itself.
    async fn places(&self, kit: &Kit) -> Vec<Option<NodeId>> {
        if self.known().until <= kit.now() {
            self.known().until = kit.now() + EVERY;
            // Without a coordinator, those go on that are known.
            if let Ok(copies) = kit.replicas().await {
                self.known().copies = copies;
            }
        }
        let mut known = self.known();
        known.calls = known.calls.wrapping_add(1);
        let mut places: Vec<_> = known.copies.iter().copied().map(Some).chain([None]).collect();
        let first = known.calls % places.len();
        places.rotate_left(first);
        places
    }

    async fn call(&self, kit: &Kit, call: Rpc) -> Answer {
        let until = kit.now() + call.time_left;
        let mut last = Answer::NotHere;
        for place in self.places(kit).await {
            let call = Rpc { time_left: until.since(kit.now()), ..call.clone() };
            last = match place {
                Some(node) => kit.call_at(node, call).await,
                None => kit.clone().next(call).await,
            };
            if !is_for_the_next(&last) {
                return last;
            }
            self.known().copies.retain(|copy| Some(*copy) != place);
        }
        last
    }
}

/// Whether the call did not run, and may run at another copy.
fn is_for_the_next(answer: &Answer) -> bool {
    match answer {
        Answer::NotHere | Answer::Moved { .. } => true,
        Answer::Failed(CallFailure::NotRun(why)) => {
            matches!(why, NotRun::Unreachable | NotRun::Busy | NotRun::LeaseUnavailable | NotRun::NoHostForClass)
        }
        Answer::Returned(_) | Answer::Threw(_) | Answer::Failed(_) => false,
    }
}

impl Proxy for Spreads {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move { self.call(&kit, call).await })
    }

    fn on_call(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move { kit.run(call).await })
    }

    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            check_is_coordinator(&said)?;
            match message::read_or_refuse(&said.body)? {
                Say::Have if kit.has_copy() => Ok(Vec::new()),
                Say::Have => Err(NotRun::Unreachable),
                Say::Take(state) => kit.keep_copy(state).await.map(|()| Vec::new()).map_err(NotRun::BadArguments),
                Say::Save => kit.save().await.map_err(NotRun::BadArguments),
            }
        })
    }
}

/// Coordinators are at servers, and nobody else is told a state or told to take one.
fn check_is_coordinator(said: &Message) -> Result<(), NotRun> {
    match said.from.name {
        NodeName::Server(_) => Ok(()),
        NodeName::Device(_) => Err(NotRun::NotPermitted),
    }
}

/// Beside the object itself.
struct Original;

impl InstanceManager for Original {
    fn on_message(self: Arc<Self>, kit: Kit, said: Message) -> Later<MessageResult> {
        Box::pin(async move {
            check_is_coordinator(&said)?;
            kit.save().await.map_err(NotRun::BadArguments)
        })
    }
}

/// The coordinator.
struct LooksAfter {
    /// How many copies there are to be beside the object itself.
    others: usize,
}

impl LooksAfter {
    /// # Errors
    /// [`CallFailure::Gone`]: there is nothing to look after. Others: it is tried again.
    async fn look(&self, kit: &Kit) -> Result<(), CallFailure> {
        let _turn = kit.turn().await;
        let row = kit.recall().await?;
        let before = read_nodes(&row.memory).unwrap_or_default();
        let mut copies = Vec::new();
        for node in before {
            if kit.ask_proxy(node, message::write(&Say::Have)).await.is_ok() {
                copies.push(node);
            }
        }
        let row = if row.is_over { Recalled { placed: replace(kit, row.placed, &copies).await?, ..row } } else { row };
        let placed = &row.placed;
        copies.retain(|copy| !placed.places.contains(copy));
        copies.truncate(self.others);
        if copies.len() < self.others {
            self.fill(kit, placed, &mut copies).await?;
        }
        let memory = write_nodes(&copies);
        if memory == row.memory { Ok(()) } else { kit.remember(&row, memory).await }
    }

    /// Makes as many copies as are missing, at nodes that have none.
    async fn fill(&self, kit: &Kit, placed: &Placed, copies: &mut Vec<NodeId>) -> Result<(), CallFailure> {
        let mut free = kit.nodes(placed).await;
        free.retain(|node| !copies.contains(node) && !placed.places.contains(node));
        if free.is_empty() {
            return Ok(());
        }
        // An owner that has just ended is no reason to stop looking: the row says whether there is an object.
        let unreachable = |_failure| CallFailure::NotRun(NotRun::Unreachable);
        let state = kit.ask_owner(message::write(&Say::Save)).await.map_err(unreachable)?;
        let take = message::write(&Say::Take(state));
        for node in free {
            if copies.len() < self.others && kit.ask_proxy(node, take.clone()).await.is_ok() {
                copies.push(node);
            }
        }
        Ok(())
    }
}

/// The object itself is lost: a copy takes its place.
async fn replace(kit: &Kit, row: Placed, copies: &[NodeId]) -> Result<Placed, CallFailure> {
    for node in copies {
        if let Ok(state) = kit.ask_proxy(*node, message::write(&Say::Save)).await
            && let Ok(placed) = kit.put(*node, row.clone(), state).await
        {
            return Ok(placed);
        }
    }
    Err(CallFailure::NotRun(NotRun::Unreachable))
}

impl Coordinator for LooksAfter {
    fn on_create(self: Arc<Self>, kit: Kit) -> Later<()> {
        Box::pin(async move {
            while self.look(&kit).await != Err(CallFailure::Gone) {
                kit.sleep(EVERY).await;
            }
        })
    }

    fn on_failure(self: Arc<Self>, kit: Kit, _node: NodeId) -> Later<()> {
        Box::pin(async move { drop(self.look(&kit).await) })
    }

    fn on_ref_request(self: Arc<Self>, kit: Kit) -> Later<Result<Vec<NodeId>, NotRun>> {
        Box::pin(async move {
            let row = kit.recall().await.map_err(|_| NotRun::Unreachable)?;
            Ok(read_nodes(&row.memory).unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{Id, NodeLife};

    use super::*;

    #[test]
    fn so_many_copies_are_made() {
        let most = usize::try_from(COPIES_MAX).expect("small") - 1;
        assert_eq!([0, 1, 3, COPIES_MAX, COPIES_MAX + 1].map(others), [0, 0, 2, most, most]);
        let (name, life) = (NodeName::Device(Id::from_u128(u128::MAX)), NodeLife(u64::MAX));
        assert!(write_nodes(&vec![NodeId { name, life }; most]).len() <= 4096, "they fit into the memory");
    }
}
