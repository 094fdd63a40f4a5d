//! A gateway and its coordinator: what clients speak to, and what speaks to replicas.
//!
//! The coordinator has three askers: the gateway, tracking, and its host's sweeps and checks of blobs. It is given numbers of `Front`'s own. In a group of
//! several data centres, [`Centres`] stands between them and the coordinator, and there is no tracking.

use std::collections::VecDeque;

use iolite_causal::{Centres, LinkInput, LinkOutput};
use iolite_gateway::{AccessNews, BlobLink, BlobOutput, Gateway, Input, Output, SessionId};
use iolite_machine::{Instant, Machine, Now};
use iolite_replication::node::{FromReplica, Group, ReplicaId, Split, Term, ToReplica};
use iolite_replication::{Coordinator, CoordinatorInput, CoordinatorOutput};
use iolite_store::{Asking, Event, Reply, Request, RequestId};
use iolite_tracking::{Ask, AskId, News, Tracking};
use iolite_wire::message::FromGateway;

use crate::SweeperAsk;

/// A gateway's process as a machine. Its work is done when it is polled, so that inputs that come together are treated together.
#[derive(Debug)]
pub struct Front {
    now: Now,
    gateway: Gateway,
    coordinator: Coordinator,
    /// None: this data centre is alone.
    centres: Option<Centres>,
    /// None: no objects are served.
    tracking: Option<Tracking>,
    tracked: TrackingTally,
    asking: Asking<Asker>,
    outputs: VecDeque<FrontOutput>,
}

/// How often tracking has asked the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrackingTally {
    pub requests: u64,
    /// The commits among these requests.
    pub commits: u64,
}

