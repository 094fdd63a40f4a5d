//! One thing that tidy has to say, on one line: where, what, and what to do.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Fails the check.
    Failure,
    /// Worth a second look; the check passes.
    Warning,
}

/// Fields are in the order in which findings are printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub severity: Severity,
    pub path: String,
    /// From 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Finding {
    pub fn failure(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Failure, path: path.to_owned(), line, message: message.into() }
    }

    pub fn warning(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.severity {
            Severity::Failure => "",
            Severity::Warning => "warning: ",
        };
        write!(formatter, "{}:{}: {mark}{}", self.path, self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_an_editor_can_follow() {
        assert_eq!(Finding::failure("a.rs", 3, "too long: split it").to_string(), "a.rs:3: too long: split it");
        assert_eq!(Finding::warning("a.rs", 3, "long").to_string(), "a.rs:3: warning: long");
    }
}
