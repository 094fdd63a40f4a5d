//! One server and some clients, with links that are slow and break, and processes that end.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU16;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use iolite_access::{Access, DevelopmentToken};
use iolite_catalog::SchemaPolicy;
use iolite_client::{
    Broken as BrokenClient, CallError, Client, Closed, Config, Input as ClientInput, Limits as ClientLimits,
    MutationKind, MutationStatus, Output, ReactionId, RunOf, StorageChange, TokenSource, View,
};
use iolite_gateway::{Broken as BrokenGateway, Gateway, Input, Limits, SessionId, Settings, Without};
use iolite_machine::{Instant, Machine, Now, PersistId, WallTime};
use iolite_node::{Front, JournalInput, JournalOutput, Node, NodeInput, NodeOutput, Store};
use iolite_replication::node::{Boot, Life};
use iolite_replication::{Coordinator, CoordinatorSettings, Replica, ReplicaSettings, Retention, ShardMap};
use iolite_values::{
    ClientId, CoordinatorId, Counter, DeviceSecret, Id, LogId, Schema, StoreIncarnation, Timestamp, Value,
};
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::model::{Call, SCHEMA, State, Step, look, operate};
use super::rights::{OPERATOR, Operator, token_of};

pub(super) const MEMBERS: usize = 3;
pub(super) const BOARDS: i64 = 2;
const STEPS: usize = 500;
/// One of the members replays in batches.
const BATCH: Duration = Duration::from_millis(300);

/// The kind of world, and the rules that are left out.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub client: BrokenClient,
    pub gateway: BrokenGateway,
    /// Entries of a page: few, so that pages are turned often.
    pub page: usize,
    /// Blocks of pages that are kept in front of a checkpoint.
    pub kept: u64,
    /// Members lose their links for this many steps at most.
    pub away: u64,
    /// Whether members are users, whom an operator removes and lets in again.
    pub rights: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            client: BrokenClient::Nothing,
            gateway: BrokenGateway::Nothing,
            page: 6,
            kept: 4,
            away: 1,
            rights: false,
        }
    }
}

impl Rules {
    /// Checkpoints are made often, pages go at once, and members miss many of them.
    pub fn with_checkpoints() -> Rules {
        Rules { page: 1, kept: 0, away: 150, ..Rules::default() }
    }
}

pub(super) struct World {
    random: ChaCha8Rng,
    pub(super) now: Now,
    rules: Rules,
    pub(super) node: Node,
    durable: PersistId,
    members: Vec<Member>,
    next_session: u64,
    /// The state of each board at each index, as the first member had it that came so far.
    states: BTreeMap<(i64, u64), State>,
    calls: BTreeMap<String, Called>,
    pub(super) operator: Option<Operator>,
}

struct Called {
    member: usize,
    number: u64,
    board: i64,
    may_give_up: bool,
    durable: bool,
    end: Option<MutationStatus>,
}

struct Member {
    client: Client,
    storage: BTreeMap<Vec<u8>, Vec<u8>>,
    batches: VecDeque<(PersistId, Vec<StorageChange>)>,
    link: Option<Link>,
    wants_link: bool,
    /// Steps until it can have a link again.
    away: u64,
    reactions: BTreeMap<ReactionId, (i64, View)>,
    seen: Rc<RefCell<BTreeMap<(i64, View), State>>>,
    pending: BTreeMap<Counter, String>,
    last_number: u64,
    life: u64,
}

struct Link {
    session: SessionId,
    up: VecDeque<Vec<u8>>,
    down: VecDeque<Vec<u8>>,
    encoder: SessionEncoder<FromGateway>,
    decoder: SessionDecoder<FromClient>,
    is_closed: bool,
}

/// Runs the world of a seed. Returns how many entries were replayed in all.
pub fn run(seed: u64, rules: Rules) -> Result<u64, String> {
    let mut world = World::new(seed, rules);
    for _ in 0..STEPS {
        world.step()?;
    }
    world.come_to_rest()?;
    world.check_the_end()
}

