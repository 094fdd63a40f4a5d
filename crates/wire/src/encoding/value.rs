//! Values.

use iolite_values::Value;

use crate::DecodeError;
use crate::generated::proto::{self, value::Kind};

use super::blob;
use super::reader::{identity, required};

pub(crate) fn write(value: &Value) -> proto::Value {
    let kind = match value {
        Value::Null => Kind::Null(true),
        Value::Bool(value) => Kind::Boolean(*value),
        Value::Int(value) => Kind::Int(*value),
        Value::Float(value) => Kind::Float(*value),
        Value::String(text) => Kind::Text(text.to_string()),
        Value::Bytes(bytes) => Kind::Bytes(bytes.to_vec()),
        Value::Id(id) => Kind::Id(id.to_bytes().to_vec()),
        Value::Blob(own) => blob::write(own),
    };
    proto::Value { kind: Some(kind) }
}

pub(crate) fn read(value: proto::Value) -> Result<Value, DecodeError> {
    match required(value.kind, "a value of no known type")? {
        Kind::Null(true) => Ok(Value::Null),
        Kind::Null(false) => Err(DecodeError::malformed("a null that is none")),
        Kind::Boolean(value) => Ok(Value::Bool(value)),
        Kind::Int(value) => Ok(Value::Int(value)),
        Kind::Float(number) => float(number),
        Kind::Text(text) => Ok(Value::from(text)),
        Kind::Bytes(bytes) => Ok(Value::bytes(bytes)),
        Kind::Id(bytes) => Ok(Value::Id(identity(&bytes)?)),
        Kind::Blob(bytes) => blob::read_inline(bytes),
        Kind::BlobTree(tree) => Ok(blob::read_tree(&tree)?.into()),
    }
}

pub(crate) fn read_required(value: Option<proto::Value>) -> Result<Value, DecodeError> {
    read(required(value, "a value is missing")?)
}

fn float(number: f64) -> Result<Value, DecodeError> {
    match Value::float(number) {
        Ok(Value::Float(same)) if same.to_bits() == number.to_bits() => Ok(Value::Float(same)),
        Ok(_) | Err(_) => Err(DecodeError::malformed("a float is never NaN or minus zero")),
    }
}
