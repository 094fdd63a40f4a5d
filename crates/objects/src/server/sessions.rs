//! Sessions of `/objects`: let in, registered, heard.
//!
//! Invariant: nothing that a session says counts before its token is checked and its node registered.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::WallTime;
use iolite_values::{DeviceRight, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName};
use iolite_wire::message::{Goodbye, GoodbyeReason};
use iolite_wire::objects::{
    Answer, Begin, CallFailure, Component, DeviceHello, DeviceWelcome, FromDevice, NotRun, OBJECTS_PROTOCOL_VERSION,
    OfferedClass, Rpc, ToDevice,
};

use super::asking::{Asked, Claim, Claimed};
use super::holds::{HoldKey, may_be_at_devices};
use super::rights::{Guarded, Right};
use super::{Asker, LetIn, Server, ServerOutput, SessionEvent, SessionId, TrackAsk};
use crate::Broken;
use crate::kernel::coordinating::REF_REQUEST;
use crate::limits::{SESSION_CALLS_MAX, SESSION_UNDRAINED_MAX};
use crate::parts::Parts;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    all: BTreeMap<SessionId, Session>,
    by_node: BTreeMap<NodeId, SessionId>,
}

#[derive(Debug)]
enum Session {
    /// The node has said nothing.
    Silent,
    /// The token is being checked.
    Checking(DeviceHello),
    /// The node waits to be registered: `asked`, or not because this node is not registered itself.
    Registering {
        /// With the name that the door has given the device.
        hello: DeviceHello,
        caller: String,
        /// When the token runs out.
        ends: Option<WallTime>,
        asked: bool,
    },
    Open(OpenSession),
    /// The node is told goodbye, and not heard any more.
    Ending,
}

#[derive(Debug)]
struct OpenSession {
    node: NodeId,
    caller: String,
    serves: bool,
    classes: Vec<OfferedClass>,
    /// The number of the connection, as the node counts it.
    connection: u64,
    parts: Parts,
    /// The last number of its own, and of the server's.
    heard: u64,
    sent: u64,
    /// Calls of the node that have no answer yet.
    open: usize,
    /// Messages that its socket has not taken.
    undrained: usize,
}

impl Sessions {
    pub fn len(&self) -> usize {
        self.by_node.len()
    }

    /// Whether a node waits until this one is registered.
    pub fn is_waiting(&self) -> bool {
        !self.waiting().is_empty()
    }

    fn waiting(&self) -> Vec<SessionId> {
        let is_waiting = |session: &Session| matches!(session, Session::Registering { asked: false, .. });
        self.all.iter().filter(|(_, session)| is_waiting(session)).map(|(id, _)| *id).collect()
    }

    pub fn is_open(&self, session: SessionId) -> bool {
        self.opened(session).is_some()
    }

    fn opened(&self, session: SessionId) -> Option<&OpenSession> {
        match self.all.get(&session) {
            Some(Session::Open(open)) => Some(open),
            Some(Session::Silent | Session::Checking(_) | Session::Registering { .. } | Session::Ending) | None => None,
        }
    }

    fn opened_mut(&mut self, session: SessionId) -> Option<&mut OpenSession> {
        match self.all.get_mut(&session) {
            Some(Session::Open(open)) => Some(open),
            Some(Session::Silent | Session::Checking(_) | Session::Registering { .. } | Session::Ending) | None => None,
        }
    }

    pub fn of_node(&self, node: NodeId) -> Option<SessionId> {
        self.by_node.get(&node).copied()
    }

    pub fn node(&self, session: SessionId) -> Option<NodeId> {
        self.opened(session).map(|open| open.node)
    }

    /// The next number of the server's own for a session.
    pub fn next_number(&mut self, session: SessionId) -> u64 {
        self.opened_mut(session).map_or(0, |open| {
            open.sent += 1;
            open.sent
        })
    }

    /// One call of the session has its answer. False: the session is there no more.
    pub fn answered(&mut self, session: SessionId) -> bool {
        let open = self.opened_mut(session);
        if let Some(open) = open {
            open.open = open.open.saturating_sub(1);
            return true;
        }
        false
    }

    /// Whether the session is of a node of the service.
    pub fn serves(&self, session: SessionId) -> bool {
        self.opened(session).is_some_and(|open| open.serves)
    }

    /// The classes that nodes of the service run.
    pub fn served(&self) -> Vec<(OfferedClass, NodeId)> {
        let open = self.by_node.values().filter_map(|session| self.opened(*session));
        let serving = open.filter(|open| open.serves);
        serving.flat_map(|open| open.classes.iter().map(|class| (class.clone(), open.node))).collect()
    }

