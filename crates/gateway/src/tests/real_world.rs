//! The gateway over a real store in memory, and everything that was said.

use iolite_access::Access;
use iolite_machine::{Machine, Now, WallTime};
use iolite_replication::node::Boot;
use iolite_replication::{Local, Place, ReplicaSettings, Retention};
use iolite_store::{Event, ReadLimit, Reply, Request, RequestId, Store};
use iolite_values::{Counter, Interest, Schema};
use iolite_wire::message::{Advance, FromClient, FromGateway, Hello, Outcome, Verdict};

use super::fake_store::STORE;
use super::world::*;
use crate::{BlobLink, BlobOutput, Broken, Gateway, Input, Output, SessionId, Settings, Without};

const START: WallTime = WallTime::from_micros(1_790_000_000_000_000);

pub struct RealWorld {
    pub gateway: Gateway,
    store: Local,
    heard: Vec<Said>,
    /// Outputs for connections to `/blobs`.
    pub blobs: Vec<(BlobLink, BlobOutput)>,
    /// The time of the gateway's host.
    pub now: Now,
}

impl RealWorld {
    /// With the table of all tests, and one client.
    pub fn new() -> RealWorld {
        let mut world = RealWorld::of(SCHEMA);
        assert_eq!(world.take(), vec![Said::To(1, FromGateway::SchemaWanted), Said::To(1, welcome(false))]);
        world
    }

    /// With a schema that the client of session 1 brought.
    pub fn of(schema: &str) -> RealWorld {
        RealWorld::without(Without::Nothing, schema)
    }

    /// The same of a gateway that does without something.
    pub fn without(without: Without, schema: &str) -> RealWorld {
        let store = Local::new(START, STORE, Retention::default());
        let settings = Settings { without, has_blob_store: true, ..settings_of(Broken::Nothing) };
        RealWorld::over(store, settings, schema, TOKEN)
    }

    /// The same of a gateway whose users have tokens. Session 1 is of an anonymous user with this token.
    pub fn of_guest(access: Access, token: &str, schema: &str) -> RealWorld {
        let store = Local::new(START, STORE, Retention::default());
        let settings = Settings { access, has_blob_store: true, ..settings_of(Broken::Nothing) };
        RealWorld::over(store, settings, schema, token)
    }

    /// The same with these shards, each of three replicas.
    pub fn of_shards(places: Vec<Place>, schema: &str) -> RealWorld {
        let replica = ReplicaSettings::alone(STORE, Boot(1), Retention::default());
        let groups = Local::groups(u32::try_from(places.len()).expect("a few"), 3);
        let store = Local::cluster(START, places.into_iter().zip(groups), &replica);
        RealWorld::over(store, settings_of(Broken::Nothing), schema, TOKEN)
    }

    fn over(store: Local, settings: Settings, schema: &str, token: &str) -> RealWorld {
        let (gateway, heard, blobs, now) = (Gateway::new(settings), Vec::new(), Vec::new(), Now::default());
        let mut world = RealWorld { gateway, store, heard, blobs, now };
        world.settle();
        world.input(Input::SessionOpened(SessionId(1)));
        let own = Schema::from_json(schema).expect("a good schema");
        world.say(1, FromClient::Hello(Hello { schema: own.hash(), token: token.into(), ..hello(1) }));
        world.say(1, FromClient::Schema(schema.into()));
        world
    }

    pub fn join(&mut self, session: u64, hello: Hello) {
        self.input(Input::SessionOpened(SessionId(session)));
        self.say(session, FromClient::Hello(hello));
    }

    pub fn say(&mut self, session: u64, message: FromClient) {
        self.input(Input::Message(SessionId(session), message));
    }

    /// Several say something before the store answers any of them.
    pub fn say_at_once(&mut self, messages: impl IntoIterator<Item = (u64, FromClient)>) {
        for (session, message) in messages {
            self.gateway.handle(self.now, Input::Message(SessionId(session), message));
        }
        self.settle();
    }

    pub fn input(&mut self, input: Input) {
        self.gateway.handle(self.now, input);
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            while let Some(output) = self.gateway.poll() {
                match output {
                    Output::Message(SessionId(session), message) => {
                        self.heard.push(Said::To(session, anonymous(message)));
                        self.gateway.handle(self.now, Input::Drained { session: SessionId(session), messages: 1 });
                    }
                    Output::Close(SessionId(session)) => self.heard.push(Said::Closed(session)),
                    Output::Store(id, request) => self.store.request(id, request),
                    Output::Blobs(link, output) => self.blobs.push((link, output)),
                    Output::GiveUp(_) | Output::Access(_) => {}
                }
            }
            self.gateway.validate();
            let Some(event) = self.store.next_event() else { return };
            self.gateway.handle(self.now, Input::Store(event));
        }
    }

    /// How many rows an interest has.
    pub fn rows(&mut self, interest: Interest) -> usize {
        let (id, at) = (RequestId(u64::MAX), self.gateway.position());
        self.store.request(id, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
        match self.store.next_event() {
            Some(Event::Reply(of, Reply::ReadAt(Ok(reply)))) if of == id => reply.rows.len(),
            other => panic!("rows were asked for, and {other:?} came"),
        }
    }

    pub fn take(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.heard)
    }

    /// The advances to one session since the last call.
    pub fn advances(&mut self, session: u64) -> Vec<Advance> {
        let own = self.take().into_iter().filter_map(move |said| match said {
            Said::To(to, FromGateway::Advance(advance)) if to == session => Some(advance),
            Said::To(..) | Said::Closed(_) => None,
        });
        own.collect()
    }
}

/// What became of which mutation.
pub fn verdicts(advances: &[Advance]) -> Vec<(u64, Verdict)> {
    let outcomes = advances.iter().flat_map(|advance| &advance.outcomes);
    outcomes.map(|Outcome { counter: Counter(counter), verdict, .. }| (*counter, verdict.clone())).collect()
}
