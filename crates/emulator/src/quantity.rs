//! Sizes and times as files write them: a number and its unit.

use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bytes(pub u64);

/// A length of time.
pub type Span = Duration;

const BYTES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("KiB", 1024.0),
    ("MB", 1e6),
    ("MiB", 1_048_576.0),
    ("GB", 1e9),
    ("GiB", 1_073_741_824.0),
    ("TB", 1e12),
    ("TiB", 1_099_511_627_776.0),
];

const SPANS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10)];

/// The largest number that a file may come to, in bytes or nanoseconds: about 4 exabytes, or 146 years.
const LARGEST: f64 = 4.6e18;

pub fn read_bytes(text: &str) -> Option<Bytes> {
    read(text, BYTES).map(Bytes)
}

pub fn read_span(text: &str) -> Option<Span> {
    read(text, SPANS).map(Duration::from_nanos)
}

fn read(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = (text[..end].parse::<f64>().ok()?, text[end..].trim());
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let value = (number * factor).round();
    (value <= LARGEST).then_some(value as u64)
}

/// Nanoseconds of a time that is not longer than 584 years.
pub fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(read_bytes("64 KiB"), Some(Bytes(65_536)));
        assert_eq!(read_bytes("0.5KB"), Some(Bytes(500)));
        assert_eq!(read_span("8.33 ms"), Some(Duration::from_micros(8_330)));
        assert_eq!(read_span("2 min"), Some(Duration::from_secs(120)));
        for wrong in ["64", "KiB", "6 4 KiB", "64 kib", "-1 B", "", "1.2.3 B", "9999999999 TB"] {
            assert_eq!(read_bytes(wrong), None, "{wrong}");
        }
    }
}
