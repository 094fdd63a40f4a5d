//! The faults, as they are made.

use iolite_engine::MemoryDisk;
use iolite_replication::node::ReplicaId;

use super::events::{Event, PlannedFault, ServerEvent, SessionEvent};
use super::links::{LinkId, Slow, Way};
use super::server::{End, Store};
use super::store_node::StoreNode;
use super::{Process, World};
use crate::faults::Fault;
use crate::history::{ClientIndex, Moment};
use crate::occasions::Occasion;

const MILLISECOND: Moment = 1_000_000;

impl World {
    pub(super) fn plan_faults(&mut self) {
        for fault in PlannedFault::ALL {
            self.plan(fault);
        }
    }

    /// Plans the next fault of a kind, if the run has that kind.
    fn plan(&mut self, fault: PlannedFault) {
        let every_ms = match fault {
            PlannedFault::Disconnect => self.roughness.disconnect_every_ms,
            PlannedFault::HalfOpen => self.roughness.half_open_every_ms,
            PlannedFault::SlowSocket => self.roughness.slow_socket_every_ms,
            PlannedFault::CrashStore => self.roughness.server_restart_every_ms,
            PlannedFault::CrashFront => self.roughness.gateway_restart_every_ms,
            PlannedFault::CrashClient => self.roughness.client_restart_every_ms,
            PlannedFault::LoseLeader => self.roughness.leader_lost_every_ms,
            PlannedFault::CloseTab => self.roughness.tab_closed_every_ms,
            PlannedFault::FreezeTab => self.roughness.tab_frozen_every_ms,
            PlannedFault::JumpClock => self.roughness.clock_jump_every_ms,
            PlannedFault::Cut => self.roughness.cut_every_ms,
            PlannedFault::ChangeView => self.roughness.view_change_every_ms,
            PlannedFault::Partition => self.roughness.partition_every_ms,
            PlannedFault::TrapCoordinator => self.roughness.trap_every_ms,
            PlannedFault::StandStill => self.roughness.stand_still_every_ms,
            PlannedFault::FillDisk => self.roughness.fill_disk_every_ms,
            PlannedFault::Operate => self.roughness.operate_every_ms,
        };
        if every_ms > 0 && !self.healing {
            let wait = self.random.between(1, 2 * every_ms) * MILLISECOND;
            self.events.add(self.moment + wait, Event::Fault(fault));
        }
    }

    pub(super) fn make_fault(&mut self, fault: PlannedFault) {
        if self.healing {
            return;
        }
        match fault {
            PlannedFault::Disconnect => self.disconnect(),
            PlannedFault::HalfOpen => self.open_half(),
            PlannedFault::SlowSocket => self.slow_socket(),
            PlannedFault::CrashStore => self.crash_store(),
            PlannedFault::CrashFront => self.crash_front(),
            PlannedFault::CrashClient => self.crash_client(),
            PlannedFault::LoseLeader => self.lose_leader(),
            PlannedFault::CloseTab => self.close_tab(),
            PlannedFault::FreezeTab => self.freeze_tab(),
            PlannedFault::JumpClock => self.jump_clock(),
            PlannedFault::Cut => self.cut(),
            PlannedFault::ChangeView => self.change_view(),
            PlannedFault::Partition => self.partition(),
            PlannedFault::TrapCoordinator => self.set_trap(),
            PlannedFault::StandStill => self.stand_still(),
            PlannedFault::FillDisk => self.fill_disk(),
            PlannedFault::Operate => self.operate(),
        }
        self.plan(fault);
    }

    fn some_link(&mut self) -> Option<LinkId> {
        let links = self.links.ids();
        let place = self.random.below(links.len().max(1) as u64) as usize;
        links.get(place).copied()
    }

    fn disconnect(&mut self) {
        let Some(id) = self.some_link() else { return };
        self.faults.add(Fault::Disconnect, 1);
        self.break_link(id, true, true);
    }

