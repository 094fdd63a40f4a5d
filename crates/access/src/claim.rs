//! Claims as tokens have them: JSON values, each under a name to which the operator gives a type.

use std::collections::BTreeSet;

use iolite_rights::{Claim, ClaimType};
use serde_json::Value;

/// The claim of a JSON value. None: the value is of another type. One text is a list of one text, too.
pub fn claim_of(value: &Value, claim_type: ClaimType) -> Option<Claim> {
    match claim_type {
        ClaimType::Text => value.as_str().map(|text| Claim::Text(text.to_owned())),
        ClaimType::Number => value.as_i64().map(Claim::Number),
        ClaimType::Flag => value.as_bool().map(Claim::Flag),
        ClaimType::Texts => match value.as_str() {
            Some(text) => Some(Claim::Texts(BTreeSet::from([text.to_owned()]))),
            None => texts(value),
        },
    }
}

/// The claim of a JSON value, of the type that the value has. None: no claim has that type.
pub fn claim_of_any(value: &Value) -> Option<Claim> {
    match value {
        Value::String(text) => Some(Claim::Text(text.clone())),
        Value::Number(number) => number.as_i64().map(Claim::Number),
        Value::Bool(flag) => Some(Claim::Flag(*flag)),
        Value::Array(_) => texts(value),
        Value::Null | Value::Object(_) => None,
    }
}

fn texts(value: &Value) -> Option<Claim> {
    let texts = value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().map(Claim::Texts)
}

/// For people: what a claim of a type is.
pub fn described(claim_type: ClaimType) -> &'static str {
    match claim_type {
        ClaimType::Text => "a text",
        ClaimType::Number => "a whole number",
        ClaimType::Flag => "true or false",
        ClaimType::Texts => "a list of texts",
    }
}
