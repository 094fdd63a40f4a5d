//! A data centre's part in its group: between a gateway and its coordinator, and between the data centres.
//!
//! Invariants:
//! - a commit of effects reaches the store only with the append that puts it into the outbox;
//! - nothing is asked or told in the name of the outbox before its end was read.

mod events;
mod links;
mod marking;
mod own;
mod replies;
mod running;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now};
use iolite_store::{Asking, Request, RequestId};
use iolite_values::Timestamp;
use iolite_wire::centres::CentreName;

use self::events::Reading;
use self::own::{OwnNames, Purpose};
use self::running::Running;
use crate::figures::{Figures, PeerFigures, PeerState};
use crate::interface::{Input, LinkId, LinkInput, LinkSide, Output, Settings};
use crate::limits::HELD_FOR_MAX;
use crate::rows::Column;

/// How often the store is told to keep its history, while something is held back.
const HOLD_EVERY: Duration = Duration::from_secs(10);

/// Stands between the gateway's side and the store of one data centre, and speaks with the others.
#[derive(Debug)]
pub struct Centres {
    settings: Settings,
    now: Now,
    stage: Stage,
    links: BTreeMap<LinkId, Link>,
    asking: Asking<Asker>,
    /// Commits of an earlier history: their replies are for nobody.
    forgotten: BTreeSet<RequestId>,
    purposes: BTreeMap<u64, Purpose>,
    own_requests: u64,
    /// Reads as of a moment that the feed has not reached: of what a client of the gateway has committed just now.
    early: BTreeMap<RequestId, (Timestamp, Request)>,
    names: OwnNames,
    holding: Option<Holding>,
    /// Why no client is served, as it was told.
    lost: Option<String>,
    outputs: VecDeque<Output>,
}

/// Something is held back.
#[derive(Clone, Copy, Debug)]
struct Holding {
    /// From where on, and since when that is so.
    from: Timestamp,
    since: Instant,
    /// When the store is told so next.
    next: Instant,
}

#[derive(Debug)]
enum Stage {
    /// The store has not been there yet.
    Away,
    Reading(Box<Reading>),
    Running(Box<Running>),
}

#[derive(Clone, Debug)]
struct Link {
    peer: CentreName,
    side: LinkSide,
}

/// The asker of a request to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asker {
    Front(RequestId),
    Own(u64),
}

impl Centres {
    pub fn new(now: Now, settings: Settings) -> Centres {
        Centres {
            settings,
            now,
            stage: Stage::Away,
            links: BTreeMap::new(),
            asking: Asking::default(),
            forgotten: BTreeSet::new(),
            purposes: BTreeMap::new(),
            own_requests: 0,
            early: BTreeMap::new(),
            names: OwnNames::default(),
            holding: None,
            lost: None,
            outputs: VecDeque::new(),
        }
    }

    /// How far this data centre and its peers are.
    pub fn figures(&self) -> Figures {
        let Stage::Running(running) = &self.stage else { return Figures::default() };
        let peers = running.taking.iter().map(|(name, taking)| {
            let state = match (taking.stopped(), taking.is_lost(), taking.store()) {
                (Some(reason), _, _) => PeerState::Stopped { reason: reason.to_owned() },
                (None, true, _) => PeerState::LostHere,
                (None, false, Some(_)) => PeerState::Following,
                (None, false, None) => PeerState::Away,
            };
            let applied = running.rows.place(name, Column::Applied);
            let is_lost = running.trimming.lacks(applied);
            let (taken, differing) = (taking.through(), taking.differing());
            PeerFigures { name: name.clone(), state, taken, applied, is_lost, differing }
        });
        let behind = running.position.micros().saturating_sub(running.visible.passed().micros());
        let is_held = running.visible.is_held();
        Figures {
            shown_behind: if is_held { Duration::from_micros(behind) } else { Duration::ZERO },
            held_bytes: running.visible.held_bytes(),
            last: running.tail.last(),
            outbox_bytes: running.trimming.bytes(),
            peers: peers.collect(),
        }
    }

