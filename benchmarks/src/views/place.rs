//! Where texts go: every other row of two columns, as in section 3.7.2 of the paper.

pub fn place(number: u64) -> String {
    let column = if number.is_multiple_of(2) { 'A' } else { 'B' };
    format!("{column}{}", 1 + 2 * (number / 2 % 20))
}
