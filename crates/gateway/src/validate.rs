//! The invariants of a gateway's state, checked after every simulated step.

use std::collections::BTreeSet;

use iolite_store::RequestId;
use iolite_values::Interest;

use crate::Gateway;
use crate::SessionId;
use crate::following::load::Load;
use crate::following::sets::SetUser;
use crate::gateway::target;
use crate::interface::Broken;
use crate::limits;
use crate::sessions::session::{Flow, Open, Phase, Session, Standing};
use crate::store::Purpose;

impl Gateway {
    pub(crate) fn check_invariants(&self) {
        let (mut listed, mut following) = (0, 0);
        for (id, session) in &self.sessions {
            session.outbound.validate();
            let held = matches!(session.phase, Phase::Held(_));
            assert_eq!(held, self.held.contains(id), "held sessions are looked at again");
            let (own_listed, own_following) = self.check_session(*id, session);
            listed += own_listed;
            following += own_following;
        }
        assert_eq!(listed, self.index.len(), "the index names no one else");
        let of_sets = self.sets.followers();
        assert_eq!(following + of_sets, self.queries.followers(), "no one else follows queries");
        self.sets.validate(|user| match user {
            SetUser::Session(id) => self.open(id).is_some(),
            SetUser::Asker(id) => self.asking.has(id),
        });
        self.queries.validate();
        self.feed.validate(self.position());
        assert_eq!(self.timers.len(), self.sessions.len(), "every session is looked after");
        self.check_reads();
        let open = self.sessions.values().filter(|session| matches!(session.phase, Phase::Open(_))).count();
        assert_eq!(open, self.clients.len(), "a client has one session");
        let acknowledging = self.requests.open.values().filter(|own| matches!(own, Purpose::Acknowledge(_))).count();
        assert_eq!(acknowledging, self.acknowledging.len(), "one acknowledgement of a client is open");
        self.deploying.validate(self.growing);
        self.explaining.validate();
        self.check_lanes();
        self.devices.validate(|client| self.clients.contains_key(&client));
        self.check_links();
        self.members.validate(|client| self.clients.contains_key(&client));
        self.delivery.validate(|client| self.clients.contains_key(&client));
    }

    /// The store has one mutation of each lane, and no other.
    fn check_lanes(&self) {
        self.lanes.validate();
        let asked = self.requests.open.values().filter_map(|own| match own {
            Purpose::Submit { client, lane, counter }
            | Purpose::Spent { client, lane, counter }
            | Purpose::Rights { client, lane, counter } => Some((*client, *lane, Some(*counter))),
            Purpose::Schemas
            | Purpose::Growth(_)
            | Purpose::Checkpoint(_)
            | Purpose::Heads
            | Purpose::LastPage
            | Purpose::Load { .. }
            | Purpose::OwnOutcomes(_)
            | Purpose::LastOutcome(_)
            | Purpose::Row
            | Purpose::Leases
            | Purpose::Access
            | Purpose::AccessRow(_)
            | Purpose::Device(_)
            | Purpose::DeviceRow { .. }
            | Purpose::Revocation(_)
            | Purpose::BlobRow(_)
            | Purpose::BlobCell
            | Purpose::BlobQuota
            | Purpose::Set(_)
            | Purpose::Explanation(_)
            | Purpose::Acknowledge(_) => None,
        });
        let mut asked: Vec<_> = asked.collect();
        asked.extend(self.judging.early().map(|(client, lane)| (client, lane, self.lanes.in_flight_of(client, lane))));
        let of_devices = self.devices.waiting();
        asked.extend(of_devices.map(|(client, lane)| (client, lane, self.lanes.in_flight_of(client, lane))));
        asked.sort_unstable();
        // Several rows may be read for one.
        asked.dedup();
        assert!(self.lanes.in_flight().eq(asked), "the store has one mutation of each lane");
    }

