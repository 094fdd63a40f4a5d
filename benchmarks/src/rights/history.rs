//! The history of a room, and what it says of a member who was put out of it and taken in again and again.
//!
//! Invariant: the history is a list in the order of the commits, so it has the store's own order, and no clock's.

/// An element of the history: the member was taken in, or put out.
pub const IN: &str = "in";
pub const OUT: &str = "out";

/// The findings in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Elements of the member, and how many of them came while they were out.
    pub spoken: u64,
    pub while_out: u64,
    pub removals: u64,
}

/// The member is out at first.
pub fn judge<'a>(said: impl IntoIterator<Item = &'a str>) -> Verdict {
    let mut verdict = Verdict::default();
    let mut is_in = false;
    for element in said {
        match element {
            IN => is_in = true,
            OUT => {
                is_in = false;
                verdict.removals += 1;
            }
            _ => {
                verdict.spoken += 1;
                verdict.while_out += u64::from(!is_in);
            }
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_while_out_are_found() {
        assert_eq!(judge([IN, "one", OUT, "two", IN, "three", OUT]), Verdict { spoken: 3, while_out: 1, removals: 2 });
        assert_eq!(judge(["early", IN]), Verdict { spoken: 1, while_out: 1, removals: 0 });
    }
}
