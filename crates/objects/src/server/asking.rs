//! Questions to tracking, and what is done with the answers.
//!
//! Invariant: a change that may have happened is asked for again until it is known whether it has. Nobody is told anything before.

use std::time::Duration;

use iolite_machine::Machine;
use iolite_values::{Bucket, NodeId, NodeName, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun, OfferedClass, Placed, ToDevice, TrackAnswer};

use super::{AskId, Asker, Server, ServerOutput, SessionId, TrackAsk, Tracked};
use crate::Class;
use crate::kernel::KernelInput;

/// The part that waits for tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A question of the kernel's, or of a device's: the answer is passed on.
    By(Asker),
    /// Somebody wants to create an object that may be there. If it is not, its node has no room.
    IsThere(Asker),
    /// This node registers.
    Own,
    /// A device registers.
    Device(SessionId),
    /// An object begins where the server has placed it.
    Placed(ObjectName),
    /// An object moves.
    Move(ObjectName),
    /// An object stays where its move was in doubt.
    Keep(Asker),
    /// A device says something of an object of which it says that it owns it.
    Claim(Box<Claim>),
    /// The server of a device.
    Route(NodeId),
    /// The objects of a bucket that is this server's to coordinate.
    Bucket(Bucket),
    /// A question of a coordinator.
    Coordinator(u64),
    /// The answer is for nobody.
    Nobody,
}

/// The words of a device that count only if it owns the object in this epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub session: SessionId,
    pub node: NodeId,
    pub object: ObjectName,
    pub epoch: ObjectEpoch,
    pub says: Claimed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    Move { number: u64, begin: Begin, to: NodeId, state: Vec<u8> },
    Keep { number: u64 },
    Missing,
}

/// How long tracking is left alone after it could not register this server.
const REGISTER_AGAIN: Duration = Duration::from_secs(1);

impl Server {
    pub(super) fn ask(&mut self, asked: Asked, question: TrackAsk) {
        self.last_ask += 1;
        let id = AskId(self.last_ask);
        self.asked.insert(id, (asked, question.clone()));
        self.emit(ServerOutput::Ask(id, question));
    }

    /// Registers this node, unless that is under way or the store is not there.
    pub(super) fn register_own(&mut self) {
        if self.store.is_none() || self.asked.values().any(|(asked, _)| *asked == Asked::Own) {
            return;
        }
        let offered = |class: &Class| OfferedClass { name: class.name.clone(), declared: class.declared.clone() };
        let classes = self.settings.classes.iter().map(offered).collect();
        let (name, known) = (NodeName::Server(self.settings.gateway), self.life());
        self.ask(Asked::Own, TrackAsk::Register { name, known, serves: true, connection: 0, classes });
    }

    pub(super) fn registration_overdue(&mut self) {
        if self.register_at.is_some_and(|at| at <= self.now.instant) {
            self.register_at = None;
            self.register_own();
        }
    }

    pub(super) fn on_tracked(&mut self, id: AskId, tracked: Tracked) {
        match tracked {
            Tracked::InDoubt => self.on_in_doubt(id),
            Tracked::Registered(node, lapses) => self.on_registered(id, node, lapses),
            Tracked::Track(_)
            | Tracked::Moved(_)
            | Tracked::Stands(_)
            | Tracked::Removed
            | Tracked::At(_)
            | Tracked::Lost
            | Tracked::Listed(_)
            | Tracked::Recalled(_)
            | Tracked::Remembered
            | Tracked::Elsewhere => {
                if let Some((asked, question)) = self.asked.remove(&id) {
                    self.answered(asked, question, tracked);
                }
            }
        }
    }

    /// Another store has taken the place of the one that was asked: an answer of that one says nothing of this one, and nothing is asked again.
    pub(super) fn end_asked(&mut self) {
        let asked = std::mem::take(&mut self.asked).into_values();
        for (asked, question) in asked.chain(std::mem::take(&mut self.in_doubt)).collect::<Vec<_>>() {
            self.answered(asked, question, Tracked::Track(TrackAnswer::Refused(NotRun::Conflict)));
        }
    }

    fn answered(&mut self, asked: Asked, question: TrackAsk, tracked: Tracked) {
        match asked {
            Asked::By(asker) => self.tell(asker, track_answer(tracked)),
            Asked::IsThere(asker) => {
                let answer = track_answer(tracked);
                let is_there = !matches!(answer, TrackAnswer::Unknown | TrackAnswer::Lost);
                self.tell(asker, if is_there { answer } else { TrackAnswer::Refused(NotRun::Busy) });
            }
            Asked::Own => {
                self.refuse_waiting();
                self.register_at = Some(self.now.instant + REGISTER_AGAIN);
            }
            Asked::Device(session) if tracked == Tracked::Elsewhere => self.not_registered(session, true),
            Asked::Device(session) => self.registration_in_doubt(session, &question),
            Asked::Placed(object) => {
                if !self.claims_row(&object, &tracked) {
                    self.placed_told(&object, track_answer(tracked));
                }
            }
            Asked::Move(object) => self.move_told(&object, tracked),
            Asked::Keep(asker) => self.tell(asker, track_answer(tracked)),
            Asked::Claim(claim) => self.claim_told(*claim, track_answer(tracked)),
            Asked::Route(node) => self.route_told(node, &tracked),
            Asked::Bucket(bucket) => self.bucket_told(bucket, tracked),
            Asked::Coordinator(number) => self.coordinator_told(number, tracked),
            Asked::Nobody => self.unheard(question, &tracked),
        }
    }

