//! Sends the message on, to nodes that earlier steps chose or that the design names.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Deployment, Kind, NodeId, Outputs, scattered};
use crate::file::{Problem, Section};

/// The nodes that get the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Head,
    Tail,
    Replicas,
    AnyReplica,
    /// The replicas but this one.
    Others,
    /// The replica before this one; none of the first.
    Previous,
    Sender,
    /// The client that waits for the operation.
    Client,
    /// One node of the role, by the key.
    Key,
}

const TO: &[(&str, To)] = &[
    ("head", To::Head),
    ("tail", To::Tail),
    ("replicas", To::Replicas),
    ("any-replica", To::AnyReplica),
    ("others", To::Others),
    ("previous", To::Previous),
    ("sender", To::Sender),
    ("client", To::Client),
    ("key", To::Key),
];

#[derive(Debug)]
pub(super) struct Send {
    own: NodeId,
    nodes: Vec<NodeId>,
    to: To,
    kind: Kind,
    with_value: bool,
}

impl Send {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<Send, Problem> {
        let names: Vec<&str> = TO.iter().map(|(name, _)| *name).collect();
        let (_, to) = TO[section.choice("to", &names, None)?];
        let kind = kind_of(section, site)?;
        let with_value = section.flag_or("value", true)?;
        Ok(Send { own: site.own, nodes: nodes_of(section, site)?, to, kind, with_value })
    }

    fn receivers(&self, work: &Work) -> Vec<NodeId> {
        let replicas = &work.message.replicas;
        let one = |nodes: &[NodeId], number: u64| {
            let place = scattered(number) as usize % nodes.len().max(1);
            nodes.get(place).copied().into_iter().collect()
        };
        match self.to {
            To::Head => replicas.first().copied().into_iter().collect(),
            To::Tail => replicas.last().copied().into_iter().collect(),
            To::Replicas => replicas.clone(),
            To::AnyReplica => one(replicas, work.message.operation.0),
            To::Others => replicas.iter().copied().filter(|node| *node != self.own).collect(),
            To::Previous => {
                let own = replicas.iter().position(|node| *node == self.own);
                own.and_then(|place| replicas.get(place.checked_sub(1)?)).copied().into_iter().collect()
            }
            To::Sender => vec![work.message.from],
            To::Client => vec![work.message.client],
            To::Key => one(&self.nodes, work.message.key.0),
        }
    }
}

/// The kind of message that a parameter names.
pub(super) fn kind_of(section: &Section, site: &Site<'_>) -> Result<Kind, Problem> {
    let message = section.text("message")?;
    site.kinds.find(message).ok_or_else(|| {
        section.problem("message", format!("no role takes a message `{message}`"), "name one that a role has `on`")
    })
}

/// The nodes of the role that a parameter names.
pub(super) fn nodes_of(section: &Section, site: &Site<'_>) -> Result<Vec<NodeId>, Problem> {
    let role = section.text("role")?;
    let nodes = site.deployment.of(role);
    if nodes.is_empty() && role != Deployment::CLIENT_ROLE {
        return Err(section.problem(
            "role",
            format!("there is no node of role `{role}`"),
            "name a role that has nodes",
        ));
    }
    Ok(nodes)
}

impl Module for Send {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        for receiver in self.receivers(work) {
            let mut message = work.message.clone();
            message.kind = self.kind;
            message.from = self.own;
            message.value = message.value.filter(|_| self.with_value);
            out.send(receiver, message);
        }
        Outcome("ok")
    }
}