    /// The session of a node of the service that runs this class: of several, each in its turn.
    pub fn serving(&self, offered: &OfferedClass, turn: usize) -> Option<SessionId> {
        let serves = |session: &SessionId| {
            self.opened(*session).is_some_and(|open| open.serves && open.classes.contains(offered))
        };
        let all: Vec<SessionId> = self.by_node.values().filter(|session| serves(session)).copied().collect();
        all.get(turn.checked_rem(all.len())?).copied()
    }
}

impl Server {
    pub(super) fn on_session(&mut self, session: SessionId, event: SessionEvent) {
        match event {
            SessionEvent::Opened => drop(self.sessions.all.insert(session, Session::Silent)),
            SessionEvent::Message(message) => self.on_message(session, message),
            SessionEvent::Garbled(problem) => self.end(session, GoodbyeReason::Protocol, problem),
            SessionEvent::Drained(messages) => self.drained(session, messages),
            SessionEvent::Closed => self.on_closed(session),
        }
    }

    fn on_closed(&mut self, session: SessionId) {
        self.leave(session);
        self.sessions.all.remove(&session);
    }

    /// The session's node cannot be reached by it any more.
    fn leave(&mut self, session: SessionId) {
        let Some(open) = self.sessions.opened(session) else { return };
        let (node, connection) = (open.node, open.connection);
        if self.sessions.of_node(node) == Some(session) {
            self.sessions.by_node.remove(&node);
            self.went(node, connection);
        }
        self.sessions.all.insert(session, Session::Ending);
        self.relays_closed(session);
        self.rights_closed(session);
        self.holds_closed(|key| matches!(key, HoldKey::Session(own, _) if *own == session));
        self.tell_classes();
    }

    /// Sends a session away, with a word for people.
    fn end(&mut self, session: SessionId, reason: GoodbyeReason, message: String) {
        self.leave(session);
        self.sessions.all.insert(session, Session::Ending);
        let retry_after = (reason == GoodbyeReason::Unavailable).then(|| Duration::from_secs(1));
        self.send(session, ToDevice::Goodbye(Goodbye { reason, message, retry_after }));
        self.emit(ServerOutput::Close(session));
    }

    /// The store is another one: all nodes register anew, and what they hold is gone.
    pub(super) fn end_sessions(&mut self) {
        for session in self.sessions.by_node.values().copied().collect::<Vec<_>>() {
            self.end(session, GoodbyeReason::Unavailable, "the store is another one: connect again".to_owned());
        }
    }

    fn drained(&mut self, session: SessionId, messages: usize) {
        if let Some(open) = self.sessions.opened_mut(session) {
            open.undrained = open.undrained.saturating_sub(messages);
        }
    }

    /// Sends a message to a node; one that takes too little of what it is sent is sent away.
    pub(super) fn send(&mut self, session: SessionId, message: ToDevice) {
        self.emit(ServerOutput::Send(session, message));
        let Some(open) = self.sessions.opened_mut(session) else { return };
        open.undrained += 1;
        if open.undrained > SESSION_UNDRAINED_MAX {
            let word = format!("the node has not taken {SESSION_UNDRAINED_MAX} messages: it is too slow");
            self.end(session, GoodbyeReason::Slow, word);
        }
    }

    fn protocol(&mut self, session: SessionId, problem: &str) {
        self.end(session, GoodbyeReason::Protocol, problem.to_owned());
    }

    fn on_message(&mut self, session: SessionId, message: FromDevice) {
        match self.sessions.all.get(&session) {
            Some(Session::Silent) => match message {
                FromDevice::Hello(hello) => self.on_hello(session, hello),
                FromDevice::Call { .. }
                | FromDevice::Answer { .. }
                | FromDevice::Find { .. }
                | FromDevice::Begin { .. }
                | FromDevice::Create { .. }
                | FromDevice::Held { .. }
                | FromDevice::Move { .. }
                | FromDevice::Keep { .. }
                | FromDevice::Missing { .. }
                | FromDevice::Ping { .. }
                | FromDevice::Part { .. }
                | FromDevice::Token(_) => self.protocol(session, "a connection to /objects begins with a hello"),
            },
            Some(Session::Open(_)) => self.on_open_message(session, message),
            Some(Session::Checking(_) | Session::Registering { .. }) => {
                self.protocol(session, "a node waits for its welcome before it says more");
            }
            Some(Session::Ending) | None => {}
        }
    }