    /// The answer is for nobody, but a device that could not be marked as lost is marked later.
    fn unheard(&mut self, question: TrackAsk, tracked: &Tracked) {
        if let (TrackAsk::Gone { device, connection }, Tracked::Track(TrackAnswer::Refused(_))) = (question, tracked)
            && self.sessions.of_node(device).is_none()
        {
            self.went(device, connection);
        }
    }

    fn on_registered(&mut self, id: AskId, node: NodeId, lapses: u64) {
        match self.asked.remove(&id) {
            Some((Asked::Own, _)) => self.own_registered(node, lapses),
            Some((Asked::Device(session), question)) => self.device_registered(session, node, lapses, &question),
            Some((
                Asked::By(_)
                | Asked::IsThere(_)
                | Asked::Placed(_)
                | Asked::Move(_)
                | Asked::Keep(_)
                | Asked::Claim(_)
                | Asked::Route(_)
                | Asked::Bucket(_)
                | Asked::Coordinator(_)
                | Asked::Nobody,
                _,
            ))
            | None => {}
        }
    }

    fn own_registered(&mut self, node: NodeId, lapses: u64) {
        if self.lapses != lapses && self.kernel.node() == Some(node) {
            self.kernel.handle(self.now, KernelInput::LookAtRows);
        }
        self.lapses = lapses;
        self.kernel.handle(self.now, KernelInput::Registered(node));
        self.tell_classes();
        self.greet_all();
        for (asked, question) in std::mem::take(&mut self.in_doubt) {
            self.ask(asked, question);
        }
        self.register_waiting();
    }

    fn on_in_doubt(&mut self, id: AskId) {
        match self.asked.get(&id) {
            Some((_, TrackAsk::Begin { .. } | TrackAsk::Move { .. } | TrackAsk::Take { .. })) => {
                self.in_doubt.extend(self.asked.remove(&id));
            }
            Some((
                _,
                TrackAsk::Find(_)
                | TrackAsk::Register { .. }
                | TrackAsk::Remove { .. }
                | TrackAsk::Where(_)
                | TrackAsk::Gone { .. }
                | TrackAsk::List(_)
                | TrackAsk::Recall(_)
                | TrackAsk::Remember { .. },
            )) => self.on_tracked(id, Tracked::Track(TrackAnswer::Refused(NotRun::Unreachable))),
            None => {}
        }
    }

    pub(super) fn tell(&mut self, asker: Asker, answer: TrackAnswer) {
        match asker {
            Asker::Kernel(number) => self.kernel.handle(self.now, KernelInput::Told(number, answer)),
            Asker::Session(session, number) if self.sessions.is_open(session) => {
                self.send(session, ToDevice::Told { number, answer });
            }
            Asker::Session(..) | Asker::Peer(..) => {}
        }
    }

    /// A device says something of its own object: its row is looked at first.
    pub(super) fn claim(&mut self, claim: Claim) {
        let object = claim.object.clone();
        self.ask(Asked::Claim(Box::new(claim)), TrackAsk::Find(object));
    }

    fn claim_told(&mut self, claim: Claim, answer: TrackAnswer) {
        let Claim { session, node, object, epoch, says } = claim;
        let owned = match &answer {
            TrackAnswer::Found(placed) if placed.places.first() == Some(&node) && placed.epoch == epoch => {
                Some(placed.clone())
            }
            TrackAnswer::Found(_)
            | TrackAnswer::Begun(_)
            | TrackAnswer::Unknown
            | TrackAnswer::Lost
            | TrackAnswer::Refused(_) => None,
        };
        match (says, owned) {
            (Claimed::Move { number, begin, to, state }, Some(placed)) => {
                let begin = Begin { declared: placed.declared, ..begin };
                self.begin_move(Asker::Session(session, number), begin, epoch, to, state);
            }
            (Claimed::Keep { number }, Some(_)) => self.keep(Asker::Session(session, number), object, epoch, node),
            (Claimed::Missing, Some(_)) => self.ask(Asked::Nobody, TrackAsk::Remove { object, from: epoch }),
            (Claimed::Move { number, .. } | Claimed::Keep { number }, None) => {
                self.tell(Asker::Session(session, number), answer);
            }
            (Claimed::Missing, None) => {}
        }
    }

    pub(super) fn keep(&mut self, asker: Asker, object: ObjectName, from: ObjectEpoch, at: NodeId) {
        self.ask(Asked::Keep(asker), TrackAsk::Move { object, from, to: at });
    }
}

/// The answer for who has asked: of a move, the row as it is now.
pub(super) fn track_answer(tracked: Tracked) -> TrackAnswer {
    match tracked {
        Tracked::Track(answer) => answer,
        Tracked::Moved(placed) | Tracked::Stands(placed) => TrackAnswer::Found(placed),
        Tracked::Removed => TrackAnswer::Unknown,
        Tracked::At(_)
        | Tracked::Registered(..)
        | Tracked::Lost
        | Tracked::Listed(_)
        | Tracked::Recalled(_)
        | Tracked::Remembered
        | Tracked::Elsewhere
        | Tracked::InDoubt => TrackAnswer::Refused(NotRun::Unreachable),
    }
}

/// Whether this is the row of an object that went from an epoch to one node.
pub(super) fn has_moved(placed: &Placed, from: ObjectEpoch, to: NodeId) -> bool {
    placed.epoch == from.next() && placed.places == [to]
}
