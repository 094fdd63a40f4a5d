//! Every node and every message that was met, once, under a number; and what each step of a node led to.
//!
//! Invariant: two nodes have one number only when they are the same: their whole state, written out, is.
//! A world is many combinations of few nodes, so a step is computed once, and looked up from then on.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use iolite_store::RequestId;
use iolite_values::Transaction;

use crate::facts::{MessageFacts, NodeFacts};
use crate::fingerprint::fingerprint;
use crate::node::{Kept, Message, Node};

pub type NodeNumber = u32;
pub type MessageNumber = u32;

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    Deliver(MessageNumber),
    Submit(u8),
    Deadline,
    BeginViewChange,
    Restart(Kept),
}

/// What came of it; none if it cannot happen.
#[derive(Clone, Debug)]
pub struct Stepped {
    pub node: NodeNumber,
    pub said: Vec<MessageNumber>,
}

#[derive(Debug)]
pub struct KnownNode {
    pub node: Node,
    pub facts: NodeFacts,
}

#[derive(Debug)]
pub struct KnownMessage {
    pub message: Message,
    pub facts: MessageFacts,
}

#[derive(Debug, Default)]
pub struct Known {
    pub nodes: Vec<Arc<KnownNode>>,
    pub messages: Vec<Arc<KnownMessage>>,
    node_numbers: HashMap<u128, NodeNumber>,
    message_numbers: HashMap<u128, MessageNumber>,
    steps: HashMap<(NodeNumber, Step), Option<Arc<Stepped>>>,
}

#[derive(Debug, Default)]
pub struct Pool {
    known: RwLock<Known>,
    pub transactions: Vec<Transaction>,
}

impl Pool {
    pub fn new(transactions: Vec<Transaction>) -> Pool {
        Pool { known: RwLock::default(), transactions }
    }

    pub fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub fn into_known(self) -> Known {
        self.known.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn step(&self, number: NodeNumber, step: Step) -> Option<Arc<Stepped>> {
        let node = {
            let known = self.known();
            if let Some(stepped) = known.steps.get(&(number, step)) {
                return stepped.clone();
            }
            known.nodes[number as usize].clone()
        };
        let message = match step {
            Step::Deliver(message) => Some(self.known().messages[message as usize].clone()),
            _ => None,
        };
        let after = node.node.after(|node| match step {
            Step::Deliver(_) => node.take(&message.as_ref()?.message.payload),
            Step::Submit(which) => node.submit(RequestId(which.into()), &self.transactions[which as usize]),
            Step::Deadline => node.reach_deadline(),
            Step::BeginViewChange => node.begin_view_change(),
            Step::Restart(kept) => node.restart(kept),
        });
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let stepped = after.map(|(node, said)| {
            let node = known.add_node(node);
            let mut said: Vec<MessageNumber> = said.into_iter().map(|message| known.add_message(message)).collect();
            said.sort_unstable();
            said.dedup();
            Arc::new(Stepped { node, said })
        });
        known.steps.insert((number, step), stepped.clone());
        stepped
    }

    pub fn add_node(&self, node: Node) -> NodeNumber {
        self.known.write().unwrap_or_else(PoisonError::into_inner).add_node(node)
    }
}

impl Known {
    fn add_node(&mut self, node: Node) -> NodeNumber {
        let next = NodeNumber::try_from(self.nodes.len()).expect("they fit into memory");
        let number = *self.node_numbers.entry(fingerprint(&node)).or_insert(next);
        if number == next {
            let facts = NodeFacts::of(&node);
            self.nodes.push(Arc::new(KnownNode { node, facts }));
        }
        number
    }

    fn add_message(&mut self, message: Message) -> MessageNumber {
        let next = MessageNumber::try_from(self.messages.len()).expect("they fit into memory");
        let number = *self.message_numbers.entry(fingerprint(&message)).or_insert(next);
        if number == next {
            let facts = MessageFacts::of(&message);
            self.messages.push(Arc::new(KnownMessage { message, facts }));
        }
        number
    }

    /// From now on the node has told this instead.
    #[cfg(test)]
    pub fn tell_otherwise(&mut self, number: NodeNumber, facts: NodeFacts) {
        let known = &mut self.nodes[number as usize];
        *known = Arc::new(KnownNode { node: known.node.clone(), facts });
    }

    pub fn counts(&self) -> (usize, usize, usize) {
        (self.nodes.len(), self.messages.len(), self.steps.len())
    }
}
