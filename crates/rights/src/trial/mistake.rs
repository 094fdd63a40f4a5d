//! Mistakes of tests and of operators: what they ask does not fit the schema.

/// A question that has no answer. The sentence says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(String);

impl Mistake {
    pub(crate) fn new(problem: impl Into<String>) -> Mistake {
        Mistake(problem.into())
    }
}
