//! Claims: what rules see of the user who asks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iolite_values::{Scalar, Value};

/// The claim that every user has: the name by which the issuer knows them.
pub const SUBJECT: &str = "sub";

/// A thing that a token says of a user under one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    Text(String),
    Number(i64),
    Flag(bool),
    Texts(BTreeSet<String>),
}

/// The type that the operator gives a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimType {
    Text,
    Number,
    Flag,
    Texts,
}

/// The claims of one user. The subject is always among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claims {
    claims: BTreeMap<String, Claim>,
}

impl Claims {
    /// The claims of this subject. A claim that is called `sub` too does not count.
    pub fn new(subject: &str, claims: impl IntoIterator<Item = (String, Claim)>) -> Claims {
        let mut all: BTreeMap<_, _> = claims.into_iter().collect();
        all.insert(SUBJECT.to_owned(), Claim::Text(subject.to_owned()));
        Claims { claims: all }
    }

    pub fn get(&self, name: &str) -> Option<&Claim> {
        self.claims.get(name)
    }

    /// The one value of a claim. None: the token does not say it, or it is a list.
    pub fn value(&self, name: &str) -> Option<Value> {
        match self.get(name)? {
            Claim::Text(text) => Some(Value::string(text)),
            Claim::Number(number) => Some(Value::Int(*number)),
            Claim::Flag(flag) => Some(Value::Bool(*flag)),
            Claim::Texts(_) => None,
        }
    }

    /// The texts of a claim that is a list. None: the token does not say it, or it is none.
    pub fn texts(&self, name: &str) -> Option<&BTreeSet<String>> {
        match self.get(name)? {
            Claim::Texts(texts) => Some(texts),
            Claim::Text(_) | Claim::Number(_) | Claim::Flag(_) => None,
        }
    }
}

impl ClaimType {
    /// The type of its values. None: it is a list.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            ClaimType::Text => Some(Scalar::String),
            ClaimType::Number => Some(Scalar::Int),
            ClaimType::Flag => Some(Scalar::Bool),
            ClaimType::Texts => None,
        }
    }
}

/// As the operator writes it.
impl fmt::Display for ClaimType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClaimType::Text => "text",
            ClaimType::Number => "number",
            ClaimType::Flag => "flag",
            ClaimType::Texts => "texts",
        })
    }
}