/// The part that asked the coordinator, with its own id of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asker {
    Gateway(RequestId),
    Sweeper(RequestId),
    Tracking(RequestId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontInput {
    Gateway(Input),
    FromReplica(FromReplica),
    /// A sweep or a check of blobs asks the store of rows.
    Sweeper(SweeperAsk),
    /// The host of objects asks tracking.
    Tracking(AskId, Ask),
    /// Something happens on a link with another data centre.
    Centre(LinkInput),
    /// The directory tells of the group of a shard.
    Configured(Group),
    /// The directory tells that a shard was split.
    Ended(Split),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontOutput {
    Message(SessionId, FromGateway),
    /// Close the connection once its messages are sent.
    Close(SessionId),
    ToReplica(ReplicaId, ToReplica),
    Blobs(BlobLink, BlobOutput),
    /// For who lets users in elsewhere, and for operators.
    Access(AccessNews),
    /// The answer to what a sweep or a check has asked.
    ToSweeper(RequestId, Reply),
    /// For the host of objects.
    Tracking(News),
    /// For a link with another data centre.
    Centre(LinkOutput),
    /// Another process has this gateway's number: end.
    Superseded(Term),
}

impl Front {
    pub fn new(now: Now, gateway: Gateway, coordinator: Coordinator) -> Front {
        let (tracked, asking, outputs) = (TrackingTally::default(), Asking::default(), VecDeque::new());
        Front { now, gateway, coordinator, centres: None, tracking: None, tracked, asking, outputs }
    }

    /// The same in a group of data centres. With peers it serves only tables that merge.
    #[must_use]
    pub fn with_centres(self, settings: iolite_causal::Settings) -> Front {
        let gateway =
            if settings.peers.is_empty() { self.gateway } else { self.gateway.in_group(settings.name.clone()) };
        Front { gateway, centres: Some(Centres::new(self.now, settings)), ..self }
    }

    /// The same with the tables of objects.
    ///
    /// # Panics
    /// In a group of data centres: its feed is held back, so tracking would see its own commits late.
    #[must_use]
    pub fn with_tracking(self, settings: iolite_tracking::Settings) -> Front {
        assert!(self.centres.is_none(), "there are no objects in a group of data centres");
        Front { tracking: Some(Tracking::new(settings)), ..self }
    }

    /// The front's part in the group, if there are several data centres.
    pub fn centres(&self) -> Option<&Centres> {
        self.centres.as_ref()
    }

    /// Whether sessions are served.
    pub fn is_ready(&self) -> bool {
        self.gateway.is_ready()
    }

    pub(crate) fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    pub(crate) fn tracked(&self) -> TrackingTally {
        self.tracked
    }

    /// How often members of a log had different states.
    pub(crate) fn log_differences(&self) -> u64 {
        self.gateway.log_differences()
    }

    /// Carries messages between the two until neither has anything to say.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            while let Some(output) = self.gateway.poll() {
                quiet = false;
                match output {
                    Output::Message(session, message) => self.emit(FrontOutput::Message(session, message)),
                    Output::Close(session) => self.emit(FrontOutput::Close(session)),
                    Output::Store(id, request) => {
                        let number = self.asking.begin(Asker::Gateway(id));
                        self.ask(number, request);
                    }
                    Output::Blobs(link, output) => self.emit(FrontOutput::Blobs(link, output)),
                    Output::Access(news) => self.emit(FrontOutput::Access(news)),
                    Output::GiveUp(id) => {
                        if let Some(number) = self.asking.give_up(Asker::Gateway(id)) {
                            self.give_up(number);
                        }
                    }
                }
            }
            while let Some(output) = self.centres.as_mut().and_then(Machine::poll) {
                quiet = false;
                match output {
                    iolite_causal::Output::Request(number, request) => {
                        self.coordinator.handle(self.now, CoordinatorInput::Request(number, request));
                    }
                    iolite_causal::Output::GiveUp(number) => {
                        self.coordinator.handle(self.now, CoordinatorInput::GiveUp(number));
                    }
                    iolite_causal::Output::Hold(at) => self.coordinator.handle(self.now, CoordinatorInput::Hold(at)),
                    iolite_causal::Output::Event(event) => self.on_event(event),
                    iolite_causal::Output::News(news) => self.gateway.handle(self.now, Input::Centre(news)),
                    iolite_causal::Output::Lost(reason) => {
                        self.gateway.handle(self.now, Input::OutOfService(reason));
                    }
                    iolite_causal::Output::Link(output) => self.emit(FrontOutput::Centre(output)),
                }
            }
            while let Some(output) = self.tracking.as_mut().and_then(Machine::poll) {
                quiet = false;
                self.on_tracking(output);
            }
            while let Some(output) = self.coordinator.poll() {
                quiet = false;
                match output {
                    CoordinatorOutput::Event(event) => match &mut self.centres {
                        Some(centres) => centres.handle(self.now, iolite_causal::Input::Store(event)),
                        None => self.on_event(event),
                    },
                    CoordinatorOutput::ToReplica { to, message } => self.emit(FrontOutput::ToReplica(to, message)),
                    CoordinatorOutput::Superseded { term } => self.emit(FrontOutput::Superseded(term)),
                }
            }
            if quiet {
                return;
            }
        }
    }

    /// Asks the store, by way of the group if there is one.
    fn ask(&mut self, number: RequestId, request: Request) {
        match &mut self.centres {
            Some(centres) => centres.handle(self.now, iolite_causal::Input::Request(number, request)),
            None => self.coordinator.handle(self.now, CoordinatorInput::Request(number, request)),
        }
    }

    fn give_up(&mut self, number: RequestId) {
        match &mut self.centres {
            Some(centres) => centres.handle(self.now, iolite_causal::Input::GiveUp(number)),
            None => self.coordinator.handle(self.now, CoordinatorInput::GiveUp(number)),
        }
    }

    fn on_centre(&mut self, input: LinkInput) {
        if let Some(centres) = &mut self.centres {
            centres.handle(self.now, iolite_causal::Input::Link(input));
        }
    }

    fn on_tracking(&mut self, output: iolite_tracking::Output) {
        match output {
            iolite_tracking::Output::Request(id, request) => {
                self.tracked.requests += 1;
                self.tracked.commits += u64::from(matches!(request, Request::Commit { .. }));
                let number = self.asking.begin(Asker::Tracking(id));
                self.ask(number, request);
            }
            iolite_tracking::Output::GiveUp(id) => {
                if let Some(number) = self.asking.give_up(Asker::Tracking(id)) {
                    self.give_up(number);
                }
            }
            iolite_tracking::Output::News(news) => self.emit(FrontOutput::Tracking(news)),
        }
    }

    fn track(&mut self, input: iolite_tracking::Input) {
        if let Some(tracking) = &mut self.tracking {
            tracking.handle(self.now, input);
        }
    }

    /// A reply is for its asker, everything else for all.
    fn on_event(&mut self, event: Event) {
        let event = match event {
            Event::Reply(number, reply) => match self.asking.answered(number) {
                Some(Asker::Gateway(id)) => Event::Reply(id, reply),
                Some(Asker::Sweeper(id)) => return self.emit(FrontOutput::ToSweeper(id, reply)),
                Some(Asker::Tracking(id)) => {
                    return self.track(iolite_tracking::Input::Store(Event::Reply(id, reply)));
                }
                None => return,
            },
            Event::Ready { .. } | Event::Feed(_) => {
                if self.tracking.is_some() {
                    self.track(iolite_tracking::Input::Store(event.clone()));
                }
                event
            }
        };
        self.gateway.handle(self.now, Input::Store(event));
    }

    fn on_sweeper(&mut self, ask: SweeperAsk) {
        match ask {
            SweeperAsk::Request(id, request) => {
                let number = self.asking.begin(Asker::Sweeper(id));
                self.ask(number, request);
            }
            SweeperAsk::Hold(at) => self.coordinator.handle(self.now, CoordinatorInput::Hold(at)),
        }
    }

    fn emit(&mut self, output: FrontOutput) {
        self.outputs.push_back(output);
    }
}

