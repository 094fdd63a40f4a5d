//! A server's part in objects behind its door: whose token a session shows, and what that user may do.
//!
//! Invariant: the door answers at once, so nothing of a session waits for it, and it forgets a session that has closed.

use std::collections::{BTreeMap, VecDeque};

use iolite_access::{Access, Identity, MayUse, ObjectRight};
use iolite_machine::{Instant, Machine, Now};
use iolite_objects::{FromApp, LetIn, Right, Server, ServerInput, ServerOutput, SessionEvent, SessionId};
use iolite_values::ObjectName;
use iolite_wire::objects::FromDevice;

/// The door says what sessions of `/objects` may do.
#[derive(Debug)]
pub(crate) struct ObjectDoor {
    access: Access,
    /// For tests: a class of which nobody may do anything.
    denied: Option<String>,
    /// The user of each session that was let in.
    identities: BTreeMap<SessionId, Identity>,
}

/// The machine of a server of objects, with its door.
#[derive(Debug)]
pub(crate) struct ObjectServer {
    server: Server,
    door: ObjectDoor,
    tally: ObjectTally,
    outputs: VecDeque<ServerOutput>,
}

/// How often things have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectTally {
    /// Calls of devices that are connected here, and of this process.
    pub calls: u64,
    /// Questions to tracking.
    pub asked: u64,
    /// Questions to the door.
    pub rights: u64,
}

impl ObjectDoor {
    pub fn new(access: Access, denied: Option<String>) -> ObjectDoor {
        ObjectDoor { access, denied, identities: BTreeMap::new() }
    }

    fn check(&mut self, session: SessionId, token: &str) -> Result<LetIn, String> {
        let identity = self.access.check(token).map_err(|error| error.to_string())?;
        self.identities.insert(session, identity);
        Ok(let_in(identity))
    }

    fn may(&self, session: SessionId, object: &ObjectName, right: &Right) -> bool {
        let Some(identity) = self.identities.get(&session) else { return false };
        if self.denied.as_deref() == Some(object.class()) {
            return false;
        }
        let right = match right {
            Right::Call { method } => ObjectRight::Call { method },
            Right::Read => ObjectRight::Read,
            Right::Hold => ObjectRight::Hold,
        };
        match identity.may_use(object, right) {
            MayUse::Yes => true,
        }
    }
}

/// For whom a session speaks, and whether it may be part of the service.
fn let_in(identity: Identity) -> LetIn {
    match identity {
        Identity::Developer => LetIn { caller: "developer".to_owned(), may_serve: true },
    }
}

impl ObjectServer {
    pub fn new(server: Server, door: ObjectDoor) -> ObjectServer {
        ObjectServer { server, door, tally: ObjectTally::default(), outputs: VecDeque::new() }
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    pub fn tally(&self) -> ObjectTally {
        self.tally
    }

    fn look_at(&mut self, input: &ServerInput) {
        match input {
            ServerInput::Session(session, SessionEvent::Closed) => drop(self.door.identities.remove(session)),
            ServerInput::Session(session, SessionEvent::Message(FromDevice::Call { .. })) => {
                self.tally.calls += u64::from(self.door.identities.contains_key(session));
            }
            ServerInput::App(FromApp::Call(..)) => self.tally.calls += 1,
            ServerInput::Session(..)
            | ServerInput::App(_)
            | ServerInput::Ready(_)
            | ServerInput::Checked(..)
            | ServerInput::Tracked(..)
            | ServerInput::Others
            | ServerInput::Lease(_)
            | ServerInput::Peer(..)
            | ServerInput::NodeDead(_)
            | ServerInput::Coordinates(..)
            | ServerInput::Holder(..)
            | ServerInput::Begun { .. }
            | ServerInput::May(..) => {}
        }
    }

    /// Has the door answer what the machine asks it. The rest is for the host.
    fn answer(&mut self, now: Now) {
        while let Some(output) = self.server.poll() {
            match output {
                ServerOutput::Check(session, token) => {
                    let checked = self.door.check(session, &token);
                    self.server.handle(now, ServerInput::Checked(session, checked));
                }
                ServerOutput::May(id, session, object, right) => {
                    self.tally.rights += 1;
                    let may = self.door.may(session, &object, &right);
                    self.server.handle(now, ServerInput::May(id, may));
                }
                ServerOutput::Ask(..) => {
                    self.tally.asked += 1;
                    self.outputs.push_back(output);
                }
                ServerOutput::Send(..) | ServerOutput::Close(_) | ServerOutput::ToPeer(..) | ServerOutput::App(_) => {
                    self.outputs.push_back(output);
                }
            }
        }
    }
}

impl Machine for ObjectServer {
    type Input = ServerInput;
    type Output = ServerOutput;

    fn handle(&mut self, now: Now, input: ServerInput) {
        self.look_at(&input);
        self.server.handle(now, input);
        self.answer(now);
    }

    fn poll(&mut self) -> Option<ServerOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.server.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.server.on_deadline(now);
        self.answer(now);
    }

    fn validate(&self) {
        self.server.validate();
    }
}

#[cfg(test)]
mod tests {
    use iolite_access::DevelopmentToken;
    use iolite_machine::WallTime;
    use iolite_objects::{Broken, ServerSettings};
    use iolite_values::{CoordinatorId, Id, NodeLife};
    use iolite_wire::objects::{DeviceHello, OBJECTS_PROTOCOL_VERSION, ToDevice};

    use super::*;

    const NOW: Now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_700_000_000_000_000) };

    fn objects() -> ObjectServer {
        let settings = ServerSettings {
            gateway: CoordinatorId::default(),
            kernel: Id::from_u128(1),
            classes: Vec::new(),
            has_leases: false,
            managers: Vec::new(),
            broken: Broken::Nothing,
        };
        let access = Access::Development(DevelopmentToken::new("token"));
        ObjectServer::new(Server::new(NOW, settings), ObjectDoor::new(access, Some("Secret".to_owned())))
    }

    fn come(objects: &mut ObjectServer, session: u64, token: &str) {
        let hello = DeviceHello {
            oldest_version: OBJECTS_PROTOCOL_VERSION,
            newest_version: OBJECTS_PROTOCOL_VERSION,
            token: token.to_owned(),
            device: Id::from_u128(session.into()),
            life: NodeLife(0),
            serves: false,
            classes: Vec::new(),
            connection: 1,
        };
        for event in [SessionEvent::Opened, SessionEvent::Message(FromDevice::Hello(hello))] {
            objects.handle(NOW, ServerInput::Session(SessionId(session), event));
        }
    }

    #[test]
    fn a_session_is_somebody_while_it_is_open_and_lets_the_denied_class_alone() {
        let mut objects = objects();
        come(&mut objects, 1, "token");
        come(&mut objects, 2, "wrong");
        let may = |objects: &ObjectServer, session, class| {
            let object = ObjectName::new(class, "a").expect("a short name");
            objects.door.may(SessionId(session), &object, &Right::Hold)
        };
        assert!(may(&objects, 1, "Note") && !may(&objects, 1, "Secret") && !may(&objects, 2, "Note"));
        let said: Vec<_> = std::iter::from_fn(|| objects.poll()).collect();
        assert!(matches!(&said[..], [ServerOutput::Send(SessionId(2), ToDevice::Goodbye(_)), ServerOutput::Close(_)]));
        for session in [1, 2] {
            objects.handle(NOW, ServerInput::Session(SessionId(session), SessionEvent::Closed));
        }
        assert!(!may(&objects, 1, "Note"), "it has closed");
        assert_eq!(objects.door.identities.len(), 0);
    }
}
