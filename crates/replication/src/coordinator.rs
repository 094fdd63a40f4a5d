//! The coordinator: serves a gateway's requests from the groups of all shards, which it reaches by messages only, and follows the feed.
//!
//! Invariants:
//! - every request is answered exactly once, however often its messages are lost, repeated or late, but for reads that are given up;
//! - a transaction is called committed only when every shard that it touches has decided OK for the same proposal;
//! - the feed's segments join from `Ready` on, without gap or overlap;
//! - no timestamp is proposed twice, in any life.
//!
//! Source: the client half of TAPIR (TOCS 2018, section 5); the feed is Iolite's. docs/protocols/coordinator.md has the states and inputs.

mod answers;
mod backup;
mod close;
mod configuration;
mod decide;
mod ending;
mod feed;
mod members;
mod obstacles;
mod opening;
mod pauses;
mod proposals;
mod questions;
mod reading;
mod requests;
mod tally;
mod time_limits;
mod timers;
mod transactions;
mod validating;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, Tallied};
use iolite_store::{Event, Reply, Request, RequestId};
use iolite_values::{CoordinatorId, StoreIncarnation, Timestamp};

use crate::broken::Broken;
use crate::ir::Quorums;
use crate::node::{
    Ask, FromReplica, Group, Life, Outcome, ProposalId, ReplicaId, ShardId, Split, Term, ToReplica, View,
};
use crate::shards::ShardMap;

use backup::Backups;
use close::Closer;
pub use close::TAKEN_OVER_EACH_ROUND;
use feed::Feed;
pub use feed::IDLE_CLOSE_BEHIND;
pub use members::ROUND_TRIP_MAX;
use members::{Members, Work};
use obstacles::Obstacles;
use opening::Opening;
pub use proposals::CLOCK_WINDOW;
use proposals::Proposals;
use questions::{Purpose, Questions, Target};
use reading::Readings;
pub use reading::{READ_BYTES_MAX, READ_LOOKS_MAX, READ_ROWS_MAX};
use requests::Acknowledging;
pub use tally::{LATENCY_BOUNDS, Latencies, Tally};
use time_limits::TimeLimits;
use timers::{Timer, Timers};
use transactions::Transactions;
pub use validating::VALIDATIONS_MAX;
use validating::Validations;

/// What a coordinator is started with.
#[derive(Clone, Debug)]
pub struct CoordinatorSettings {
    /// Nobody else has it at the same time.
    pub id: CoordinatorId,
    pub life: Life,
    pub shards: ShardMap,
    /// A question without an answer is asked again after this long, or twice the time that its replica takes to answer if that is longer; then after
    /// twice as long, and so on.
    pub resend_after: Duration,
    pub resend_after_max: Duration,
    /// Without any commit to ask for, the feed is asked after this long, then after twice as long, and so on.
    pub idle_close_after: Duration,
    pub idle_close_after_max: Duration,
    /// A proposal that stays undecided for this long is taken over, or for as long as three questions to the farthest replica take.
    pub backup_after: Duration,
    /// [`READ_LOOKS_MAX`].
    pub read_looks_max: usize,
    /// For simulations and tests, as that of the replicas.
    pub broken: Broken,
}

