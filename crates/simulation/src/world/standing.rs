//! Processes of the server that stand still, as under SIGSTOP or on a host that swaps: they take nothing, say nothing and let their deadlines
//! pass. What was sent to them waits in the buffers of their host.
//!
//! Invariant: what waits comes in the order in which it would have come. So a process that stands still goes on when it was to, whatever else
//! happens, unless it ends before.

use iolite_gateway::SessionId;
use iolite_replication::node::ReplicaId;

use super::data_centres::CENTRES;
use super::events::{CentreLinkEvent, Event, ServerEvent, SessionEvent};
use super::server::End;
use super::{Process, World};
use crate::faults::Fault;
use crate::history::Moment;

const MILLISECOND: Moment = 1_000_000;

impl World {
    /// One process stands still for a while; the embedded server is one.
    pub(super) fn stand_still(&mut self) {
        let until = self.moment + self.random.between(10, 3_000) * MILLISECOND;
        let mut ends = self.ends();
        if self.centres.is_some() {
            let centre = self.random.below(CENTRES as u64) as usize;
            ends = vec![End::Front(centre), End::Replica(ReplicaId(centre as u64))];
        } else if !self.topology.is_alone() {
            let place = self.random.below(ends.len() as u64) as usize;
            ends = vec![ends[place]];
        }
        ends.retain(|end| self.is_up(*end) && !self.is_still(*end));
        if ends.is_empty() {
            return;
        }
        self.faults.add(Fault::Pause, 1);
        self.still.extend(ends.into_iter().map(|end| (end, until)));
        self.events.add(until, Event::Server(ServerEvent::GoesOn));
    }

    pub(super) fn is_still(&self, end: End) -> bool {
        self.goes_on_at(end).is_some()
    }

    /// When an event comes to a process that stands still now.
    pub(super) fn comes_later(&self, event: &Event) -> Option<Moment> {
        self.goes_on_at(self.taken_by(event)?)
    }

    /// The host of a gateway tells it that the client has taken a message.
    pub(super) fn tell_drained(&mut self, front: usize, session: SessionId) {
        let event = SessionEvent::Drained { front, life: self.front_lives[front], session };
        self.tell_front(End::Front(front), event);
    }

    /// The host of a gateway tells it that a session has ended.
    pub(super) fn tell_closed(&mut self, front: usize, life: u64, session: SessionId) {
        self.tell_front(End::Front(front), SessionEvent::CloseUp { front, life, session });
    }

    fn tell_front(&mut self, front: End, event: SessionEvent) {
        match self.goes_on_at(front) {
            Some(later) => self.events.add(later, Event::Session(event)),
            None => self.on_session_event(event),
        }
    }

    fn goes_on_at(&self, end: End) -> Option<Moment> {
        self.still.get(&end).copied().filter(|until| *until > self.moment)
    }

    fn is_up(&self, end: End) -> bool {
        match end {
            End::Front(front) => matches!(self.fronts[front], Process::Up(_)),
            End::Replica(id) => self.stores.get(&id).is_some_and(|store| matches!(store.process, Process::Up(_))),
        }
    }

    /// Which process of the server an event comes to.
    fn taken_by(&self, event: &Event) -> Option<End> {
        match event {
            Event::Server(event) => match event {
                ServerEvent::ToReplica { to, .. } | ServerEvent::Between { to, .. } => Some(End::Replica(*to)),
                ServerEvent::SyncEnds { replica, .. } => Some(End::Replica(*replica)),
                ServerEvent::ToFront { front, .. } | ServerEvent::Leaves { front, .. } => Some(End::Front(*front)),
                ServerEvent::Checkpoint
                | ServerEvent::StartReplica(_)
                | ServerEvent::StartFront(_)
                | ServerEvent::DiskHasRoom(_)
                | ServerEvent::GoesOn => None,
            },
            Event::Session(event) => match event {
                SessionEvent::LinkUp(link) | SessionEvent::FrameUp { link, .. } => {
                    self.links.get(*link).map(|link| End::Front(link.front))
                }
                SessionEvent::CloseUp { front, .. } | SessionEvent::Drained { front, .. } => Some(End::Front(*front)),
                SessionEvent::LinkFails { .. }
                | SessionEvent::FrameDown { .. }
                | SessionEvent::CloseDown(_)
                | SessionEvent::ResetArrives(_) => None,
            },
            Event::Centre(event) => match event {
                CentreLinkEvent::Dial { from, .. } => Some(End::Front(*from)),
                CentreLinkEvent::Opens { link, end }
                | CentreLinkEvent::Frame { link, end, .. }
                | CentreLinkEvent::Closes { link, end } => {
                    self.centres.as_ref()?.links.centre_at(*link, *end).map(End::Front)
                }
            },
            Event::Work(_)
            | Event::Tab(..)
            | Event::Stored(_)
            | Event::StoreAgain(..)
            | Event::Fault(_)
            | Event::CentreFault(_)
            | Event::Deploy
            | Event::Hostile => None,
        }
    }
}
