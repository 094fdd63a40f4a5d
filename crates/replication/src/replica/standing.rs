//! Whether the replica takes part in its view, or is on the way to another one.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Instant;

use crate::node::{Group, RecordPart, ReplicaId, View};

/// What a new view begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub last_normal: View,
    pub parts: BTreeMap<u32, RecordPart>,
}

impl Parts {
    /// Adds a part, and says whether there are more now. Those of another record than the newest part are dropped.
    pub fn add(&mut self, last_normal: View, part: RecordPart) -> bool {
        let before = self.parts.len();
        let same =
            |known: &RecordPart| (known.view, known.complete, known.parts) == (part.view, part.complete, part.parts);
        if self.last_normal != last_normal || !self.parts.values().all(same) {
            self.parts.clear();
        }
        self.last_normal = last_normal;
        self.parts.insert(part.number, part);
        self.parts.len() > before
    }

    pub fn are_all_there(&self) -> bool {
        self.parts.values().next().is_some_and(|part| self.parts.len() == part.parts as usize)
    }

    pub fn first(&self) -> &RecordPart {
        self.parts.values().next().expect("asked for when all are there")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Normal {
        view: View,
        /// The record that the view began with, for those who come later. Only the leader has it, and not after a restart.
        master: Option<Vec<RecordPart>>,
    },
    Changing(Changing),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changing {
    pub view: View,
    pub last_normal: View,
    /// To the leader: the others' records.
    pub records: BTreeMap<ReplicaId, Parts>,
    /// From the leader: the master record.
    pub master: Option<Parts>,
    /// Messages are sent again then. Never, by one that is not of the group and whose record nobody needs.
    pub again_at: Option<Instant>,
    /// How long after that once more.
    pub again_wait: Duration,
    /// Then the next view is tried, by those of the group, unless what this one begins with still arrives.
    pub give_up_at: Option<Instant>,
    /// Then in any case.
    pub give_up_last_at: Option<Instant>,
}

impl Standing {
    /// One of the group takes part at once; another one waits.
    pub fn from_the_start(group: &Group, replica: ReplicaId) -> Standing {
        let view = View { epoch: group.epoch, number: 0 };
        if group.contains(replica) {
            return Standing::Normal { view, master: None };
        }
        Standing::waiting(group)
    }

    /// One that waits for what the group begins with.
    pub fn waiting(group: &Group) -> Standing {
        let view = View { epoch: group.epoch, number: 0 };
        let mut standing = Standing::Normal { view: View::default(), master: None }.joined(view);
        standing.rest();
        standing
    }

    /// Waits to be asked.
    pub fn rest(&mut self) {
        match self {
            Standing::Changing(changing) => changing.again_at = None,
            Standing::Normal { .. } => {}
        }
    }

    pub fn is_normal(&self) -> bool {
        match self {
            Standing::Normal { .. } => true,
            Standing::Changing(_) => false,
        }
    }

    pub fn view(&self) -> View {
        match self {
            Standing::Normal { view, .. } => *view,
            Standing::Changing(changing) => changing.view,
        }
    }

    pub fn last_normal(&self) -> View {
        match self {
            Standing::Normal { view, .. } => *view,
            Standing::Changing(changing) => changing.last_normal,
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Standing::Normal { .. } => None,
            Standing::Changing(changing) => [changing.again_at, changing.give_up_at].into_iter().flatten().min(),
        }
    }
}
