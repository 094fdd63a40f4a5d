//! A server's part in objects, hosted: the sessions of `/objects`, the loop of its machine, and the classes of the process.
//!
//! Invariant: calls in the steady state wait for nothing of the gateway: the machine has a loop and a mailbox of its own. Only questions to tracking leave
//! it, and what a user may do for the first time.

use std::sync::Arc;

use iolite_gateway::AccessNews;
use iolite_host::{
    Clock, Codec, Endpoint, Inbox, Mailbox, Metric, Metrics, Performer, SessionEvent, SessionHandler, SessionNumber,
    Stop, drive, mailbox, random_id,
};
use iolite_objects::managers::Recalled;
use iolite_objects::{
    AppSide, AskId, Broken, Server, ServerInput, ServerOutput, ServerSettings, SessionId, ToApp, ToKernel, TrackAsk,
    Tracked,
};
use iolite_tracking::{Ask, News, Told};
use iolite_values::{CoordinatorId, Id, NodeName};
use iolite_wire::limits;
use iolite_wire::objects::{FromDevice, NotRun, ToDevice, TrackAnswer};

use crate::ObjectClasses;
use crate::object_door::{ObjectDoor, ObjectInput, ObjectOutput, ObjectServer, ObjectTally};
use crate::object_links::Peers;
use crate::object_questions::ObjectQuestions;
use crate::server::INBOX_BYTES_MAX;

/// Makes what happens to a socket of `/objects` an input of the machine.
#[derive(Clone, Debug)]
pub(crate) struct ObjectSessions;

pub(crate) struct ObjectCodec;

impl Codec for ObjectCodec {
    type Incoming = FromDevice;
    type Outgoing = ToDevice;

    fn decode(&mut self, frame: &[u8]) -> Result<FromDevice, String> {
        FromDevice::decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &ToDevice) -> Result<Vec<u8>, String> {
        message.encode().map_err(|error| error.to_string())
    }
}

impl SessionHandler for ObjectSessions {
    type Codec = ObjectCodec;
    type Input = ObjectInput;

    fn codec(&self) -> ObjectCodec {
        ObjectCodec
    }

    fn input(&self, session: SessionNumber, event: SessionEvent<FromDevice>) -> ObjectInput {
        use iolite_objects::SessionEvent as Happened;
        let event = match event {
            SessionEvent::Opened => Happened::Opened,
            SessionEvent::Message(message) => Happened::Message(message),
            SessionEvent::Garbled(problem) => Happened::Garbled(problem),
            SessionEvent::Drained(messages) => Happened::Drained(messages),
            SessionEvent::Closed => Happened::Closed,
        };
        ObjectInput::Server(ServerInput::Session(SessionId(session), event))
    }

    /// More than the protocol allows, so that who is a little over is told so instead of being cut off.
    fn frame_bytes_max(&self) -> usize {
        2 * limits::FROM_DEVICE.bytes.most
    }
}

/// The settings that a server's part in objects is started with.
pub(crate) struct ObjectHostSettings {
    pub gateway: CoordinatorId,
    pub door: ObjectDoor,
    pub classes: Option<ObjectClasses>,
    /// Other servers have the same store: this one serves only while it has a lease.
    pub has_leases: bool,
    pub clock: Clock,
}

type ToGateway = Box<dyn Fn(iolite_gateway::Input) + Send>;

/// A server's part in objects, before it runs.
pub(crate) struct ObjectHost {
    pub endpoint: Endpoint<ObjectSessions>,
    mailbox: Mailbox<ObjectInput>,
    inbox: Inbox<ObjectInput>,
    settings: ObjectHostSettings,
    peers: Option<Peers>,
    questions: Arc<ObjectQuestions>,
    to_gateway: ToGateway,
    figures: Figures,
    stop: Stop,
}

struct Figures {
    instances: Metric,
    sessions: Metric,
    calls: Metric,
    moves: Metric,
    asked: Metric,
    rights: Metric,
}

impl Figures {
    fn new(metrics: &Metrics) -> Figures {
        Figures {
            instances: metrics.gauge("iolite_object_instances", "Objects that are in this process."),
            sessions: metrics.gauge("iolite_object_nodes", "Nodes of objects that are connected and let in."),
            calls: metrics
                .counter("iolite_object_calls_total", "Calls by nodes that are connected here, and by this process."),
            moves: metrics.counter("iolite_object_moves_total", "Objects that this server has moved."),
            asked: metrics.counter(
                "iolite_object_tracking_asked_total",
                "Questions to tracking: where objects are, and changes of that.",
            ),
            rights: metrics
                .counter("iolite_object_rights_asked_total", "Questions what the user of a connection may do."),
        }
    }

