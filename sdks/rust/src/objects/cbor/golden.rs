//! The values that all SDKs write and read alike.

use std::sync::Weak;

use ciborium::value::{Integer, Value};
use serde_json::Value as Json;

use super::{decode, encode_canonical};

const GOLDEN: &str = include_str!("../../../../golden/objects-cbor.json");

#[test]
fn golden_values_have_their_bytes_and_read_back() {
    let entries: Vec<Json> = serde_json::from_str(GOLDEN).expect("the file is JSON");
    assert!(entries.len() >= 40, "the file is read whole");
    for entry in entries {
        let text = |key: &str| entry[key].as_str().expect("a text").to_owned();
        let value = value_of(&entry["value"]);
        let bytes = bytes_of(&text("hex"));
        assert_eq!(encode_canonical(&value).expect("it has bytes"), bytes, "{}", text("name"));
        let read: Value = decode(&bytes, &Weak::new()).expect("they are a value");
        // A NaN is no other: compare bytes.
        assert_eq!(encode_canonical(&read).expect("it has bytes"), bytes, "{}", text("name"));
        assert_eq!(format!("{read:?}").contains("NaN"), text("name") == "not a number");
    }
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Integer(number.as_i64().expect("floats are written as $float").into()),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(value_of).collect()),
        Json::Object(entries) => {
            let mut entries_seen = entries.iter();
            match (entries_seen.next(), entries_seen.next()) {
                (Some((key, Json::String(text))), None) if key == "$int" => {
                    let number: i128 = text.parse().expect("a whole number");
                    Value::Integer(Integer::try_from(number).expect("64 bits"))
                }
                (Some((key, Json::String(text))), None) if key == "$float" => {
                    Value::Float(text.parse().expect("a float"))
                }
                (Some((key, Json::String(text))), None) if key == "$bytes" => Value::Bytes(bytes_of(text)),
                (Some((key, Json::Array(name))), None) if key == "$ref" => {
                    let kind = [Value::Text("iolite.Ref".to_owned())];
                    Value::Tag(27, Box::new(Value::Array(kind.into_iter().chain(name.iter().map(value_of)).collect())))
                }
                _ => {
                    Value::Map(entries.iter().map(|(key, value)| (Value::Text(key.clone()), value_of(value))).collect())
                }
            }
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    (0..hex.len()).step_by(2).map(digits).collect()
}
