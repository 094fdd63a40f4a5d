//! The replica: votes on proposals, keeps what commits, and shows it.
//!
//! Invariants:
//! - nothing new is voted OK at or below the barrier, and the barrier never passes the ceiling that is in the journal;
//! - two proposals that conflict are not both prepared;
//! - everything that committed at or below the complete point is here, and nothing else;
//! - a transaction has one completion record, which comes with its effect, and is kept until its client acknowledges it;
//! - what an answer tells is durable before it leaves.
//!
//! Source: TAPIR (TOCS 2018) sections 3 and 5, with the strict validation rule instead of its Figure 9. docs/protocols/replica.md has the
//! states, the rules and the reasons.

mod absurd;
mod alone;
mod catch_up;
mod ceiling;
mod checkpoint;
mod clients;
mod close;
mod configuration;
mod copying;
mod division;
mod elsewhere;
mod figures;
mod finalise;
mod first_group;
mod followers;
mod lists;
mod lives;
mod origin;
mod outcome;
mod outgoing;
mod part;
mod prepare;
mod published;
mod reading;
mod record;
mod recover;
mod resolved;
mod standing;
mod state_transfer;
mod terms;
mod types;
mod validate;
mod view_change;
mod waiting_reads;

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::{Instant, Machine, Now, PersistId, Tallied};
use iolite_store::Attempts;
use iolite_values::{StoreIncarnation, Timestamp};

use crate::broken::Broken;
use crate::extent::Extent;
use crate::ir::{Quorums, Record};
use crate::node::{
    Answer, Ask, BetweenReplicas, Boot, Configuration, Detail, FromReplica, Group, RecordedEntry, ReplicaId, ShardId,
    Split, ToReplica, View,
};
use crate::tapir::ProposalIndex;
use crate::versions::{Retention, Versions};

use absurd::FarTimes;
pub use absurd::{DECIDED_LEAD_MAX, TERMS_AHEAD_MAX, VIEWS_AHEAD_MAX};
use catch_up::CatchUp;
pub use catch_up::{FETCH_AGAIN_AFTER, STATE_PAUSE_MAX, STATE_TRIES_MAX};
pub use ceiling::{CEILING_AHEAD, CLOCK_LEAD_MAX, PROPOSAL_LEAD_MAX};
use checkpoint::Checkpoint;
use clients::Clients;
pub use close::{ANSWER_BYTES_MAX, CLOSED_WRITES_MAX};
use copying::Copies;
pub use copying::{COPIES_MAX, COPY_HELD_FOR, COPY_HISTORY_MAX};
pub use division::DRAINED_AGAIN_AFTER;
use division::Division;
pub use figures::{Figures, Votes};
pub use finalise::DIVIDED_BALLOTS;
use followers::Followers;
use origin::Awaiting;
pub use reading::CHANGES_LOOKS_MAX;
pub use recover::RecoverError;
use standing::Standing;
pub use state_transfer::{STATE_CHUNK_BYTES_MAX, STATE_HELD_FOR};
use terms::Terms;
pub use validate::VALIDATION_LOOKS_MAX;
pub use view_change::{
    PART_BYTES_MAX, VIEW_CHANGE_AGAIN_AFTER, VIEW_CHANGE_LASTS_MAX, VIEW_CHANGE_PATIENCE, VIEW_CHANGE_PATIENCE_MAX,
};
use waiting_reads::WaitingReads;
pub use waiting_reads::{TURN_LOOKS_MAX, WAITING_BYTES_MAX};

/// What a replica is started with.
#[derive(Clone, Debug)]
pub struct ReplicaSettings {
    pub id: ReplicaId,
    /// Who keeps the shard when the replica is made: the same at every start, for what came later is in the journal. (Until something later is, another group
    /// is refused.) A replica that is not of them waits until it is.
    pub group: Group,
    /// The rows of the shard.
    pub extent: Extent,
    /// The split that made the shard, if one did: its rows come from the shard that ended.
    pub origin: Option<Split>,
    pub store: StoreIncarnation,
    pub boot: Boot,
    pub retention: Retention,
    /// [`Broken::Nothing`] outside simulations and tests.
    pub broken: Broken,
}

