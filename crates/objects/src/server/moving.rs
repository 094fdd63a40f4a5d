//! Objects that move: held at their new node, committed, then served there.
//!
//! Invariant: the new node is told to serve after the commit, and to drop what it holds if another commit came first. The old one hears the row. Where the new
//! node may hold the object and cannot be told, the old one keeps it by a commit, after which the new node drops it.

use std::collections::BTreeMap;

use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun, TrackAnswer};

use super::asking::{Asked, has_moved, track_answer};
use super::holds::{HoldFor, Spot, ToHold};
use super::routes::{Parcel, Route};
use super::{Asker, Server, TrackAsk, Tracked};

#[derive(Debug, Default)]
pub(super) struct Moves {
    open: BTreeMap<ObjectName, Move>,
}

#[derive(Debug)]
struct Move {
    asker: Asker,
    from: ObjectEpoch,
    to: NodeId,
    /// The coordinator says so, as the owner is over.
    is_taken: bool,
}

impl Server {
    pub(super) fn begin_move(&mut self, asker: Asker, begin: Begin, from: ObjectEpoch, to: NodeId, state: Vec<u8>) {
        self.open_move(Move { asker, from, to, is_taken: false }, begin, state);
    }

    /// The coordinator has the object go on with the state of a copy.
    pub(super) fn begin_take(&mut self, asker: Asker, begin: Begin, from: ObjectEpoch, to: NodeId, state: Vec<u8>) {
        self.open_move(Move { asker, from, to, is_taken: true }, begin, state);
    }

    fn open_move(&mut self, going: Move, begin: Begin, state: Vec<u8>) {
        let object = begin.object.clone();
        if self.moves.open.contains_key(&object) {
            return self.tell(going.asker, TrackAnswer::Refused(NotRun::Busy));
        }
        let (to, to_hold) = (going.to, ToHold { begin, epoch: going.from.next(), state });
        self.moves.open.insert(object.clone(), going);
        self.send_parcel(to, Parcel::Hold(object, Box::new(to_hold)));
    }

    /// The way to the new node is known, or there is none.
    pub(super) fn move_routed(&mut self, object: ObjectName, to: NodeId, route: Route, to_hold: ToHold) {
        let spot = match route {
            Route::Kernel => Spot::Kernel,
            Route::Session(session) => Spot::Session(session),
            Route::Peer(link) => Spot::Peer(link, Some(to)),
            Route::Nowhere => return self.end_move(&object, TrackAnswer::Refused(NotRun::Unreachable)),
        };
        self.hold_at(spot, HoldFor::Move(object), to_hold);
    }

    pub(super) fn move_held(&mut self, object: &ObjectName, held: Result<NodeId, NotRun>) {
        let Some(going) = self.moves.open.get(object) else { return };
        let (asker, from, to, is_taken) = (going.asker, going.from, going.to, going.is_taken);
        match held {
            Ok(_node) if is_taken => {
                self.ask(Asked::Move(object.clone()), TrackAsk::Take { object: object.clone(), from, at: to });
            }
            Err(why) if is_taken => self.end_move(object, TrackAnswer::Refused(why)),
            Ok(_node) => self.ask(Asked::Move(object.clone()), TrackAsk::Move { object: object.clone(), from, to }),
            Err(why) => match self.node_of(asker).filter(|_| why == NotRun::Unreachable) {
                Some(owner) => {
                    self.moves.open.remove(object);
                    self.keep(asker, object.clone(), from, owner);
                }
                None => self.end_move(object, TrackAnswer::Refused(why)),
            },
        }
    }

    fn node_of(&self, asker: Asker) -> Option<NodeId> {
        match asker {
            Asker::Kernel(_) => self.kernel.node(),
            Asker::Session(session, _) => self.sessions.node(session),
            Asker::Peer(..) => None,
        }
    }

    pub(super) fn move_told(&mut self, object: &ObjectName, tracked: Tracked) {
        let Some(going) = self.moves.open.get(object) else { return };
        let (from, to) = (going.from, going.to);
        let answer = track_answer(tracked);
        // It may stand where it was to go: the first answer was lost.
        let is_there = matches!(&answer, TrackAnswer::Found(placed) if has_moved(placed, from, to));
        self.moved += u64::from(is_there);
        self.decided(to, object.clone(), from.next(), is_there);
        self.end_move(object, answer);
    }

    /// Another store has taken the place of the one in which these were to be decided, and may have the same epochs.
    pub(super) fn end_moves(&mut self) {
        for going in std::mem::take(&mut self.moves.open).into_values() {
            self.tell(going.asker, TrackAnswer::Refused(NotRun::Conflict));
        }
    }

    fn end_move(&mut self, object: &ObjectName, answer: TrackAnswer) {
        if let Some(going) = self.moves.open.remove(object) {
            self.tell(going.asker, answer);
        }
    }
}
