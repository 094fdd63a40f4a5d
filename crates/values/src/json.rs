//! Values in JSON, for arguments of mutations: readable in every language, and exact.
//!
//! Invariant: what a value of a type becomes, reads back as that value of that type. What JSON numbers do not carry exactly is text.

use serde_json::Value as Json;

use crate::{Blob, Scalar, Value};

/// Integers beyond it are not exact in all languages as JSON numbers, so they are texts.
const EXACT_TO: u64 = (1 << 53) - 1;

impl Scalar {
    /// A value of this type, or null.
    pub fn to_json(self, value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) if value.unsigned_abs() > EXACT_TO => value.to_string().into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) if is_exact(*value) => (*value).into(),
            Value::Float(value) => value.to_string().into(),
            Value::String(text) => text.as_ref().into(),
            Value::Bytes(bytes) => hexadecimal(bytes).into(),
            Value::Id(id) => id.to_string().into(),
            Value::Blob(blob) => blob.to_json(),
        }
    }

    /// `None`: it is of another type.
    pub fn from_json(self, json: &Json) -> Option<Value> {
        match (self, json) {
            (Scalar::Bool, _) => json.as_bool().map(Value::Bool),
            (Scalar::Int, Json::String(text)) => text.parse().ok().map(Value::Int),
            (Scalar::Int, _) => json.as_i64().map(Value::Int),
            (Scalar::Float, Json::String(text)) => text.parse().ok().and_then(|number| Value::float(number).ok()),
            (Scalar::Float, _) => json.as_f64().and_then(|number| Value::float(number).ok()),
            (Scalar::String, _) => json.as_str().map(Value::from),
            (Scalar::Bytes, _) => json.as_str().and_then(bytes).map(Value::bytes),
            (Scalar::Id, _) => json.as_str().and_then(|text| text.parse().ok()).map(Value::Id),
            (Scalar::Blob, _) => Blob::from_json(json).map(Value::from),
        }
    }
}

/// Whether a float is read from JSON as it was written, which the reader here promises of few only; infinities JSON does not have.
fn is_exact(value: f64) -> bool {
    let read = serde_json::from_str::<f64>(&Json::from(value).to_string());
    read.is_ok_and(|read| read.to_bits() == value.to_bits())
}

/// Two digits a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Id;

    fn value() -> impl Strategy<Value = (Scalar, Value)> {
        prop_oneof![
            any::<bool>().prop_map(|value| (Scalar::Bool, Value::Bool(value))),
            any::<i64>().prop_map(|value| (Scalar::Int, Value::Int(value))),
            any::<f64>().prop_map(|value| (Scalar::Float, Value::float(value).unwrap_or(Value::Float(1.0)))),
            ".{0,8}".prop_map(|text| (Scalar::String, Value::from(text))),
            proptest::collection::vec(any::<u8>(), 0..8).prop_map(|bytes| (Scalar::Bytes, Value::bytes(bytes))),
            any::<u128>().prop_map(|bits| (Scalar::Id, Value::Id(Id::from_u128(bits)))),
            proptest::collection::vec(any::<u8>(), 0..8)
                .prop_map(|bytes| (Scalar::Blob, Blob::inline(bytes).expect("short").into())),
        ]
    }

    proptest! {
        #[test]
        fn values_read_back((scalar, value) in value()) {
            let text = scalar.to_json(&value).to_string();
            let json: Json = serde_json::from_str(&text).expect("its own");
            prop_assert_eq!(scalar.from_json(&json), Some(value));
        }
    }

    #[test]
    fn what_is_of_another_type_is_none() {
        for scalar in Scalar::ALL {
            assert_eq!(scalar.from_json(&Json::Null), None);
            assert_eq!(scalar.from_json(&serde_json::json!({})), None);
        }
        assert_eq!(Scalar::Int.from_json(&serde_json::json!(1.5)), None);
        assert_eq!(Scalar::Bytes.from_json(&serde_json::json!("abc")), None);
        assert_eq!(Scalar::Float.from_json(&serde_json::json!("NaN")), None);
    }
}
