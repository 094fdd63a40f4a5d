//! A server's part in objects behind its door: whose token a session shows, what that user may do, and when the session ends.
//!
//! Invariants:
//! - the name of a device is made of its user and of what it drew: nobody else's token leads to it;
//! - a session is open for no longer than its token is good, and not after that was revoked;
//! - nobody with a user's token is let in before it is known whose tokens are revoked;
//! - what a user may do with an object, the gateway says; the door asks it once, and keeps its yes until that is withdrawn;
//! - of who it is the door answers at once, and it forgets a session that has closed.

mod asks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use iolite_access::{Access, AccessError, AnonymousKey, DevelopmentToken, Identity, Key, User};
use iolite_gateway::{AskRight, Input, RevokedTokens, RightId};
use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_objects::{FromApp, LetIn, MayId, Right, Server, ServerInput, ServerOutput, SessionEvent, SessionId};
use iolite_values::{Id, ObjectName};
use iolite_wire::objects::FromDevice;

use asks::Asks;

/// The door says what sessions of `/objects` may do.
#[derive(Debug)]
pub(crate) struct ObjectDoor {
    access: Access,
    /// The operator's token, which is the development token where there is that one: who has it may be part of the service.
    operator: DevelopmentToken,
    /// The newest first.
    anonymous_keys: Vec<AnonymousKey>,
    /// For tests: a class of which nobody may do anything.
    denied: Option<String>,
    asks: Asks,
    /// Since when the tokens of a user have to be issued. None: it is not known yet whose are revoked.
    revoked: Option<BTreeMap<Id, WallTime>>,
    /// The part of that which is known so far.
    revoked_so_far: BTreeMap<Id, WallTime>,
    /// Sessions that wait until it is.
    waiting: BTreeMap<SessionId, (Id, String)>,
    /// The user of each session that was let in.
    guests: BTreeMap<SessionId, Guest>,
    ends: BTreeSet<(Instant, SessionId)>,
    /// Sessions that were not let in yet, and until when they have time.
    coming: BTreeMap<SessionId, Instant>,
    /// The same in the order of time.
    coming_until: BTreeSet<(Instant, SessionId)>,
}

#[derive(Debug)]
struct Guest {
    identity: Identity,
    /// When it has to go, if its token runs out.
    ends: Option<Instant>,
}

/// An input of a server of objects behind its door.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all are inputs of the machine, and a box would be an allocation for each"
)]
pub(crate) enum ObjectInput {
    Server(ServerInput),
    /// Tokens that are refused from now on.
    Revoked(RevokedTokens),
    /// A key that signs tokens of anonymous users.
    AnonymousKey(AnonymousKey),
    /// The keys of the issuer's address.
    Keys(Vec<Key>),
    /// All that was revoked until now has been told, and all keys. Users are let in from now on.
    RevokedKnown,
    /// Whether a user may do what the gateway was asked about.
    May(RightId, bool),
    /// The gateway's yes holds no more.
    Withdrawn(RightId),
}

/// An output of a server of objects behind its door.
#[derive(Clone, Debug)]
pub(crate) enum ObjectOutput {
    Server(ServerOutput),
    /// Something for the gateway of this server.
    Gateway(Input),
}

/// The machine of a server of objects, with its door.
#[derive(Debug)]
pub(crate) struct ObjectServer {
    server: Server,
    door: ObjectDoor,
    tally: ObjectTally,
    outputs: VecDeque<ObjectOutput>,
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

/// Time for a hello, and until it is known whose tokens are revoked.
const LET_IN_WITHIN: Duration = Duration::from_secs(10);

const LATE: &str = "no hello that lets anybody in came within 10 s: connect again";

/// The names of callers that are no users.
const OWN_CALLERS: [&str; 2] = ["developer", "server"];

impl ObjectDoor {
    pub fn new(access: Access, operator: &str, denied: Option<String>) -> ObjectDoor {
        // With one token for all there are no users to revoke.
        let revoked = match access {
            Access::Development(_) => Some(BTreeMap::new()),
            Access::Tokens(_) => None,
        };
        ObjectDoor {
            access,
            operator: DevelopmentToken::new(operator),
            anonymous_keys: Vec::new(),
            denied,
            asks: Asks::default(),
            revoked,
            revoked_so_far: BTreeMap::new(),
            waiting: BTreeMap::new(),
            guests: BTreeMap::new(),
            ends: BTreeSet::new(),
            coming: BTreeMap::new(),
            coming_until: BTreeSet::new(),
        }
    }

