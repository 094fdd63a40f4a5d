//! What the replicas of a group say to each other, and to those of the group before.

use iolite_values::{StoreIncarnation, Timestamp};

use super::{Boot, Configuration, Epoch, RecordedEntry, Registered, ReplicaId, ShardId, Split, View};
use crate::journal::Completed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetweenReplicas {
    pub from: ReplicaId,
    pub to: ReplicaId,
    pub store: StoreIncarnation,
    pub shard: ShardId,
    pub epoch: Epoch,
    pub peer: Peer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Asks for what committed since.
    Fetch {
        after: Timestamp,
    },
    /// Everything that committed in (after, through].
    Segment {
        after: Timestamp,
        through: Timestamp,
        commits: Vec<Completed>,
    },
    /// What committed since is not kept any more.
    FetchedTooOld,
    /// Asks for a chunk of the whole state, from a place that the last chunk told.
    FetchState {
        place: Vec<u8>,
    },
    StateChunk(StateChunk),
    /// A new view begins: stop, and send your record to its leader.
    StartViewChange {
        view: View,
    },
    /// A part of a record, to the leader of the view.
    DoViewChange {
        last_normal: View,
        part: RecordPart,
    },
    /// A part of the master record, from the leader of the view.
    StartView {
        part: RecordPart,
    },
    /// What the sender knows of who keeps the shard. Whoever knows of less goes over to that.
    Configured {
        configuration: Configuration,
    },
    /// To one that keeps the shard no more: the view has begun, so nobody waits for its record now.
    Begun {
        view: View,
    },
    /// To those that keep a part of the shard from now on: this replica accepts nothing more.
    Drained(Drained),
}

/// Where a replica of a shard that ends stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drained {
    /// In which it is drained: those of a majority in one view count.
    pub view: View,
    /// All that committed there, as far as this replica knew of it, is at or below this.
    pub complete: Timestamp,
    /// It closes nothing above this.
    pub barrier: Timestamp,
    /// In the order of the coordinators, each once.
    pub terms: Vec<Registered>,
}

/// A chunk of a replica's whole state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChunk {
    /// Chunks of two boots do not belong together.
    pub boot: Boot,
    /// Where it is from.
    pub place: Vec<u8>,
    /// Where the next one is from; none after the last.
    pub next: Option<Vec<u8>>,
    /// What the state is complete through at least.
    pub complete: Timestamp,
    /// An encoded [`crate::journal::CheckpointChunk`].
    pub chunk: Vec<u8>,
}

/// A record travels in parts. All parts of one record have the same `view`, `complete` and `parts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPart {
    pub view: View,
    /// The record begins above this; everything at or below it is settled.
    pub complete: Timestamp,
    pub barrier: Timestamp,
    pub number: u32,
    pub parts: u32,
    pub entries: Vec<RecordedEntry>,
    /// In the order of the coordinators, each once.
    pub terms: Vec<Registered>,
    /// In a master record: how the shard ends, if the leader knew it. Its view lets nothing new in.
    pub split: Option<Split>,
}

impl RecordPart {
    /// The only part of a record in which there is nothing.
    pub fn empty(view: View) -> RecordPart {
        RecordPart {
            view,
            complete: Timestamp::ZERO,
            barrier: Timestamp::ZERO,
            number: 0,
            parts: 1,
            entries: Vec::new(),
            terms: Vec::new(),
            split: None,
        }
    }
}
