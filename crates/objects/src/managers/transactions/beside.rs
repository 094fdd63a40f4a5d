//! The part of transactions that is beside the object: their names, those that are committed, and the one that runs aside.

use iolite_values::{DeviceRight, NodeId};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};
use litemap::LiteMap;

use super::{Begun, Outcome, Ticket};
use crate::managers::{Kit, message};

/// The transactions of one component: those of an earlier one of the same object have a lower epoch.
#[derive(Default)]
pub(in crate::managers) struct Tickets {
    /// The epoch in which this component began its first transaction.
    epoch: Option<u64>,
    last: u64,
    /// The last transaction that each node has committed.
    committed: LiteMap<NodeId, Ticket>,
    /// Transactions up to this one may have been committed and forgotten.
    forgotten: u64,
}

/// Nodes whose last commit is remembered. When there are more, all are forgotten, and a commit that is said again may be answered with a doubt.
const REMEMBERED: usize = 1_000;

impl Tickets {
    pub fn next(&mut self, kit: &Kit, version: u64) -> Ticket {
        self.last += 1;
        Ticket { epoch: self.epoch(kit), number: self.last, version }
    }

    pub fn epoch(&mut self, kit: &Kit) -> u64 {
        *self.epoch.get_or_insert(kit.epoch().0)
    }

    pub fn is_committed(&self, node: NodeId, ticket: Ticket) -> bool {
        self.committed.get(&node) == Some(&ticket)
    }

    pub fn commits(&mut self, node: NodeId, ticket: Ticket) {
        if self.committed.len() >= REMEMBERED && !self.committed.contains_key(&node) {
            self.committed.clear();
            self.forgotten = self.last;
        }
        self.committed.insert(node, ticket);
    }

    /// The outcome of a transaction that cannot be committed now.
    pub fn not_now(&mut self, kit: &Kit, ticket: Ticket, again: bool) -> Outcome {
        let is_remembered = ticket.epoch == self.epoch(kit) && ticket.number > self.forgotten;
        if again && !is_remembered { Outcome::Unknown } else { Outcome::Conflict }
    }
}

/// A transaction of the object's own node.
#[derive(Clone)]
pub(in crate::managers) struct Aside {
    pub ticket: Ticket,
    pub state: Vec<u8>,
    pub has_written: bool,
}

/// The reply to a node that begins, and what is kept here for it.
pub(in crate::managers) fn begun(
    kit: &Kit,
    node: NodeId,
    ticket: Ticket,
    state: Vec<u8>,
) -> Result<(Vec<u8>, Option<Aside>), NotRun> {
    let is_own = node == kit.node();
    let aside = is_own.then(|| Aside { ticket, state: state.clone(), has_written: false });
    let begun = Begun { ticket, state: (!is_own).then_some(state) };
    Ok((message::fit(message::write(&begun))?, aside))
}

impl Aside {
    /// Runs a call on the state of the transaction, while the component has its turn.
    ///
    /// # Errors
    /// The object is not here any more: the call did not run, or its effect is lost.
    pub async fn run(&mut self, kit: &Kit, call: Rpc) -> Result<Answer, CallFailure> {
        let writes = !kit.reads(&call);
        let not_run = |_gone| CallFailure::NotRun(NotRun::Conflict);
        let own = kit.save().await.map_err(not_run)?;
        kit.load_aside(self.state.clone()).await.map_err(not_run)?;
        let answer = kit.clone().next(Rpc { claim: DeviceRight::Call, ..call }).await;
        let after = kit.save().await;
        kit.load(own).await.map_err(|_gone| CallFailure::Fenced)?;
        self.state = after.map_err(|_gone| CallFailure::Fenced)?;
        self.has_written |= writes;
        Ok(answer)
    }
}