impl ReplicaSettings {
    /// Of a replica that is the whole group of the only shard.
    pub fn alone(store: StoreIncarnation, boot: Boot, retention: Retention) -> ReplicaSettings {
        let id = ReplicaId::default();
        let group = Group::alone(ShardId::default(), id);
        let extent = Extent::everything();
        ReplicaSettings { id, group, extent, origin: None, store, boot, retention, broken: Broken::Nothing }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaInput {
    FromCoordinator(ToReplica),
    FromPeer(BetweenReplicas),
}

/// What a replica asks of its host. The host writes records in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaOutput {
    /// Append this record (a [`crate::journal::JournalRecord`], encoded); `id` is its place among the records since the start, from 1.
    Persist { id: PersistId, record: Vec<u8> },
    /// Send this once everything up to `after` is durable.
    Reply { after: PersistId, message: FromReplica },
    /// Likewise, to another replica of the group.
    ToPeer { after: PersistId, message: BetweenReplicas },
}

/// One replica of a shard.
#[derive(Clone, Debug)]
pub struct Replica {
    settings: ReplicaSettings,
    configuration: Configuration,
    /// The journal says the first group, or a later one.
    says_first_group: bool,
    /// The journal says that the shard came to be so.
    known_origin: Option<Split>,
    /// A transaction has chosen it: the epoch ends at once.
    next: Option<Configuration>,
    /// A transaction has chosen how the shard ends.
    chosen_split: Option<Split>,
    /// The shard ends.
    division: Option<Division>,
    /// The shard has not begun here: its rows come from one that ends.
    awaiting: Option<Awaiting>,
    quorums: Quorums,
    standing: Standing,
    versions: Versions,
    clients: Clients,
    attempts: Attempts,
    record: Record,
    /// What is voted OK and has no outcome.
    prepared: ProposalIndex,
    /// What committed above the barrier and read something.
    readers: ProposalIndex,
    terms: Terms,
    /// Everything that committed at or below this is here, as far as this replica was told.
    complete: Timestamp,
    /// The complete point is durable when this is.
    complete_after: PersistId,
    /// Everything at or below this is settled in every shard: only then it may be forgotten, for another shard may have to ask.
    settled: Timestamp,
    catch_up: CatchUp,
    /// A peer takes the state: the history that it needs is kept until then.
    state_held_until: Option<Instant>,
    /// Backups that are under way.
    copies: Copies,
    /// Nothing new is voted OK at or below this any more.
    barrier: Timestamp,
    /// Everything at or below the barrier, and the barrier itself, is durable when this is.
    barrier_after: PersistId,
    /// What this replica decided alone above the barrier, and its records.
    open_commits: BTreeMap<Timestamp, PersistId>,
    ceiling: Timestamp,
    /// Of what was recovered: the highest timestamp at which something may have been read.
    reads_through: Timestamp,
    /// The last record that was handed out.
    persisted: PersistId,
    /// Bytes of the records that were handed out.
    journaled: Tallied<u64>,
    votes: Tallied<Votes>,
    /// Messages that made no sense.
    absurd: u64,
    /// Those of them that may make sense, if others say so too.
    far_times: FarTimes,
    followers: Followers,
    waiting_reads: WaitingReads,
    checkpoint: Option<Checkpoint>,
    outputs: VecDeque<ReplicaOutput>,
}

/// How many old commits are forgotten for each message, at most: more than one message adds, so that it catches up, and few enough to stay
/// unnoticed.
pub const COLLECTED_EACH_TIME: usize = 64;

impl Replica {
    /// A replica with an empty store, in the first view of its group.
    pub fn new(settings: ReplicaSettings) -> Replica {
        Replica {
            configuration: Configuration::first(settings.group.clone()),
            says_first_group: false,
            known_origin: None,
            next: None,
            chosen_split: None,
            division: None,
            awaiting: settings.origin.as_ref().map(|_| Awaiting::default()),
            quorums: Quorums::of(&settings.group),
            standing: match settings.origin {
                None => Standing::from_the_start(&settings.group, settings.id),
                Some(_) => Standing::waiting(&settings.group),
            },
            settings,
            versions: Versions::default(),
            clients: Clients::default(),
            attempts: Attempts::default(),
            record: Record::default(),
            prepared: ProposalIndex::default(),
            readers: ProposalIndex::default(),
            terms: Terms::default(),
            complete: Timestamp::ZERO,
            complete_after: PersistId::START,
            settled: Timestamp::ZERO,
            catch_up: CatchUp::default(),
            state_held_until: None,
            copies: Copies::default(),
            barrier: Timestamp::ZERO,
            barrier_after: PersistId::START,
            open_commits: BTreeMap::new(),
            ceiling: Timestamp::ZERO,
            reads_through: Timestamp::ZERO,
            persisted: PersistId::START,
            journaled: Tallied::default(),
            votes: Tallied::default(),
            absurd: 0,
            far_times: FarTimes::default(),
            followers: Followers::default(),
            waiting_reads: WaitingReads::default(),
            checkpoint: None,
            outputs: VecDeque::new(),
        }
    }

