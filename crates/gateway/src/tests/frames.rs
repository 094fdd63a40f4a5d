//! The gateway behind frames: what is encoded, what cannot be decoded, what cannot be encoded.

use iolite_machine::{Machine, Now};
use iolite_store::Event;
use iolite_values::{Operation, Value, Write};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::fake_store::FakeStore;
use super::world::*;
use crate::{Broken, FrameInput, FrameOutput, FramedGateway, SessionId};

/// A gateway, its store, and the client's half of one session.
struct Line {
    gateway: FramedGateway,
    store: FakeStore,
    encoder: SessionEncoder<FromClient>,
    decoder: SessionDecoder<FromGateway>,
    heard: Vec<FromGateway>,
    frame_bytes: Vec<usize>,
    closed: bool,
}

const SESSION: SessionId = SessionId(1);

impl Line {
    fn new() -> Line {
        let mut line = Line {
            gateway: FramedGateway::new(settings(Broken::Nothing)),
            store: FakeStore::default(),
            encoder: SessionEncoder::new(),
            decoder: SessionDecoder::new(),
            heard: Vec::new(),
            frame_bytes: Vec::new(),
            closed: false,
        };
        let ready = line.store.ready();
        line.input(FrameInput::Store(ready));
        line.input(FrameInput::SessionOpened(SESSION));
        line.say(&FromClient::Hello(hello(1)));
        line.say(&FromClient::Schema(SCHEMA.into()));
        line.publish();
        assert_eq!(line.take(), vec![FromGateway::SchemaWanted, welcome(false)]);
        line
    }

    fn say(&mut self, message: &FromClient) {
        let frame = self.encoder.encode(message).expect("small");
        self.input(FrameInput::Frame(SESSION, frame));
    }

    fn publish(&mut self) {
        let segment = self.store.publish();
        self.input(FrameInput::Store(segment));
    }

    fn take(&mut self) -> Vec<FromGateway> {
        std::mem::take(&mut self.heard)
    }

    fn input(&mut self, input: FrameInput) {
        self.gateway.handle(Now::default(), input);
        while let Some(output) = self.gateway.poll() {
            match output {
                FrameOutput::Frame(session, frame) => {
                    assert_eq!(session, SESSION);
                    self.frame_bytes.push(frame.len());
                    self.heard.push(self.decoder.decode(&frame).expect("its own frames"));
                    self.gateway.handle(Now::default(), FrameInput::Drained { session, frames: 1 });
                }
                FrameOutput::Close(_) => self.closed = true,
                FrameOutput::Store(id, request) => {
                    let reply = self.store.answer(request);
                    self.gateway.handle(Now::default(), FrameInput::Store(Event::Reply(id, reply)));
                }
            }
        }
        self.gateway.validate();
    }
}

#[test]
fn a_session_in_frames_is_a_session_in_messages() {
    let mut line = Line::new();
    line.say(&subscribe(false, vec![(1, all_rows())]));
    line.say(&submit(1, vec![add(7, 3)]));
    line.publish();
    let heard = line.take();
    let [FromGateway::Advance(first), FromGateway::Advance(second)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(first.snapshots, vec![snapshot(1, &[])]);
    assert_eq!((&second.changes, second.outcomes.len()), (&vec![add(7, 3)], 1));
    assert_eq!(line.gateway.gateway().sessions(), 1);
}

#[test]
fn a_frame_that_is_no_message_ends_the_session() {
    let mut line = Line::new();
    line.input(FrameInput::Frame(SESSION, vec![0xff; 40]));
    let heard = line.take();
    assert!(
        matches!(&heard[..], [FromGateway::Goodbye(goodbye)] if goodbye.reason == GoodbyeReason::Protocol),
        "{heard:?}"
    );
    assert!(line.closed);
    line.say(&FromClient::Ping(1));
    assert_eq!(line.take(), vec![], "whatever follows is for nobody");
}

#[test]
fn a_row_that_fits_no_frame_ends_the_session_with_the_limit() {
    let mut line = Line::new();
    for part in 0..6 {
        line.store.write(vec![put(part, "x".repeat(100))]);
    }
    let text = "x".repeat(iolite_wire::limits::FROM_GATEWAY.bytes.most + 1);
    let cell = cell(9, "text");
    line.store.write(vec![Write { cell, operation: Operation::Put(Value::string(text)) }]);
    line.publish();
    line.say(&subscribe(false, vec![(1, all_rows())]));
    let heard = line.take();
    assert!(
        matches!(heard.last(), Some(FromGateway::Goodbye(goodbye)) if goodbye.reason == GoodbyeReason::Limit),
        "{heard:?}"
    );
    let parts = heard.iter().filter(|own| matches!(own, FromGateway::Advance(advance) if !advance.more)).count();
    assert_eq!((parts, line.closed), (0, true), "no advance is completed with a gap in it");
}

#[test]
fn a_mutation_that_is_quoted_in_its_rejection_does_not_make_a_frame_too_large() {
    let mut line = Line::new();
    let operation = Operation::Put(Value::string("x".repeat(500_000)));
    line.say(&submit(1, vec![Write { cell: cell(7, "n"), operation }]));
    let heard = line.take();
    assert!(matches!(&heard[..], [FromGateway::Advance(advance)] if advance.outcomes.len() == 1), "{heard:?}");
    assert!(line.frame_bytes.last().is_some_and(|bytes| *bytes < 5_000));
}

#[test]
fn a_counters_increment_costs_few_bytes() {
    let mut line = Line::new();
    line.say(&subscribe(false, vec![(1, one_cell(7))]));
    let mut up = 0;
    for counter in 1..=3 {
        let frame = line.encoder.encode(&submit(counter, vec![add(7, 1)])).expect("small");
        up = frame.len();
        line.input(FrameInput::Frame(SESSION, frame));
        line.publish();
    }
    let down = line.frame_bytes.last().copied().expect("an advance");
    assert!(up <= 60 && down <= 50, "{up} up, {down} down");
}
