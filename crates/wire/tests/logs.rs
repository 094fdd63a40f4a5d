//! Entries of logs that are refused.

use iolite_values::Counter;
use iolite_wire::DecodeError;
use iolite_wire::logs::LogEntry;

fn entry() -> LogEntry {
    LogEntry {
        origin: None,
        counter: Counter(1),
        called_at_micros: 0,
        seed: [7; 16],
        operation: "set".into(),
        version: 1,
        arguments: String::new(),
        turns: false,
    }
}

/// The fields of [`entry`] as bytes: counter, seed, operation, version.
fn fields(seed: &[u8]) -> Vec<u8> {
    [&[0x10, 1, 0x22, seed.len() as u8], seed, &[0x2a, 3], b"set", &[0x30, 1]].concat()
}

#[test]
fn an_entry_has_a_seed_and_an_origin_of_16_bytes_a_counter_and_an_operation() {
    let refused = |bytes: &[u8], case: &str| {
        let decoded = LogEntry::decode(bytes);
        assert!(matches!(decoded, Err(DecodeError::Malformed { .. })), "{case}: {decoded:?}");
    };
    assert_eq!(LogEntry::decode(&fields(&[7; 16])), Ok(entry()));
    refused(&fields(&[]), "no seed");
    refused(&fields(&[7; 15]), "a short seed");
    refused(&fields(&[7; 17]), "a long seed");
    for length in [1, 15, 17] {
        let origin = [vec![0x0a, length as u8], vec![1; length], fields(&[7; 16])].concat();
        refused(&origin, "an origin of another length");
    }
    let without_counter = LogEntry { counter: Counter(0), ..entry() }.encode().expect("small");
    refused(&without_counter, "counter 0");
    let without_operation = LogEntry { operation: String::new(), ..entry() }.encode().expect("small");
    refused(&without_operation, "no operation");
}
