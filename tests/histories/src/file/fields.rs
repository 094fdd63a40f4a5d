//! Fields of a line, each with an error that says what was expected.

use serde_json::{Map, Value as Json};

pub type Fields = Map<String, Json>;

pub fn required<'j>(fields: &'j Fields, name: &str) -> Result<&'j Json, String> {
    fields.get(name).ok_or_else(|| format!("`{name}` is missing"))
}

pub fn number(json: &Json, what: &str) -> Result<u64, String> {
    json.as_u64().ok_or_else(|| format!("{what} must be a number from 0 to 2^64 - 1, not {}", short(json)))
}

pub fn small_number(json: &Json, what: &str) -> Result<u32, String> {
    let number = json.as_u64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("{what} must be a number from 0 to 2^32 - 1, not {}", short(json)))
}

pub fn signed(json: &Json, what: &str) -> Result<i64, String> {
    json.as_i64().ok_or_else(|| format!("{what} must be a whole number of 64 bits, not {}", short(json)))
}

pub fn boolean(json: &Json, what: &str) -> Result<bool, String> {
    json.as_bool().ok_or_else(|| format!("{what} must be true or false, not {}", short(json)))
}

pub fn text<'j>(json: &'j Json, what: &str) -> Result<&'j str, String> {
    json.as_str().ok_or_else(|| format!("{what} must be a text, not {}", short(json)))
}

pub fn array<'j>(json: &'j Json, what: &str) -> Result<&'j [Json], String> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| format!("{what} must be a list, not {}", short(json)))
}

pub fn all<T>(json: &Json, what: &str, one: impl Fn(&Json, &str) -> Result<T, String>) -> Result<Vec<T>, String> {
    array(json, what)?.iter().map(|json| one(json, what)).collect()
}

/// Refuses misspelt fields, which would be ignored in silence.
pub fn only(fields: &Fields, known: &[&str]) -> Result<(), String> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("`{name}` is not known here; known are {}", known.join(", "))),
        None => Ok(()),
    }
}

/// A value as an error shows it.
pub fn short(json: &Json) -> String {
    const SHOWN: usize = 60;
    let text = json.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
