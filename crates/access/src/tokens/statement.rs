//! The payload of a token, once its signature has been verified.
//!
//! Invariant: a session does not outlive the longest life that the operator allows, whatever times an issuer writes.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::WallTime;
use iolite_rights::{Claim, ClaimType};
use serde_json::{Map, Value};

use crate::claim::claim_of;
use crate::{AccessError, Subject};

/// How far the clocks of issuer and gateway may be apart.
pub const LEEWAY: Duration = Duration::from_secs(60);

/// Seconds since 1970 of the year 5138: later times are none.
const SECONDS_TO_COME: f64 = 100_000_000_000.0;

pub(super) struct Statement<'a>(&'a Map<String, Value>);

impl<'a> Statement<'a> {
    /// # Errors
    /// [`AccessError::Malformed`].
    pub fn read(payload: &'a Value) -> Result<Statement<'a>, AccessError> {
        payload.as_object().map(Statement).ok_or(AccessError::Malformed)
    }

    /// Checks who issued it, and for whom.
    ///
    /// # Errors
    /// [`AccessError::Issuer`] and [`AccessError::Audience`].
    pub fn check_from_to(&self, issuer: &str, audience: &str) -> Result<(), AccessError> {
        if self.0.get("iss").and_then(Value::as_str) != Some(issuer) {
            return Err(AccessError::Issuer);
        }
        let is_for_us = match self.0.get("aud") {
            Some(Value::String(own)) => own == audience,
            Some(Value::Array(several)) => several.iter().any(|own| own.as_str() == Some(audience)),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
        };
        is_for_us.then_some(()).ok_or(AccessError::Audience)
    }

    /// # Errors
    /// [`AccessError::Subject`].
    pub fn subject(&self, issuer: &str) -> Result<Subject, AccessError> {
        let name = self.0.get("sub").and_then(Value::as_str).ok_or(AccessError::Subject)?;
        Subject::checked(issuer, name).ok_or(AccessError::Subject)
    }

    /// When it was issued, if it says so, and when it runs out.
    ///
    /// # Errors
    /// The reason why it is not good now.
    pub fn times(&self, now: WallTime, life_max: Duration) -> Result<(Option<WallTime>, WallTime), AccessError> {
        let (issued, begins) = (self.time("iat")?, self.time("nbf")?);
        let ends = self.time("exp")?.ok_or(AccessError::NoEnd)?;
        let soon = after(now, LEEWAY);
        if now >= after(ends, LEEWAY) {
            return Err(AccessError::Expired);
        }
        // A token of a later time would also outlive a revocation.
        if [issued, begins].into_iter().flatten().any(|time| time > soon) {
            return Err(AccessError::NotYet);
        }
        let is_long = ends > after(soon, life_max) || issued.is_some_and(|issued| ends > after(issued, life_max));
        if is_long {
            return Err(AccessError::LivesTooLong);
        }
        Ok((issued, ends))
    }

    /// The claims of these names, as far as it has them.
    ///
    /// # Errors
    /// [`AccessError::Claim`].
    pub fn claims(&self, names: &BTreeMap<String, ClaimType>) -> Result<BTreeMap<String, Claim>, AccessError> {
        let found = names.iter().filter_map(|(name, of)| Some((name, *of, self.0.get(name)?)));
        let claim = |(name, of, value): (&String, ClaimType, &Value)| {
            claim_of(value, of).map(|claim| (name.clone(), claim)).ok_or(AccessError::Claim(of))
        };
        found.map(claim).collect()
    }

    /// Seconds since 1970, which may have a fraction.
    fn time(&self, name: &str) -> Result<Option<WallTime>, AccessError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let seconds = value.as_f64().filter(|seconds| (0.0..SECONDS_TO_COME).contains(seconds));
        let since = Duration::from_secs_f64(seconds.ok_or(AccessError::BadTime)?);
        Ok(Some(after(WallTime::from_micros(0), since)))
    }
}

fn after(time: WallTime, duration: Duration) -> WallTime {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    WallTime::from_micros(time.as_micros().saturating_add(micros))
}
