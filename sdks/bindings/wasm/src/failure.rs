//! Errors on their way to JavaScript.

use iolite_client::{CallError, EditError, LeaveError, LogError, NotHeld, OpenError, QuestionError, RunError};
use iolite_values::{KeyError, OperationError, SchemaError};
use wasm_bindgen::JsValue;

/// Something went wrong; the code tells the package which class to throw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    code: &'static str,
    message: String,
}

const STOPPED: &str = "stopped";
const INTEGER_RANGE: &str = "integer-range";

impl Failure {
    /// A read or write that does not fit.
    pub(crate) fn of_transaction(message: impl Into<String>) -> Failure {
        Failure { code: "transaction", message: message.into() }
    }

    /// The run does not count: data is missing.
    pub(crate) fn is_stopped(&self) -> bool {
        self.code == STOPPED
    }

    /// A closure runs, so no peek begins.
    pub(crate) fn nested_peek() -> Failure {
        let message = "a closure runs: read with its own transaction, or look at a view when it has ended";
        Failure { code: "call", message: message.into() }
    }

    /// Whether a value is there and cannot be shown as its column says.
    pub(crate) fn is_of_showing(&self) -> bool {
        self.code == INTEGER_RANGE
    }

    /// An integer that a JavaScript number cannot hold.
    pub(crate) fn integer_range(message: impl Into<String>) -> Failure {
        Failure { code: INTEGER_RANGE, message: message.into() }
    }
}

impl From<Failure> for JsValue {
    fn from(Failure { code, message }: Failure) -> JsValue {
        JsValue::from_str(&format!("{code}\n{message}"))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let code = match error {
            RunError::Stopped => STOPPED,
            RunError::RowMissing { .. }
            | RunError::RowExists { .. }
            | RunError::ColumnMissing { .. }
            | RunError::IndexMissing { .. }
            | RunError::ReadOnly
            | RunError::NotDelivered { .. }
            | RunError::LogNotJoined { .. }
            | RunError::OfALog { .. }
            | RunError::NotOfThisLog { .. }
            | RunError::TooLarge { .. }
            | RunError::TooLong { .. }
            | RunError::NoEdit(_)
            | RunError::Question(_)
            | RunError::Invalid(_) => "transaction",
        };
        Failure { code, message: error.to_string() }
    }
}

impl From<NotHeld> for Failure {
    fn from(error: NotHeld) -> Failure {
        Failure { code: "not-held", message: error.to_string() }
    }
}

impl From<QuestionError> for Failure {
    fn from(error: QuestionError) -> Failure {
        Failure::of_transaction(error.to_string())
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Failure {
        Failure::of_transaction(error.to_string())
    }
}

impl From<OperationError> for Failure {
    fn from(error: OperationError) -> Failure {
        Failure::of_transaction(error.to_string())
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        let code = match error {
            EditError::NotHeld => "not-ready",
            EditError::RowMissing | EditError::NoEdit(_) | EditError::Unfit(_) => "transaction",
        };
        Failure { code, message: error.to_string() }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        let code = match error {
            CallError::Offline => "offline",
            CallError::OtherVersion => "not-ready",
            CallError::Nested
            | CallError::NoJson { .. }
            | CallError::TooLarge { .. }
            | CallError::NotJoined { .. }
            | CallError::BlobInLog { .. }
            | CallError::QueueFull { .. } => "call",
        };
        Failure { code, message: error.to_string() }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Failure {
        Failure { code: "call", message: error.to_string() }
    }
}

impl From<LeaveError> for Failure {
    fn from(error: LeaveError) -> Failure {
        Failure { code: "call", message: error.to_string() }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        Failure { code: "storage", message: error.to_string() }
    }
}

impl From<SchemaError> for Failure {
    fn from(error: SchemaError) -> Failure {
        Failure { code: "schema", message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_of_a_text_that_is_not_here_yet_is_one_to_try_again() {
        let code = |error: EditError| Failure::from(error).code;
        assert_eq!((code(EditError::NotHeld), code(EditError::RowMissing)), ("not-ready", "transaction"));
    }

    #[test]
    fn what_is_wrong_with_a_log_is_told_as_a_wrong_call_and_inside_a_closure_as_a_wrong_read() {
        let log = || "sheet".to_owned();
        let joining = Failure::from(LogError::Unknown { name: log() });
        let calling = Failure::from(CallError::NotJoined { log: log() });
        let reading = Failure::from(RunError::LogNotJoined { table: "cells".into(), log: log() });
        assert_eq!([joining.code, calling.code, reading.code], ["call", "call", "transaction"]);
    }
}
