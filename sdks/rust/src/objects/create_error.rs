//! Why there is no object of a name, or none that is new.

use iolite_values::{ObjectName, ObjectNameError};

use super::call_error::CallError;

/// Why no object was created or found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The object was there already, and is left as it is.
    #[error("{object} is there already: take it with `get` or `find`, or create one with another id")]
    Exists {
        /// The object's name.
        object: ObjectName,
    },
    /// No object has such an id.
    #[error(transparent)]
    Name(#[from] ObjectNameError),
    /// The state cannot be written. Nothing was created.
    #[error("the state of {object} cannot be written: {problem}")]
    State {
        /// The object's name.
        object: ObjectName,
        /// The problem with it.
        problem: String,
    },
    /// The object was not there in time, and may be there later.
    #[error("nobody knows yet whether {object} was created: ask for it with `get`")]
    Late {
        /// The object's name.
        object: ObjectName,
    },
    /// The question failed as a call does. [`CallError::ran`] says whether an object may have been created.
    #[error(transparent)]
    Call(#[from] CallError),
}
