//! Submissions: of a session, and of a client's storage.

use iolite_values::{Attempt, Counter, Decision, LaneNumber};

use crate::DecodeError;
use crate::encoding::{Reader, Writer};
use crate::generated::proto;
use crate::limits::REASON;
use crate::message::Submit;

pub(crate) fn write_submit(submit: &Submit, writer: &mut Writer) -> proto::Submit {
    let snapshot = writer.timestamp(submit.snapshot);
    let reads = writer.reads(&submit.reads);
    let (writes, abort) = match &submit.decision {
        Decision::Commit(writes) => (writer.writes(writes), None),
        Decision::Abort(reason) => (Vec::new(), Some(writer.text(reason, REASON))),
    };
    let behind = |acknowledged: Counter| submit.counter.0.wrapping_sub(acknowledged.0) as i64;
    proto::Submit {
        counter: submit.counter.0,
        earlier_attempts: earlier_attempts(submit.attempt),
        snapshot_near: snapshot.near,
        snapshot: snapshot.full,
        reads,
        writes,
        abort,
        acknowledged_behind: submit.acknowledged.map(behind),
        lane: submit.lane.0,
        follows_behind: submit.follows.map(|follows| submit.counter.0.wrapping_sub(follows.0)),
    }
}

pub(crate) fn read_submit(submit: proto::Submit, reader: &mut Reader) -> Result<Submit, DecodeError> {
    let snapshot = reader.timestamp(submit.snapshot_near, submit.snapshot)?;
    let reads = reader.reads(submit.reads)?;
    let decision = match submit.abort {
        None => Decision::Commit(reader.writes(submit.writes)?),
        Some(reason) if submit.writes.is_empty() => Decision::Abort(reader.text(reason, REASON)?),
        Some(_) => return Err(DecodeError::malformed("a submission writes or aborts")),
    };
    let acknowledged = submit.acknowledged_behind.map(|behind| Counter(submit.counter.wrapping_sub(behind as u64)));
    Ok(Submit {
        counter: Counter(submit.counter),
        attempt: attempt(submit.earlier_attempts),
        snapshot,
        reads,
        decision,
        acknowledged,
        lane: LaneNumber(submit.lane),
        follows: submit.follows_behind.map(|behind| Counter(submit.counter.wrapping_sub(behind))),
    })
}

/// The first attempt, by far the most frequent one, is an absent field.
pub(crate) fn earlier_attempts(attempt: Attempt) -> u32 {
    attempt.0.wrapping_sub(1)
}

pub(crate) fn attempt(earlier_attempts: u32) -> Attempt {
    Attempt(earlier_attempts.wrapping_add(1))
}