pub(super) fn below(random: &mut ChaCha8Rng, end: u64) -> u64 {
    random.next_u64() % end
}

fn open(storage: &BTreeMap<Vec<u8>, Vec<u8>>, place: usize, life: u64, now: Now, rules: Rules) -> Client {
    let entries: Vec<_> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let config = Config {
        schema: Arc::new(Schema::from_json(SCHEMA).expect("a good schema")),
        fresh_client: ClientId(Id::from_u128(0x100 + place as u128)),
        fresh_secret: DeviceSecret([place as u8; 16]),
        token: TokenSource::Fixed(if rules.rights { token_of(place) } else { "token".into() }),
        user: "ann".into(),
        gateways: vec![NonZeroU16::MIN],
        batch: Duration::ZERO,
        stores_cache: true,
        seed: life * 31 + place as u64,
        limits: ClientLimits { log_page_entries: rules.page, ..ClientLimits::default() },
    };
    let mut client = Client::open(config, entries, now).expect("its own storage");
    client.break_for_simulation(rules.client);
    client
}

impl Member {
    fn new(place: usize, now: Now, rules: Rules) -> Member {
        let storage = BTreeMap::new();
        let mut member = Member {
            client: open(&storage, place, 1, now, rules),
            storage,
            batches: VecDeque::new(),
            link: None,
            wants_link: false,
            away: 0,
            reactions: BTreeMap::new(),
            seen: Rc::default(),
            pending: BTreeMap::new(),
            last_number: 0,
            life: 1,
        };
        member.begin(place);
        member
    }

    fn begin(&mut self, place: usize) {
        for board in 0..BOARDS {
            let log = self.client.join("board", &Value::Int(board)).expect("the schema has it");
            if place == 1 {
                self.client.rebase_every(&log, BATCH).expect("it is joined, and the time is short");
            }
            for view in [View::Optimistic, View::Confirmed] {
                let id = self.client.register(view);
                self.reactions.insert(id, (board, view));
            }
        }
    }

    fn run(&mut self, of: RunOf) {
        let kind = match of {
            RunOf::Mutation(counter) => self.client.mutation(counter).map(|mutation| mutation.kind.clone()),
            RunOf::Replay(_) => self.client.replayed_call(),
            RunOf::Reaction(_) => None,
        };
        let mut run = self.client.begin(of);
        let closed = {
            let mut tx = self.client.transaction(&mut run);
            match (of, kind) {
                (RunOf::Reaction(id), _) => {
                    let (board, view) = self.reactions[&id];
                    if let Ok(state) = look(&mut tx, board) {
                        self.seen.borrow_mut().insert((board, view), state);
                    }
                    Closed::Returned
                }
                (_, Some(MutationKind::Named { name, arguments })) => operate(&mut tx, &name, &arguments),
                (_, Some(MutationKind::Closure | MutationKind::ChangeSet) | None) => Closed::Unknown,
            }
        };
        self.client.finish(run, closed);
    }
}

