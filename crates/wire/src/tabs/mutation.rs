//! A pending mutation, as the tabs that follow see it.

use iolite_values::{Counter, Id, Write};

use crate::DecodeError;
use crate::encoding::{Reader, Writer, identity};
use crate::generated::proto;
use crate::limits::{NAME, REASON};

/// A pending mutation of the leader, with what its last run wrote: it is shown elsewhere, and runs nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabMutation {
    pub counter: Counter,
    /// `None`: a closure.
    pub name: Option<String>,
    /// JSON; empty for a closure.
    pub arguments: String,
    pub called_at_micros: u64,
    /// `None`: the leader itself called it.
    pub ticket: Option<Id>,
    pub durable: bool,
    pub sent: bool,
    pub waits_for_data: bool,
    pub in_conflict: bool,
    /// Data centres that are known to have it.
    pub centres: u32,
    pub would_reject: Option<String>,
    pub writes: Vec<Write>,
}

impl TabMutation {
    pub(super) fn write(&self, writer: &mut Writer) -> proto::TabMutation {
        proto::TabMutation {
            counter: self.counter.0,
            name: self.name.as_ref().map(|name| writer.text(name, NAME)),
            arguments: self.arguments.clone(),
            called_at_micros: self.called_at_micros,
            ticket: self.ticket.map(|ticket| ticket.to_bytes().to_vec()).unwrap_or_default(),
            durable: self.durable,
            sent: self.sent,
            waits_for_data: self.waits_for_data,
            in_conflict: self.in_conflict,
            centres: self.centres,
            would_reject: self.would_reject.as_ref().map(|reason| writer.text(reason, REASON)),
            writes: writer.writes(&self.writes),
        }
    }

    pub(super) fn read(mutation: proto::TabMutation, reader: &mut Reader) -> Result<TabMutation, DecodeError> {
        if mutation.name.is_none() && !mutation.arguments.is_empty() {
            return Err(DecodeError::malformed("arguments of a closure"));
        }
        Ok(TabMutation {
            counter: Counter(mutation.counter),
            name: mutation.name.map(|name| reader.text(name, NAME)).transpose()?,
            arguments: mutation.arguments,
            called_at_micros: mutation.called_at_micros,
            ticket: if mutation.ticket.is_empty() { None } else { Some(identity(&mutation.ticket)?) },
            durable: mutation.durable,
            sent: mutation.sent,
            waits_for_data: mutation.waits_for_data,
            in_conflict: mutation.in_conflict,
            centres: mutation.centres,
            would_reject: mutation.would_reject.map(|reason| reader.text(reason, REASON)).transpose()?,
            writes: reader.writes(mutation.writes)?,
        })
    }
}
