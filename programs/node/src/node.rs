//! The embedded server: a front and a store in one process, which speak to each other by messages only, as across a network.

use std::collections::VecDeque;

use iolite_causal::{LinkInput, LinkOutput};
use iolite_gateway::{AccessNews, BlobLink, BlobOutput, Input, SessionId};
use iolite_machine::{Instant, Machine, Now};
use iolite_store::{Reply, RequestId};
use iolite_tracking::{Ask, AskId, News};
use iolite_wire::message::FromGateway;

use crate::{Front, FrontInput, FrontOutput, JournalInput, JournalOutput, Store, StoreInput, StoreOutput, SweeperAsk};

/// The composition. Its work is done when it is polled, so that inputs that come together are treated together.
#[derive(Debug)]
pub struct Node {
    now: Now,
    front: Front,
    store: Store,
    outputs: VecDeque<NodeOutput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeInput {
    Gateway(Input),
    /// A sweep or a check of blobs asks the store of rows.
    Sweeper(SweeperAsk),
    /// The host of objects asks tracking.
    Tracking(AskId, Ask),
    /// Something happens on a link with another data centre.
    Centre(LinkInput),
    Journal(JournalInput),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeOutput {
    Message(SessionId, FromGateway),
    /// Close the connection once its messages are sent.
    Close(SessionId),
    Blobs(BlobLink, BlobOutput),
    /// For who lets users in elsewhere, and for operators.
    Access(AccessNews),
    /// The answer to what a sweep or a check has asked.
    ToSweeper(RequestId, Reply),
    /// For the host of objects.
    Tracking(News),
    /// For a link with another data centre.
    Centre(LinkOutput),
    Journal(JournalOutput),
}

impl Node {
    pub fn new(now: Now, front: Front, store: Store) -> Node {
        Node { now, front, store, outputs: VecDeque::new() }
    }

    /// Whether sessions are served.
    pub fn is_ready(&self) -> bool {
        self.front.is_ready()
    }

    pub(crate) fn front(&self) -> &Front {
        &self.front
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Carries messages between the parts until none has anything to say.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            while let Some(output) = self.front.poll() {
                quiet = false;
                match output {
                    FrontOutput::Message(session, message) => {
                        self.outputs.push_back(NodeOutput::Message(session, message));
                    }
                    FrontOutput::Blobs(link, output) => self.outputs.push_back(NodeOutput::Blobs(link, output)),
                    FrontOutput::Access(news) => self.outputs.push_back(NodeOutput::Access(news)),
                    FrontOutput::ToSweeper(id, reply) => self.outputs.push_back(NodeOutput::ToSweeper(id, reply)),
                    FrontOutput::Tracking(news) => self.outputs.push_back(NodeOutput::Tracking(news)),
                    FrontOutput::Centre(output) => self.outputs.push_back(NodeOutput::Centre(output)),
                    FrontOutput::Close(session) => self.outputs.push_back(NodeOutput::Close(session)),
                    FrontOutput::ToReplica(_, message) => {
                        self.store.handle(self.now, StoreInput::FromCoordinator(message));
                    }
                    FrontOutput::Superseded(term) => {
                        unreachable!("the only coordinator of this data directory met another one, of {term:?}")
                    }
                }
            }
            while let Some(output) = self.store.poll() {
                quiet = false;
                match output {
                    StoreOutput::ToCoordinator(message) => {
                        self.front.handle(self.now, FrontInput::FromReplica(message));
                    }
                    StoreOutput::ToPeer(message) => unreachable!("it is alone: {message:?}"),
                    StoreOutput::Journal(output) => self.outputs.push_back(NodeOutput::Journal(output)),
                }
            }
            if quiet {
                return;
            }
        }
    }
}

impl Machine for Node {
    type Input = NodeInput;
    type Output = NodeOutput;

    fn handle(&mut self, now: Now, input: NodeInput) {
        self.now = now;
        match input {
            NodeInput::Gateway(input) => self.front.handle(now, FrontInput::Gateway(input)),
            NodeInput::Sweeper(ask) => self.front.handle(now, FrontInput::Sweeper(ask)),
            NodeInput::Tracking(id, ask) => self.front.handle(now, FrontInput::Tracking(id, ask)),
            NodeInput::Centre(input) => self.front.handle(now, FrontInput::Centre(input)),
            NodeInput::Journal(input) => self.store.handle(now, StoreInput::Journal(input)),
        }
    }

    fn poll(&mut self) -> Option<NodeOutput> {
        if self.outputs.is_empty() {
            self.settle();
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        [self.front.deadline(), self.store.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        self.front.on_deadline(now);
        self.store.on_deadline(now);
    }

    fn validate(&self) {
        self.front.validate();
        self.store.validate();
    }
}

#[cfg(test)]
mod tests;
