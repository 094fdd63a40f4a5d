//! The gateway's walk over the new part of a tree, before it is sealed.
//!
//! Invariants: a tree is found whole only if every name of the own lease is there. Every other name has to stand at the same place of the cell's
//! blob; so all that the tree names is there, as long as the cell's blob is. Every lease that the tree lists is the own one or the cell's.
//! The work is bounded by what the client has stored: a node is entered once it is loaded, and the walk ends after so many chunks that are lacking.

use std::collections::BTreeSet;

use iolite_values::{ChunkId, ChunkName, LeaseName, Tree};
use iolite_wire::blobs::{BlobSeal, TreeId};

use crate::leases::Held;
use crate::limits::{LACKS_MAX, LOOKS_OPEN_MAX};
use crate::names::{Names, Need};
use crate::node::NodeError;
use crate::walk::{Met, Walk};

/// The next thing that a sealing wants of its host, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Look whether this object is there.
    Look(LeaseName, ChunkId),
    /// Load this node.
    Load(LeaseName, ChunkId),
    /// Wait for an answer.
    Wait,
    /// All is there: commit the seal.
    Whole,
    /// Chunks that are lacking. None: the tree is not made of the cell's blob.
    Unsealed(Vec<ChunkId>),
    /// No client makes such a tree.
    Malformed,
}

/// One seal, from the question to its end.
#[derive(Clone, Debug)]
pub(crate) struct Sealing {
    pub lease: LeaseName,
    pub tree: TreeId,
    pub from: Option<Held>,
    leases: Vec<LeaseName>,
    walk: Walk,
    before: Option<Names>,
    /// The lists of leases begin alike, so equal names of nodes say the same of all below.
    same_numbers: bool,
    /// A chunk of another lease that waits for a node of the cell's tree.
    met: Option<Met>,
    node: Option<Node>,
    looks: usize,
    /// Chunks that are there, so that content which repeats itself is looked for once.
    there: BTreeSet<ChunkId>,
    /// How many were found, not counting nodes.
    pub chunks: u64,
    lacks: BTreeSet<ChunkId>,
    end: Option<Next>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Own(ChunkName),
    /// A node of the tree that the cell had, which the new tree shares.
    Shared,
    Before(Need),
}

const THERE_KEPT: usize = 4096;

impl Sealing {
    pub fn new(seal: &BlobSeal, from: Option<Held>) -> Sealing {
        let blob = seal.tree.to_blob();
        let before = from.as_ref().and_then(|held| Names::of(&held.blob, true));
        let leases = seal.tree.tree.leases().to_vec();
        let earlier = before.as_ref().map_or(&[][..], |names| names.tree().leases());
        let others = &leases[..leases.len() - 1];
        let is_listed = others.iter().all(|lease| earlier.contains(lease));
        Sealing {
            lease: seal.lease,
            tree: seal.tree.id(),
            same_numbers: leases.starts_with(earlier),
            from,
            leases,
            walk: Walk::new(&blob),
            before,
            met: None,
            node: None,
            looks: 0,
            there: BTreeSet::new(),
            chunks: 0,
            lacks: BTreeSet::new(),
            end: (!is_listed).then(|| Next::Unsealed(Vec::new())),
        }
    }

    /// Whether a tree is one that this lease can seal, whatever is stored.
    pub fn is_made_for(tree: &Tree, lease: LeaseName) -> bool {
        tree.leases().last() == Some(&lease) && !tree.waits_for_lease()
    }

    pub fn next(&mut self) -> Next {
        loop {
            if let Some(end) = &self.end {
                return if self.looks > 0 { Next::Wait } else { end.clone() };
            }
            if self.node.is_some() || self.looks == LOOKS_OPEN_MAX {
                return Next::Wait;
            }
            let Some(met) = self.met.take().or_else(|| self.walk.next()) else {
                self.end = Some(Next::Whole);
                continue;
            };
            if let Some(next) = self.judge(met) {
                return next;
            }
        }
    }

    fn judge(&mut self, met: Met) -> Option<Next> {
        let Some(lease) = self.leases.get(usize::from(met.name.lease)).copied() else {
            self.end = Some(Next::Malformed);
            return None;
        };
        if lease != self.lease {
            return self.judge_shared(met, lease);
        }
        if met.is_node() {
            self.node = Some(Node::Own(met.name));
            return Some(Next::Load(lease, met.name.id));
        }
        if self.there.contains(&met.name.id) || self.lacks.contains(&met.name.id) {
            return None;
        }
        self.looks += 1;
        Some(Next::Look(lease, met.name.id))
    }

    fn judge_shared(&mut self, met: Met, lease: LeaseName) -> Option<Next> {
        let before = self.before.as_ref().map_or(Ok(None), |before| before.at(met.place));
        let name = match before {
            Ok(name) => name,
            Err(need) => {
                self.met = Some(met);
                self.node = Some(Node::Before(need));
                return Some(Next::Load(self.lease_before(need.name)?, need.name.id));
            }
        };
        let is_shared = name.is_some_and(|name| name.id == met.name.id && self.lease_before(name) == Some(lease));
        if !is_shared {
            self.end = Some(Next::Unsealed(Vec::new()));
            return None;
        }
        if met.is_node() && !self.same_numbers {
            self.node = Some(Node::Shared);
            return Some(Next::Load(lease, met.name.id));
        }
        None
    }

    fn lease_before(&self, name: ChunkName) -> Option<LeaseName> {
        self.before.as_ref()?.tree().leases().get(usize::from(name.lease)).copied()
    }

    /// Whether an object that was looked for is there.
    pub fn looked(&mut self, chunk: ChunkId, is_there: bool) {
        self.looks -= 1;
        if !is_there {
            return self.lacking(chunk);
        }
        if self.there.len() == THERE_KEPT {
            self.there.clear();
        }
        self.chunks += u64::from(self.there.insert(chunk));
    }

    /// The content of the node that was to be loaded. `None`: it is not there.
    pub fn loaded(&mut self, content: Option<Vec<u8>>) {
        let Some(node) = self.node.take() else { return };
        let taken = content.map(|content| match node {
            Node::Own(_) | Node::Shared => self.walk.enter(&content),
            Node::Before(need) => self.before.as_mut().map_or(Ok(()), |before| before.give(need, &content)),
        });
        match (taken, node) {
            (Some(Ok(())), _) => {}
            (Some(Err(NodeError::Malformed(_) | NodeError::OtherLength(_))), _) => self.end = Some(Next::Malformed),
            // What is damaged in the store is put again.
            (None | Some(Err(NodeError::OtherContent(_))), Node::Own(name)) => self.lacking(name.id),
            // The cell's blob is not whole any more: the client is told, as if the cell had changed.
            (None | Some(Err(NodeError::OtherContent(_))), Node::Before(_) | Node::Shared) => {
                self.end = Some(Next::Unsealed(Vec::new()));
            }
        }
    }

    fn lacking(&mut self, chunk: ChunkId) {
        self.lacks.insert(chunk);
        if self.lacks.len() == LACKS_MAX {
            self.end = Some(Next::Whole);
        }
    }

    /// The chunks that are lacking, if any are.
    pub fn lacks(&self) -> Option<Vec<ChunkId>> {
        (!self.lacks.is_empty()).then(|| self.lacks.iter().copied().collect())
    }
}
