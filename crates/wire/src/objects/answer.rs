//! The answer to a call.

use iolite_values::{NodeId, ObjectEpoch, ObjectName};

use super::parts::{read_bytes, read_chain, read_node, write_bytes, write_chain, write_node};
use crate::DecodeError;
use crate::encoding::{Reader, Writer, only_true, required};
use crate::generated::proto::{self, object_answer, object_failure, object_not_run};
use crate::limits::REASON;

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// CBOR: the result.
    Returned(Vec<u8>),
    /// CBOR: the app's own error.
    Threw(Vec<u8>),
    /// The object is not here: ask there.
    Moved {
        to: NodeId,
        epoch: ObjectEpoch,
    },
    /// The object is not here, and nothing is known of it: ask tracking.
    NotHere,
    Failed(CallFailure),
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    NotRun(NotRun),
    /// The node was not the object's any more, and what the method did is lost.
    Fenced,
    /// There is no such object.
    Gone,
    /// The method may have run.
    InDoubt,
    /// The method ended without a result. For people: how.
    Broke(String),
}

/// Why a call did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// The object's node cannot be reached.
    Unreachable,
    NotPermitted,
    NoSuchMethod,
    /// The version of the methods at the object's node.
    WrongVersion(u32),
    NoHostForClass,
    LeaseUnavailable,
    Conflict,
    /// The objects whose methods wait for each other, from the outermost.
    WouldDeadlock(Vec<ObjectName>),
    /// For people: the limit.
    TooLarge(String),
    Busy,
    /// For people: what is wrong with them.
    BadArguments(String),
}

pub(super) fn write(answer: &Answer, writer: &mut Writer) -> proto::ObjectAnswer {
    use object_answer::Answer as Kind;
    let answer = match answer {
        Answer::Returned(bytes) => Kind::Returned(write_bytes(bytes, writer)),
        Answer::Threw(bytes) => Kind::Threw(write_bytes(bytes, writer)),
        Answer::Moved { to, epoch } => Kind::Moved(proto::ObjectMoved { to: Some(write_node(*to)), epoch: epoch.0 }),
        Answer::NotHere => Kind::NotHere(true),
        Answer::Failed(failure) => Kind::Failed(write_failure(failure, writer)),
    };
    proto::ObjectAnswer { answer: Some(answer) }
}

pub(super) fn read(answer: Option<proto::ObjectAnswer>, reader: &Reader) -> Result<Answer, DecodeError> {
    use object_answer::Answer as Kind;
    let answer = answer.and_then(|answer| answer.answer);
    Ok(match required(answer, "no answer that is known here")? {
        Kind::Returned(bytes) => Answer::Returned(read_bytes(bytes, reader)?),
        Kind::Threw(bytes) => Answer::Threw(read_bytes(bytes, reader)?),
        Kind::Moved(moved) => Answer::Moved { to: read_node(moved.to)?, epoch: ObjectEpoch(moved.epoch) },
        Kind::NotHere(why) => only_true(why).map(|()| Answer::NotHere)?,
        Kind::Failed(failure) => Answer::Failed(read_failure(failure, reader)?),
    })
}

fn write_failure(failure: &CallFailure, writer: &mut Writer) -> proto::ObjectFailure {
    use object_failure::Why;
    let why = match failure {
        CallFailure::NotRun(why) => Why::NotRun(write_not_run(why, writer)),
        CallFailure::Fenced => Why::Fenced(true),
        CallFailure::Gone => Why::Gone(true),
        CallFailure::InDoubt => Why::InDoubt(true),
        CallFailure::Broke(how) => Why::Broke(writer.text(how, REASON)),
    };
    proto::ObjectFailure { why: Some(why) }
}

fn read_failure(failure: proto::ObjectFailure, reader: &Reader) -> Result<CallFailure, DecodeError> {
    use object_failure::Why;
    Ok(match required(failure.why, "no failure that is known here")? {
        Why::NotRun(why) => CallFailure::NotRun(read_not_run(why, reader)?),
        Why::Fenced(fenced) => only_true(fenced).map(|()| CallFailure::Fenced)?,
        Why::Gone(gone) => only_true(gone).map(|()| CallFailure::Gone)?,
        Why::InDoubt(in_doubt) => only_true(in_doubt).map(|()| CallFailure::InDoubt)?,
        Why::Broke(how) => CallFailure::Broke(reader.text(how, REASON)?),
    })
}

pub(super) fn write_not_run(not_run: &NotRun, writer: &mut Writer) -> proto::ObjectNotRun {
    use object_not_run::Why;
    let why = match not_run {
        NotRun::Unreachable => Why::Unreachable(true),
        NotRun::NotPermitted => Why::NotPermitted(true),
        NotRun::NoSuchMethod => Why::NoSuchMethod(true),
        NotRun::WrongVersion(own) => Why::WrongVersion(*own),
        NotRun::NoHostForClass => Why::NoHostForClass(true),
        NotRun::LeaseUnavailable => Why::LeaseUnavailable(true),
        NotRun::Conflict => Why::Conflict(true),
        NotRun::WouldDeadlock(chain) => Why::WouldDeadlock(proto::ObjectCallers { chain: write_chain(chain, writer) }),
        NotRun::TooLarge(limit) => Why::TooLarge(writer.text(limit, REASON)),
        NotRun::Busy => Why::Busy(true),
        NotRun::BadArguments(problem) => Why::BadArguments(writer.text(problem, REASON)),
    };
    proto::ObjectNotRun { why: Some(why) }
}

pub(super) fn read_not_run(not_run: proto::ObjectNotRun, reader: &Reader) -> Result<NotRun, DecodeError> {
    use object_not_run::Why;
    Ok(match required(not_run.why, "a call did not run for no reason that is known here")? {
        Why::Unreachable(why) => only_true(why).map(|()| NotRun::Unreachable)?,
        Why::NotPermitted(why) => only_true(why).map(|()| NotRun::NotPermitted)?,
        Why::NoSuchMethod(why) => only_true(why).map(|()| NotRun::NoSuchMethod)?,
        Why::WrongVersion(own) => NotRun::WrongVersion(own),
        Why::NoHostForClass(why) => only_true(why).map(|()| NotRun::NoHostForClass)?,
        Why::LeaseUnavailable(why) => only_true(why).map(|()| NotRun::LeaseUnavailable)?,
        Why::Conflict(why) => only_true(why).map(|()| NotRun::Conflict)?,
        Why::WouldDeadlock(callers) => NotRun::WouldDeadlock(read_chain(callers.chain, reader)?),
        Why::TooLarge(limit) => NotRun::TooLarge(reader.text(limit, REASON)?),
        Why::Busy(why) => only_true(why).map(|()| NotRun::Busy)?,
        Why::BadArguments(problem) => NotRun::BadArguments(reader.text(problem, REASON)?),
    })
}
