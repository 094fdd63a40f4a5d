//! Reasons for people, which are sent and stored, and so have a limit. What is past it says nothing that its beginning does not.

use iolite_wire::limits;

/// At most as long as the wire takes, cut between characters.
pub(crate) fn shortened(mut reason: String) -> String {
    let ends = reason.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let end = ends.take_while(|end| *end <= limits::REASON.most).last().unwrap_or(0);
    reason.truncate(end);
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        assert_eq!(shortened("short".into()), "short");
        let cut = shortened("é".repeat(limits::REASON.most));
        assert_eq!(cut.len(), limits::REASON.most);
        assert_eq!(shortened(format!("x{cut}")).len(), limits::REASON.most - 1);
    }
}
