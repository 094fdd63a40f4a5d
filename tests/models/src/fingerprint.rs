//! 128 bits of everything that a value holds, as `Debug` writes it.
//!
//! Invariant: only the places of journal records are left out (`PersistId`). A machine counts them and hands them out, and decides nothing by them.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};

pub fn fingerprint(of: &impl fmt::Debug) -> u128 {
    let mut both = Both { first: DefaultHasher::new(), second: DefaultHasher::new(), is_place: false };
    both.second.write_u8(1);
    write!(both, "{of:?}").expect("hashing does not fail");
    u128::from(both.first.finish()) << 64 | u128::from(both.second.finish())
}

struct Both {
    first: DefaultHasher,
    second: DefaultHasher,
    /// Between the name of a place and its end.
    is_place: bool,
}

impl Write for Both {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match text {
            "PersistId" => self.is_place = true,
            ")" => self.is_place = false,
            _ if self.is_place => return Ok(()),
            _ => {}
        }
        self.first.write(text.as_bytes());
        self.second.write(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iolite_machine::PersistId;

    use super::*;

    #[test]
    fn values_that_differ_only_in_places_of_records_are_the_same() {
        assert_eq!(fingerprint(&(PersistId(1), 5)), fingerprint(&(PersistId(2), 5)));
        assert_ne!(fingerprint(&(PersistId(1), 5)), fingerprint(&(PersistId(1), 6)));
        assert_ne!(fingerprint(&(5, PersistId(1))), fingerprint(&(6, PersistId(1))));
    }
}
