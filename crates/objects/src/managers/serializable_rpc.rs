//! Calls run one after the other.
//!
//! Promise: one method of the object runs at a time, a reading one too, in the order in which calls have come to its node. A method that waits for others
//! keeps its turn. A call that comes back to the object by other objects would wait for itself: it is refused at once.
//!
//! The turn is a task's own, and ends with it. So a caller that is gone blocks nobody: a call that waits still is given up when its time is over, and one
//! that runs ends as its method does.

use std::sync::Arc;

use iolite_wire::objects::{Answer, Rpc};

use super::{InstanceManager, Kind, Kit, Manager, Settings, Slot};
use crate::executor::Later;

/// `SerializableRPC`.
#[derive(Clone, Copy, Debug)]
pub struct SerializableRpc;

impl Manager for SerializableRpc {
    const KIND: Kind = Kind { name: "SerializableRPC", slot: Slot::Serial, facts: &[], settings: &[] };

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(InTurn))
    }
}

struct InTurn;

impl InstanceManager for InTurn {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            match kit.turn_for(call).await {
                Ok((_turn, call)) => kit.clone().next(call).await,
                Err(failure) => Answer::Failed(failure),
            }
        })
    }
}