    fn on_hello(&mut self, session: SessionId, hello: DeviceHello) {
        let own = OBJECTS_PROTOCOL_VERSION;
        if hello.oldest_version > own || hello.newest_version < own {
            let message = format!(
                "this server speaks version {} of the object protocol, and the node {} to {}: update the older one",
                own.0, hello.oldest_version.0, hello.newest_version.0
            );
            return self.end(session, GoodbyeReason::Version, message);
        }
        let (device, token) = (hello.device, hello.token.clone());
        self.sessions.all.insert(session, Session::Checking(hello));
        self.emit(ServerOutput::Check { session, device, token });
    }

    pub(super) fn on_checked(&mut self, session: SessionId, checked: Result<LetIn, String>) {
        let Some(Session::Checking(hello)) = self.sessions.all.get(&session) else { return };
        match checked {
            Err(problem) => self.end(session, GoodbyeReason::Unauthorized, problem),
            Ok(let_in) if hello.serves && !let_in.may_serve => {
                let problem = "this token lets a device in, and no part of the service: connect without `serves`, or with the operator's token";
                self.end(session, GoodbyeReason::Unauthorized, problem.to_owned());
            }
            Ok(let_in) => {
                let LetIn { caller, may_serve: _, device, ends } = let_in;
                let hello = DeviceHello { device, ..hello.clone() };
                self.sessions.all.insert(session, Session::Registering { hello, caller, ends, asked: false });
                self.register(session);
            }
        }
    }

    /// The session has another token, which runs out then; or it has none that is good.
    pub(super) fn on_renewed(&mut self, session: SessionId, renewed: Result<Option<WallTime>, String>) {
        match renewed {
            Ok(ends) if self.sessions.is_open(session) => {
                // The token may say other things of its user.
                self.rights_closed(session);
                let left = ends.map(|ends| self.left(ends));
                self.send(session, ToDevice::Renewed(left));
            }
            Ok(_) => {}
            Err(problem) => self.on_ended(session, problem),
        }
    }

    /// The door has closed for a session: its token is good no more.
    pub(super) fn on_ended(&mut self, session: SessionId, problem: String) {
        match self.sessions.all.get(&session) {
            Some(Session::Silent | Session::Checking(_) | Session::Registering { .. } | Session::Open(_)) => {
                self.end(session, GoodbyeReason::Unauthorized, problem);
            }
            Some(Session::Ending) | None => {}
        }
    }

    /// For how long a token is good that runs out then.
    fn left(&self, ends: WallTime) -> Duration {
        Duration::from_millis(ends.as_micros().saturating_sub(self.now.wall.as_micros()) / 1_000)
    }

    /// Nodes that came before this one was registered.
    pub(super) fn register_waiting(&mut self) {
        self.sessions.waiting().into_iter().for_each(|session| self.register(session));
    }

    /// This node cannot be registered now: those that wait for it come again later.
    pub(super) fn refuse_waiting(&mut self) {
        self.sessions.waiting().into_iter().for_each(|session| self.not_registered(session, false));
    }

    fn register(&mut self, session: SessionId) {
        if self.kernel.node().is_none() {
            return self.register_own();
        }
        let Some(Session::Registering { hello, asked, .. }) = self.sessions.all.get_mut(&session) else { return };
        *asked = true;
        let (name, known) = (NodeName::Device(hello.device), hello.life);
        let (serves, connection, classes) = (hello.serves, hello.connection, hello.classes.clone());
        self.ask(Asked::Device(session), TrackAsk::Register { name, known, serves, connection, classes });
    }

    /// `is_elsewhere`: the node has connected again meanwhile.
    pub(super) fn not_registered(&mut self, session: SessionId, is_elsewhere: bool) {
        if is_elsewhere {
            let word = "the node has connected again".to_owned();
            return self.end(session, GoodbyeReason::Replaced, word);
        }
        self.end(session, GoodbyeReason::Unavailable, "the store cannot be reached: connect again later".to_owned());
    }

    pub(super) fn device_registered(&mut self, session: SessionId, node: NodeId, lapses: u64, question: &TrackAsk) {
        if !self.is_registering(session) {
            return self.went_unregistered(node, question);
        }
        let (Some(Session::Registering { hello, caller, ends, .. }), Some(server), Some(store)) =
            (self.sessions.all.get(&session), self.kernel.node(), self.store)
        else {
            return;
        };
        let token_left = ends.map(|ends| self.left(ends));
        let open = OpenSession {
            node,
            caller: caller.clone(),
            serves: hello.serves,
            classes: hello.classes.clone(),
            connection: hello.connection,
            parts: Parts::default(),
            heard: 0,
            sent: 0,
            open: 0,
            undrained: 0,
        };
        // The same node by an earlier connection, which it has lost without a word.
        if let Some(earlier) = self.sessions.of_node(node) {
            let word = "the node has connected again".to_owned();
            self.end(earlier, GoodbyeReason::Replaced, word);
        }
        self.sessions.all.insert(session, Session::Open(open));
        self.sessions.by_node.insert(node, session);
        self.absent.came(node);
        self.forget_route(node);
        let version = OBJECTS_PROTOCOL_VERSION;
        self.send(
            session,
            ToDevice::Welcome(DeviceWelcome { version, store, device: node, server, lapses, token_left }),
        );
        self.tell_classes();
    }