    fn set(&self, objects: &ObjectServer) {
        let ObjectTally { calls, asked, rights } = objects.tally();
        self.instances.set(objects.server().kernel().instances() as u64);
        self.sessions.set(objects.server().sessions() as u64);
        self.moves.set(objects.server().moved());
        self.calls.set(calls);
        self.asked.set(asked);
        self.rights.set(rights);
    }
}

impl ObjectHost {
    /// `ask` gives tracking a question, and `to_gateway` the gateway one, whose answers come as news.
    pub fn new(
        settings: ObjectHostSettings,
        ask: impl Fn(iolite_tracking::AskId, Ask) + Send + Sync + 'static,
        to_gateway: impl Fn(iolite_gateway::Input) + Send + 'static,
        metrics: &Metrics,
        stop: Stop,
    ) -> ObjectHost {
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let questions = Arc::new(ObjectQuestions::new(ask, mailbox.clone()));
        let endpoint = Endpoint::for_objects(ObjectSessions, mailbox.clone(), metrics, stop.clone());
        let figures = Figures::new(metrics);
        let to_gateway = Box::new(to_gateway);
        ObjectHost { endpoint, mailbox, inbox, settings, peers: None, questions, to_gateway, figures, stop }
    }

    /// Where links with other servers put what comes.
    pub fn mailbox(&self) -> Mailbox<ObjectInput> {
        self.mailbox.clone()
    }

    /// The same with links to other servers of the store.
    #[must_use]
    pub fn with_peers(self, peers: Peers) -> ObjectHost {
        ObjectHost { peers: Some(peers), ..self }
    }

    /// Where news of tracking goes.
    pub fn news(&self) -> ObjectNews {
        ObjectNews { mailbox: self.mailbox.clone(), peers: self.peers.clone(), questions: self.questions.clone() }
    }

    /// Where operators ask.
    pub fn questions(&self) -> Arc<ObjectQuestions> {
        self.questions.clone()
    }

    /// Runs until the server stops.
    pub async fn run(mut self) {
        let ObjectHostSettings { gateway, door, classes, has_leases, clock } = self.settings;
        let (classes, managers, start) = match classes {
            Some(ObjectClasses { classes, managers, start }) => (classes, managers, Some(start)),
            None => (Vec::new(), Vec::new(), None),
        };
        let to_kernel: ToKernel = {
            let mailbox = self.mailbox;
            Arc::new(move |input| mailbox.send(ObjectInput::Server(ServerInput::App(input))))
        };
        let app = start.map(|start| start(to_kernel));
        let (kernel, broken) = (Id::from_u128(random_id()), Broken::Nothing);
        let settings = ServerSettings { gateway, kernel, classes, has_leases, managers, broken };
        let mut server = ObjectServer::new(Server::new(clock.now(), settings), door);
        let (endpoint, peers, questions, figures) = (self.endpoint, self.peers, self.questions, self.figures);
        let to_gateway = self.to_gateway;
        let mut world = World { endpoint, gateway, peers, app, questions, to_gateway, figures };
        drive(&mut server, clock, &mut self.inbox, self.stop, &mut world).await;
    }
}

/// The world that the machine's outputs go to.
struct World {
    endpoint: Endpoint<ObjectSessions>,
    gateway: CoordinatorId,
    peers: Option<Peers>,
    app: Option<Box<dyn AppSide>>,
    questions: Arc<ObjectQuestions>,
    to_gateway: ToGateway,
    figures: Figures,
}

impl World {
    /// Gives the app of this process what is for it.
    fn tell_app(&mut self, output: ToApp) {
        let output = match output {
            ToApp::Answered(ticket, result) => match self.questions.answered(ticket, result) {
                Some(result) => ToApp::Answered(ticket, result),
                None => return,
            },
            ToApp::Restore { .. }
            | ToApp::Forget { .. }
            | ToApp::Run(..)
            | ToApp::Created(..)
            | ToApp::Found(..)
            | ToApp::Save { .. }
            | ToApp::Moved(..) => output,
        };
        match &mut self.app {
            Some(app) => app.perform(output),
            None => unreachable!("a server without classes has nothing to run: {output:?}"),
        }
    }
}

impl Performer<ObjectServer> for World {
    fn perform(&mut self, output: ObjectOutput) {
        match output {
            ObjectOutput::Server(output) => self.perform_server(output),
            ObjectOutput::Gateway(input) => (self.to_gateway)(input),
        }
    }

    fn settled(&mut self, objects: &ObjectServer) {
        self.figures.set(objects);
    }
}

