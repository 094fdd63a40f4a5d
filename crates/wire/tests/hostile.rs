//! Hostile input: mutated golden frames and frames made to take memory meet every decoder.
//!
//! No panic, no more memory than [`memory_max`] says, and what decodes encodes and decodes again to an equal message. 100,000 frames a
//! decoder; 10 million in the ignored test, for `make soak`. The seed is fixed: a failure prints the frame's number and its bytes.

#![expect(clippy::disallowed_macros, reason = "a test prints what it measured")]

mod decoders;
mod hostile_parts;
mod samples;

use decoders::{Decoder, Frames};
use hostile_parts::memory;
use hostile_parts::mutation::{Random, mutate};
use iolite_wire::limits::{self, FrameLimits};
use iolite_wire::{DecodeError, SessionDecoder};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// What decoding may take beyond the frame itself, at its peak: the multiple of the frame is that of a frame full of empty messages.
fn memory_max(frame_bytes: usize) -> usize {
    FIXED_BYTES + MULTIPLE * frame_bytes
}
/// The table of numbered cells, at its growth to the last number.
const FIXED_BYTES: usize = 128 * 1024;
const MULTIPLE: usize = 100;
/// What it takes in any case is also bounded by the limit on frames of its kind.
const LIMIT_MULTIPLE: usize = 8;

const ROUNDS: u64 = 100_000;
const SOAK_ROUNDS: u64 = 10_000_000;

/// The golden sequences of one decoder.
fn golden(decoder: Decoder) -> Vec<Frames> {
    let own = samples::all().into_iter().filter(|sample| sample.content.decoder() == decoder);
    own.map(|sample| sample.content.encode().expect("samples are small")).collect()
}

/// Mutates one frame of a golden sequence, and gives the sequence through that frame to the decoder.
fn attack(decoder: Decoder, rounds: u64) {
    let golden = golden(decoder);
    let all: Frames = golden.iter().flatten().cloned().collect();
    let mut random = Random::new(decoder as u64);
    let mut decoded = 0;
    for round in 0..rounds {
        let mut frames = golden[random.below(golden.len())].clone();
        let at = random.below(frames.len());
        frames.truncate(at + 1);
        mutate(&mut frames[at], &all, &mut random);
        let bytes: usize = frames.iter().map(Vec::len).sum();
        let (result, taken) = memory::peak(|| decoder.decode(&frames));
        assert!(taken <= memory_max(bytes), "{decoder:?} {round}: {taken} bytes for {frames:02x?}");
        let Ok(content) = result else { continue };
        decoded += 1;
        let again = content.encode().expect("what came in a frame fits into one");
        assert_eq!(decoder.decode(&again), Ok(content), "{decoder:?} {round}: {frames:02x?}");
    }
    // Mutations that never decode, or always, would test little.
    assert!(decoded > rounds / 50 && decoded < rounds, "{decoder:?}: {decoded} decoded");
    println!("{decoder:?}: {decoded} of {rounds} decoded");
}

#[test]
fn mutated_frames_of_clients_do_no_harm() {
    attack(Decoder::FromClient, ROUNDS);
}

#[test]
fn mutated_frames_of_gateways_do_no_harm() {
    attack(Decoder::FromGateway, ROUNDS);
}

#[test]
fn mutated_journals_do_no_harm() {
    attack(Decoder::Journal, ROUNDS);
    attack(Decoder::Checkpoint, ROUNDS);
}

#[test]
fn mutated_client_storage_does_no_harm() {
    for decoder in [Decoder::Mutation, Decoder::Row, Decoder::Interest, Decoder::Meta, Decoder::End, Decoder::Log] {
        attack(decoder, ROUNDS);
    }
}

#[test]
fn mutated_entries_of_logs_do_no_harm() {
    attack(Decoder::LogEntry, ROUNDS);
    attack(Decoder::LogState, ROUNDS);
}

#[test]
fn mutated_messages_between_tabs_do_no_harm() {
    attack(Decoder::FromTab, ROUNDS);
    attack(Decoder::ToTab, ROUNDS);
}

#[test]
fn mutated_messages_between_nodes_do_no_harm() {
    for decoder in [Decoder::ToReplica, Decoder::FromReplica, Decoder::BetweenReplicas, Decoder::NodesHello] {
        attack(decoder, ROUNDS);
    }
}

#[test]
fn mutated_messages_between_data_centres_do_no_harm() {
    attack(Decoder::FromCentre, ROUNDS);
    attack(Decoder::OutboxEntry, ROUNDS);
}

#[test]
fn mutated_messages_about_chunks_do_no_harm() {
    attack(Decoder::BlobRequest, ROUNDS);
    attack(Decoder::BlobReply, ROUNDS);
}

