//! A server of this world: the machine of objects beside tracking, with mailboxes between them.
//!
//! Invariant: what one of the two says to the other comes in order, and a little later.

use iolite_machine::Machine;
use iolite_objects::managers::Recalled;
use iolite_objects::{
    AskId, LetIn, Server, ServerInput, ServerOutput, ServerSettings, SessionEvent, SessionId, TrackAsk, Tracked,
};
use iolite_store::Event as StoreEvent;
use iolite_tracking::{Ask, Input, News, Output, Settings, Told, Tracking};
use iolite_values::{ClientId, Id, StoreIncarnation, Timestamp};
use iolite_wire::objects::{NotRun, TrackAnswer};

use super::clock::Clock;
use super::happened::ObjectEvent;
use super::kinds::Kind;
use super::links::LinkId;
use super::names::{At, device_id, drawn_id, gateway, user};
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::world::{Host, World};
use crate::history::Moment;

pub struct ServerNode {
    pub host: Host,
    pub process: Option<ServerProcess>,
    /// The store says nothing to it until then.
    pub store_late_until: Moment,
}

pub struct ServerProcess {
    pub server: Server,
    pub tracking: Tracking,
    /// The store that tracking was told of.
    pub store: Option<StoreIncarnation>,
    /// How far the feed was told. None: the store is not there yet.
    pub position: Option<Timestamp>,
    /// When the last word of the feed arrives, and the last one of each mailbox.
    pub fed_at: Moment,
    news_at: Moment,
    asks_at: Moment,
}

impl ServerNode {
    pub fn new(clock: Clock) -> ServerNode {
        ServerNode { host: Host::new(clock), process: None, store_late_until: 0 }
    }
}

impl World {
    pub fn start_server(&mut self, number: usize) {
        let clock = Clock::random(&mut self.random, self.moment);
        self.servers[number].host.begin(clock);
        let now = self.now(At::Server(number));
        let has_leases = self.rough.has_leases;
        let settings = ServerSettings {
            gateway: gateway(number),
            kernel: Id::from_u128(self.random.id()),
            classes: self.classes(|kind| kind != Kind::Hosted),
            has_leases,
            managers: Vec::new(),
            broken: self.broken.of_kernel(),
        };
        let tracking = Tracking::new(Settings { client: ClientId(Id::from_u128(self.random.id())), has_leases });
        let (server, moment) = (Server::new(now, settings), self.moment);
        let (fed_at, news_at, asks_at) = (moment, moment, moment);
        let process = ServerProcess { server, tracking, store: None, position: None, fed_at, news_at, asks_at };
        self.servers[number].process = Some(process);
        self.store_ready(number);
        self.open_peers_of(number);
    }

    pub fn give_objects(&mut self, server: usize, input: ServerInput) {
        let now = self.now(At::Server(server));
        if let ServerInput::Ready(store) = &input {
            self.servers[server].host.store = Some(*store);
        }
        self.note(At::Server(server), "<-", &input);
        let Some(own) = &mut self.servers[server].process else { return };
        own.server.handle(now, input);
        self.carry(At::Server(server));
    }

    pub fn give_tracking(&mut self, server: usize, input: Input) {
        let now = self.now(At::Server(server));
        let Some(own) = &mut self.servers[server].process else { return };
        if let Input::Store(StoreEvent::Ready { store, .. }) = &input {
            own.store = Some(*store);
        }
        own.tracking.handle(now, input);
        self.carry(At::Server(server));
    }

    pub fn opened(&mut self, link: LinkId) {
        let Some(own) = self.links.all.get(&link).filter(|link| link.at_server) else { return };
        let server = own.server;
        self.give_objects(server, ServerInput::Session(SessionId(link.0), SessionEvent::Opened));
    }

    pub fn carry_server(&mut self, server: usize) {
        loop {
            let Some(own) = &mut self.servers[server].process else { return };
            if let Some(output) = own.tracking.poll() {
                self.of_tracking(server, output);
            } else if let Some(output) = own.server.poll() {
                self.of_server(server, output);
            } else if let Some(input) = self.servers[server].host.app.says.pop_front() {
                let now = self.now(At::Server(server));
                if let Some(own) = &mut self.servers[server].process {
                    own.server.handle(now, ServerInput::App(input));
                }
            } else {
                break;
            }
        }
        if let Some(own) = &self.servers[server].process {
            own.server.validate();
            own.tracking.validate();
        }
    }

    /// When a word arrives that goes from one machine of a server to the other.
    fn mailed(&mut self, last: Moment) -> Moment {
        last.max(self.moment + self.random.below(MILLISECOND)) + 1
    }

    pub fn tell_objects(&mut self, server: usize, input: ServerInput) {
        let Some(last) = self.servers[server].process.as_ref().map(|own| own.news_at) else { return };
        let at = self.mailed(last);
        if let Some(own) = &mut self.servers[server].process {
            own.news_at = at;
        }
        self.later(At::Server(server), at - self.moment, NodeEvent::Objects(input));
    }