    /// Frames vanish, upward, downward or both ways. Sometimes a reset tells both ends after a while.
    fn open_half(&mut self) {
        let Some(id) = self.some_link() else { return };
        self.faults.add(Fault::HalfOpen, 1);
        let lost = if self.random.chance(500) { Way::Swallowed } else { Way::Stuck };
        let (up, down) = match self.random.below(3) {
            0 => (Way::Swallowed, Way::Whole),
            1 => (Way::Whole, lost),
            _ => (Way::Swallowed, lost),
        };
        self.links.open_half(id, up, down);
        if self.random.chance(350) {
            let at = self.moment + self.random.between(50, 5_000) * MILLISECOND;
            self.events.add(at, Event::Session(SessionEvent::ResetArrives(id)));
        }
    }

    fn slow_socket(&mut self) {
        let Some(id) = self.some_link() else { return };
        self.faults.add(Fault::SlowSocket, 1);
        let until = self.moment + self.random.between(1_000, 8_000) * MILLISECOND;
        let pause = self.random.between(500, 3_000) * MILLISECOND;
        self.links.slow_down(id, Slow { until, pause });
    }

    /// The whole server, the replicas alone, or one of them, with the power or without.
    fn crash_store(&mut self) {
        self.faults.add(Fault::ServerRestart, 1);
        let power_cut = self.random.chance(700);
        let history_lost = self.topology.is_alone() && self.random.chance(self.roughness.history_lost);
        let with_fronts = self.random.chance(600) || history_lost;
        let ids: Vec<ReplicaId> = self.stores.keys().copied().collect();
        let one = ids[self.random.below(ids.len() as u64) as usize];
        let is_blackout = self.random.chance(250);
        self.faults.add(Fault::Blackout, u64::from(is_blackout && ids.len() > 1));
        let down = self.random.between(1, 400) * MILLISECOND;
        for id in ids.into_iter().filter(|id| is_blackout || *id == one) {
            self.crash_replica(id, power_cut, history_lost, down);
        }
        if with_fronts {
            let fronts = if is_blackout { (0..self.fronts.len()).collect() } else { self.fronts_with(one) };
            fronts.into_iter().for_each(|front| self.stop_front(front, down));
        }
    }

    pub(super) fn crash_replica(&mut self, id: ReplicaId, power_cut: bool, history_lost: bool, down: Moment) {
        let Some(node) = self.stores.get_mut(&id).filter(|node| matches!(node.process, Process::Up(_))) else { return };
        let Process::Up(store) = std::mem::replace(&mut node.process, Process::Down(MemoryDisk::new())) else { return };
        self.still.remove(&End::Replica(id));
        let mut disk = store.crash(power_cut, &mut self.random);
        if history_lost {
            self.faults.add(Fault::HistoryLost, 1);
            self.count_faults_of(&disk);
            disk = MemoryDisk::new();
        }
        if let Some(node) = self.stores.get_mut(&id) {
            node.process = Process::Down(disk);
        }
        self.events.add(self.moment + down, Event::Server(ServerEvent::StartReplica(id)));
    }

    pub(super) fn start_replica(&mut self, id: ReplicaId) {
        if !self.survives_rot(id) {
            return;
        }
        let Some(node) = self.stores.get_mut(&id) else { return };
        let Process::Down(disk) = &mut node.process else { return };
        let disk = std::mem::take(disk);
        node.boot += 1;
        let histories = self.history.stores.len();
        match StoreNode::start(&node.place, disk, node.boot, &mut self.history) {
            Ok(store) => node.process = Process::Up(Box::new(store)),
            Err(refusal) => return self.refused(id, *refusal),
        }
        if self.history.stores.len() > histories {
            let now = self.now_of_client(ClientIndex(0));
            self.open_accounts(now);
        }
    }

    /// Between two of the server's processes nothing gets through any more in one direction.
    fn cut(&mut self) {
        self.faults.add(Fault::Cut, 1);
        let ends = self.ends();
        let mut some = || ends[self.random.below(ends.len() as u64) as usize];
        let link = (some(), some());
        let until = self.moment + self.random.between(10, 3_000) * MILLISECOND;
        self.cuts.insert(link, until);
    }

