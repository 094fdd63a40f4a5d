//! Why a call has no result, for its caller.

use iolite_wire::objects::{CallFailure, NotRun, RpcId};

/// The result of a call, in CBOR, or why there is none.
pub type CallResult = Result<Vec<u8>, CallError>;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// CBOR: the app's own error. The method ran.
    App(Vec<u8>),
    /// The method did not run.
    NotRun(NotRun),
    /// The node was not the object's any more, and what the method did is lost.
    Fenced,
    /// There is no such object.
    Gone,
    /// The method may have run.
    InDoubt(RpcId),
    /// The method ended without a result. For people: how.
    Broke(String),
}

impl CallError {
    pub(crate) fn of(failure: CallFailure, id: RpcId) -> CallError {
        match failure {
            CallFailure::NotRun(why) => CallError::NotRun(why),
            CallFailure::Fenced => CallError::Fenced,
            CallFailure::Gone => CallError::Gone,
            CallFailure::InDoubt => CallError::InDoubt(id),
            CallFailure::Broke(how) => CallError::Broke(how),
        }
    }
}
