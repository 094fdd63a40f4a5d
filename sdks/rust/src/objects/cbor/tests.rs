//! Values of apps, as other programs write them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::*;
use crate::objects::generated::Arguments;
use crate::objects::{CallError, NoError, NotRun, ObjectName, Ref, sapphire};

/// Fields out of order, as a program has them.
#[sapphire(name = "Album")]
#[derive(Clone, Debug, PartialEq)]
struct Album {
    title: String,
    by: Ref<Album>,
    rating: f64,
    kind: Kind,
    plays: BTreeMap<String, u64>,
    note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Single,
    Box { discs: u8 },
    Pair(u8, i64),
    Of(Vec<f32>),
}

fn name(id: &str) -> ObjectName {
    ObjectName::new("Album", id).expect("a name")
}

fn album(kind: Kind) -> Album {
    let plays = [("b".to_owned(), u64::MAX), ("aa".to_owned(), 1)].into();
    let by = Ref::new(name("her"), Weak::new());
    Album { title: "x".repeat(5000), by, rating: 1.0, kind, plays, note: None }
}

fn read<T: DeserializeOwned>(hex: &[u8]) -> Result<T, Problem> {
    decode(hex, &Weak::new())
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    for bytes in [encode(value).expect("bytes"), encode_canonical(value).expect("bytes")] {
        assert_eq!(read::<T>(&bytes).as_ref(), Ok(value));
    }
}

#[test]
fn a_state_comes_back_from_its_one_encoding() {
    for kind in [Kind::Single, Kind::Box { discs: 3 }, Kind::Pair(255, -1), Kind::Of(vec![0.5, 3.0])] {
        comes_back(&album(kind));
    }
    let bytes = encode_canonical(&album(Kind::Single)).expect("bytes");
    let place = |key: &str| bytes.windows(key.len()).position(|at| at == key.as_bytes()).expect("the key is there");
    let places: Vec<usize> = ["\x62by", "\x64kind", "\x64note", "\x65plays", "\x65title"].map(place).into();
    assert!(places.is_sorted(), "{places:?}");
    assert!(place("\x61b\x1b") < place("\x62aa"), "keys of maps of the app too");
}

#[test]
fn errors_of_calls_cross_calls() {
    let chain = vec![name("a"), name("b"), name("a")];
    comes_back::<CallError<String>>(&CallError::App("full".to_owned()));
    comes_back::<CallError>(&CallError::NotRun(NotRun::WouldDeadlock { chain }));
    comes_back::<CallError<CallError>>(&CallError::App(CallError::Broke { how: "it panicked".to_owned() }));
    comes_back::<CallError<NoError>>(&CallError::Fenced);
}

#[test]
fn an_error_of_another_language_is_shown() {
    let thrown = encode(&BTreeMap::from([("name", "Full"), ("message", "no more milk")])).expect("bytes");
    let error = CallError::<NoError>::of(iolite_objects::CallError::App(thrown), read);
    assert!(error.to_string().contains("no more milk"), "{error}");
}

#[test]
fn whole_numbers_are_floats_where_floats_are_expected() {
    // [1, -2, 1.5, 3], as JavaScript writes it
    let numbers = [0x84, 0x01, 0x21, 0xf9, 0x3e, 0x00, 0x03];
    assert_eq!(read::<Vec<f64>>(&numbers), Ok(vec![1.0, -2.0, 1.5, 3.0]));
    assert_eq!(read::<(f32, Option<f64>, f64, i64)>(&numbers), Ok((1.0, Some(-2.0), 1.5, 3)));
    assert!(read::<Vec<i64>>(&numbers).is_err(), "and no float is a whole number");
}

#[test]
fn what_is_left_over_is_an_error() {
    let two = [0x82, 0x01, 0x02];
    assert_eq!(read::<(u8, u8)>(&two), Ok((1, 2)));
    assert!(read::<(u8,)>(&two).is_err_and(|problem| problem.contains("more elements")));
    assert!(
        read::<((u8,), u8)>(&[0x82, 0x82, 0x01, 0x02, 0x03]).is_err_and(|problem| problem.contains("more elements"))
    );
    assert!(read::<(u8, u8, u8)>(&two).is_err_and(|problem| problem.contains("tuple of size 3")));
    assert!(read::<[(); 0]>(&two).is_err());
    assert_eq!(read::<[(); 0]>(&[0x80]), Ok([]));
    assert!(read::<u8>(&[0x01, 0x01]).is_err_and(|problem| problem.contains("left over")));
    assert!(read::<u8>(&[]).is_err_and(|problem| problem.contains("end inside")));
    let deep = vec![0x81; 100_000];
    assert!(read::<Value>(&deep).is_err_and(|problem| problem.contains("deep")));
}

#[test]
fn a_reference_belongs_to_the_host_that_reads_it() {
    let bytes = encode(&Ref::<Album>::new(name("home"), Weak::new())).expect("bytes");
    let host = std::sync::Arc::new(Node::new(Duration::from_secs(1)));
    let read_there: Ref<Album> = decode(&bytes, &std::sync::Arc::downgrade(&host)).expect("a reference");
    assert_eq!((Ref::id(&read_there), Ref::name(&read_there)), ("home", &name("home")));
    assert_eq!(std::sync::Arc::weak_count(&host), 1, "the reference has it");
    assert!(reading_host().is_none(), "after that nobody reads");
    // An unknown field with a reference in it is passed over.
    #[derive(Debug, PartialEq, Deserialize)]
    struct Small {
        a: u8,
    }
    let with_more: Arguments = encode(&BTreeMap::from([("z", read_there.clone())]));
    let mut with_more = with_more.expect("bytes");
    with_more[0] = 0xa2;
    with_more.extend([0x61, b'a', 0x07]);
    assert_eq!(read::<Small>(&with_more), Ok(Small { a: 7 }));
}

#[test]
fn a_reference_to_another_class_is_refused() {
    let wrong = |kind: &str, class: &str| {
        let parts = ciborium::tag::Required::<_, REFERENCE_TAG>((kind, class, "home"));
        read::<Ref<Album>>(&encode(&parts).expect("bytes")).expect_err("it is none")
    };
    assert!(wrong("iolite.Ref", "User").contains("stands for one to a \"Album\""));
    assert!(wrong("perl.Object", "Album").contains("perl.Object"));
    assert!(wrong("iolite.Ref", "").contains("Album"));
    assert!(
        read::<Ref<Album>>(&encode(&(REFERENCE_TYPE, "Album", "home")).expect("bytes")).is_err(),
        "the tag is missing"
    );
}