    /// The store reads for sessions what they wait for, and nothing else.
    fn check_reads(&self) {
        let open = self.sessions.keys().filter_map(|id| self.open(*id));
        let awaited: BTreeSet<RequestId> = open.flat_map(Open::requests).collect();
        let of_sessions = self.requests.open.iter().filter(|(_, purpose)| match purpose {
            Purpose::Load { .. } | Purpose::OwnOutcomes(_) => true,
            Purpose::Schemas
            | Purpose::Growth(_)
            | Purpose::Checkpoint(_)
            | Purpose::Heads
            | Purpose::LastPage
            | Purpose::Submit { .. }
            | Purpose::LastOutcome(_)
            | Purpose::Row
            | Purpose::Leases
            | Purpose::Access
            | Purpose::AccessRow(_)
            | Purpose::Device(_)
            | Purpose::DeviceRow { .. }
            | Purpose::Revocation(_)
            | Purpose::BlobRow(_)
            | Purpose::BlobCell
            | Purpose::BlobQuota
            | Purpose::Set(_)
            | Purpose::Rights { .. }
            | Purpose::Explanation(_)
            | Purpose::Spent { .. }
            | Purpose::Acknowledge(_) => false,
        });
        let asked: BTreeSet<RequestId> = of_sessions.map(|(id, _)| *id).collect();
        assert_eq!(asked, awaited, "what is read for a session is waited for, or given up");
    }

    /// How many of its interests are in the index, and how many are queries whose answers are known.
    fn check_session(&self, id: SessionId, session: &Session) -> (usize, usize) {
        let Phase::Open(open) = &session.phase else { return (0, 0) };
        assert_eq!(self.clients.get(&open.client), Some(&id), "a client's session is its open one");
        assert!(open.subscriptions.len() <= limits::INTERESTS_MAX);
        assert!(open.outcomes.len() <= limits::SUBMITS_OPEN_MAX + limits::OWN_OUTCOMES_MAX);
        if self.settings.broken == Broken::Nothing {
            assert!(open.seen <= self.position(), "nothing above the resolved timestamp is told");
            let position = self.position();
            for (at, _) in open.outcomes.iter().filter(|(at, _)| *at > position) {
                assert!(self.due.contains(*at, id), "an outcome that waits is looked at when the feed is there");
            }
            assert!(!open.is_live() || !open.has_outcomes(position), "a live session is told at once");
        }
        for until in open.loads.values().filter_map(Load::is_early_until) {
            assert!(until > self.position() && self.due.contains(until, id), "what is early is read when it is time");
        }
        check_loads(open);
        open.batch.validate();
        open.untold.validate();
        let following = open.subscriptions.values().filter(|own| own.follows.is_some()).count();
        if open.is_behind() {
            assert_eq!(following, 0, "nothing is known for a session that is behind");
            return (0, 0);
        }
        for (name, own) in &open.subscriptions {
            match &own.follows {
                Some(query) => assert!(self.queries.has_follower(query, target(id, *name)), "a query is followed"),
                None => {
                    let is_query = matches!(own.interest, Interest::Query(_));
                    assert!(!is_query || own.standing != Standing::Live, "the answers of a live query are known");
                    assert!(self.index.contains(&own.interest, target(id, *name)), "an interest is in the index");
                }
            }
        }
        (open.subscriptions.len() - following, following)
    }
}

fn check_loads(open: &Open) {
    let live = open.subscriptions.values().any(|own| own.standing == Standing::Live);
    let is_told = open.flow == Flow::Live;
    assert!(!live || is_told || open.is_behind(), "what changes of a live interest can be told");
    assert!(open.untold.is_empty() || is_told && !open.is_live(), "nothing is held back but for own outcomes");
    for (name, own) in &open.subscriptions {
        match own.standing {
            Standing::Live => {
                assert!(open.loads.values().all(|load| !load.subscriptions.contains(name)), "live is not loading");
            }
            Standing::Loading(id) => {
                let load = open.loads.get(&id).expect("a loading subscription has a load");
                assert!(load.subscriptions.contains(name), "a load knows its subscriptions");
            }
        }
    }
    match open.flow {
        Flow::Resuming { .. } => assert!(open.subscriptions.is_empty(), "the first interests end the resumption"),
        Flow::Live => {
            assert!(
                !open.is_live() || open.loads.values().all(|load| !load.is_answered()),
                "a live session is answered at once"
            )
        }
        Flow::CatchingUp(id) => assert!(open.loads.contains_key(&id), "who catches up has a load"),
        Flow::Behind { .. } => {
            assert!(open.loads.values().all(|load| !load.is_answered()), "nothing is read meanwhile")
        }
    }
}