    fn ask_tracking(&mut self, server: usize, input: Input) {
        let Some(last) = self.servers[server].process.as_ref().map(|own| own.asks_at) else { return };
        let at = self.mailed(last);
        if let Some(own) = &mut self.servers[server].process {
            own.asks_at = at;
        }
        self.later(At::Server(server), at - self.moment, NodeEvent::Tracking(input));
    }

    fn of_tracking(&mut self, server: usize, output: Output) {
        match output {
            Output::Request(id, request) => self.ask_store(server, id, request),
            // The reply comes to nobody.
            Output::GiveUp(_) => {}
            Output::News(News::Ready(store)) => self.tell_objects(server, ServerInput::Ready(store)),
            Output::News(News::Told(id, told)) => {
                self.tell_objects(server, ServerInput::Tracked(AskId(id.0), of_told(told)));
            }
            Output::News(News::Lease { own: _, until }) => self.tell_objects(server, ServerInput::Lease(until)),
            // The world links its servers, which so have no addresses.
            Output::News(News::Server { .. }) => {}
            Output::News(News::NodeDead(node)) => self.tell_objects(server, ServerInput::NodeDead(node)),
            Output::News(News::Coordinates(bucket, is_own)) => {
                self.tell_objects(server, ServerInput::Coordinates(bucket, is_own));
            }
            Output::News(News::Holder(bucket, holder)) => {
                self.tell_objects(server, ServerInput::Holder(bucket, holder));
            }
            Output::News(News::Begun { object, managers }) => {
                self.tell_objects(server, ServerInput::Begun { object, managers });
            }
        }
    }

    fn of_server(&mut self, server: usize, output: ServerOutput) {
        self.note(At::Server(server), "->", &output);
        match output {
            ServerOutput::Send(session, message) => self.send_down(session, &message),
            ServerOutput::Close(session) => self.close(session),
            ServerOutput::Check { session, device: drawn, token } => {
                let device = (0..self.devices.len()).find(|device| user(*device) == token).expect("it has a token");
                assert_eq!(drawn, drawn_id(device), "a device says what it drew");
                let may_serve = self.devices[device].serves;
                let let_in = LetIn { caller: user(device), may_serve, device: device_id(device), ends: None };
                self.tell_objects(server, ServerInput::Checked(session, Ok(let_in)));
            }
            ServerOutput::Renew(..) => unreachable!("tokens are good for ever"),
            ServerOutput::Ask(id, question) => {
                let ask = to_tracking(question, server);
                self.ask_tracking(server, Input::Ask(iolite_tracking::AskId(id.0), ask));
            }
            ServerOutput::ToPeer(link, message) => {
                self.count_parts(matches!(message, iolite_wire::objects::PeerMessage::Part { .. }));
                self.send_to_peer(link, &message);
            }
            ServerOutput::May(id, session, object, right) => self.may(server, id, (session, object, right)),
            ServerOutput::App(output) => self.perform(At::Server(server), output),
        }
    }

    pub fn count_parts(&mut self, is_part: bool) {
        if is_part {
            self.happened(ObjectEvent::InParts);
        }
    }

    /// The device that a node is of, if it is one.
    pub fn device_of(&self, id: Id) -> Option<usize> {
        (0..self.devices.len()).find(|device| device_id(*device) == id)
    }
}

fn to_tracking(question: TrackAsk, server: usize) -> Ask {
    let at = gateway(server);
    match question {
        TrackAsk::Find(object) => Ask::Find(object),
        TrackAsk::Begin { begin, at } => Ask::Begin { begin, at },
        TrackAsk::Move { object, from, to } => Ask::Move { object, from, places: vec![to] },
        TrackAsk::Take { object, from, at } => Ask::Take { object, from, at },
        TrackAsk::Remove { object, from } => Ask::Remove { object, from },
        TrackAsk::Where(device) => Ask::Where(device),
        TrackAsk::Register { name, known, serves, connection, classes } => {
            Ask::Register { name, known, serves, at, connection, address: String::new(), classes }
        }
        TrackAsk::List(bucket) => Ask::List(bucket),
        TrackAsk::Recall(object) => Ask::Recall(object),
        TrackAsk::Remember { object, from, was, memory } => Ask::Remember { object, from, was, memory },
        TrackAsk::Gone { device, connection } => Ask::Gone { device, at, connection },
    }
}

fn of_told(told: Told) -> Tracked {
    let refused = |why| Tracked::Track(TrackAnswer::Refused(why));
    match told {
        Told::Track(answer) => Tracked::Track(answer),
        Told::Moved(placed) => Tracked::Moved(placed),
        Told::Stands(placed) => Tracked::Stands(placed),
        Told::Removed => Tracked::Removed,
        Told::Listed(objects) => Tracked::Listed(objects),
        Told::Recalled { placed, is_over, memory } => Tracked::Recalled(Recalled { placed, is_over, memory }),
        Told::Remembered => Tracked::Remembered,
        Told::At(server) => Tracked::At(server),
        Told::Registered(node, lapses) => Tracked::Registered(node, lapses),
        Told::Lost => Tracked::Lost,
        Told::Elsewhere => Tracked::Elsewhere,
        Told::Busy => refused(NotRun::Busy),
        Told::Unavailable => refused(NotRun::Unreachable),
        Told::InDoubt => Tracked::InDoubt,
    }
}