#[test]
fn mutated_messages_about_objects_do_no_harm() {
    attack(Decoder::FromDevice, ROUNDS);
    attack(Decoder::ToDevice, ROUNDS);
    attack(Decoder::Peer, ROUNDS);
}

#[test]
#[ignore = "ten million frames a decoder: minutes, even in release"]
fn soak_mutated_frames() {
    for decoder in Decoder::ALL {
        attack(decoder, SOAK_ROUNDS);
    }
}

/// A field with a length.
fn field(number: u8, inside: &[u8]) -> Vec<u8> {
    let key = u32::from(number) << 3 | 2;
    let mut bytes = if key < 0x80 { vec![key as u8] } else { vec![key as u8 | 0x80, (key >> 7) as u8] };
    let mut length = inside.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(inside);
    bytes
}

/// A frame in which `part` is repeated within the messages `around`, outermost first, as often as the limits allow, or more.
fn repeated(around: &[u8], part: &[u8], bytes: usize) -> Vec<u8> {
    let inside = part.repeat(bytes / part.len());
    around.iter().rev().fold(inside, |inside, number| field(*number, &inside))
}

fn from_client(frame: &[u8]) -> Result<(), DecodeError> {
    SessionDecoder::<iolite_wire::message::FromClient>::new().decode(frame).map(drop)
}

fn from_gateway(frame: &[u8]) -> Result<(), DecodeError> {
    SessionDecoder::<iolite_wire::message::FromGateway>::new().decode(frame).map(drop)
}

/// Names, the messages around, and the part: the densest frames that the schema allows.
const DENSE: [(&str, bool, &[u8], &[u8]); 16] = [
    ("empty reads", true, &[5], &[0x2a, 0]),
    ("empty writes", true, &[5], &[0x32, 0]),
    ("writes of boxed nothing", true, &[5], &[0x32, 4, 0x12, 0, 0x62, 0]),
    ("reads of an empty range", true, &[5], &[0x2a, 2, 0x32, 0]),
    ("reads of an empty query", true, &[5], &[0x2a, 2, 0x4a, 0]),
    ("empty conditions of a query", true, &[3, 2, 5], &[0x32, 4, 0x0a, 2, 0x08, 0]),
    ("alternatives of a query", true, &[3, 2, 5, 7], &[0x0a, 0]),
    ("alternatives of a query that are none", true, &[3, 2, 5], &[0x3a, 0]),
    ("empty subscriptions", true, &[3], &[0x12, 0]),
    ("subscription numbers", true, &[4], &[0x08, 1]),
    ("packed subscription numbers", true, &[4, 1], &[1]),
    ("empty changes", false, &[3], &[0x22, 0]),
    ("empty snapshots", false, &[3], &[0x2a, 0]),
    ("empty rows", false, &[3, 5], &[0x12, 0]),
    ("empty outcomes", false, &[3], &[0x32, 0]),
    ("nulls of a list", false, &[3, 5, 2, 3, 2, 7], &[0x0a, 2, 8, 1]),
];

#[test]
fn frames_made_to_take_memory_take_little() {
    println!("{:<30}{:>12}{:>12}{:>8}", "frame", "bytes", "peak", "times");
    for (name, of_client, around, part) in DENSE {
        let limits: FrameLimits = if of_client { limits::FROM_CLIENT } else { limits::FROM_GATEWAY };
        let decode = if of_client { from_client } else { from_gateway };
        let fitting = (part.len() * (limits.parts.most - 10)).min(limits.bytes.most - 64);
        for bytes in [64, 4_000, fitting / 2, fitting, limits.bytes.most - 64, limits.bytes.most * 2] {
            let frame = repeated(around, part, bytes);
            let (_, taken) = memory::peak(|| decode(&frame));
            println!("{name:<30}{:>12}{taken:>12}{:>8.1}", frame.len(), taken as f64 / frame.len() as f64);
            assert!(taken <= memory_max(frame.len()), "{name}: {taken} bytes for a frame of {}", frame.len());
            assert!(taken <= LIMIT_MULTIPLE * limits.bytes.most, "{name}: {taken} bytes");
        }
    }
}

/// A decoder, and the limits of its frames.
type Kind = (Decoder, FrameLimits);

const TO_REPLICA: Kind = (Decoder::ToReplica, limits::TO_REPLICA);
const FROM_REPLICA: Kind = (Decoder::FromReplica, limits::FROM_REPLICA);
const BETWEEN_REPLICAS: Kind = (Decoder::BetweenReplicas, limits::BETWEEN_REPLICAS);