    pub fn id(&self) -> ReplicaId {
        self.settings.id
    }

    pub fn group(&self) -> &Group {
        self.configuration.group()
    }

    /// Everything that committed at or below this is here; and nothing else commits there any more.
    pub fn complete(&self) -> Timestamp {
        if !self.is_alone() {
            return self.complete;
        }
        // Who is the whole group knows all that commits, but for what it waits to hear of other shards.
        let undecided = self.prepared.ids().next().map(|id| Timestamp::from_u64(id.at.as_u64() - 1));
        undecided.map_or(self.closed(), |before| before.min(self.closed()))
    }

    /// Whether it takes part in a view, and fetches nothing that others have.
    pub fn is_keeping_up(&self) -> bool {
        self.standing.is_normal() && self.catch_up.deadline().is_none()
    }

    /// Below this nothing can be read any more.
    pub fn low_watermark(&self) -> Timestamp {
        self.versions.low_watermark()
    }

    /// The rows with their history, for checkers.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// How many proposals are not settled yet.
    pub fn record_len(&self) -> usize {
        self.record.len()
    }

    /// The view it is in, or on the way to.
    pub fn view(&self) -> View {
        self.standing.view()
    }

    /// Whether it takes part in a view of the latest group that it knows.
    pub fn takes_part(&self) -> bool {
        self.standing.is_normal() && self.is_member()
    }

    /// Where it stands with what is not settled, for checkers.
    pub fn recorded(&self) -> impl Iterator<Item = RecordedEntry> {
        self.record.iter().map(|(id, entry)| entry.recorded(id))
    }

    /// Whether it is the whole group, and has all that was decided before it was.
    fn is_alone(&self) -> bool {
        self.standing.is_normal() && self.configuration.group().members() == [self.settings.id]
    }

    /// The highest timestamp of anything here.
    fn highest(&self) -> Timestamp {
        let last_commit = self.versions.last_commit().unwrap_or_default();
        let last_prepared = self.prepared.ids().next_back().map(|id| id.at).unwrap_or_default();
        self.barrier.max(self.reads_through).max(last_commit).max(last_prepared)
    }

    /// The answer, and what has to be durable before it; none while a question has to wait, which is to be asked again then.
    fn answer(&mut self, now: Now, message: ToReplica) -> Option<(PersistId, Answer)> {
        let ToReplica { from, term, id, store: _, shard: _, view: _, ask } = message;
        Some(match ask {
            // One that is new knows of no lives, and has nothing.
            Ask::Open if !self.has_begun() => return None,
            Ask::Open => self.on_open(from),
            Ask::ReadAt { interest, at, limit, looks } => self.on_read_at(now, &interest, at, limit, looks),
            Ask::Changes { interests, after, through } => self.on_changes(&interests, after, through),
            _ if !self.standing.is_normal() => return None,
            Ask::Begin => self.on_begin(from, term, id.life),
            Ask::Prepare { proposal, after } => match self.superseded(from, term, id.life) {
                None => self.on_prepare(now, proposal, after),
                Some(answer) => (PersistId::START, answer),
            },
            Ask::Finalise { id, view, ballot, vote, proposal } => self.on_finalise(id, view, ballot, vote, proposal),
            Ask::Poll { id, ballot } => return self.on_poll(now, id, ballot),
            Ask::Outcome { id, outcome, proposal } => {
                self.on_outcome(id, outcome, proposal);
                return None;
            }
            Ask::Close { through, cursor, settled, detail } => {
                self.settled = self.settled.max(settled.min(self.complete()));
                if detail == Detail::Followed {
                    self.followers.follow(from, id);
                }
                self.on_close(now, through, cursor, detail)
            }
            Ask::Resolved { from, through, commits } => {
                self.on_resolved(now, from, through, &commits);
                return None;
            }
            // A part of the shard may have begun elsewhere, and go on.
            Ask::Validate { .. } if self.drained_at().is_some() => return None,
            Ask::Validate { snapshot, reads } => self.on_validate(snapshot, &reads),
            Ask::Acknowledge { client, through } => self.on_acknowledge(client, through),
            Ask::Report | Ask::Configured { .. } => return None,
        })
    }

