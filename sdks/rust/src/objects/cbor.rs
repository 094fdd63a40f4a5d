//! CBOR of arguments, results, errors and states, as the table of types in docs/protocols/objects.md has it.
//!
//! Invariants:
//! - a state has one encoding: the keys of maps are sorted by their bytes, and numbers are as short as they can be (RFC 8949, 4.2.1);
//! - what is read is read whole: bytes that are left over, also inside of an array, are an error;
//! - a whole number is read where a float is expected, since JavaScript writes 1.0 as 1;
//! - a reference is tag 27 with `["iolite.Ref", class, id]`, and one that is read belongs to the host that reads it.

mod lenient;

use std::cell::RefCell;
use std::sync::Weak;

use ciborium::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::lenient::Lenient;
use super::node::Node;

/// The tag of a value of another language, whose first part names its type.
pub(crate) const REFERENCE_TAG: u64 = 27;
/// The type of a reference.
pub(crate) const REFERENCE_TYPE: &str = "iolite.Ref";
/// Values inside of values: deeper ones are refused, so that nobody's bytes can use up the stack.
const DEPTH: usize = 96;

thread_local! {
    /// The host whose bytes this thread reads.
    static READING: RefCell<Option<Weak<Node>>> = const { RefCell::new(None) };
}

/// Why a value has no bytes, or bytes are no such value. For people.
pub(crate) type Problem = String;

/// Writes a value as it comes: fields in the order of their struct.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).map_err(|error| written(&error))?;
    Ok(bytes)
}

/// Writes a value in its one canonical encoding.
pub(crate) fn encode_canonical<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Problem> {
    let mut value = Value::serialized(value).map_err(|error| error.to_string())?;
    sort(&mut value)?;
    encode(&value)
}

/// Reads a value. References in it belong to the host.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], host: &Weak<Node>) -> Result<T, Problem> {
    let before = READING.replace(Some(host.clone()));
    let mut rest = bytes;
    let read = ciborium::de::from_reader_with_recursion_limit::<Lenient<T>, _>(&mut rest, DEPTH);
    READING.replace(before);
    let value = read.map_err(|error| readable(&error))?.0;
    match rest.len() {
        0 => Ok(value),
        left => Err(format!("{left} bytes are left over after the value")),
    }
}

/// The message of an error of an app, if it has one: errors of TypeScript are maps with a `message`.
pub(crate) fn message(bytes: &[u8]) -> Option<String> {
    match decode(bytes, &Weak::new()).ok()? {
        Value::Text(message) => Some(message),
        Value::Map(entries) => {
            let (_, message) = entries.into_iter().find(|(key, _)| key.as_text() == Some("message"))?;
            message.into_text().ok()
        }
        _ => None,
    }
}

/// The host whose bytes are being read, for references.
pub(crate) fn reading_host() -> Option<Weak<Node>> {
    READING.with_borrow(Clone::clone)
}

/// Sorts the keys of all maps by their bytes. Each NaN becomes the same one.
fn sort(value: &mut Value) -> Result<(), Problem> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(sort),
        Value::Tag(_, inner) => sort(inner),
        Value::Map(entries) => sort_map(entries),
        Value::Float(float) => {
            if float.is_nan() {
                *float = f64::NAN;
            }
            Ok(())
        }
        // Ciborium may add kinds: they have no parts that this version could order.
        _ => Ok(()),
    }
}

fn sort_map(entries: &mut Vec<(Value, Value)>) -> Result<(), Problem> {
    let mut keyed = Vec::with_capacity(entries.len());
    for (mut key, mut value) in std::mem::take(entries) {
        sort(&mut key)?;
        sort(&mut value)?;
        keyed.push((encode(&key)?, key, value));
    }
    keyed.sort_by(|one, other| one.0.cmp(&other.0));
    if let Some(pair) = keyed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("a map has the key {:?} twice", pair[0].1));
    }
    entries.extend(keyed.into_iter().map(|(_, key, value)| (key, value)));
    Ok(())
}

fn written(error: &ciborium::ser::Error<std::io::Error>) -> Problem {
    match error {
        ciborium::ser::Error::Io(error) => error.to_string(),
        ciborium::ser::Error::Value(problem) => problem.clone(),
    }
}

fn readable(error: &ciborium::de::Error<std::io::Error>) -> Problem {
    use ciborium::de::Error;
    match error {
        Error::Io(_) => "the bytes end inside of a value".to_owned(),
        Error::Syntax(at) => format!("byte {at} is no CBOR"),
        Error::Semantic(_, problem) => problem.clone(),
        Error::RecursionLimitExceeded => format!("values are nested more than {DEPTH} deep"),
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