impl World {
    fn new(seed: u64, rules: Rules) -> World {
        let now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_700_000_000_000_000 + seed) };
        let gateway = Gateway::new(Settings {
            client: ClientId(Id::from_u128(1)),
            access: Access::Development(DevelopmentToken::new("token")),
            schemas: SchemaPolicy::Grow,
            limits: Limits { log_blocks_kept: rules.kept, ..Limits::default() },
            broken: rules.gateway,
            fresh_key: [0; 32],
            rights_required: false,
            has_indexes: true,
            has_blob_store: false,
            without: Without::Nothing,
        });
        let coordinator =
            Coordinator::new(now, CoordinatorSettings::new(CoordinatorId::default(), Life(1), ShardMap::alone()));
        let replica =
            Replica::new(ReplicaSettings::alone(StoreIncarnation(Id::from_u128(2)), Boot(1), Retention::default()));
        let node = Node::new(now, Front::new(now, gateway, coordinator), Store::new(replica, u64::MAX));
        let members = (0..MEMBERS).map(|place| Member::new(place, now, rules)).collect();
        let mut world = World {
            random: ChaCha8Rng::seed_from_u64(seed),
            now,
            rules,
            node,
            durable: PersistId::START,
            members,
            next_session: 1,
            states: BTreeMap::new(),
            calls: BTreeMap::new(),
            operator: None,
        };
        world.run_node();
        if rules.rights {
            world.begin_to_operate();
        }
        world
    }

    fn step(&mut self) -> Result<(), String> {
        let place = below(&mut self.random, MEMBERS as u64) as usize;
        match below(&mut self.random, 100) {
            0..=24 => self.call(place),
            25..=47 => self.carry_up(place),
            48..=72 => self.carry_down(place),
            73..=84 => self.store(place),
            85..=87 => {
                self.members[place].away = below(&mut self.random, self.rules.away);
                self.drop_link(place);
            }
            88 | 89 => self.restart(place),
            90..=93 if self.rules.rights => self.remove_or_admit(place),
            _ => {
                let micros = 1 + below(&mut self.random, 400_000);
                self.pass(Duration::from_micros(micros));
            }
        }
        for member in &mut self.members {
            member.away = member.away.saturating_sub(1);
        }
        self.settle(place)?;
        Ok(())
    }

    fn call(&mut self, place: usize) {
        let (board, by) = (below(&mut self.random, BOARDS as u64) as i64, below(&mut self.random, 9) as i64);
        let step = match below(&mut self.random, 6) {
            0..=1 => Step::Add { by },
            2 => Step::Double,
            3 => Step::Claim,
            4 => Step::Leave,
            _ => Step::Draw,
        };
        if below(&mut self.random, 10) == 0 {
            let _ = self.members[place].client.mutate(self.now.wall, "hit", "{}");
            return;
        }
        let member = &mut self.members[place];
        member.last_number += 1;
        let id = format!("{place}.{}", member.last_number);
        let may_give_up = matches!(step, Step::Claim);
        let call = Call { id: id.clone(), board, step };
        let log = LogId::new("board", &Value::Int(board)).expect("short");
        let arguments = serde_json::to_string(&call).expect("numbers and strings");
        let counter = match member.client.operate(self.now.wall, &log, "step", &arguments) {
            Ok(counter) => counter,
            Err(CallError::NotJoined { .. }) if self.rules.rights => return,
            Err(error) => panic!("it is joined: {error}"),
        };
        member.pending.insert(counter, id.clone());
        let number = member.last_number;
        let called = Called { member: place, number, board, may_give_up, durable: false, end: None };
        self.calls.insert(id, called);
    }

    /// Whether whoever called this was a member of the board just before `at`. Without rights everybody is.
    fn was_member(&self, called: &Called, at: Timestamp) -> bool {
        self.operator.as_ref().is_none_or(|operator| operator.was_member(called.member, called.board, at))
    }

    /// The member says its next message before the server has stored the change.
    fn remove_or_admit(&mut self, place: usize) {
        let board = below(&mut self.random, BOARDS as u64) as i64;
        self.change_member(place, board);
        self.carry_up(place);
        self.run_node();
    }

    fn carry_up(&mut self, place: usize) {
        let Some(link) = self.members[place].link.as_mut() else { return };
        let Some(frame) = link.up.pop_front() else { return };
        let (session, message) = (link.session, link.decoder.decode(&frame).expect("its own frame"));
        self.node.handle(self.now, NodeInput::Gateway(Input::Message(session, message)));
        self.run_node();
    }

    fn carry_down(&mut self, place: usize) {
        let Some(link) = self.members[place].link.as_mut() else { return };
        match link.down.pop_front() {
            Some(frame) => {
                let session = link.session;
                self.members[place].client.handle(self.now, ClientInput::Frame(frame));
                self.node.handle(self.now, NodeInput::Gateway(Input::Drained { session, messages: 1 }));
                self.run_node();
            }
            None if link.is_closed => self.drop_link(place),
            None => {}
        }
    }

    fn store(&mut self, place: usize) {
        let member = &mut self.members[place];
        let Some((id, changes)) = member.batches.pop_front() else { return };
        write(&mut member.storage, changes);
        member.client.handle(self.now, ClientInput::Persisted(id));
    }

    fn drop_link(&mut self, place: usize) {
        let Some(link) = self.members[place].link.take() else { return };
        self.node.handle(self.now, NodeInput::Gateway(Input::SessionClosed(link.session)));
        self.run_node();
        self.members[place].client.handle(self.now, ClientInput::LinkLost);
    }

    /// The process ends, and begins anew with what was stored: perhaps a little more than it knew.
    fn restart(&mut self, place: usize) {
        self.drop_link(place);
        let kept = below(&mut self.random, 3);
        let (now, rules) = (self.now, self.rules);
        let member = &mut self.members[place];
        for (_, changes) in std::mem::take(&mut member.batches).into_iter().take(kept as usize) {
            write(&mut member.storage, changes);
        }
        member.life += 1;
        member.client = open(&member.storage, place, member.life, now, rules);
        member.reactions.clear();
        member.seen = Rc::default();
        member.wants_link = false;
        let pending: BTreeSet<Counter> = member.client.pending().map(|pending| pending.counter).collect();
        let all = std::mem::take(&mut member.pending).into_iter();
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = all.partition(|(counter, _)| pending.contains(counter));
        member.pending = kept;
        member.begin(place);
        let refused: BTreeMap<Counter, String> =
            member.client.refused().map(|own| (own.counter, own.reason.to_string())).collect();
        for (counter, id) in gone {
            let Some(called) = self.calls.get_mut(&id).filter(|called| called.end.is_none()) else { continue };
            if let Some(reason) = refused.get(&counter) {
                called.end = Some(MutationStatus::Quarantined { reason: reason.clone() });
            } else if !called.durable {
                // What was neither stored nor confirmed is gone, as the app was told that it might be.
                called.end = Some(MutationStatus::Cancelled { reason: "lost".into() });
            }
        }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.instant = self.now.instant + time;
        self.now.wall = WallTime::from_micros(self.now.wall.as_micros() + time.as_micros() as u64);
        self.run_node();
        for place in 0..MEMBERS {
            let (now, member) = (self.now, &mut self.members[place]);
            if member.client.deadline().is_some_and(|at| at <= now.instant) {
                member.client.on_deadline(now);
            }
        }
    }

    pub(super) fn run_node(&mut self) {
        loop {
            while let Some(output) = self.node.poll() {
                match output {
                    NodeOutput::Message(session, message) => self.send_down(session, &message),
                    NodeOutput::Access(_)
                    | NodeOutput::Blobs(..)
                    | NodeOutput::ToSweeper(..)
                    | NodeOutput::Tracking(_)
                    | NodeOutput::Centre(_) => {}
                    NodeOutput::Close(session) => {
                        let mut links = self.members.iter_mut().filter_map(|member| member.link.as_mut());
                        if let Some(link) = links.find(|link| link.session == session) {
                            link.is_closed = true;
                        }
                    }
                    NodeOutput::Journal(JournalOutput::Append(record)) => {
                        self.durable = self.durable.next();
                        let synced =
                            JournalInput::Synced { through: self.durable, bytes_since_checkpoint: record.len() as u64 };
                        self.node.handle(self.now, NodeInput::Journal(synced));
                    }
                    NodeOutput::Journal(_) => {}
                }
            }
            if self.node.deadline().is_none_or(|at| at > self.now.instant) {
                return;
            }
            self.node.on_deadline(self.now);
        }
    }

    fn send_down(&mut self, session: SessionId, message: &FromGateway) {
        if session == OPERATOR {
            self.node.handle(self.now, NodeInput::Gateway(Input::Drained { session, messages: 1 }));
            return self.operator.iter_mut().for_each(|operator| operator.hear(message));
        }
        let mut links = self.members.iter_mut().filter_map(|member| member.link.as_mut());
        if let Some(link) = links.find(|link| link.session == session) {
            let frame = link.encoder.encode(message).expect("no message is too large");
            link.down.push_back(frame);
        }
    }

    fn settle_all(&mut self) -> Result<(), String> {
        (0..MEMBERS).try_for_each(|place| self.settle(place))
    }

    /// Runs the member's closures until it has nothing to do, and looks at what it shows.
    fn settle(&mut self, place: usize) -> Result<(), String> {
        while let Some(output) = self.members[place].client.poll() {
            match output {
                Output::Connect(_) => self.members[place].wants_link = true,
                Output::Disconnect => {
                    self.members[place].wants_link = false;
                    if let Some(link) = self.members[place].link.take() {
                        self.node.handle(self.now, NodeInput::Gateway(Input::SessionClosed(link.session)));
                        self.run_node();
                    }
                }
                Output::Send(frame) => {
                    if let Some(link) = self.members[place].link.as_mut() {
                        link.up.push_back(frame);
                    }
                }
                Output::Persist { id, changes, awaited: _ } => self.members[place].batches.push_back((id, changes)),
                Output::Run(of) => self.members[place].run(of),
                Output::Mutation { counter, status, .. } => self.note_status(place, counter, status)?,
                Output::LogStopped { reason, .. } if self.rules.rights && reason.starts_with("denied") => {
                    self.operator.iter_mut().for_each(|operator| operator.closed += 1);
                }
                Output::LogStopped { reason, .. } => return Err(format!("member {place} stopped: {reason}")),
                Output::LogDiffers { index, .. } => return Err(format!("member {place} has another state at {index}")),
                _ => {}
            }
        }
        if self.members[place].wants_link && self.members[place].away == 0 {
            self.members[place].wants_link = false;
            self.link(place);
            return self.settle(place);
        }
        self.members[place].client.validate();
        self.look(place)
    }

    fn link(&mut self, place: usize) {
        let session = SessionId(self.next_session);
        self.next_session += 1;
        self.members[place].link = Some(Link {
            session,
            up: VecDeque::new(),
            down: VecDeque::new(),
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            is_closed: false,
        });
        self.node.handle(self.now, NodeInput::Gateway(Input::SessionOpened(session)));
        self.run_node();
        self.members[place].client.handle(self.now, ClientInput::Linked);
    }

    fn note_status(&mut self, place: usize, counter: Counter, status: MutationStatus) -> Result<(), String> {
        let Some(id) = self.members[place].pending.get(&counter).cloned() else { return Ok(()) };
        let called = self.calls.get_mut(&id).expect("it was called");
        if let MutationStatus::Pending(pending) = &status {
            called.durable |= pending.durable;
            return Ok(());
        }
        if let Some(end) = called.end.as_ref().filter(|end| **end != status) {
            return Err(format!("{id} ended as {end:?}, and then as {status:?}"));
        }
        called.end = Some(status);
        self.members[place].pending.remove(&counter);
        Ok(())
    }

    /// The confirmed state is that of its index, and the optimistic one has the pending operations on top.
    fn look(&mut self, place: usize) -> Result<(), String> {
        let member = &self.members[place];
        let seen = member.seen.borrow();
        for joined in member.client.logs() {
            let Ok(values) = joined.log.instance.values() else { continue };
            let Some(Value::Int(board)) = values.first().cloned() else { continue };
            let Some(confirmed) = seen.get(&(board, View::Confirmed)) else { continue };
            if let Some(operator) = &self.operator {
                let at = member.client.at();
                if !operator.is_member(place, board, at) && *confirmed != State::default() {
                    return Err(format!("board {board}: member {place} was removed by {at:?}, and sees {confirmed:?}"));
                }
            }
            let first = self.states.entry((board, joined.position)).or_insert_with(|| confirmed.clone());
            if first != confirmed {
                let index = joined.position;
                return Err(format!(
                    "board {board} at {index}: member {place} has {confirmed:?}, another one {first:?}"
                ));
            }
            // What was given up when a board was closed is pending, and shown nowhere.
            let Some(optimistic) = seen.get(&(board, View::Optimistic)).filter(|_| !self.rules.rights) else {
                continue;
            };
            let mut expected = confirmed.shown();
            for pending in member.client.pending().filter(|pending| !pending.status.waits_for_data) {
                let call = pending.arguments.as_deref().and_then(|text| serde_json::from_str::<Call>(text).ok());
                if let Some(call) = call.filter(|call| call.board == board) {
                    expected = expected.after(&call);
                }
            }
            if expected != optimistic.shown() {
                return Err(format!("board {board}: member {place} shows {optimistic:?}, not {expected:?}"));
            }
        }
        Ok(())
    }

    /// Everything is carried and stored, until nobody has anything to say.
    fn come_to_rest(&mut self) -> Result<(), String> {
        self.members.iter_mut().for_each(|member| member.away = 0);
        self.admit_all();
        for _ in 0..400 {
            for place in 0..MEMBERS {
                for _ in 0..40 {
                    self.carry_up(place);
                    self.carry_down(place);
                    self.store(place);
                    self.settle(place)?;
                }
            }
            self.pass(Duration::from_millis(500));
            self.settle_all()?;
            let is_done = |member: &Member| member.client.pending().next().is_none() && member.batches.is_empty();
            let position = |joined: iolite_client::JoinedLog| (joined.log, joined.position);
            let positions = |member: &Member| member.client.logs().map(position).collect::<BTreeMap<_, _>>();
            let first = positions(&self.members[0]);
            if self.members.iter().all(|member| is_done(member) && positions(member) == first) {
                return Ok(());
            }
        }
        let at_last = self.members.iter().map(|member| {
            let pending: Vec<_> = member.client.pending().map(|pending| (pending.counter, pending.status)).collect();
            let logs: Vec<_> = member.client.logs().map(|log| (log.position, log.stopped)).collect();
            (pending, member.batches.len(), member.client.connection(), logs)
        });
        Err(format!("it does not come to rest: {:?}", at_last.collect::<Vec<_>>()))
    }

    fn check_the_end(&self) -> Result<u64, String> {
        let mut replayed = 0;
        for board in 0..BOARDS {
            let last = self.members[0].seen.borrow().get(&(board, View::Confirmed)).cloned().unwrap_or_default();
            let trace = last.trace();
            replayed += trace.len() as u64;
            for (id, called) in self.calls.iter().filter(|(_, called)| called.board == board) {
                let count = trace.iter().filter(|own| *own == id).count();
                match &called.end {
                    Some(MutationStatus::Confirmed { at }) if !self.was_member(called, *at) => {
                        return Err(format!("{id} was appended at {at:?} by somebody who was removed"));
                    }
                    Some(MutationStatus::Confirmed { .. }) if count == 1 => {}
                    Some(MutationStatus::Quarantined { reason }) if self.rules.rights => {
                        let is_unknown = reason.contains("is not known");
                        if count > usize::from(is_unknown) {
                            return Err(format!("{id} took effect {count} times, and ended for {reason:?}"));
                        }
                    }
                    Some(MutationStatus::Rejected { .. } | MutationStatus::Cancelled { .. }) if count == 0 => {}
                    // It was in the state of a checkpoint, which does not say whether it gave up.
                    Some(MutationStatus::Quarantined { .. })
                        if self.rules.kept == 0 && (count == 1 || count == 0 && called.may_give_up) => {}
                    // Its process ended before it was told.
                    Some(MutationStatus::Cancelled { .. }) if count == 1 && called.durable => {}
                    None if !called.durable || count == 1 => {}
                    end => return Err(format!("{id} took effect {count} times, and ended as {end:?}")),
                }
            }
            for member in 0..MEMBERS {
                let number = |id: &String| self.calls.get(id).filter(|called| called.member == member);
                let order: Vec<u64> = trace.iter().filter_map(number).map(|called| called.number).collect();
                if !order.is_sorted() {
                    return Err(format!("board {board}: the calls of member {member} took effect as {order:?}"));
                }
            }
        }
        Ok(replayed)
    }
}

fn write(storage: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: Vec<StorageChange>) {
    for change in changes {
        match change {
            StorageChange::Put { key, value } => drop(storage.insert(key, value)),
            StorageChange::Delete { key } => drop(storage.remove(&key)),
        }
    }
}