    /// None: it is said later.
    fn check(&mut self, now: Now, session: SessionId, device: Id, token: &str) -> Option<Result<LetIn, String>> {
        if self.revoked.is_none() && !self.operator.equals(token) {
            self.waiting.insert(session, (device, token.to_owned()));
            return None;
        }
        let identity = match self.identify(now, token) {
            Ok(identity) => identity,
            Err(problem) => return Some(Err(problem)),
        };
        let let_in = let_in(&identity, device);
        self.admit(now, session, identity);
        Some(Ok(let_in))
    }

    /// Another token for a session: when it runs out.
    fn renew(&mut self, now: Now, session: SessionId, token: &str) -> Result<Option<WallTime>, String> {
        let identity = self.identify(now, token)?;
        match self.guests.get(&session) {
            Some(guest) if guest.identity.is_same_user(&identity) => {}
            Some(_) | None => return Err(AccessError::OtherUser.to_string()),
        }
        let ends = identity.ends();
        self.admit(now, session, identity);
        Ok(ends)
    }

    fn identify(&self, now: Now, token: &str) -> Result<Identity, String> {
        if self.operator.equals(token) {
            return Ok(Identity::Developer);
        }
        let identity = self.access.check(token, now.wall).map_err(|error| error.to_string())?;
        if self.is_revoked(&identity) {
            return Err(identity.revoked().to_string());
        }
        match identity.user() {
            Some(user) if OWN_CALLERS.contains(&&*user.subject.name) => {
                let name = &user.subject.name;
                Err(format!(
                    "the user is called {name:?}, as calls of the service itself are: give the user another `sub`"
                ))
            }
            Some(_) | None => Ok(identity),
        }
    }

    /// A token that does not say when it was issued counts as older than any revocation.
    fn is_revoked(&self, identity: &Identity) -> bool {
        let Some(user) = identity.user() else { return false };
        let rows = self.revoked.as_ref().unwrap_or(&self.revoked_so_far);
        let not_before = rows.get(&user.subject.digest());
        not_before.is_some_and(|at| user.issued.is_none_or(|issued| issued < *at))
    }

    fn admit(&mut self, now: Now, session: SessionId, identity: Identity) {
        self.forget(session);
        let ends = identity.stays(now.wall).map(|stays| now.instant + stays);
        self.ends.extend(ends.map(|ends| (ends, session)));
        self.guests.insert(session, Guest { identity, ends });
    }

    /// A connection is there.
    fn opened(&mut self, now: Instant, session: SessionId) {
        let until = now + LET_IN_WITHIN;
        self.coming.insert(session, until);
        self.coming_until.insert((until, session));
    }

    /// The connections that have said no good hello in time.
    fn late(&self, now: Instant) -> Vec<SessionId> {
        self.coming_until.iter().take_while(|(until, _)| *until <= now).map(|(_, session)| *session).collect()
    }

    fn forget(&mut self, session: SessionId) {
        if let Some(until) = self.coming.remove(&session) {
            self.coming_until.remove(&(until, session));
        }
        self.waiting.remove(&session);
        if let Some(Guest { ends: Some(ends), .. }) = self.guests.remove(&session) {
            self.ends.remove(&(ends, session));
        }
    }

    /// Tokens of a user are revoked: the sessions that have to go.
    fn revoke(&mut self, RevokedTokens { subject, not_before }: RevokedTokens) -> Vec<SessionId> {
        let rows = self.revoked.as_mut().unwrap_or(&mut self.revoked_so_far);
        let at = rows.entry(subject).or_insert(not_before);
        *at = not_before.max(*at);
        let is_over = |(_, guest): &(&SessionId, &Guest)| self.is_revoked(&guest.identity);
        self.guests.iter().filter(is_over).map(|(session, _)| *session).collect()
    }

