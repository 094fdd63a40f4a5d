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
    Sender,
    /// One node of the role, by the key.
    Key,
}

const TO: &[(&str, To)] = &[
    ("head", To::Head),
    ("tail", To::Tail),
    ("replicas", To::Replicas),
    ("any-replica", To::AnyReplica),
    ("sender", To::Sender),
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
        let message = section.text("message")?;
        let kind = site.kinds.find(message).ok_or_else(|| {
            section.problem("message", format!("no role takes a message `{message}`"), "name one that a role has `on`")
        })?;
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
            To::Sender => vec![work.message.from],
            To::Key => one(&self.nodes, work.message.key.0),
        }
    }
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
