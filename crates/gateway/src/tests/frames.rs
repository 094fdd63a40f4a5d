//! What the gateway says can be encoded, and costs few bytes.

use iolite_values::{Operation, Timestamp, Value, Write};
use iolite_wire::message::{Declination, FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::world::*;
use crate::limits::ROW_BYTES_MAX;
use crate::{Broken, Settings};

/// Encodes everything that was said to session 1, and reads it back. Returns each frame's length.
fn frames(said: &[Said], encoder: &mut SessionEncoder<FromGateway>) -> Vec<usize> {
    let messages = said.iter().filter_map(|said| match said {
        Said::To(1, message) => Some(message),
        Said::To(..) | Said::Closed(_) => None,
    });
    messages.map(|message| encoder.encode(message).expect("no message is too large").len()).collect()
}

#[test]
fn what_is_said_reads_back_from_its_frames() {
    let mut world = World::new();
    world.commit((0..50).map(|row| put(row, "x".repeat(20_000))).collect());
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    world.answer_all();
    let said = world.take();
    assert!(said.len() > 1, "several parts");
    let (mut encoder, mut decoder) = (SessionEncoder::<FromGateway>::new(), SessionDecoder::<FromGateway>::new());
    for said in said {
        let Said::To(1, message) = said else { panic!("{said:?}") };
        let frame = encoder.encode(&message).expect("a part fits");
        assert_eq!(decoder.decode(&frame), Ok(message));
    }
}

#[test]
fn a_mutation_that_is_quoted_in_its_rejection_does_not_make_a_frame_too_large() {
    let mut world = World::new();
    world.join(1);
    let operation = Operation::Put(Value::string("x".repeat(900_000)));
    world.say(1, submit(1, vec![Write { cell: cell(7, "n"), operation }]));
    world.answer_all();
    world.commit(vec![add(1, 1)]);
    let bytes = frames(&world.take(), &mut SessionEncoder::new());
    assert!(bytes.len() == 1 && bytes[0] < 5_000, "{bytes:?}");
}

#[test]
fn a_row_that_fits_no_frame_is_declined_and_the_largest_one_is_not() {
    let mut world = World::new();
    let fits = "x".repeat(ROW_BYTES_MAX - 100);
    world.commit(vec![put(1, fits)]);
    world.join(1);
    world.subscribe(1, vec![(1, one_row(1))]);
    world.commit(vec![add(1, 1)]);
    world.answer_all();
    assert_eq!(frames(&world.take(), &mut SessionEncoder::new()).len(), 1);
    world.commit(vec![put(2, "x".repeat(ROW_BYTES_MAX))]);
    world.take();
    world.subscribe(1, vec![(2, one_row(2))]);
    world.answer_all();
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(advance))] = &said[..] else { panic!("{said:?}") };
    assert!(matches!(&advance.declined[0].why, Declination::TooLarge(text) if text.contains("row [2] of table \"t\"")));
}

#[test]
fn a_counters_increment_costs_few_bytes() {
    let mut world = World::new();
    // Timestamps as they are in use, of 2026.
    world.store.log.clear();
    world.store.resolved = Timestamp::new(1_790_000_000_000_000, iolite_values::CoordinatorId::default());
    world.gateway = crate::Gateway::new(Settings { client: client(5), ..settings_of(Broken::Nothing) });
    world.store_comes();
    world.answer_all();
    world.open(1);
    world.say(1, FromClient::Hello(hello(1)));
    world.say(1, FromClient::Schema(SCHEMA.into()));
    world.answer_all();
    world.publish();
    world.subscribe(1, vec![(1, one_cell(7))]);
    world.answer_all();
    let (mut up, mut down) = (SessionEncoder::<FromClient>::new(), SessionEncoder::<FromGateway>::new());
    frames(&world.take(), &mut down);
    let mut bytes = (0, 0);
    for counter in 1..=5 {
        let message = submit(counter, vec![add(7, 1)]);
        bytes.0 = up.encode(&message).expect("small").len();
        world.say(1, message);
        world.answer_all();
        world.publish();
        let told = frames(&world.take(), &mut down);
        assert_eq!(told.len(), 1, "change and outcome come together");
        bytes.1 = told[0];
    }
    assert!(bytes.0 <= 60 && bytes.1 <= 50, "{} up, {} down", bytes.0, bytes.1);
}
