//! What each event does, and what the processes' outputs become.

use iolite_client::{FollowerInput, Input};
use iolite_machine::Machine;
use iolite_replication::messages::{FromReplica, ToReplica};

use super::client_node::Leaving as FromClientNode;
use super::events::Event;
use super::front_node::Leaving as FromFrontNode;
use super::links::LinkId;
use super::{Process, World};
use crate::app::Call;
use crate::faults::Fault;
use crate::history::{ClientIndex, Moment};

const MILLISECOND: Moment = 1_000_000;

impl World {
    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Work(client) => self.work(client),
            Event::ToReplica(message) => self.replica_takes(*message),
            Event::ToFront { front, life, message } => self.front_takes(front, life, *message),
            Event::LinkUp(link) => self.link_up(link),
            Event::LinkFails { client, life } => self.tell_client(client, life, Input::LinkLost),
            Event::FrameUp { link, frame } => self.frame_up(link, &frame),
            Event::FrameDown { link, frame } => self.frame_down(link, frame),
            Event::CloseDown(link) => self.break_link(link, true, false),
            Event::CloseUp { front, life, session } => {
                let now = self.now_of_front(front);
                if let (Process::Up(node), true) = (&mut self.fronts[front], self.front_lives[front] == life) {
                    node.closed(now, session);
                }
            }
            Event::SyncEnds { boot } => self.sync_ends(boot),
            Event::Stored { client } => self.stored(client),
            Event::TabStored { client, tab, persist } => {
                self.tell_tab(client, tab, FollowerInput::Persisted(persist));
            }
            Event::ToTab { client, tab, leader_life, message } => self.tab_takes(client, tab, leader_life, message),
            Event::FromTab { client, tab, message } => self.leader_takes(client, tab, message),
            Event::LeaderChanged { client, tab } => self.tell_tab(client, tab, FollowerInput::LeaderChanged),
            Event::TabGone { client, tab } => {
                let now = self.now_of_client(client);
                self.clients[client.0].client.handle(now, Input::TabGone(tab));
            }
            Event::OpenTab(client) => self.open_tab(client),
            Event::Thaw => {}
            Event::Checkpoint => {
                if let Process::Up(store) = &mut self.store {
                    store.checkpoint_step();
                }
                let wait = self.random.between(1, 30) * MILLISECOND;
                self.events.add(self.moment + wait, Event::Checkpoint);
            }
            Event::StartStore => self.start_store(),
            Event::StartFront(front) => self.start_front(front),
            Event::Disconnect
            | Event::CrashStore
            | Event::CrashFront
            | Event::CrashClient
            | Event::LoseLeader
            | Event::CloseTab
            | Event::FreezeTab
            | Event::JumpClock => self.make_fault(event),
        }
    }

    /// The app calls a mutation, mostly; sometimes it goes offline and back, or watches something else.
    fn work(&mut self, client: ClientIndex) {
        let now = self.now_of_client(client);
        let left = self.calls_left[client.0];
        let node = &mut self.clients[client.0];
        match self.random.below(100) {
            0 => node.client.go_offline(),
            1..=8 => node.client.go_online(now.instant),
            9 => node.stop_one_watcher(&mut self.random),
            10 => super::add_watchers(&mut |watcher, view| node.watch(watcher, view), &mut self.random),
            _ if left > 0 => {
                self.next_element += 1;
                let call = Call::random(&mut self.random, self.next_element);
                self.call(client, call);
                self.calls_left[client.0] -= 1;
            }
            _ => {}
        }
        if self.calls_left[client.0] > 0 {
            let wait = self.random.between(1, 120) * MILLISECOND;
            self.events.add(self.moment + wait, Event::Work(client));
        }
    }

    /// A call in one of the client's tabs.
    fn call(&mut self, client: ClientIndex, call: Call) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        let place = self.random.below(node.tabs.len() as u64 + 1) as usize;
        match node.tabs.values_mut().nth(place) {
            Some(tab) if tab.frozen_until <= self.moment => {
                tab.call(now, self.moment, call, &mut self.random, &mut self.history);
            }
            Some(_) | None => node.call(now, self.moment, call, &mut self.history),
        }
    }

    fn replica_takes(&mut self, message: ToReplica) {
        let now = self.now_of_store();
        if let Process::Up(store) = &mut self.store {
            let answers = store.handle(now, message, &mut self.history);
            self.send_answers(answers);
        }
    }

    fn front_takes(&mut self, front: usize, life: u64, message: FromReplica) {
        let now = self.now_of_front(front);
        if let (Process::Up(node), true) = (&mut self.fronts[front], self.front_lives[front] == life) {
            node.answer(now, message);
        }
    }

    fn sync_ends(&mut self, boot: u64) {
        if boot != self.boots {
            return;
        }
        if let Process::Up(store) = &mut self.store {
            let answers = store.end_sync(&mut self.history);
            self.send_answers(answers);
        }
    }

    fn link_up(&mut self, id: LinkId) {
        let Some(link) = self.links.get(id).cloned() else { return };
        let now = self.now_of_front(link.front);
        match &mut self.fronts[link.front] {
            Process::Up(front) if self.front_lives[link.front] == link.front_life => front.open(now, id.session()),
            Process::Up(_) | Process::Down(()) => return self.break_link(id, true, false),
        }
        self.tell_client(link.client, link.client_life, Input::Linked);
    }

    fn frame_up(&mut self, id: LinkId, frame: &[u8]) {
        let Some(link) = self.links.get(id) else { return };
        let now = self.now_of_front(link.front);
        if let Process::Up(front) = &mut self.fronts[link.front] {
            front.frame(now, id.session(), frame);
        }
    }

    fn frame_down(&mut self, id: LinkId, frame: Vec<u8>) {
        let Some(link) = self.links.get(id).cloned() else { return };
        self.tell_client(link.client, link.client_life, Input::Frame(frame));
        let now = self.now_of_front(link.front);
        if let Process::Up(front) = &mut self.fronts[link.front] {
            front.drained(now, id.session());
        }
    }

    fn tell_client(&mut self, client: ClientIndex, life: u64, input: Input) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        if node.life == life {
            node.client.handle(now, input);
        }
    }

    /// Carries outputs until every process is silent.
    pub(super) fn settle(&mut self) {
        for front in 0..self.fronts.len() {
            let now = self.now_of_front(front);
            if let Process::Up(node) = &mut self.fronts[front] {
                let leaving = node.settle(now, &mut self.random);
                leaving.into_iter().for_each(|output| self.take_from_front(output));
            }
        }
        for client in 0..self.clients.len() {
            let leaving = self.clients[client].settle(self.moment, &mut self.history);
            leaving.into_iter().for_each(|output| self.take_from_client(ClientIndex(client), output));
            self.settle_tabs(ClientIndex(client));
        }
        if let Process::Up(store) = &mut self.store
            && store.begin_sync()
        {
            let takes = self.random.between(50_000, self.roughness.sync_delay_ms * MILLISECOND);
            self.events.add(self.moment + takes, Event::SyncEnds { boot: self.boots });
        }
    }

    fn take_from_front(&mut self, output: FromFrontNode) {
        match output {
            FromFrontNode::ToReplica(message) => {
                for at in self.arrivals() {
                    self.events.add(at, Event::ToReplica(Box::new(message.clone())));
                }
            }
            FromFrontNode::ToClient(session, frame) => {
                let at = self.session_arrival();
                if let Some(at) = self.links.down_at(LinkId(session.0), at) {
                    self.events.add(at, Event::FrameDown { link: LinkId(session.0), frame });
                }
            }
            FromFrontNode::Close(session) => {
                let at = self.session_arrival();
                if let Some(at) = self.links.down_at(LinkId(session.0), at) {
                    self.events.add(at, Event::CloseDown(LinkId(session.0)));
                }
            }
        }
    }

    fn take_from_client(&mut self, client: ClientIndex, output: FromClientNode) {
        match output {
            FromClientNode::Connect => self.connect(client),
            FromClientNode::Disconnect => {
                if let Some(id) = self.links.of_client(client)
                    && let Some(link) = self.links.remove(id)
                {
                    let at = self.session_arrival();
                    let (front, life, session) = (link.front, link.front_life, id.session());
                    self.events.add(at, Event::CloseUp { front, life, session });
                }
            }
            FromClientNode::Frame(frame) => {
                let at = self.session_arrival();
                if let Some(link) = self.links.of_client(client)
                    && let Some(at) = self.links.up_at(link, at)
                {
                    self.events.add(at, Event::FrameUp { link, frame });
                }
            }
            FromClientNode::Store => self.plan_storing(client),
            FromClientNode::ToTab(tab, message) => self.send_to_tab(client, tab, message),
        }
    }

    fn connect(&mut self, client: ClientIndex) {
        let life = self.clients[client.0].life;
        let front = self.random.below(self.fronts.len() as u64) as usize;
        let at = self.session_arrival();
        if let Process::Down(()) = self.fronts[front] {
            return self.events.add(at, Event::LinkFails { client, life });
        }
        let link = self.links.add(client, life, front, self.front_lives[front]);
        if let Some(at) = self.links.down_at(link, at) {
            self.events.add(at, Event::LinkUp(link));
        }
    }

    fn send_answers(&mut self, answers: Vec<FromReplica>) {
        for message in answers {
            let front = usize::from(message.to.number());
            let life = self.front_lives[front];
            for at in self.arrivals() {
                let message = Box::new(message.clone());
                self.events.add(at, Event::ToFront { front, life, message });
            }
        }
    }

    fn session_arrival(&mut self) -> Moment {
        self.moment + self.random.between(10_000, self.roughness.session_delay_ms * MILLISECOND)
    }

    /// When a message within the server arrives: once, or never, or twice, or late.
    fn arrivals(&mut self) -> Vec<Moment> {
        let calm = self.healing;
        if !calm && self.random.chance(self.roughness.drop) {
            self.faults.add(Fault::Drop, 1);
            return Vec::new();
        }
        let mut arrivals = vec![self.server_arrival(calm)];
        if !calm && self.random.chance(self.roughness.duplicate) {
            self.faults.add(Fault::Duplicate, 1);
            arrivals.push(self.server_arrival(calm));
        }
        arrivals
    }

    fn server_arrival(&mut self, calm: bool) -> Moment {
        let at = self.moment + self.random.between(10_000, self.roughness.server_delay_ms * MILLISECOND);
        if !calm && self.random.chance(self.roughness.reorder) {
            self.faults.add(Fault::Reorder, 1);
            return at + self.random.between(1, 20 * self.roughness.server_delay_ms) * MILLISECOND;
        }
        at
    }
}