/// As above, of nodes.
const DENSE_OF_NODES: [(&str, Kind, &[u8], &[u8]); 12] = [
    ("names of no client", TO_REPLICA, &[17], &[0x2a, 0]),
    ("interests in nothing", TO_REPLICA, &[19], &[0x0a, 0]),
    ("participants", TO_REPLICA, &[11, 1, 2], &[1]),
    ("empty reads of a proposal", TO_REPLICA, &[11, 1], &[0x2a, 0]),
    ("committed names", FROM_REPLICA, &[19], &[0x5a, 0]),
    ("undecided ones", FROM_REPLICA, &[19], &[0x4a, 0]),
    ("undecided ones with empty names", FROM_REPLICA, &[19], &[0x4a, 2, 0x0a, 0]),
    ("empty rows", FROM_REPLICA, &[22], &[0x12, 0]),
    ("unnamed commits", FROM_REPLICA, &[24], &[0x0a, 0]),
    ("members", FROM_REPLICA, &[32, 3], &[0; 8]),
    ("empty entries", BETWEEN_REPLICAS, &[13], &[0x32, 0]),
    ("empty commits", BETWEEN_REPLICAS, &[7], &[0x2a, 0]),
];

#[test]
fn frames_of_nodes_made_to_take_memory_take_little() {
    println!("{:<34}{:>12}{:>12}{:>8}", "frame", "bytes", "peak", "times");
    for (name, (decoder, limits), around, part) in DENSE_OF_NODES {
        // A number in a packed list is no part.
        let fitting = if part.len() == 1 { limits.bytes.most } else { part.len() * limits.parts.most };
        let fitting = (fitting - 64).min(limits.bytes.most - 64);
        for bytes in [64, 4_000, fitting / 4 + 64, fitting / 2 + 64, fitting] {
            let frame = repeated(around, part, bytes);
            let frames = [frame];
            let (_, taken) = memory::peak(|| decoder.decode(&frames));
            println!("{name:<34}{:>12}{taken:>12}{:>8.1}", frames[0].len(), taken as f64 / frames[0].len() as f64);
            assert!(taken <= memory_max(frames[0].len()), "{name}: {taken} bytes for a frame of {}", frames[0].len());
            assert!(taken <= LIMIT_MULTIPLE * limits.bytes.most, "{name}: {taken} bytes");
        }
    }
}

/// The densest names that do decode: of a client that was told, by its number.
#[test]
fn frames_of_known_clients_take_little() {
    let frame = |count| field(17, &[&[0x2a, 2, 0x30, 1][..], &[0x2a, 2, 0x18, 1].repeat(count)].concat());
    for count in [10, 1000, limits::TO_REPLICA.parts.most - 10] {
        let frames = [frame(count)];
        let (result, taken) = memory::peak(|| Decoder::ToReplica.decode(&frames));
        assert!(result.is_ok(), "{result:?}");
        assert!(taken <= memory_max(frames[0].len()), "{taken} bytes for a frame of {}", frames[0].len());
    }
}

/// The densest messages that do decode: a cell is named once, and then said by its number, which is 0.
#[test]
fn frames_of_known_cells_take_little() {
    let name = field(2, &[&field(2, &[0x30, b'a', 0])[..], &[0x1d, 1, 0, 0, 0]].concat());
    let add = [&name[..], &[0x18, 2]].concat();
    let reads = (field(5, &name), [0x2a, 0].as_slice());
    let writes = (field(6, &add), [0x32, 2, 0x18, 2].as_slice());
    for (first, part) in [reads, writes] {
        for count in [10, 1000, limits::FROM_CLIENT.parts.most - 10] {
            let frame = field(5, &[first.clone(), part.repeat(count)].concat());
            let (result, taken) = memory::peak(|| from_client(&frame));
            assert_eq!(result, Ok(()));
            println!("{count} of {part:?}: {taken} bytes, {:.1} times", taken as f64 / frame.len() as f64);
            assert!(taken <= memory_max(frame.len()), "{taken} bytes for a frame of {}", frame.len());
        }
    }
}

#[test]
fn a_length_that_is_not_there_allocates_nothing() {
    let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f];
    for decode in [from_client, from_gateway] {
        let (result, taken) = memory::peak(|| decode(&huge));
        assert_eq!((result, taken), (Err(DecodeError::Truncated), 0));
    }
}

#[test]
fn frames_past_a_limit_are_refused_before_anything_is_allocated() {
    let long = vec![0; limits::FROM_CLIENT.bytes.most + 1];
    let (result, taken) = memory::peak(|| from_client(&long));
    assert_eq!((result, taken), (Err(DecodeError::TooLarge { limit: limits::FROM_CLIENT.bytes }), 0));
    let many = repeated(&[5], &[0x32, 0], limits::FROM_CLIENT.parts.most * 2);
    let (result, taken) = memory::peak(|| from_client(&many));
    assert_eq!((result, taken), (Err(DecodeError::TooLarge { limit: limits::FROM_CLIENT.parts }), 0));
}
