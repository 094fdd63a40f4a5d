//! Requests of a module while it runs: disk operations, messages. The engine gives them to the host.

use super::{Message, NodeId};
use crate::disk::{Owner, Transfer};

/// A disk operation that a module asks for; its step ends when all that it asked for have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskOrder {
    pub disk: usize,
    pub owner: Owner,
    pub offset: u64,
    pub length: u64,
    pub transfer: Transfer,
}

#[derive(Debug, Default)]
pub struct Outputs {
    pub(super) messages: Vec<(NodeId, Message)>,
    pub(super) orders: Vec<DiskOrder>,
}

impl Outputs {
    pub fn send(&mut self, to: NodeId, message: Message) {
        self.messages.push((to, message));
    }

    pub fn disk(&mut self, order: DiskOrder) {
        self.orders.push(order);
    }

    /// Only for tests of modules: what was asked for.
    pub fn taken(self) -> (Vec<(NodeId, Message)>, Vec<DiskOrder>) {
        (self.messages, self.orders)
    }
}