    fn emit(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    fn ask(&mut self, purpose: Purpose, request: Request) -> RequestId {
        let number = self.number(purpose);
        self.emit(Output::Request(number, request));
        number
    }

    /// The number of a request of its own.
    fn number(&mut self, purpose: Purpose) -> RequestId {
        self.own_requests += 1;
        self.purposes.insert(self.own_requests, purpose);
        self.asking.begin(Asker::Own(self.own_requests))
    }

    fn on_request(&mut self, asked: RequestId, request: Request) {
        let number = self.asking.begin(Asker::Front(asked));
        if let Request::Acknowledge { client, through } = request {
            self.on_acknowledged(client, through);
        }
        match causal_of(request) {
            Ok(commit) => self.on_commit(number, commit),
            Err(read @ Request::ReadAt { at, .. }) if self.is_early(at) => drop(self.early.insert(number, (at, read))),
            Err(other) => self.emit(Output::Request(number, other)),
        }
    }

    fn is_early(&self, at: Timestamp) -> bool {
        matches!(&self.stage, Stage::Running(running) if running.position < at)
    }

    /// Asks the store what it can be asked now.
    fn ask_early(&mut self) {
        let due: Vec<RequestId> =
            self.early.iter().filter(|(_, (at, _))| !self.is_early(*at)).map(|(number, _)| *number).collect();
        for number in due {
            if let Some((_, request)) = self.early.remove(&number) {
                self.emit(Output::Request(number, request));
            }
        }
    }

    fn on_give_up(&mut self, asked: RequestId) {
        let Some(number) = self.asking.give_up(Asker::Front(asked)) else { return };
        if self.early.remove(&number).is_none() {
            self.emit(Output::GiveUp(number));
        }
    }

    /// Keeps the store's history while something is held back, and notes when that is over.
    fn hold_history(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        let Some(from) = running.visible.held_from() else {
            self.holding = None;
            return;
        };
        let now = self.now.instant;
        let holding = self.holding.get_or_insert(Holding { from, since: now, next: now + HOLD_EVERY });
        // Under steady load something is always held back. It is stuck only if the same is.
        if from > holding.from {
            (holding.from, holding.since) = (from, now);
        }
        if now.since(holding.since) > HELD_FOR_MAX {
            running.visible.drop_held();
            self.holding = None;
        } else if now >= holding.next {
            holding.next = now + HOLD_EVERY;
            self.emit(Output::Hold(from));
        }
    }
}

/// A commit of effects, or the request as it was.
fn causal_of(request: Request) -> Result<running::Submitted, Request> {
    match request {
        Request::Commit { transaction, floor, within } if running::is_causal(&transaction) => {
            Ok(running::Submitted { transaction, floor, within })
        }
        other => Err(other),
    }
}

impl Machine for Centres {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Now, input: Input) {
        self.now = now;
        match input {
            Input::Request(number, request) => self.on_request(number, request),
            Input::GiveUp(number) => self.on_give_up(number),
            Input::Store(event) => self.on_event(event),
            Input::Link(LinkInput::Opened { link, peer, side }) => self.on_opened(link, peer, side),
            Input::Link(LinkInput::Message { link, message }) => self.on_message(link, message),
            Input::Link(LinkInput::Closed { link }) => self.on_closed(link),
        }
        self.work();
        self.hold_history();
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let mark = match &self.stage {
            Stage::Running(running) => running.marks.deadline(),
            Stage::Away | Stage::Reading(_) => None,
        };
        [self.holding.map(|holding| holding.next), mark].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        self.hold_history();
        self.work();
    }

    fn validate(&self) {
        if let Stage::Running(running) = &self.stage {
            running.taking.values().for_each(|taking| taking.validate());
            assert!(running.visible.passed() <= running.position.max(Timestamp::ZERO));
        }
    }
}
