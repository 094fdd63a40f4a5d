//! What happens behind the gateways: messages between coordinators and replica, the disk, restarts.

use iolite_replication::node::{FromReplica, ToReplica};

use super::events::{Event, ServerEvent};
use super::{Process, World};
use crate::faults::Fault;
use crate::history::Moment;

const MILLISECOND: Moment = 1_000_000;

impl World {
    pub(super) fn on_server_event(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::ToReplica(message) => self.replica_takes(*message),
            ServerEvent::ToFront { front, life, message } => self.front_takes(front, life, *message),
            ServerEvent::SyncEnds { boot } => self.sync_ends(boot),
            ServerEvent::Checkpoint => self.checkpoint(),
            ServerEvent::StartStore => self.start_store(),
            ServerEvent::StartFront(front) => self.start_front(front),
        }
    }

    pub(super) fn checkpoint(&mut self) {
        if let Process::Up(store) = &mut self.store {
            store.checkpoint_step();
        }
        let wait = self.random.between(1, 30) * MILLISECOND;
        self.events.add(self.moment + wait, Event::Server(ServerEvent::Checkpoint));
    }

    /// The store's disk begins to sync, if it is idle and has something to do.
    pub(super) fn begin_sync(&mut self) {
        if let Process::Up(store) = &mut self.store
            && store.begin_sync()
        {
            let takes = self.random.between(50_000, self.roughness.sync_delay_ms * MILLISECOND);
            self.events.add(self.moment + takes, Event::Server(ServerEvent::SyncEnds { boot: self.boots }));
        }
    }

    pub(super) fn send_to_replica(&mut self, message: &ToReplica) {
        for at in self.arrivals() {
            self.events.add(at, Event::Server(ServerEvent::ToReplica(Box::new(message.clone()))));
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

    fn send_answers(&mut self, answers: Vec<FromReplica>) {
        for message in answers {
            let front = usize::from(message.to.number());
            let life = self.front_lives[front];
            for at in self.arrivals() {
                let message = Box::new(message.clone());
                self.events.add(at, Event::Server(ServerEvent::ToFront { front, life, message }));
            }
        }
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
