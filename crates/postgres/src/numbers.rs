//! Unsigned numbers of 64 bits in columns of signed ones.
//!
//! Invariant: the order of the columns is the order of the numbers. (The highest bit is turned over, so zero is the lowest `int8`.)

use iolite_values::{Counter, Timestamp};

const HIGHEST_BIT: u64 = 1 << 63;

pub fn to_column(number: u64) -> i64 {
    (number ^ HIGHEST_BIT).cast_signed()
}

pub fn from_column(column: i64) -> u64 {
    column.cast_unsigned() ^ HIGHEST_BIT
}

pub fn timestamp_to_column(at: Timestamp) -> i64 {
    to_column(at.as_u64())
}

pub fn timestamp_from_column(column: i64) -> Timestamp {
    Timestamp::from_u64(from_column(column))
}

pub fn counter_to_column(counter: Counter) -> i64 {
    to_column(counter.0)
}

pub fn counter_from_column(column: i64) -> Counter {
    Counter(from_column(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_sort_as_the_numbers_do_and_read_back() {
        let numbers = [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX];
        assert!(numbers.map(to_column).is_sorted());
        assert_eq!(numbers.map(to_column).map(from_column), numbers);
        assert_eq!((to_column(0), to_column(u64::MAX)), (i64::MIN, i64::MAX));
    }
}
