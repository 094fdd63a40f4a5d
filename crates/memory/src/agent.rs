//! The messages between memoryd and its library in a JVM program, which come after [`crate::message::ToDaemon::Jvm`] and its welcome.
//!
//! Invariant: the library answers each order once, in order. When either side closes, the program thaws by itself.

use serde::{Deserialize, Serialize};

/// To the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// Suspend the program's threads, and hand over its arrays.
    Freeze,
    /// Bring the arrays back, and let the threads go on.
    Thaw,
    /// Count what could be taken.
    Survey,
}

/// From the library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// The program is frozen. So many arrays of 2 KiB and more are saved, and so many were left in the program.
    Frozen { arrays: u64, bytes: u64, left: u64, microseconds: u64 },
    /// The program goes on. The saved bytes of lost arrays were damaged; their fields are null.
    Thawed { arrays: u64, lost: u64, microseconds: u64 },
    /// The answer to a survey.
    Surveyed(Survey),
    /// The order was not obeyed, and why. The program is as it was before.
    Failed { reason: String },
}

/// The heap of a program, and how much of it could be taken. Arrays are those of primitive types, of 2 KiB and more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// All objects, by their size.
    pub sizes: Vec<SizeClass>,
    pub arrays: u64,
    pub array_bytes: u64,
    /// Arrays that only fields of the program hold, as far as a walk of the heap shows.
    pub eligible: u64,
    pub eligible_bytes: u64,
    /// The other arrays, by the first reason that holds.
    pub left: Vec<Left>,
}

/// Objects of about one size, smaller than those of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The size that they are below; 0 is no bound.
    pub below_bytes: u64,
    pub objects: u64,
    pub bytes: u64,
}

/// Arrays that are left in the program, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub reason: Reason,
    pub arrays: u64,
    pub bytes: u64,
}

/// Why an array is left in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A running or parked method has it.
    Stack,
    /// Native code has it.
    Native,
    /// A thread has locked it.
    Lock,
    /// A static field holds it, which compiled code may have as a constant.
    StaticField,
    /// Another array holds it.
    Element,
    /// A field of the JDK, of a record or of a hidden class holds it.
    ForeignField,
    /// Something else holds it, or fields were seen that do not account for all its references.
    Unknown,
}

impl Reason {
    pub const ALL: [Reason; 7] = [
        Reason::Stack,
        Reason::Native,
        Reason::Lock,
        Reason::StaticField,
        Reason::Element,
        Reason::ForeignField,
        Reason::Unknown,
    ];

    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Reason::Stack => "a running or parked method has them",
            Reason::Native => "native code has them",
            Reason::Lock => "a thread has locked them",
            Reason::StaticField => "static fields hold them, which compiled code may have as constants",
            Reason::Element => "other arrays hold them",
            Reason::ForeignField => "fields of the JDK, of records or of hidden classes hold them",
            Reason::Unknown => "something else holds them, such as the JVM",
        }
    }
}

/// Why the library does not stay in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("the library and memoryd do not fit together: use the same version of both")]
    Options,
    #[error(
        "frozen programs need OpenJDK 17 or 18: on later ones the library cannot tell which arrays the program knows by their hash"
    )]
    Version,
    #[error("another agent, such as a debugger, suspends the program's threads: end it first")]
    Capabilities,
    #[error("this JVM did not pass the library's test of itself: use OpenJDK 17 or 18 with its default collector")]
    SelfTest,
    #[error("the program may start no thread: raise its limit")]
    Thread,
}

impl LoadError {
    const ALL: [LoadError; 5] =
        [LoadError::Options, LoadError::Version, LoadError::Capabilities, LoadError::SelfTest, LoadError::Thread];

    /// The number that the library returns to the JVM.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            LoadError::Options => 101,
            LoadError::Version => 102,
            LoadError::Capabilities => 103,
            LoadError::SelfTest => 104,
            LoadError::Thread => 105,
        }
    }

    /// The error of a code.
    #[must_use]
    pub fn of_code(code: i32) -> Option<LoadError> {
        Self::ALL.into_iter().find(|error| error.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{line_of, read_line};

    #[test]
    fn messages_of_the_library_are_written_as_on_their_page() {
        let page = include_str!("../../../docs/protocols/memory.md");
        let survey = Survey {
            sizes: vec![SizeClass { below_bytes: 2048, objects: 9, bytes: 400 }],
            arrays: 3,
            array_bytes: 12288,
            eligible: 2,
            eligible_bytes: 8192,
            left: vec![Left { reason: Reason::StaticField, arrays: 1, bytes: 4096 }],
        };
        let to = [ToAgent::Freeze, ToAgent::Thaw, ToAgent::Survey];
        let from = [
            FromAgent::Frozen { arrays: 2, bytes: 8192, left: 1, microseconds: 9 },
            FromAgent::Thawed { arrays: 2, lost: 0, microseconds: 9 },
            FromAgent::Surveyed(survey),
            FromAgent::Failed { reason: "the program starts threads all the time".to_owned() },
        ];
        for line in to.iter().map(line_of).chain(from.iter().map(line_of)) {
            let line = String::from_utf8(line.expect("it is short")).expect("JSON is text");
            assert!(page.contains(&line), "docs/protocols/memory.md lacks {line}");
        }
        for message in from {
            let line = line_of(&message).expect("it is short");
            assert_eq!(read_line(&mut line.as_slice()).expect("it is a message"), Some(message));
        }
    }

    #[test]
    fn each_reason_has_its_code() {
        for error in LoadError::ALL {
            assert_eq!(LoadError::of_code(error.code()), Some(error));
        }
        assert_eq!(LoadError::of_code(0), None);
    }
}