    fn is_registering(&self, session: SessionId) -> bool {
        matches!(self.sessions.all.get(&session), Some(Session::Registering { .. }))
    }

    /// A node is registered, or may be, by a connection that is over: nobody else counts how long it is away.
    fn went_unregistered(&mut self, node: NodeId, question: &TrackAsk) {
        if let TrackAsk::Register { connection, .. } = question
            && self.sessions.of_node(node).is_none()
        {
            self.went(node, *connection);
        }
    }

    /// A node may be registered, or not.
    pub(super) fn registration_in_doubt(&mut self, session: SessionId, question: &TrackAsk) {
        if let TrackAsk::Register { name, known, .. } = question
            && *known != NodeLife(0)
        {
            self.went_unregistered(NodeId { name: *name, life: *known }, question);
        }
        self.not_registered(session, false);
    }

    fn on_open_message(&mut self, session: SessionId, message: FromDevice) {
        if let (Some(number), Some(open)) = (number_of(&message), self.sessions.opened_mut(session)) {
            if number <= open.heard {
                return self.protocol(session, "a number was used before on this connection");
            }
            open.heard = number;
        }
        match message {
            FromDevice::Hello(_) => self.protocol(session, "a connection has one hello"),
            FromDevice::Call { number, to, rpc } => self.on_device_call(session, number, to, rpc),
            FromDevice::Answer { number, answer } => {
                if !self.session_answered(session, number, answer) {
                    self.protocol(session, "an answer to a call that was not asked, or is answered");
                }
            }
            FromDevice::Find { number, object } => {
                self.ask(Asked::By(Asker::Session(session, number)), TrackAsk::Find(object));
            }
            FromDevice::Begin { number, begin } => self.on_device_begin(session, number, begin),
            FromDevice::Create { number, begin, state } => {
                if let Some(state) = self.whole(session, number, state) {
                    self.on_device_create(session, number, begin, state);
                }
            }
            FromDevice::Held { number, held } => {
                let Some(node) = self.sessions.node(session) else { return };
                if !self.held(HoldKey::Session(session, number), held.map(|()| node)) {
                    self.protocol(session, "an answer to a hold that was not asked, or is answered");
                }
            }
            FromDevice::Move { number, begin, epoch, to, state } => {
                if let Some(state) = self.whole(session, number, state) {
                    let object = begin.object.clone();
                    self.on_claim(session, object, epoch, Claimed::Move { number, begin, to, state });
                }
            }
            FromDevice::Keep { number, object, epoch } => self.on_device_keep(session, number, object, epoch),
            FromDevice::Missing { object, epoch } => self.on_claim(session, object, epoch, Claimed::Missing),
            FromDevice::Ping { number } => self.send(session, ToDevice::Pong { number }),
            FromDevice::Token(token) => self.emit(ServerOutput::Renew(session, token)),
            FromDevice::Part { number, part } => {
                let added = self.sessions.opened_mut(session).map(|open| open.parts.add(number, &part));
                if let Some(Err(problem)) = added {
                    self.protocol(session, problem);
                }
            }
        }
    }

    /// The whole state, whose last part came with the message of this number.
    fn whole(&mut self, session: SessionId, number: u64, rest: Vec<u8>) -> Option<Vec<u8>> {
        match self.sessions.opened_mut(session)?.parts.end(number, rest) {
            Ok(state) => Some(state),
            Err(problem) => {
                self.protocol(session, problem);
                None
            }
        }
    }

    /// A device of a user has an object from now on, also if it had it before.
    fn on_device_keep(&mut self, session: SessionId, number: u64, object: ObjectName, epoch: ObjectEpoch) {
        if self.sessions.serves(session) {
            return self.on_claim(session, object, epoch, Claimed::Keep { number });
        }
        self.guard(session, object.clone(), Right::Hold, Guarded::Keep { number, object, epoch });
    }

    pub(super) fn on_claim(&mut self, session: SessionId, object: ObjectName, epoch: ObjectEpoch, says: Claimed) {
        if let Some(node) = self.sessions.node(session) {
            self.claim(Claim { session, node, object, epoch, says });
        }
    }