impl Machine for Front {
    type Input = FrontInput;
    type Output = FrontOutput;

    fn handle(&mut self, now: Now, input: FrontInput) {
        self.now = now;
        match input {
            FrontInput::Gateway(input) => self.gateway.handle(now, input),
            FrontInput::FromReplica(message) => self.coordinator.handle(now, CoordinatorInput::FromReplica(message)),
            FrontInput::Sweeper(ask) => self.on_sweeper(ask),
            FrontInput::Tracking(id, ask) => self.track(iolite_tracking::Input::Ask(id, ask)),
            FrontInput::Centre(input) => self.on_centre(input),
            FrontInput::Ended(split) => self.coordinator.handle(now, CoordinatorInput::Ended(split)),
            FrontInput::Configured(group) => self.coordinator.handle(now, CoordinatorInput::Configured(group)),
        }
    }

    fn poll(&mut self) -> Option<FrontOutput> {
        if self.outputs.is_empty() {
            self.settle();
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let centres = self.centres.as_ref().and_then(Machine::deadline);
        let tracking = self.tracking.as_ref().and_then(Machine::deadline);
        [self.gateway.deadline(), self.coordinator.deadline(), centres, tracking].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        self.gateway.on_deadline(now);
        self.coordinator.on_deadline(now);
        if let Some(centres) = &mut self.centres {
            centres.on_deadline(now);
        }
        if let Some(tracking) = &mut self.tracking {
            tracking.on_deadline(now);
        }
    }

    fn validate(&self) {
        self.gateway.validate();
        self.coordinator.validate();
        if let Some(centres) = &self.centres {
            centres.validate();
        }
        if let Some(tracking) = &self.tracking {
            tracking.validate();
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_access::{Access, DevelopmentToken};
    use iolite_catalog::SchemaPolicy;
    use iolite_gateway::{Broken, Limits, Settings, Without};
    use iolite_machine::WallTime;
    use iolite_replication::node::Life;
    use iolite_replication::{CoordinatorSettings, ShardMap};
    use iolite_store::ReadReply;
    use iolite_values::{ClientId, CoordinatorId, Id, StoreIncarnation, Timestamp};

    use super::*;

    const NOW: Now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_700_000_000_000_000) };

    fn front() -> Front {
        let gateway = Gateway::new(Settings {
            client: ClientId(Id::from_u128(1)),
            access: Access::Development(DevelopmentToken::new("token")),
            schemas: SchemaPolicy::Grow,
            limits: Limits::default(),
            fresh_key: [0; 32],
            rights_required: false,
            has_indexes: true,
            has_blob_store: false,
            broken: Broken::Nothing,
            without: Without::Nothing,
        });
        let settings = CoordinatorSettings::new(CoordinatorId::default(), Life(1), ShardMap::alone());
        Front::new(NOW, gateway, Coordinator::new(NOW, settings))
    }

    /// The store comes, the gateway asks it for the schemas, and a reply without rows comes to the request with this number.
    fn is_ready_after_a_reply_to(number: u64, front: &mut Front) -> bool {
        let at = Timestamp::ZERO;
        front.on_event(Event::Ready { store: StoreIncarnation(Id::from_u128(2)), resolved: at });
        front.settle();
        assert!(!front.is_ready(), "it has not read the schemas");
        let reply = Reply::ReadAt(Ok(ReadReply { at, rows: Vec::new(), is_cut: false }));
        front.on_event(Event::Reply(RequestId(number), reply));
        front.is_ready()
    }

    #[test]
    fn a_reply_is_given_to_its_asker_under_the_id_that_the_asker_chose() {
        let mut front = front();
        // Another part has asked before, so that the coordinator's numbers are not the gateway's ids.
        front.asking.begin(Asker::Sweeper(RequestId(1)));
        assert!(is_ready_after_a_reply_to(2, &mut front), "the gateway calls it 1");
        front.on_event(Event::Reply(RequestId(1), Reply::Acknowledged));
        let told = FrontOutput::ToSweeper(RequestId(1), Reply::Acknowledged);
        assert!(std::iter::from_fn(|| front.poll()).any(|output| output == told));
    }

    #[test]
    fn tracking_hears_of_the_store_and_gets_its_replies() {
        let own = ClientId(Id::from_u128(3));
        let mut front = front().with_tracking(iolite_tracking::Settings { client: own, has_leases: false });
        let (store, at) = (StoreIncarnation(Id::from_u128(2)), Timestamp::ZERO);
        front.on_event(Event::Ready { store, resolved: at });
        let object = iolite_values::ObjectName::new("Note", "a").expect("a short name");
        front.handle(NOW, FrontInput::Tracking(AskId(5), Ask::Find(object)));
        // The gateway reads the schemas by request 1. Tracking reads servers by request 2, and the object by request 3.
        let row = Reply::ReadAt(Ok(ReadReply { at, rows: Vec::new(), is_cut: false }));
        front.settle();
        front.on_event(Event::Reply(RequestId(3), row));
        front.settle();
        front.on_event(Event::Reply(RequestId(4), Reply::Validated(iolite_store::Validity::Valid)));
        let unknown = iolite_tracking::Told::Track(iolite_wire::objects::TrackAnswer::Unknown);
        let told = [News::Ready(store), News::Told(AskId(5), unknown)].map(FrontOutput::Tracking);
        let said: Vec<_> = std::iter::from_fn(|| front.poll()).collect();
        assert_eq!(said.iter().filter(|output| told.contains(output)).count(), 2, "{said:?}");
    }

    #[test]
    fn a_reply_that_nobody_waits_for_is_given_to_nobody() {
        let mut front = front();
        front.asking.begin(Asker::Gateway(RequestId(99)));
        assert_eq!(front.asking.give_up(Asker::Gateway(RequestId(99))), Some(RequestId(1)));
        assert!(!is_ready_after_a_reply_to(1, &mut front), "the gateway's own request of this id has another number");
    }
}