impl CoordinatorSettings {
    pub fn new(id: CoordinatorId, life: Life, shards: ShardMap) -> CoordinatorSettings {
        CoordinatorSettings {
            id,
            life,
            shards,
            resend_after: Duration::from_millis(100),
            resend_after_max: Duration::from_secs(2),
            idle_close_after: Duration::from_millis(250),
            idle_close_after_max: Duration::from_secs(1),
            backup_after: Duration::from_millis(250),
            read_looks_max: READ_LOOKS_MAX,
            broken: Broken::Nothing,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorInput {
    /// The gateway asks.
    Request(RequestId, Request),
    /// The gateway does not wait any more for the reply to a request that reads.
    GiveUp(RequestId),
    /// Whoever copies the store reads it at this timestamp: every replica is to keep its history. Said again before
    /// [`crate::limits::COPY_HELD_FOR`] is over; not answered, for a read that comes too late says so.
    Hold(Timestamp),
    /// A message has come.
    FromReplica(FromReplica),
    /// A directory tells of the group of a shard, which was chosen. What is known to be later stays.
    Configured(Group),
    /// A directory tells that a shard has ended so, and that its parts have begun.
    Ended(Split),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorOutput {
    /// For the gateway.
    Event(Event),
    /// To be sent; it may get lost.
    ToReplica { to: ReplicaId, message: ToReplica },
    /// Another process has registered under this coordinator's id: this one has to end.
    Superseded { term: Term },
}

#[derive(Clone, Debug)]
enum Session {
    /// Which history this is, or where it stands, is not known (any more): requests wait.
    Opening(Opening),
    Open {
        store: StoreIncarnation,
    },
}

/// One gateway's half of the replicated store.
#[derive(Clone, Debug)]
pub struct Coordinator {
    settings: CoordinatorSettings,
    session: Session,
    /// While nobody was told that the store is open: where the feed has to be then.
    opens_at: Option<Timestamp>,
    term: Term,
    /// The last question before the term was this one.
    term_since: u64,
    /// The history that the known groups are of: that of whoever told of the last one, or of the first replica that was heard.
    history: Option<StoreIncarnation>,
    /// The latest view of each shard that was heard of.
    views: BTreeMap<ShardId, View>,
    /// When all of a shard were asked last whether there is a later group.
    looked_for: BTreeMap<ShardId, Instant>,
    members: Members,
    proposals: Proposals,
    questions: Questions,
    transactions: Transactions,
    backups: Backups,
    readings: Readings,
    validations: Validations,
    acknowledging: Acknowledging,
    closers: BTreeMap<ShardId, Closer>,
    feed: Feed,
    /// What became of proposals that the feed has not reached.
    decided: BTreeMap<ProposalId, Outcome>,
    obstacles: Obstacles,
    /// When transactions, backups and closers want to be looked at.
    timers: Timers,
    time_limits: TimeLimits,
    tally: Tallied<Tally>,
    /// Requests that came while opening, and when.
    waiting: VecDeque<(Tallied<Instant>, RequestId, Request)>,
    outputs: VecDeque<CoordinatorOutput>,
}

impl Coordinator {
    pub fn new(now: Now, settings: CoordinatorSettings) -> Coordinator {
        let closers = settings.shards.groups().map(|group| (group.shard, Closer::new(&settings)));
        let mut coordinator = Coordinator {
            session: Session::Opening(Opening::default()),
            opens_at: None,
            term: Term(0),
            term_since: 0,
            history: None,
            views: BTreeMap::new(),
            looked_for: BTreeMap::new(),
            members: Members::new(&settings.shards),
            proposals: Proposals::new(settings.id),
            questions: Questions::new(&settings),
            transactions: Transactions::default(),
            backups: Backups::default(),
            readings: Readings::default(),
            validations: Validations::default(),
            acknowledging: Acknowledging::new(),
            closers: closers.collect(),
            feed: Feed::default(),
            decided: BTreeMap::new(),
            obstacles: Obstacles::default(),
            timers: Timers::default(),
            time_limits: TimeLimits::default(),
            tally: Tallied::default(),
            waiting: VecDeque::new(),
            outputs: VecDeque::new(),
            settings,
        };
        coordinator.open(now);
        coordinator
    }

    /// How far the last proposal was ahead of this host's clock. More than a moment tells that this clock is behind others, or one of theirs
    /// far ahead.
    pub fn lead(&self) -> Duration {
        self.proposals.lead()
    }

    /// Requests that are not answered yet, and transactions whose callers did not wait.
    pub fn open_requests(&self) -> usize {
        self.waiting.len()
            + self.transactions.len()
            + self.readings.len()
            + self.validations.len()
            + self.acknowledging.len()
    }

    /// What it has done since it was made.
    pub fn tally(&self) -> Tally {
        self.tally.0
    }

    /// The shards, and who keeps them, as far as it knows.
    pub fn map(&self) -> &ShardMap {
        &self.settings.shards
    }

    fn view(&self, shard: ShardId) -> View {
        let first = self.settings.shards.group(shard).map(|group| View { epoch: group.epoch, number: 0 });
        self.views.get(&shard).copied().max(first).unwrap_or_default()
    }

    fn quorums(&self, shard: ShardId) -> Quorums {
        let group = self.settings.shards.group(shard).expect("questions are about shards of the map");
        Quorums::of(group).broken(self.settings.broken)
    }

    fn replicas(&self, shard: ShardId) -> Vec<ReplicaId> {
        self.settings.shards.group(shard).map_or_else(Vec::new, |group| group.members().to_vec())
    }

    fn ask(&mut self, now: Now, to: Target, purpose: Purpose, ask: Ask) -> u64 {
        let took = self.members.round_trip(to.replica, Work::of(&ask));
        let number = self.questions.add(now.instant, to, took, purpose, ask);
        self.send(number);
        number
    }

    /// Asks every replica of a shard.
    fn ask_all(&mut self, now: Now, shard: ShardId, purpose: &Purpose, ask: &Ask) -> Vec<u64> {
        let all = self.replicas(shard).into_iter();
        all.map(|replica| self.ask(now, Target { shard, replica }, purpose.clone(), ask.clone())).collect()
    }

    /// What was not answered in time is asked again; of the next replica, where any can answer: the first one may never come back.
    fn ask_again(&mut self, now: Instant, number: u64) {
        let Some(question) = self.questions.get(number) else { return };
        if let Purpose::Reading { request, part } = question.purpose {
            self.members.on_silence(question.to.replica, question.work());
            if let Some(to) = self.next_for(request, part) {
                self.questions.redirect(now, number, to);
            }
        }
        self.send(number);
    }

    fn send(&mut self, number: u64) {
        let Some((to, id, ask)) = self.questions.message(number) else { return };
        // While opening anew, other questions wait: their turn comes when the history is known.
        let opens = matches!(ask, Ask::Open | Ask::Begin);
        if opens || matches!(self.session, Session::Open { .. }) {
            self.post(to, id.number, ask);
        }
    }

    /// Says something that is not answered.
    fn say(&mut self, to: Target, ask: Ask) {
        self.post(to, 0, ask);
    }

    fn post(&mut self, to: Target, number: u64, ask: Ask) {
        let store = match &self.session {
            Session::Opening(opening) => opening.store(),
            Session::Open { store } => Some(*store),
        };
        self.post_of(store, to, number, ask);
    }

    fn post_of(&mut self, store: Option<StoreIncarnation>, to: Target, number: u64, ask: Ask) {
        let view = self.view(to.shard);
        let message = ToReplica {
            from: self.settings.id,
            term: self.term,
            id: crate::node::MessageId { life: self.settings.life, number },
            store,
            shard: to.shard,
            view,
            ask,
        };
        self.emit(CoordinatorOutput::ToReplica { to: to.replica, message });
    }

    fn send_all_again(&mut self, now: Now) {
        for number in self.questions.restart(now.instant) {
            self.send(number);
        }
    }

    fn set_timer(&mut self, at: Instant, timer: Timer) {
        self.timers.set(at, timer);
    }

    fn emit(&mut self, output: CoordinatorOutput) {
        self.outputs.push_back(output);
    }

    fn reply(&mut self, request: RequestId, reply: Reply) {
        self.time_limits.end(request);
        self.emit(CoordinatorOutput::Event(Event::Reply(request, reply)));
    }

    fn on_timer(&mut self, now: Now, timer: Timer) {
        match timer {
            Timer::Transaction(key) => self.press_transaction(now, key),
            Timer::Backup(id) => self.press_backup(now, id),
            Timer::Closer(shard) => self.press_closer(now, shard),
            Timer::Reading(request, part) => self.ask_next(now, request, part),
            Timer::Validation(request) => self.press_validation(now, request),
        }
    }
}

impl Machine for Coordinator {
    type Input = CoordinatorInput;
    type Output = CoordinatorOutput;

    fn handle(&mut self, now: Now, input: CoordinatorInput) {
        match input {
            CoordinatorInput::Request(id, request) => self.on_request(now, id, request),
            CoordinatorInput::GiveUp(id) => self.give_up(id),
            CoordinatorInput::Hold(at) => self.hold(at),
            CoordinatorInput::FromReplica(message) => self.on_message(now, message),
            CoordinatorInput::Configured(group) => self.go_over(now, group),
            CoordinatorInput::Ended(split) => self.on_ended(now, &split),
        }
        self.drive_feed(now);
    }

    fn poll(&mut self) -> Option<CoordinatorOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let timer = match self.session {
            Session::Opening(_) => None,
            Session::Open { .. } => self.timers.next(),
        };
        [self.questions.deadline(), self.time_limits.next(), timer].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.end_waits(now.instant);
        let due = self.questions.due(now.instant);
        for number in &due {
            self.ask_again(now.instant, *number);
        }
        self.look_for_later_groups(now.instant, &due);
        if matches!(self.session, Session::Open { .. }) {
            while let Some(timer) = self.timers.take_due(now.instant) {
                self.on_timer(now, timer);
            }
            self.drive_feed(now);
        }
    }

    fn validate(&self) {
        self.questions.validate();
        self.transactions.validate();
        let position = self.feed.position();
        for closer in self.closers.values() {
            closer.validate(position);
        }
        for (shard, view) in &self.views {
            let known = self.settings.shards.group(*shard);
            assert!(
                known.is_none_or(|group| view.epoch <= group.epoch),
                "questions carry a view of a group that is not asked"
            );
        }
        self.obstacles.validate(position);
        assert!(self.decided.keys().all(|id| id.at > position), "what the feed has passed is remembered");
        if matches!(self.session, Session::Open { .. }) {
            assert!(self.waiting.is_empty(), "a request waits although the store is open");
        }
    }
}

#[cfg(test)]
mod tests;

/// The lowest timestamp of some; zero of none.
fn lowest(of: impl Iterator<Item = Timestamp>) -> Timestamp {
    of.min().unwrap_or_default()
}