    fn on_device_begin(&mut self, session: SessionId, number: u64, begin: Begin) {
        if let Err(why) = self.kernel.check_managers(&begin.declared.managers) {
            return self.refuse(session, number, why);
        }
        if self.sessions.serves(session) {
            let Some(at) = self.sessions.node(session) else { return };
            return self.ask(Asked::By(Asker::Session(session, number)), TrackAsk::Begin { begin, at });
        }
        // The service's own word about a class counts more than a device's.
        if !may_be_at_devices(&begin.declared) || self.is_declared_otherwise(&begin) {
            return self.refuse(session, number, NotRun::NotPermitted);
        }
        let object = begin.object.clone();
        self.guard(session, object, Right::Hold, Guarded::Begin { number, begin });
    }

    fn on_device_create(&mut self, session: SessionId, number: u64, begin: Begin, state: Vec<u8>) {
        if let Err(why) = self.kernel.check_managers(&begin.declared.managers) {
            return self.refuse(session, number, why);
        }
        if self.sessions.serves(session) {
            return self.place(Asker::Session(session, number), begin, state);
        }
        let right = Right::Call { method: "new".to_owned() };
        let object = begin.object.clone();
        self.guard(session, object, right, Guarded::Create { number, begin, state });
    }

    /// Whether the service runs a class of this name, and not as it is said here.
    fn is_declared_otherwise(&self, begin: &Begin) -> bool {
        let name = begin.object.class();
        let own = self.settings.classes.iter().filter(|class| class.name == name).map(|class| &class.declared);
        let behind = self.peers.served().map(|served| served.class);
        let served: Vec<OfferedClass> =
            self.sessions.served().into_iter().map(|(class, _)| class).chain(behind).collect();
        let served = served.iter().filter(|class| class.name == name).map(|class| &class.declared);
        let mut known = own.chain(served).peekable();
        known.peek().is_some() && !known.any(|declared| *declared == begin.declared)
    }

    fn on_device_call(&mut self, session: SessionId, number: u64, to: NodeId, mut rpc: Rpc) {
        let Some(open) = self.sessions.opened_mut(session) else { return };
        if open.open >= SESSION_CALLS_MAX {
            let answer = Answer::Failed(CallFailure::NotRun(NotRun::Busy));
            return self.send(session, ToDevice::Answer { number, answer });
        }
        open.open += 1;
        let serves = open.serves;
        (rpc.from, rpc.by_device) = (Some(open.node), !serves);
        // A method of the service calls for whom it runs. A device calls for nobody but its user.
        let is_believed = serves || self.settings.broken == Broken::BelieveTheStamp;
        if !is_believed || rpc.caller.is_empty() {
            rpc.caller.clone_from(&open.caller);
        }
        if serves {
            return self.relay(Asker::Session(session, number), to, rpc);
        }
        let needs = rights_of(&mut rpc);
        self.guard_call(session, (number, to, Box::new(rpc)), needs);
    }
}

/// The rights that a device's call needs, all of them. A call that runs a method needs `call` of that method, whatever part of the object it
/// goes to; a call that claims something needs the right to that. A message of a manager runs no method, so it names none.
fn rights_of(rpc: &mut Rpc) -> Vec<Right> {
    let is_message = match rpc.component {
        Component::Method => false,
        Component::Instance(_) | Component::Coordinator(_) => true,
        Component::Proxy(_) => rpc.method.is_empty(),
    };
    // A coordinator is asked for nodes by a name of its own.
    if is_message && rpc.method != REF_REQUEST {
        rpc.method.clear();
    }
    let call = Right::Call { method: if is_message { String::new() } else { rpc.method.clone() } };
    let claimed = match rpc.claim {
        DeviceRight::Call => return vec![call],
        DeviceRight::Read => Right::Read,
        DeviceRight::Hold => Right::Hold,
    };
    if is_message { vec![claimed] } else { vec![call, claimed] }
}

/// The number that a message gives to what it asks, each of which is used once.
fn number_of(message: &FromDevice) -> Option<u64> {
    match message {
        FromDevice::Call { number, .. }
        | FromDevice::Find { number, .. }
        | FromDevice::Begin { number, .. }
        | FromDevice::Create { number, .. }
        | FromDevice::Move { number, .. }
        | FromDevice::Keep { number, .. } => Some(*number),
        FromDevice::Hello(_)
        | FromDevice::Answer { .. }
        | FromDevice::Held { .. }
        | FromDevice::Missing { .. }
        | FromDevice::Ping { .. }
        | FromDevice::Part { .. }
        | FromDevice::Token(_) => None,
    }
}
