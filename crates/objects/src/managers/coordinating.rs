//! The means of a coordinator, beside those that all components have.
//!
//! Invariant: the memory of a coordinator is in the object's row, and is changed only if it is what the coordinator has read. So of two coordinators of one
//! object, of which one has not heard yet that it is none any more, one is refused.

use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, NotRun, OfferedClass, Placed};

use super::Kit;
use super::kit::{Ask, Reply, said};

/// A question of a coordinator, which its server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorAsk {
    /// The row of the object, and the memory.
    Recall(ObjectName),
    /// Another memory, if it is this one in this epoch.
    Remember { object: ObjectName, from: ObjectEpoch, was: Vec<u8>, memory: Vec<u8> },
    /// The nodes of the service that run this class.
    Nodes(OfferedClass),
}

/// The answer to a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorTold {
    Recalled(Recalled),
    Remembered,
    /// There is no such object any more.
    Gone,
    Nodes(Vec<NodeId>),
    Refused(NotRun),
}

/// The row of an object, as its coordinator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    pub placed: Placed,
    /// The owner is lost or has another life: the object begins anew when somebody creates it, unless it is put somewhere before.
    pub is_over: bool,
    /// At most 4 KiB. Empty when the object begins.
    pub memory: Vec<u8>,
}

impl Kit {
    async fn coordinate(&self, ask: CoordinatorAsk) -> CoordinatorTold {
        match self.ask(Ask::Coordinate(ask)).await {
            Reply::Coordinated(told) => told,
            Reply::Answer(_) | Reply::Moved(_) | Reply::State(_) | Reply::Done => {
                unreachable!("a coordinator is answered as one")
            }
        }
    }

    /// Asked by a coordinator: the object's row, and what was remembered last.
    ///
    /// # Errors
    /// [`CallFailure::Gone`]: there is no such object any more. [`CallFailure::NotRun`]: ask again later.
    pub async fn recall(&self) -> Result<Recalled, CallFailure> {
        match self.coordinate(CoordinatorAsk::Recall(self.object().clone())).await {
            CoordinatorTold::Recalled(recalled) => Ok(recalled),
            CoordinatorTold::Gone => Err(CallFailure::Gone),
            CoordinatorTold::Refused(why) => Err(CallFailure::NotRun(why)),
            CoordinatorTold::Remembered | CoordinatorTold::Nodes(_) => unreachable!("a row is told as one"),
        }
    }

    /// Keeps a coordinator's memory of at most 4 KiB in place of the one that it has read.
    ///
    /// # Errors
    /// [`CallFailure::NotRun`] with `Conflict`: the memory or the row is another one by now. [`CallFailure::Gone`], as of [`Kit::recall`].
    pub async fn remember(&self, row: &Recalled, memory: Vec<u8>) -> Result<(), CallFailure> {
        let (from, was) = (row.placed.epoch, row.memory.clone());
        match self.coordinate(CoordinatorAsk::Remember { object: self.object().clone(), from, was, memory }).await {
            CoordinatorTold::Remembered => Ok(()),
            CoordinatorTold::Recalled(_) => Err(CallFailure::NotRun(NotRun::Conflict)),
            CoordinatorTold::Gone => Err(CallFailure::Gone),
            CoordinatorTold::Refused(why) => Err(CallFailure::NotRun(why)),
            CoordinatorTold::Nodes(_) => unreachable!("a memory is kept or not"),
        }
    }

    /// Asked by a coordinator: nodes of the service that run the class as the row declares it (`getNodes`), as far as this server knows. In no order.
    pub async fn nodes(&self, row: &Placed) -> Vec<NodeId> {
        let class = OfferedClass { name: self.object().class().to_owned(), declared: row.declared.clone() };
        match self.coordinate(CoordinatorAsk::Nodes(class)).await {
            CoordinatorTold::Nodes(nodes) => nodes,
            CoordinatorTold::Recalled(_)
            | CoordinatorTold::Remembered
            | CoordinatorTold::Gone
            | CoordinatorTold::Refused(_) => Vec::new(),
        }
    }

    /// Asked by a coordinator: has an object whose owner is over go on at a node with this state, if its row is still this one.
    ///
    /// # Errors
    /// [`NotRun`]: it does not. The owner may have come back.
    pub async fn put(&self, to: NodeId, row: Placed, state: Vec<u8>) -> Result<Placed, NotRun> {
        self.ask_moved(Ask::Put { to, row, state }).await
    }

    /// The nodes that have copies, as the coordinator says it (`getReplicas`).
    ///
    /// # Errors
    /// As of [`Kit::ask_coordinator`].
    pub async fn replicas(&self) -> Result<Vec<NodeId>, CallFailure> {
        let nodes = said(self.ask_answer(Ask::Replicas).await)?;
        read_nodes(&nodes).ok_or(CallFailure::NotRun(NotRun::Unreachable))
    }
}

/// Nodes in text, as `NAME#LIFE NAME#LIFE`.
pub(super) fn write_nodes(nodes: &[NodeId]) -> Vec<u8> {
    nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(" ").into_bytes()
}

pub(super) fn read_nodes(text: &[u8]) -> Option<Vec<NodeId>> {
    std::str::from_utf8(text).ok()?.split_whitespace().map(|node| node.parse().ok()).collect()
}

/// The answer to a request for a reference.
pub(crate) fn of_ref_request(nodes: Result<Vec<NodeId>, NotRun>) -> Answer {
    match nodes {
        Ok(nodes) => Answer::Returned(write_nodes(&nodes)),
        Err(why) => Answer::Failed(CallFailure::NotRun(why)),
    }
}
