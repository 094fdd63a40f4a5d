//! The app of rooms with members, its users, and the operators who deploy its rights.

use iolite_catalog::Deployment;
use iolite_gateway::{Deploy, DeploymentId, Input};
use iolite_machine::{Machine, Now};

use super::events::Event;
use super::front_node::FrontNode;
use super::server::End;
use super::{Process, World};
use crate::app::Call;
use crate::habits::Calls;
use crate::history::{ClientIndex, EndedAs, Moment};
use crate::rights::app::{ROOMS, Regime, schema};
use crate::rights::{OfRights, Person, RightsEvent, Speaker};

const MILLISECOND: Moment = 1_000_000;
/// Between two deployments at most, while everybody works.
const DEPLOY_WITHIN_MS: u64 = 4_000;
/// The same once faults have ended. Nothing changes by them unless the store's history is another one.
const DEPLOY_AGAIN: Moment = 1_000 * MILLISECOND;
/// The device of the operators.
const OPERATOR: ClientIndex = ClientIndex(0);
/// How often somebody is a member of a room from the beginning, in thousandths.
const LET_IN_AT_FIRST: u64 = 500;

impl World {
    /// The world of rights begins.
    pub(super) fn open_rooms(&mut self) {
        if self.habits.calls == Calls::Rights {
            self.history.rights.is_on = true;
            self.events.add(0, Event::Deploy);
            self.events.add(0, Event::Hostile);
            self.found_rooms();
        }
    }

    /// Operators open all rooms, and let most people in.
    fn found_rooms(&mut self) {
        for room in 0..ROOMS as i64 {
            let owner = Person::random(&mut self.random);
            self.call(OPERATOR, Call::Rights(OfRights::Open { room, owner }));
            for person in Person::all().filter(|own| *own != owner) {
                if self.random.chance(LET_IN_AT_FIRST) {
                    self.call(OPERATOR, Call::Rights(OfRights::Invite { room, person }));
                }
            }
        }
    }

    /// The app calls a mutation, mostly; sometimes it goes offline and back, or somebody else signs in on the device.
    pub(super) fn work_on_rooms(&mut self, client: ClientIndex) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        match self.random.below(100) {
            0..=2 => node.go_offline(),
            3..=14 => node.go_online(now.instant),
            15..=17 => self.dismiss(client),
            18 => {
                node.stop_one_watcher(&mut self.random);
                let calls = self.habits.calls;
                super::add_watchers(&mut |watcher, view| node.watch(watcher, view), calls, &mut self.random);
            }
            19 => self.sign_in_as_another(client),
            20..=25 => self.sign_in_again(client),
            _ => self.call_on_rooms(client),
        }
    }

    fn call_on_rooms(&mut self, client: ClientIndex) {
        let node = &self.clients[client.0];
        if self.calls_left[client.0] == 0 || node.client.pending().count() >= self.habits.pending_max {
            return;
        }
        self.calls_left[client.0] -= 1;
        self.next_element += 1;
        self.rights_events.add(RightsEvent::CalledOffline, u64::from(!self.clients[client.0].is_online()));
        let call = OfRights::random(&mut self.random, Speaker::of(client), self.next_element);
        self.call(client, Call::Rights(call));
    }

    /// A device whose client is known to the store gets the token of another user. It is to send nothing under that.
    fn sign_in_as_another(&mut self, client: ClientIndex) {
        let now = self.now_of_client(client);
        let is_bound = self.history.rights.bound.contains_key(&self.clients[client.0].client.identity());
        let other = Speaker::User(Person::random(&mut self.random));
        // The hostile user says hello by others' devices itself.
        let is_good = is_bound && other != Speaker::User(Person::HOSTILE) && other != Speaker::of(client);
        if is_good && Speaker::of(client) != Speaker::Operator {
            self.rights_events.add(RightsEvent::OtherUser, 1);
            let node = &mut self.clients[client.0];
            node.holds_token_of = Some(other);
            node.client.set_token(now.instant, other.token());
        }
    }

    /// The owner of a device signs in again.
    pub(super) fn sign_in_again(&mut self, client: ClientIndex) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        if node.holds_token_of.take().is_some() {
            node.client.set_token(now.instant, Speaker::of(client).token());
        }
    }

    /// Operators put rights into effect, through some gateway.
    pub(super) fn deploy(&mut self) {
        if self.habits.calls != Calls::Rights {
            return self.deploy_for_guests();
        }
        let regime = match self.healing {
            true => Regime::Members,
            false => Regime::ALL[[0, 0, 1, 2][self.random.below(4) as usize]],
        };
        let wait = match self.healing {
            true => DEPLOY_AGAIN,
            false => self.random.between(50, DEPLOY_WITHIN_MS) * MILLISECOND,
        };
        self.events.add(self.moment + wait, Event::Deploy);
        self.deployments += 1;
        let front = self.random.below(self.fronts.len() as u64) as usize;
        let (now, is_still, number) = (self.now_of_front(front), self.is_still(End::Front(front)), self.deployments);
        if let (Process::Up(node), false) = (&mut self.fronts[front], is_still) {
            let deployment = Deployment { schema: (*schema()).clone(), rights: regime.rights() };
            node.deploy(now, DeploymentId(number), deployment);
        }
    }

    /// How mutations of this world ended.
    pub fn count_denials(&mut self) {
        let ends = self.history.calls.values().flat_map(|called| called.ends.values());
        let denied = ends.filter(|end| matches!(&end.how, EndedAs::Quarantined(why) if is_denial(why)));
        self.rights_events.add(RightsEvent::Denied, denied.count() as u64);
        let gone = self.history.calls.values().filter(|called| {
            let is_leave = matches!(called.call, Call::Rights(OfRights::Leave { .. }));
            is_leave && called.ends.values().any(|end| matches!(end.how, EndedAs::Confirmed(_)))
        });
        self.rights_events.add(RightsEvent::MemberGone, gone.count() as u64);
    }
}

/// Said by a client of a refusal whose reason it did not hear.
const TOLD_EARLIER: &str = "the server has refused it, and told an earlier session why";

/// Whether a client says by this that its mutation was denied.
pub fn is_denial(reason: &str) -> bool {
    reason.starts_with("denied: ") || reason == TOLD_EARLIER
}

impl FrontNode {
    pub(super) fn deploy(&mut self, now: Now, id: DeploymentId, deployment: Deployment) {
        self.gateway.handle(now, Input::Deploy(id, Box::new(Deploy { deployment, is_plan: false })));
    }
}
