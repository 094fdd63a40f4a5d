//! Objects that move: held at their new node, committed, then served there.
//!
//! Invariant: the new node is told to serve after the commit, and to drop what it holds if another commit came first. The old one hears the row.

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
}

impl Server {
    pub(super) fn begin_move(&mut self, asker: Asker, begin: Begin, from: ObjectEpoch, to: NodeId, state: Vec<u8>) {
        let object = begin.object.clone();
        if self.moves.open.contains_key(&object) {
            return self.tell(asker, TrackAnswer::Refused(NotRun::Busy));
        }
        self.moves.open.insert(object.clone(), Move { asker, from, to });
        let to_hold = ToHold { begin, epoch: from.next(), state };
        self.send_parcel(to, Parcel::Hold(object, Box::new(to_hold)));
    }

    /// The way to the new node is known, or there is none.
    pub(super) fn move_routed(&mut self, object: ObjectName, to: NodeId, route: Route, to_hold: ToHold) {
        let spot = match route {
            Route::Kernel => Spot::Kernel,
            Route::Session(session) => Spot::Session(session),
            Route::Peer(link) => Spot::Peer(link, Some(to)),
            Route::Nowhere => return self.move_held(&object, Err(NotRun::Unreachable)),
        };
        self.hold_at(spot, HoldFor::Move(object), to_hold);
    }

    pub(super) fn move_held(&mut self, object: &ObjectName, held: Result<NodeId, NotRun>) {
        let Some(going) = self.moves.open.get(object) else { return };
        let (from, to) = (going.from, going.to);
        match held {
            Ok(_node) => self.ask(Asked::Move(object.clone()), TrackAsk::Move { object: object.clone(), from, to }),
            Err(why) => self.end_move(object, TrackAnswer::Refused(why)),
        }
    }

    pub(super) fn move_told(&mut self, object: &ObjectName, tracked: Tracked) {
        let Some(going) = self.moves.open.get(object) else { return };
        let (from, to) = (going.from, going.to);
        let has_moved = match &tracked {
            // It stands where it was to go: the first answer was lost.
            Tracked::Moved(placed) | Tracked::Stands(placed) => has_moved(placed, from, to),
            Tracked::Track(_)
            | Tracked::Removed
            | Tracked::At(_)
            | Tracked::Registered(..)
            | Tracked::Lost
            | Tracked::Elsewhere
            | Tracked::InDoubt => false,
        };
        if has_moved {
            self.moved += 1;
            self.serve_at(to, object.clone(), from.next());
        } else {
            self.drop_at(to, object.clone(), from.next());
        }
        self.end_move(object, track_answer(tracked));
    }

    fn end_move(&mut self, object: &ObjectName, answer: TrackAnswer) {
        if let Some(going) = self.moves.open.remove(object) {
            self.tell(going.asker, answer);
        }
    }
}
