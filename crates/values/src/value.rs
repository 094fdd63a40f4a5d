//! The values that cells hold.
//!
//! Invariant: a float is never NaN and never minus zero, so values have one order and one encoding.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{Blob, Id};

/// A value of one of the scalar types, or nothing.
#[derive(Clone)]
pub enum Value {
    /// The value of an optional column that was not given one.
    Null,
    Bool(bool),
    Int(i64),
    /// Made by [`Value::float`].
    Float(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    Id(Id),
    Blob(Arc<Blob>),
}

/// The kinds of [`Value`], in their sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueType {
    Null,
    Bool,
    Int,
    Float,
    String,
    Bytes,
    Id,
    Blob,
}

/// As schemas name them.
impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueType::Null => "null",
            ValueType::Bool => "bool",
            ValueType::Int => "int",
            ValueType::Float => "float",
            ValueType::String => "string",
            ValueType::Bytes => "bytes",
            ValueType::Id => "id",
            ValueType::Blob => "blob",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("NaN cannot be stored: it has no place in an order")]
    NotANumber,
}

impl Value {
    /// # Errors
    /// NaN is refused. Minus zero becomes zero.
    pub fn float(number: f64) -> Result<Value, ValueError> {
        if number.is_nan() {
            return Err(ValueError::NotANumber);
        }
        Ok(Value::Float(if number == 0.0 { 0.0 } else { number }))
    }

    pub fn string(text: impl AsRef<str>) -> Value {
        Value::String(Arc::from(text.as_ref()))
    }

    pub fn bytes(bytes: impl AsRef<[u8]>) -> Value {
        Value::Bytes(Arc::from(bytes.as_ref()))
    }

    pub fn kind(&self) -> ValueType {
        match self {
            Value::Null => ValueType::Null,
            Value::Bool(_) => ValueType::Bool,
            Value::Int(_) => ValueType::Int,
            Value::Float(_) => ValueType::Float,
            Value::String(_) => ValueType::String,
            Value::Bytes(_) => ValueType::Bytes,
            Value::Id(_) => ValueType::Id,
            Value::Blob(_) => ValueType::Blob,
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        match self {
            Value::Null | Value::Bool(_) => 1,
            Value::Int(_) | Value::Float(_) => 8,
            Value::String(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Id(_) => 16,
            Value::Blob(blob) => blob.size_bytes(),
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Id(a), Value::Id(b)) => a.cmp(b),
            (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
            (a, b) => a.kind().cmp(&b.kind()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind() as u8).hash(state);
        match self {
            Value::Null => {}
            Value::Bool(value) => value.hash(state),
            Value::Int(value) => value.hash(state),
            Value::Float(value) => value.to_bits().hash(state),
            Value::String(text) => text.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::Id(id) => id.hash(state),
            Value::Blob(blob) => blob.hash(state),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => write!(f, "null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::String(text) => write!(f, "{text:?}"),
            Value::Bytes(bytes) => write!(f, "b{bytes:?}"),
            Value::Id(id) => write!(f, "#{id}"),
            Value::Blob(blob) => write!(f, "{blob:?}"),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::string(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::String(Arc::from(value))
    }
}

impl From<Blob> for Value {
    fn from(value: Blob) -> Value {
        Value::Blob(Arc::new(value))
    }
}

impl From<Id> for Value {
    fn from(value: Id) -> Value {
        Value::Id(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_one_zero_and_no_nan() {
        assert_eq!(Value::float(f64::NAN), Err(ValueError::NotANumber));
        assert_eq!(Value::float(-0.0), Value::float(0.0));
        let Ok(Value::Float(zero)) = Value::float(-0.0) else { panic!("a float") };
        assert!(zero.is_sign_positive());
    }
}