    /// The server's processes are in two halves, and nothing gets from one to the other any more, or neither way.
    fn partition(&mut self) {
        let ends = self.ends();
        let half: Vec<End> = ends.iter().copied().filter(|_| self.random.chance(500)).collect();
        if half.is_empty() || half.len() == ends.len() {
            return;
        }
        self.faults.add(Fault::Partition, 1);
        let until = self.moment + self.random.between(10, 3_000) * MILLISECOND;
        let is_one_way = self.random.chance(500);
        for from in &half {
            for to in ends.iter().filter(|to| !half.contains(to)) {
                self.cuts.insert((*from, *to), until);
                if !is_one_way {
                    self.cuts.insert((*to, *from), until);
                }
            }
        }
    }

    fn change_view(&mut self) {
        let ids: Vec<ReplicaId> = self.stores.keys().copied().collect();
        let id = ids[self.random.below(ids.len() as u64) as usize];
        let now = self.now_of_replica(id);
        if self.is_still(End::Replica(id)) {
            return;
        }
        let Some(Store { process: Process::Up(store), .. }) = self.stores.get_mut(&id) else { return };
        if store.replica.group().members().len() == 1 {
            return;
        }
        let said = store.change_view(now, &mut self.history);
        self.faults.add(Fault::ViewChange, 1);
        self.send_said(said);
    }

    fn crash_front(&mut self) {
        self.faults.add(Fault::GatewayRestart, 1);
        let front = self.random.below(self.fronts.len() as u64) as usize;
        let down = self.random.between(1, 300) * MILLISECOND;
        self.stop_front(front, down);
    }

    pub(super) fn stop_front(&mut self, front: usize, down: Moment) {
        if let Process::Down(()) = self.fronts[front] {
            return;
        }
        self.fronts[front] = Process::Down(());
        self.still.remove(&End::Front(front));
        self.front_lives[front] += 1;
        self.history.delivery.front_ended(self.moment, front);
        for link in self.links.of_front(front) {
            let client = self.links.get(link).map(|link| link.client.0);
            let awaits = client.is_some_and(|client| self.clients[client].awaits_delivery());
            self.occasions.add(Occasion::GatewayLostUndelivered, u64::from(awaits));
            self.break_link(link, true, false);
        }
        self.end_centre_links(front);
        self.events.add(self.moment + down, Event::Server(ServerEvent::StartFront(front)));
    }

    pub(super) fn start_front(&mut self, front: usize) {
        if self.centres.as_ref().is_some_and(|centres| centres.lost.contains(&front)) {
            return;
        }
        let now = self.now_of_front(front);
        let node = self.new_front(front, now);
        self.fronts[front] = Process::Up(Box::new(node));
        self.dial_all_centres(front);
    }

    fn crash_client(&mut self) {
        self.faults.add(Fault::ClientRestart, 1);
        let client = ClientIndex(self.random.below(self.clients.len() as u64) as usize);
        if self.random.chance(self.habits.upgrade) {
            self.upgrade(client);
        }
        self.restart_client(client);
        let node = &mut self.clients[client.0];
        let calls = self.habits.calls;
        super::add_watchers(&mut |watcher, view| node.watch(watcher, view), calls, &mut self.random);
        super::watch_chairs(node, self.habits.watches_chairs, &mut self.random);
    }

    fn jump_clock(&mut self) {
        self.faults.add(Fault::ClockJump, 1);
        let process = self.random.below((self.skews.len() + self.stores.len()) as u64) as usize;
        let skew = super::skew(&mut self.random);
        match process.checked_sub(self.skews.len()).and_then(|replica| self.stores.values_mut().nth(replica)) {
            Some(store) => store.skew = skew,
            None if process < self.fronts.len() => self.skews[process] = self.needs.jumped_clock_of_front(skew),
            None => self.skews[process] = skew,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::broken::Broken;
    use crate::checker::Invariant;
    use crate::needs::Needs;
    use crate::run::live;
    use crate::world::{Process, World};

    #[test]
    fn gateways_that_never_come_back_are_found() {
        let mut world = World::new(1, Broken::Nothing, Needs::Anything);
        world.fronts.iter_mut().for_each(|front| *front = Process::Down(()));
        let violation = live(&mut world).err();
        assert_eq!(violation.map(|violation| violation.invariant), Some(Invariant::Liveness));
    }
}