    fn set_keys(&mut self, keys: Vec<Key>) {
        if let Access::Tokens(tokens) = &mut self.access {
            tokens.set_keys(keys);
        }
    }

    fn add_key(&mut self, key: AnonymousKey) {
        let Access::Tokens(tokens) = &mut self.access else { return };
        if !self.anonymous_keys.contains(&key) {
            self.anonymous_keys.insert(0, key);
            tokens.set_anonymous_keys(self.anonymous_keys.clone());
        }
    }

    /// Called when it is known whose tokens are revoked. Returns the sessions that have waited for it.
    fn is_known(&mut self) -> BTreeMap<SessionId, (Id, String)> {
        let so_far = std::mem::take(&mut self.revoked_so_far);
        self.revoked.get_or_insert_default().extend(so_far);
        std::mem::take(&mut self.waiting)
    }

    /// The sessions whose tokens have run out.
    fn overdue(&self, now: Instant) -> Vec<SessionId> {
        self.ends.iter().take_while(|(ends, _)| *ends <= now).map(|(_, session)| *session).collect()
    }

    /// Whether a session may do something. The error is the user, of whom the gateway knows it.
    fn may(&self, session: SessionId, object: &ObjectName) -> Result<bool, Arc<User>> {
        let Some(Guest { identity, .. }) = self.guests.get(&session) else { return Ok(false) };
        if self.denied.as_deref() == Some(object.class()) {
            return Ok(false);
        }
        match identity {
            Identity::Developer => Ok(true),
            Identity::User(user) => Err(user.clone()),
        }
    }
}

/// The question for the gateway.
fn question(user: Arc<User>, object: ObjectName, right: Right) -> AskRight {
    let (right, method) = match right {
        Right::Call { method } => (iolite_rights::Right::Call, Some(method)),
        Right::Read => (iolite_rights::Right::Copy, None),
        Right::Hold => (iolite_rights::Right::Hold, None),
    };
    AskRight { user, object, right, method }
}

/// For whom a session speaks, its device's name, and whether it may be part of the service.
fn let_in(identity: &Identity, device: Id) -> LetIn {
    let (device, ends) = (identity.bound(device), identity.ends());
    let (caller, may_serve) = match identity {
        Identity::Developer => ("developer".to_owned(), true),
        Identity::User(user) => (user.subject.name.clone(), false),
    };
    LetIn { caller, may_serve, device, ends }
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

    fn look_at(&mut self, now: Now, input: &ServerInput) {
        match input {
            ServerInput::Session(session, SessionEvent::Opened) => self.door.opened(now.instant, *session),
            ServerInput::Session(session, SessionEvent::Closed) => self.forget(*session),
            ServerInput::Session(session, SessionEvent::Message(FromDevice::Call { .. })) => {
                self.tally.calls += u64::from(self.door.guests.contains_key(session));
            }
            ServerInput::App(FromApp::Call(..)) => self.tally.calls += 1,
            ServerInput::Session(..)
            | ServerInput::App(_)
            | ServerInput::Ready(_)
            | ServerInput::Checked(..)
            | ServerInput::Renewed(..)
            | ServerInput::Ended(..)
            | ServerInput::Tracked(..)
            | ServerInput::Others
            | ServerInput::Lease(_)
            | ServerInput::Peer(..)
            | ServerInput::NodeDead(_)
            | ServerInput::Coordinates(..)
            | ServerInput::Holder(..)
            | ServerInput::Begun { .. }
            | ServerInput::Withdrawn(..)
            | ServerInput::May(..) => {}
        }
    }

    fn check(&mut self, now: Now, session: SessionId, device: Id, token: &str) {
        if let Some(checked) = self.door.check(now, session, device, token) {
            self.server.handle(now, ServerInput::Checked(session, checked));
        }
    }

    /// A session has ended: nobody rests on what was asked for it.
    fn forget(&mut self, session: SessionId) {
        self.door.forget(session);
        for id in self.door.asks.forget(session) {
            self.outputs.push_back(ObjectOutput::Gateway(Input::ForgetRight(id)));
        }
    }

    /// Answers what a session may do, or asks the gateway.
    fn ask_right(&mut self, now: Now, waits: MayId, session: SessionId, object: ObjectName, right: Right) {
        self.tally.rights += 1;
        let user = match self.door.may(session, &object) {
            Ok(may) => return self.server.handle(now, ServerInput::May(waits, may)),
            Err(user) => user,
        };
        let asked = self.door.asks.begin(waits, (session, object.clone(), right.clone()));
        let Some((id, before)) = asked else { return };
        let forget = before.map(Input::ForgetRight);
        let ask = Input::AskRight(id, Box::new(question(user, object, right)));
        self.outputs.extend(forget.into_iter().chain([ask]).map(ObjectOutput::Gateway));
    }

    fn on_withdrawn(&mut self, now: Now, id: RightId) {
        if let Some((session, object, right)) = self.door.asks.withdrawn(id) {
            self.server.handle(now, ServerInput::Withdrawn(session, object, right));
        }
    }

    /// Sends sessions away whose tokens are good no more.
    fn end(&mut self, now: Now, sessions: Vec<SessionId>, why: &str) {
        for session in sessions {
            self.forget(session);
            self.server.handle(now, ServerInput::Ended(session, why.to_owned()));
        }
    }

    /// Has the door answer what the machine asks it. The rest is for the host.
    fn answer(&mut self, now: Now) {
        while let Some(output) = self.server.poll() {
            match output {
                ServerOutput::Check { session, device, token } => self.check(now, session, device, &token),
                ServerOutput::Renew(session, token) => {
                    let renewed = self.door.renew(now, session, &token);
                    self.server.handle(now, ServerInput::Renewed(session, renewed));
                }
                ServerOutput::May(id, session, object, right) => self.ask_right(now, id, session, object, right),
                ServerOutput::Ask(..) => {
                    self.tally.asked += 1;
                    self.outputs.push_back(ObjectOutput::Server(output));
                }
                ServerOutput::Send(..) | ServerOutput::Close(_) | ServerOutput::ToPeer(..) | ServerOutput::App(_) => {
                    self.outputs.push_back(ObjectOutput::Server(output));
                }
            }
        }
    }
}

impl Machine for ObjectServer {
    type Input = ObjectInput;
    type Output = ObjectOutput;

