//! Links between clients and gateways, and the frames on them.

use iolite_client::{Gateway, Input};

use super::events::{Event, SessionEvent};
use super::front_node::Leaving;
use super::links::{LinkId, Way};
use super::{Process, World};
use crate::history::{ClientIndex, Moment};
use crate::occasions::Occasion;

const MILLISECOND: Moment = 1_000_000;
/// A host closes a connection after this, whether what was sent is taken or not.
const CLOSE_WITHIN: Moment = 1_000 * MILLISECOND;

impl World {
    pub(super) fn on_session_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::LinkUp(link) => self.link_up(link),
            SessionEvent::LinkFails { client, life } => self.tell_client(client, life, Input::LinkLost),
            SessionEvent::FrameUp { link, frame } => self.frame_up(link, &frame),
            SessionEvent::FrameDown { link, frame } => self.frame_down(link, frame),
            SessionEvent::CloseDown(link) => self.break_link(link, true, false),
            SessionEvent::CloseUp { front, life, session } => {
                let now = self.now_of_front(front);
                if let (Process::Up(node), true) = (&mut self.fronts[front], self.front_lives[front] == life) {
                    node.closed(now, session, &mut self.history);
                }
            }
            SessionEvent::Drained { front, life, session } => {
                let now = self.now_of_front(front);
                if let (Process::Up(node), true) = (&mut self.fronts[front], self.front_lives[front] == life) {
                    node.drained(now, session);
                }
            }
            SessionEvent::ResetArrives(link) => {
                self.links.reset(link);
                self.break_link(link, true, true);
            }
        }
    }

    pub(super) fn connect(&mut self, client: ClientIndex, Gateway(front): Gateway) {
        let life = self.clients[client.0].life;
        let front = self.front_of(client, usize::from(front));
        let at = self.session_arrival();
        if let Process::Down(()) = self.fronts[front] {
            return self.events.add(at, Event::Session(SessionEvent::LinkFails { client, life }));
        }
        let link = self.links.add(client, life, front, self.front_lives[front]);
        if let Some(at) = self.links.down_at(link, at) {
            self.events.add(at, Event::Session(SessionEvent::LinkUp(link)));
        }
    }

    /// The client drops its link. Its gateway hears of it if the way there is whole.
    pub(super) fn disconnected(&mut self, client: ClientIndex) {
        let link = self.links.of_client(client).and_then(|id| Some((id, self.links.remove(id)?)));
        let half_open = link.as_ref().is_none_or(|(_, link)| link.is_half_open());
        if half_open && !self.clients[client.0].is_paused {
            self.occasions.add(Occasion::HalfOpenLeft, 1);
        }
        if let Some((id, link)) = link
            && link.up == Way::Whole
        {
            let at = self.session_arrival();
            let (front, life, session) = (link.front, link.front_life, id.session());
            self.events.add(at, Event::Session(SessionEvent::CloseUp { front, life, session }));
        }
    }

    pub(super) fn send_up(&mut self, client: ClientIndex, frame: Vec<u8>) {
        let at = self.session_arrival();
        if let Some(link) = self.links.of_client(client)
            && let Some(at) = self.links.up_at(link, at)
        {
            self.events.add(at, Event::Session(SessionEvent::FrameUp { link, frame }));
        }
    }

    pub(super) fn take_from_front(&mut self, front: usize, output: Leaving) {
        match output {
            Leaving::ToReplica(to, message) => self.send_to_replica(front, to, &message),
            Leaving::ToClient(session, frame) => {
                let at = self.session_arrival();
                let link = LinkId(session.0);
                if let Some(at) = self.links.down_at(link, at) {
                    self.events.add(at, Event::Session(SessionEvent::FrameDown { link, frame }));
                }
            }
            Leaving::ToCentre(output) => self.take_from_centre(front, output),
            Leaving::Close(session) => {
                let at = self.session_arrival();
                let link = LinkId(session.0);
                if let Some(at) = self.links.down_at(link, at) {
                    let at = at.min(self.moment + CLOSE_WITHIN);
                    self.events.add(at, Event::Session(SessionEvent::CloseDown(link)));
                }
            }
        }
    }

    /// Ends a link, and tells the ends that live on, if something still gets there.
    pub(super) fn break_link(&mut self, id: LinkId, tell_client: bool, tell_front: bool) {
        let Some(link) = self.links.remove(id) else { return };
        self.clients[link.client.0].note_lost(&mut self.occasions);
        if tell_client && link.down == Way::Whole {
            self.tell_client(link.client, link.client_life, Input::LinkLost);
        }
        if tell_front && link.up == Way::Whole {
            self.tell_closed(link.front, link.front_life, id.session());
        }
    }

    fn link_up(&mut self, id: LinkId) {
        let Some(link) = self.links.get(id).cloned() else { return };
        let now = self.now_of_front(link.front);
        match &mut self.fronts[link.front] {
            Process::Up(front) if self.front_lives[link.front] == link.front_life => front.open(now, id.session()),
            Process::Up(_) | Process::Down(()) => return self.break_link(id, true, false),
        }
        self.history.rights.devices.insert(id.session(), link.client);
        let last = self.clients[link.client.0].last_front.replace(link.front);
        self.occasions.add(Occasion::Moved, u64::from(last.is_some_and(|last| last != link.front)));
        self.tell_client(link.client, link.client_life, Input::Linked);
    }

    fn frame_up(&mut self, id: LinkId, frame: &[u8]) {
        let Some(link) = self.links.get(id).filter(|link| link.up == Way::Whole) else { return };
        let now = self.now_of_front(link.front);
        if let Process::Up(front) = &mut self.fronts[link.front] {
            front.frame(now, id.session(), frame, &mut self.occasions);
        }
    }

    fn frame_down(&mut self, id: LinkId, frame: Vec<u8>) {
        let Some(link) = self.links.get(id).cloned() else { return };
        match link.down {
            Way::Whole => self.tell_client(link.client, link.client_life, Input::Frame(frame)),
            Way::Swallowed => {}
            Way::Stuck => return,
        }
        self.tell_drained(link.front, id.session());
    }

    fn tell_client(&mut self, client: ClientIndex, life: u64, input: Input) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        if node.life == life {
            node.handle(now, self.moment, input, &mut self.history);
        }
    }

    fn session_arrival(&mut self) -> Moment {
        self.moment + self.random.between(10_000, self.roughness.session_delay_ms * MILLISECOND)
    }
}
