//! How far a client has seen a group: the token that it shows to another data centre.

use std::collections::BTreeMap;

use iolite_values::Timestamp;

use super::{CentreName, Place};
use crate::DecodeError;
use crate::encoding::{Reader, Writer, required};
use crate::generated::proto;
use crate::limits::CENTRES;

/// How far one outbox was seen, in two places of which one is enough: whoever has the outbox through the first, or that of the serving data centre through
/// the second, has all that was seen of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// The highest place of that outbox that was seen, or a higher one.
    pub through: Place,
    /// The last place in the serving data centre's outbox that was taken from it. Of its own outbox: the last one that began there.
    pub here: Place,
}

/// How far outboxes were seen: all of them, or those that have changed.
pub type Clock = BTreeMap<CentreName, Ceiling>;

/// News of a data centre for its gateway: how far clients see the group, and what is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CentreNews {
    /// How far clients see outboxes that are told of the feed through its next segment.
    pub clock: Clock,
    /// The position in the feed at which the rest holds.
    pub at: Timestamp,
    /// Everything of these outboxes through these places is here.
    pub here: BTreeMap<CentreName, Place>,
}

/// Everything that a client has seen. Source: Zawirski 2013, section 4.4, with two places for each data centre in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CentreToken {
    /// The data centre that served it.
    pub at: CentreName,
    pub clock: Clock,
}

pub(crate) fn write_clock(clock: &Clock, writer: &mut Writer) -> Option<Box<proto::CentreClock>> {
    if clock.is_empty() {
        return None;
    }
    writer.count(clock.len(), CENTRES);
    Some(Box::new(proto::CentreClock {
        centres: clock.keys().map(|name| name.as_str().to_owned()).collect(),
        through: clock.values().map(|ceiling| ceiling.through.0).collect(),
        here: clock.values().map(|ceiling| ceiling.here.0).collect(),
    }))
}

pub(crate) fn read_clock(clock: Option<Box<proto::CentreClock>>, reader: &Reader) -> Result<Clock, DecodeError> {
    let Some(clock) = clock else { return Ok(Clock::new()) };
    let proto::CentreClock { centres, through, here } = *clock;
    reader.count(centres.len(), CENTRES)?;
    let malformed = DecodeError::malformed("a clock whose names and places are not as many, or not in order");
    if (through.len(), here.len()) != (centres.len(), centres.len()) {
        return Err(malformed);
    }
    let mut read = Clock::new();
    for (name, (through, here)) in centres.into_iter().zip(through.into_iter().zip(here)) {
        let Ok(name) = CentreName::new(&name) else { return Err(malformed) };
        if read.last_key_value().is_some_and(|(last, _)| *last >= name) {
            return Err(malformed);
        }
        read.insert(name, Ceiling { through: Place(through), here: Place(here) });
    }
    Ok(read)
}

pub(crate) fn write_token(token: &CentreToken, writer: &mut Writer) -> Box<proto::CentreToken> {
    Box::new(proto::CentreToken { at: token.at.as_str().to_owned(), clock: write_clock(&token.clock, writer) })
}

pub(crate) fn read_token(
    token: Option<Box<proto::CentreToken>>,
    reader: &Reader,
) -> Result<Option<CentreToken>, DecodeError> {
    let Some(token) = token else { return Ok(None) };
    let at = read_name(&token.at)?;
    let at = required(at, "a token without its data centre")?;
    Ok(Some(CentreToken { at, clock: read_clock(token.clock, reader)? }))
}

/// The name of a data centre, or none.
pub(crate) fn read_name(name: &str) -> Result<Option<CentreName>, DecodeError> {
    if name.is_empty() {
        return Ok(None);
    }
    CentreName::new(name).map(Some).map_err(|_| DecodeError::malformed("no name of a data centre"))
}