impl World {
    fn perform_server(&mut self, output: ServerOutput) {
        match output {
            ServerOutput::Send(session, message) => self.endpoint.send(session.0, message),
            ServerOutput::Close(session) => self.endpoint.close(session.0),
            ServerOutput::Ask(AskId(id), question) => {
                let address = self.peers.as_ref().map(|peers| peers.address.as_str());
                self.questions.of_machine(iolite_tracking::AskId(id), to_tracking(question, self.gateway, address));
            }
            ServerOutput::ToPeer(link, message) => match &self.peers {
                Some(peers) => peers.send(link, &message),
                None => unreachable!("a server without links has a message for one: {message:?}"),
            },
            ServerOutput::App(output) => self.tell_app(output),
            ServerOutput::Check { .. } | ServerOutput::Renew(..) | ServerOutput::May(..) => {
                unreachable!("the door has answered")
            }
        }
    }
}

/// Where news of tracking goes.
pub(crate) struct ObjectNews {
    mailbox: Mailbox<ObjectInput>,
    peers: Option<Peers>,
    questions: Arc<ObjectQuestions>,
}

impl ObjectNews {
    /// The gateway says who is let in.
    pub fn of_users(&self, news: AccessNews) {
        match news {
            AccessNews::Revoked(tokens) => self.mailbox.send(ObjectInput::Revoked(tokens)),
            AccessNews::Known => self.mailbox.send(ObjectInput::RevokedKnown),
            AccessNews::AnonymousKey(key) => self.mailbox.send(ObjectInput::AnonymousKey(key)),
            AccessNews::Keys(keys) => self.mailbox.send(ObjectInput::Keys(keys)),
            AccessNews::May(id, may) => self.mailbox.send(ObjectInput::May(id, may)),
            AccessNews::RightWithdrawn(id) => self.mailbox.send(ObjectInput::Withdrawn(id)),
            AccessNews::Answered(..)
            | AccessNews::Deployed(..)
            | AccessNews::Explained(..)
            | AccessNews::UnknownKey => {}
        }
    }

    fn tell_machine(&self, input: ServerInput) {
        self.mailbox.send(ObjectInput::Server(input));
    }

    pub fn tell(&self, news: News) {
        match news {
            News::Ready(store) => self.tell_machine(ServerInput::Ready(store)),
            News::Told(id, told) => {
                if let Some(told) = self.questions.told(id, told) {
                    self.tell_machine(ServerInput::Tracked(AskId(id.0), of_tracking(told)));
                }
            }
            News::Lease { own: _, until } => self.tell_machine(ServerInput::Lease(until)),
            News::Server { own, address } => {
                if let Some(peers) = &self.peers
                    && peers.found(own, &address)
                {
                    self.tell_machine(ServerInput::Others);
                }
            }
            News::NodeDead(node) => self.tell_machine(ServerInput::NodeDead(node)),
            News::Coordinates(bucket, is_own) => self.tell_machine(ServerInput::Coordinates(bucket, is_own)),
            News::Holder(bucket, holder) => self.tell_machine(ServerInput::Holder(bucket, holder)),
            News::Begun { object, managers } => self.tell_machine(ServerInput::Begun { object, managers }),
        }
    }
}

fn to_tracking(question: TrackAsk, gateway: CoordinatorId, own_address: Option<&str>) -> Ask {
    match question {
        TrackAsk::Find(object) => Ask::Find(object),
        TrackAsk::Begin { begin, at } => Ask::Begin { begin, at },
        TrackAsk::Move { object, from, to } => Ask::Move { object, from, places: vec![to] },
        TrackAsk::Take { object, from, at } => Ask::Take { object, from, at },
        TrackAsk::Remove { object, from } => Ask::Remove { object, from },
        TrackAsk::Where(device) => Ask::Where(device),
        TrackAsk::Register { name, known, serves, connection, classes } => {
            let address = match name {
                NodeName::Server(_) => own_address.unwrap_or_default().to_owned(),
                NodeName::Device(_) => String::new(),
            };
            Ask::Register { name, known, serves, at: gateway, connection, address, classes }
        }
        TrackAsk::List(bucket) => Ask::List(bucket),
        TrackAsk::Recall(object) => Ask::Recall(object),
        TrackAsk::Remember { object, from, was, memory } => Ask::Remember { object, from, was, memory },
        TrackAsk::Gone { device, connection } => Ask::Gone { device, at: gateway, connection },
    }
}

fn of_tracking(told: Told) -> Tracked {
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
        Told::Busy => Tracked::Track(TrackAnswer::Refused(NotRun::Busy)),
        Told::Unavailable => Tracked::Track(TrackAnswer::Refused(NotRun::Unreachable)),
        Told::InDoubt => Tracked::InDoubt,
    }
}
