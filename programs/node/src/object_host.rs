//! A server's part in objects, hosted: the sessions of `/objects`, the loop of its machine, and the classes of the process.
//!
//! Invariant: calls wait for nothing of the gateway: the machine has a loop and a mailbox of its own, and only questions to tracking leave it.

use iolite_access::{Access, Identity};
use iolite_host::{
    Clock, Codec, Endpoint, Inbox, Mailbox, Metric, Metrics, Performer, SessionEvent, SessionHandler, SessionNumber,
    Stop, drive, mailbox, random_id,
};
use iolite_objects::{
    AppSide, AskId, LetIn, Server, ServerInput, ServerOutput, ServerSettings, SessionId, ToKernel, TrackAsk,
};
use iolite_tracking::{Ask, News, Told};
use iolite_values::{CoordinatorId, Id};
use iolite_wire::limits;
use iolite_wire::objects::{FromDevice, NotRun, ToDevice, TrackAnswer};

use crate::ObjectClasses;
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
    type Input = ServerInput;

    fn codec(&self) -> ObjectCodec {
        ObjectCodec
    }

    fn input(&self, session: SessionNumber, event: SessionEvent<FromDevice>) -> ServerInput {
        use iolite_objects::SessionEvent as Happened;
        let event = match event {
            SessionEvent::Opened => Happened::Opened,
            SessionEvent::Message(message) => Happened::Message(message),
            SessionEvent::Garbled(problem) => Happened::Garbled(problem),
            SessionEvent::Drained(messages) => Happened::Drained(messages),
            SessionEvent::Closed => Happened::Closed,
        };
        ServerInput::Session(SessionId(session), event)
    }

    /// More than the protocol allows, so that who is a little over is told so instead of being cut off.
    fn frame_bytes_max(&self) -> usize {
        2 * limits::FROM_DEVICE.bytes.most
    }
}

/// The settings that a server's part in objects is started with.
pub(crate) struct ObjectHostSettings {
    pub gateway: CoordinatorId,
    pub access: Access,
    pub classes: Option<ObjectClasses>,
    pub clock: Clock,
}

/// A server's part in objects, before it runs.
pub(crate) struct ObjectHost {
    pub endpoint: Endpoint<ObjectSessions>,
    mailbox: Mailbox<ServerInput>,
    inbox: Inbox<ServerInput>,
    settings: ObjectHostSettings,
    figures: Figures,
    stop: Stop,
}

struct Figures {
    instances: Metric,
    sessions: Metric,
}

impl ObjectHost {
    pub fn new(settings: ObjectHostSettings, metrics: &Metrics, stop: Stop) -> ObjectHost {
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let endpoint = Endpoint::for_objects(ObjectSessions, mailbox.clone(), metrics, stop.clone());
        let figures = Figures {
            instances: metrics.gauge("iolite_object_instances", "Objects that are in this process."),
            sessions: metrics.gauge("iolite_object_nodes", "Nodes of objects that are connected and let in."),
        };
        ObjectHost { endpoint, mailbox, inbox, settings, figures, stop }
    }

    /// Where news of tracking goes.
    pub fn news(&self) -> ObjectNews {
        ObjectNews(self.mailbox.clone())
    }

    /// Runs until the server stops. `ask` gives tracking a question, whose answer comes as news.
    pub async fn run(mut self, ask: impl Fn(iolite_tracking::AskId, iolite_tracking::Ask)) {
        let ObjectHostSettings { gateway, access, classes, clock } = self.settings;
        let (classes, start) = match classes {
            Some(ObjectClasses { classes, start }) => (classes, Some(start)),
            None => (Vec::new(), None),
        };
        let to_kernel: ToKernel = {
            let mailbox = self.mailbox.clone();
            std::sync::Arc::new(move |input| mailbox.send(ServerInput::App(input)))
        };
        let app = start.map(|start| start(to_kernel));
        let settings = ServerSettings { gateway, kernel: Id::from_u128(random_id()), classes };
        let mut server = Server::new(clock.now(), settings);
        let mut world =
            World { endpoint: self.endpoint, mailbox: self.mailbox, gateway, access, app, ask, figures: self.figures };
        drive(&mut server, clock, &mut self.inbox, self.stop, &mut world).await;
    }
}

/// The world that the machine's outputs go to.
struct World<A> {
    endpoint: Endpoint<ObjectSessions>,
    mailbox: Mailbox<ServerInput>,
    gateway: CoordinatorId,
    access: Access,
    app: Option<Box<dyn AppSide>>,
    ask: A,
    figures: Figures,
}

impl<A: Fn(iolite_tracking::AskId, iolite_tracking::Ask)> Performer<Server> for World<A> {
    fn perform(&mut self, output: ServerOutput) {
        match output {
            ServerOutput::Send(session, message) => self.endpoint.send(session.0, message),
            ServerOutput::Close(session) => self.endpoint.close(session.0),
            ServerOutput::Check(session, token) => {
                let checked = self.access.check(&token).map(let_in).map_err(|error| error.to_string());
                self.mailbox.send(ServerInput::Checked(session, checked));
            }
            ServerOutput::Ask(AskId(id), question) => {
                (self.ask)(iolite_tracking::AskId(id), to_tracking(question, self.gateway));
            }
            ServerOutput::App(output) => match &mut self.app {
                Some(app) => app.perform(output),
                None => unreachable!("a server without classes has nothing to run: {output:?}"),
            },
        }
    }

    fn settled(&mut self, server: &Server) {
        self.figures.instances.set(server.kernel().instances() as u64);
        self.figures.sessions.set(server.sessions() as u64);
    }
}

/// For whom a session speaks, and whether it may be part of the service.
fn let_in(identity: Identity) -> LetIn {
    match identity {
        Identity::Developer => LetIn { caller: "developer".to_owned(), may_serve: true },
    }
}

/// Where news of tracking goes.
pub(crate) struct ObjectNews(Mailbox<ServerInput>);

impl ObjectNews {
    pub fn tell(&self, news: News) {
        match news {
            News::Ready(store) => self.0.send(ServerInput::Ready(store)),
            News::Told(id, told) => self.0.send(of_tracking(AskId(id.0), told)),
            // Only servers that share a store have leases, and nothing is created again when a node is dead.
            News::Lease { .. } | News::NodeDead(_) | News::Coordinates(..) => {}
        }
    }
}

fn to_tracking(question: TrackAsk, gateway: CoordinatorId) -> Ask {
    match question {
        TrackAsk::Find(object) => Ask::Find(object),
        TrackAsk::Begin { begin, at } => Ask::Begin { begin, at },
        TrackAsk::Register { name, known, serves, classes } => {
            Ask::Register { name, known, serves, at: gateway, classes }
        }
    }
}

fn of_tracking(id: AskId, told: Told) -> ServerInput {
    let refused = |why| ServerInput::Told(id, TrackAnswer::Refused(why));
    match told {
        Told::Track(answer) => ServerInput::Told(id, answer),
        Told::Registered(node) => ServerInput::Registered(id, node),
        Told::Busy => refused(NotRun::Busy),
        Told::Unavailable => refused(NotRun::Unreachable),
        Told::InDoubt => ServerInput::InDoubt(id),
        Told::Moved(_) | Told::Stands(_) | Told::Removed | Told::Lost | Told::Elsewhere => {
            unreachable!("nobody moves or removes objects: {told:?}")
        }
    }
}
