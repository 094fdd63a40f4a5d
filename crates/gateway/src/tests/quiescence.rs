//! Random sessions, subscriptions, commits, delays and disconnections: after every advance each session holds what the store holds at its
//! position, positions never go back, and when all is quiet everything is there.

use std::time::Duration;

use iolite_values::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::reader::Reader;
use super::world::*;
use crate::limits::{IDLE_ADVANCE_PERIOD, QUIET_PERIODS};
use crate::{Broken, Input, SessionId};

const CLIENTS: usize = 3;
const LARGE: usize = 1_500_000;

#[derive(Clone, Debug)]
enum Step {
    Connect(usize),
    Disconnect(usize),
    Subscribe(usize, Vec<u8>),
    Unsubscribe(usize, u32),
    Submit(usize, i64),
    /// What the client has said next reaches the gateway.
    Arrive(usize),
    /// Somebody else commits.
    Write(Vec<i64>),
    /// Somebody else commits so much that sockets fill.
    WriteLarge(i64),
    /// The store answers the request at this place of the queue.
    Answer(usize),
    /// The feed tells this many commits.
    Publish(usize),
    /// Sockets take this many messages of this client.
    Drain(usize, usize),
    Wait,
    /// The store drops its history up to now.
    Trim,
}

fn step() -> impl Strategy<Value = Step> {
    let client = || 0..CLIENTS;
    prop_oneof![
        3 => client().prop_map(Step::Connect),
        1 => client().prop_map(Step::Disconnect),
        5 => (client(), proptest::collection::vec(0u8..8, 0..3)).prop_map(|(client, what)| Step::Subscribe(client, what)),
        2 => (client(), 1u32..8).prop_map(|(client, name)| Step::Unsubscribe(client, name)),
        5 => (client(), 0i64..4).prop_map(|(client, row)| Step::Submit(client, row)),
        12 => client().prop_map(Step::Arrive),
        5 => proptest::collection::vec(0i64..4, 1..3).prop_map(Step::Write),
        2 => (0i64..4).prop_map(Step::WriteLarge),
        8 => (0usize..4).prop_map(Step::Answer),
        8 => (0usize..3).prop_map(Step::Publish),
        3 => (client(), 0usize..6).prop_map(|(client, messages)| Step::Drain(client, messages)),
        3 => Just(Step::Wait),
        1 => Just(Step::Trim),
    ]
}

/// The readers, and the world that they read from.
struct Run {
    world: World,
    readers: Vec<Reader>,
    next_session: u64,
}

impl Run {
    fn new(broken: Broken) -> Run {
        let mut world = World::broken(broken);
        world.sockets_take = false;
        let readers = (0..CLIENTS as u64).map(|number| Reader::new(number + 1)).collect();
        Run { world, readers, next_session: 1000 }
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Connect(client) => self.connect(client),
            Step::Disconnect(client) => self.disconnect(client),
            Step::Subscribe(client, what) => self.send(client, |reader| reader.subscribe(&what)),
            Step::Unsubscribe(client, name) => self.send(client, |reader| reader.unsubscribe(name)),
            Step::Submit(client, row) => self.send(client, |reader| reader.submit(row)),
            Step::Arrive(client) => self.arrive(client),
            Step::Write(rows) => {
                self.world.store.write(rows.into_iter().map(|row| add(row, 1)).collect());
            }
            Step::WriteLarge(row) => {
                self.world.store.write(vec![put(row, "x".repeat(LARGE))]);
            }
            Step::Answer(place) if place < self.world.asked.len() => self.world.answer(place),
            Step::Answer(_) => {}
            Step::Publish(commits) => {
                let segment = self.world.store.publish_some(commits);
                self.world.input(Input::Store(segment));
            }
            Step::Drain(client, messages) => self.drain(client, messages),
            Step::Wait => self.world.wait(Duration::from_secs(1)),
            Step::Trim => self.world.store.low_watermark = self.world.store.resolved,
        }
        self.listen()
    }

    fn connect(&mut self, client: usize) {
        if self.readers[client].session.is_some() {
            return;
        }
        self.next_session += 1;
        let session = self.next_session;
        self.readers[client].session = Some(session);
        self.world.open(session);
        let hello = self.readers[client].hello();
        self.world.say(session, hello);
    }

    fn disconnect(&mut self, client: usize) {
        if let Some(session) = self.readers[client].disconnect() {
            self.world.input(Input::SessionClosed(SessionId(session)));
        }
    }

    fn send(&mut self, client: usize, message: impl FnOnce(&mut Reader) -> Option<iolite_wire::message::FromClient>) {
        let reader = &mut self.readers[client];
        if !reader.welcomed {
            return;
        }
        if let Some(message) = message(reader) {
            reader.said.push_back(message);
        }
    }

    fn arrive(&mut self, client: usize) {
        let reader = &mut self.readers[client];
        let Some(session) = reader.session else { return };
        if let Some(message) = reader.said.pop_front() {
            self.world.say(session, message);
        }
    }

    fn drain(&mut self, client: usize, messages: usize) {
        if let Some(session) = self.readers[client].session {
            self.world.input(Input::Drained { session: SessionId(session), messages });
        }
    }

    /// Gives readers what was said to them.
    fn listen(&mut self) -> Result<(), String> {
        self.world.take().into_iter().try_for_each(|said| self.hear(said))
    }

    fn hear(&mut self, said: Said) -> Result<(), String> {
        let Said::To(session, message) = said else { return Ok(()) };
        match self.readers.iter_mut().find(|own| own.session == Some(session)) {
            Some(reader) => reader.hear(message, &self.world.store),
            None => Ok(()),
        }
    }

    /// Everything that is under way ends.
    fn settle(&mut self) -> Result<(), String> {
        for client in 0..CLIENTS {
            self.connect(client);
        }
        for _ in 0..12 {
            self.listen()?;
            for client in 0..CLIENTS {
                while !self.readers[client].said.is_empty() {
                    self.arrive(client);
                }
                self.drain(client, usize::MAX);
            }
            self.world.answer_all();
            self.world.publish();
        }
        // While nothing commits, untouched sessions are told of the feed's progress after some seconds.
        self.world.wait(IDLE_ADVANCE_PERIOD * (QUIET_PERIODS + 1));
        self.listen()?;
        let position: Timestamp = self.world.position();
        self.readers.iter().try_for_each(|reader| reader.has_everything(position))
    }
}

fn run(broken: Broken, steps: Vec<Step>) -> Result<(), String> {
    let mut run = Run::new(broken);
    for step in steps {
        run.step(step)?;
    }
    run.settle()
}

fn search(broken: Broken, cases: u32) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let found =
        runner.run(&proptest::collection::vec(step(), 0..120), |steps| run(broken, steps).map_err(TestCaseError::fail));
    found.map_err(|error| error.to_string())
}

#[test]
fn every_session_holds_what_the_store_holds_at_its_position() {
    search(Broken::Nothing, 400).unwrap();
}

#[test]
fn a_gateway_that_publishes_past_the_resolved_timestamp_is_found() {
    let error = search(Broken::PublishPastResolved, 400).unwrap_err();
    assert!(error.contains("holds"), "{error}");
}