    fn handle(&mut self, now: Now, input: ObjectInput) {
        match input {
            ObjectInput::Server(input) => {
                self.look_at(now, &input);
                self.server.handle(now, input);
            }
            ObjectInput::Revoked(tokens) => {
                let over = self.door.revoke(tokens);
                self.end(now, over, &AccessError::Revoked.to_string());
            }
            ObjectInput::AnonymousKey(key) => self.door.add_key(key),
            ObjectInput::Keys(keys) => self.door.set_keys(keys),
            ObjectInput::RevokedKnown => {
                for (session, (device, token)) in self.door.is_known() {
                    self.check(now, session, device, &token);
                }
            }
            ObjectInput::May(id, may) => {
                for waits in self.door.asks.answered(id, may) {
                    self.server.handle(now, ServerInput::May(waits, may));
                }
            }
            ObjectInput::Withdrawn(id) => self.on_withdrawn(now, id),
        }
        self.answer(now);
    }

    fn poll(&mut self) -> Option<ObjectOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let ends = self.door.ends.first().map(|(ends, _)| *ends);
        let late = self.door.coming_until.first().map(|(until, _)| *until);
        [ends, late, self.server.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        let over = self.door.overdue(now.instant);
        self.end(now, over, &AccessError::Expired.to_string());
        let late = self.door.late(now.instant);
        self.end(now, late, LATE);
        self.server.on_deadline(now);
        self.answer(now);
    }

    fn validate(&self) {
        self.server.validate();
    }
}

#[cfg(test)]
mod tests;