    fn on_coordinator(&mut self, now: Now, message: ToReplica) {
        if message.ask == Ask::Report {
            let report = self.report();
            return self.reply(now, message.from, message.id, self.persisted, Answer::Reported(report));
        }
        if !self.admit(now, &message) {
            return;
        }
        if let Some(message) = self.waiting_reads.hear(message) {
            self.answer_admitted(now, message);
        }
    }

    /// Whether it is a question to this replica as it is now. Otherwise says so, if anything is to be said.
    fn admit(&mut self, now: Now, message: &ToReplica) -> bool {
        let (to, id) = (message.from, message.id);
        if self.awaiting.is_some() || self.answer_unsealed(now, message) {
            return false;
        }
        if message.ask != Ask::Open && message.store != Some(self.settings.store) {
            self.reply(now, to, id, PersistId::START, Answer::WrongStore);
            return false;
        }
        if let Ask::Configured { group } = &message.ask {
            self.on_group(now, group.clone());
            return false;
        }
        let group = self.configuration.group();
        if message.shard != group.shard || message.view.epoch != group.epoch || !self.is_member() {
            let own = (message.shard == group.shard).then(|| group.clone());
            if own.is_some() && message.view.epoch > group.epoch {
                self.ask_for_configuration();
            }
            // What is told of a group is told on: one that is the whole group may have decided on it by a record that is not durable yet.
            self.reply(now, to, id, self.persisted, Answer::WrongEpoch(own));
            return false;
        }
        if let Some(ended) = self.ended() {
            self.reply(now, to, id, PersistId::START, ended);
            return false;
        }
        if let (Some(term), true) = (self.later_term(to, message.term), message.ask != Ask::Open) {
            self.reply(now, to, id, PersistId::START, Answer::Superseded { term });
            return false;
        }
        if self.refuses(now, message) {
            return false;
        }
        if message.view > self.standing.view() {
            self.join(now, message.view);
        }
        true
    }

    fn answer_admitted(&mut self, now: Now, message: ToReplica) {
        let (to, id) = (message.from, message.id);
        let answer = self.answer(now, message);
        self.collect(now);
        if let Some((after, answer)) = answer {
            self.reply(now, to, id, after, answer);
        }
    }

    fn collect(&mut self, now: Now) {
        if self.is_alone() {
            self.forget_settled(self.complete());
        }
        if !self.is_writing_commits() && !self.holds_history(now.instant) {
            let through = self.collected_through(now);
            self.versions.collect(self.settings.retention, through, COLLECTED_EACH_TIME);
        }
    }
}

impl Machine for Replica {
    type Input = ReplicaInput;
    type Output = ReplicaOutput;

    fn handle(&mut self, now: Now, input: ReplicaInput) {
        match input {
            ReplicaInput::FromCoordinator(message) => self.on_coordinator(now, message),
            ReplicaInput::FromPeer(message) => self.on_peer(now, message),
        }
        self.press_configuration(now);
        self.tell_followers(now);
    }

    fn poll(&mut self) -> Option<ReplicaOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let is_chosen = self.next.is_some() || self.chosen_split.is_some() || self.lacks_a_last_view();
        let is_due = is_chosen || self.follows() && self.catch_up.deadline().is_none();
        let next = (is_due || !self.waiting_reads.is_empty()).then(Instant::default);
        [self.catch_up.deadline(), self.standing.deadline(), self.division_deadline(), next].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.press_configuration(now);
        self.follow(now);
        self.fetch_again(now);
        self.press_view_change(now);
        self.press_configuration(now);
        self.read_waiting(now);
    }

    fn validate(&self) {
        self.versions.validate();
        self.clients.validate();
        assert!(self.barrier <= self.ceiling, "the barrier passed the ceiling");
        assert!(self.complete() <= self.barrier, "the complete point passed the barrier");
        assert!(self.versions.low_watermark() <= self.complete(), "history was forgotten that is not complete");
        assert!(self.barrier_after <= self.persisted, "the barrier waits for a record that was not handed out");
        for (at, id) in &self.open_commits {
            assert!(*at > self.barrier, "a commit at or below the barrier is still open");
            assert!(self.versions.has_commit_at(*at), "an open commit is not in the log");
            assert!(*id <= self.persisted, "an open commit waits for a record that was not handed out");
        }
        self.validate_record();
    }
}

#[cfg(test)]
mod tests;
