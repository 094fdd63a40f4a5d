//! Callers: who asks, and what their token says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::Mistake;
use crate::{Claim, ClaimType, Claims, SUBJECT};

/// Somebody who tries what they may do.
#[derive(Clone, Debug)]
pub struct Caller {
    pub claims: Claims,
    /// The time of the rules, in milliseconds since 1970.
    pub now_ms: i64,
}

impl Caller {
    /// The user of this name, whose token says nothing else, at the beginning of 1970.
    pub fn named(subject: &str) -> Caller {
        Caller { claims: Claims::new(subject, []), now_ms: 0 }
    }
}

impl Claims {
    /// The same of a text, which an operator gives. None: the token says nothing but the name.
    ///
    /// # Errors
    /// As [`Claims::from_json`], and where the text is no object in JSON.
    pub fn from_text(
        subject: &str,
        claims: Option<&str>,
        types: Option<&BTreeMap<String, ClaimType>>,
    ) -> Result<Claims, Mistake> {
        let read = |text| {
            serde_json::from_str(text).map_err(|error| {
                Mistake::new(format!(
                    "the claims are no object in JSON: {error}. Write them as in the token, such as {{\"roles\": [\"lead\"]}}"
                ))
            })
        };
        if subject.is_empty() {
            return Err(Mistake::new("say who asks: `user` is the `sub` of their token"));
        }
        Claims::from_json(subject, &claims.map_or_else(|| Ok(Map::new()), read)?, types)
    }

    /// The claims of a user, as an object of their names and values. `types` are those that the operator has named; none: any claim may be said.
    ///
    /// # Errors
    /// A claim that the operator has not named, or that is of another type.
    pub fn from_json(
        subject: &str,
        claims: &Map<String, Json>,
        types: Option<&BTreeMap<String, ClaimType>>,
    ) -> Result<Claims, Mistake> {
        let mut all = Vec::new();
        for (name, json) in claims.iter().filter(|(name, _)| *name != SUBJECT) {
            let wanted = match types {
                None => None,
                Some(types) => Some(types.get(name).copied().ok_or_else(|| {
                    Mistake::new(format!(
                        "the gateway's settings name no claim {name:?}, so no rule sees it: leave it out, or name it there with a type"
                    ))
                })?),
            };
            let claim = claim(json).filter(|own| wanted.is_none_or(|wanted| own.kind() == wanted));
            all.push((name.clone(), claim.ok_or_else(|| wrong(name, json, wanted))?));
        }
        Ok(Claims::new(subject, all))
    }
}

impl Claim {
    fn kind(&self) -> ClaimType {
        match self {
            Claim::Text(_) => ClaimType::Text,
            Claim::Number(_) => ClaimType::Number,
            Claim::Flag(_) => ClaimType::Flag,
            Claim::Texts(_) => ClaimType::Texts,
        }
    }
}

fn claim(json: &Json) -> Option<Claim> {
    match json {
        Json::String(text) => Some(Claim::Text(text.clone())),
        Json::Number(number) => number.as_i64().map(Claim::Number),
        Json::Bool(flag) => Some(Claim::Flag(*flag)),
        Json::Array(all) => {
            let texts = all.iter().map(|own| own.as_str().map(str::to_owned)).collect::<Option<BTreeSet<_>>>();
            texts.map(Claim::Texts)
        }
        Json::Null | Json::Object(_) => None,
    }
}

fn wrong(name: &str, json: &Json, wanted: Option<ClaimType>) -> Mistake {
    let wanted = match wanted {
        Some(ClaimType::Text) => "a text",
        Some(ClaimType::Number) => "a whole number",
        Some(ClaimType::Flag) => "true or false",
        Some(ClaimType::Texts) => "a list of texts",
        None => "a text, a whole number, true or false, or a list of texts",
    };
    Mistake::new(format!("claim {name:?}: it is {wanted}, and not {}", super::given::short(json)))
}
