//! An object moves when its app says so.
//!
//! Promise: it is at one node at any time; calls that are under way run once; a move that a crash has cut has happened or not.

use std::sync::Arc;

use iolite_values::NodeId;
use iolite_wire::objects::NotRun;

use super::{Fact, InstanceManager, Kind, Kit, Manager, Message, MessageResult, Settings, Slot};
use crate::executor::Later;

/// `ExplicitMigration`. Its callers say the node: `moveTo`.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitMigration;

impl Manager for ExplicitMigration {
    const KIND: Kind = Kind { name: "ExplicitMigration", slot: Slot::Placement, facts: &[Fact::Moves], settings: &[] };

    fn instance(&self, _settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
        Some(Arc::new(Moves))
    }
}

struct Moves;

impl InstanceManager for Moves {
    fn on_message(self: Arc<Self>, kit: Kit, message: Message) -> Later<MessageResult> {
        Box::pin(async move {
            let to = String::from_utf8(message.body).ok().and_then(|text| text.parse::<NodeId>().ok());
            let to = to.ok_or_else(|| NotRun::BadArguments("a node is written as NAME#LIFE".to_owned()))?;
            kit.move_to(to).await.map(|_row| Vec::new())
        })
    }
}
