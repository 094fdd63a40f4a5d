//! Arguments of mutations, as JSON.
//!
//! Invariant: a float that JSON does not have is an error. `serde_json` alone would write null, which reads back as `None`.

use std::fmt;

use iolite_client::CallError;
use serde::{Serialize, Serializer, ser};

/// # Errors
/// [`CallError::NoJson`].
pub(crate) fn encode<A: Serialize + ?Sized>(arguments: &A) -> Result<String, CallError> {
    let json = serde_json::to_string(arguments).map_err(|error| CallError::NoJson { problem: error.to_string() })?;
    // Most arguments have none, and need not be gone through twice.
    if json.contains("null") {
        arguments.serialize(Finite).map_err(|NoJson(problem)| CallError::NoJson { problem })?;
    }
    Ok(json)
}

#[derive(Debug)]
struct NoJson(String);

impl fmt::Display for NoJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoJson {}

impl ser::Error for NoJson {
    fn custom<M: fmt::Display>(message: M) -> NoJson {
        NoJson(message.to_string())
    }
}

/// Looks at the floats, and writes nothing.
struct Finite;

/// Values that are no floats and hold none.
macro_rules! no_floats {
    ($($method:ident($($argument:ty),*);)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<(), NoJson> {
            Ok(())
        })*
    };
}

/// Values that hold another one.
macro_rules! one_inside {
    ($($method:ident($($argument:ty),*);)*) => {
        $(fn $method<T: Serialize + ?Sized>(self, $(_: $argument,)* value: &T) -> Result<(), NoJson> {
            value.serialize(self)
        })*
    };
}

/// Values that hold several, which are seen one by one.
macro_rules! several_inside {
    ($($method:ident($($argument:ty),*);)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<Finite, NoJson> {
            Ok(self)
        })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = NoJson;
    type SerializeSeq = Finite;
    type SerializeTuple = Finite;
    type SerializeTupleStruct = Finite;
    type SerializeTupleVariant = Finite;
    type SerializeMap = Finite;
    type SerializeStruct = Finite;
    type SerializeStructVariant = Finite;

    fn serialize_f32(self, value: f32) -> Result<(), NoJson> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), NoJson> {
        if value.is_finite() { Ok(()) } else { Err(NoJson(format!("{value} cannot be stored"))) }
    }

    no_floats! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    one_inside! {
        serialize_some();
        serialize_newtype_struct(&'static str);
        serialize_newtype_variant(&'static str, u32, &'static str);
    }

    several_inside! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }
}

macro_rules! parts {
    ($($trait:ident: $($method:ident($($name:ty)?)),*;)*) => {
        $(impl ser::$trait for Finite {
            type Ok = ();
            type Error = NoJson;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Result<(), NoJson> {
                value.serialize(Finite)
            })*

            fn end(self) -> Result<(), NoJson> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key(), serialize_value();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    enum Wish {
        Nothing,
        Ratio(f64),
        Both(f64, f32),
        Named { ratio: Option<f64> },
    }

    #[test]
    fn floats_that_json_has_not_are_refused_wherever_they_stand() {
        let refused = |problem: &str| Err(CallError::NoJson { problem: format!("{problem} cannot be stored") });
        assert_eq!(encode(&f64::NAN), refused("NaN"));
        assert_eq!(encode(&("a", Some(f64::INFINITY))), refused("inf"));
        assert_eq!(encode(&vec![1.0, f64::NEG_INFINITY]), refused("-inf"));
        assert_eq!(encode(&BTreeMap::from([("a", f64::NAN)])), refused("NaN"));
        assert_eq!(encode(&Wish::Ratio(f64::NAN)), refused("NaN"));
        assert_eq!(encode(&Wish::Both(1.0, f32::NAN)), refused("NaN"));
        assert_eq!(encode(&Wish::Named { ratio: Some(f64::NAN) }), refused("NaN"));
    }

    #[test]
    fn everything_else_is_as_serde_has_it() {
        let all = (true, 'x', "a", Some(1), None::<f64>, (), [0.5], Wish::Nothing, Wish::Named { ratio: None });
        assert_eq!(encode(&all), Ok(r#"[true,"x","a",1,null,null,[0.5],"Nothing",{"Named":{"ratio":null}}]"#.into()));
        let keys = encode(&BTreeMap::from([((1, 2), "home")]));
        assert!(matches!(keys, Err(CallError::NoJson { problem }) if problem.contains("key")));
    }
}
