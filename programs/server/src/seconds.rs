//! How long something may take, as an option.
//!
//! Invariant: what is taken can be added to any time that a clock shows.

use std::time::Duration;

/// Thirty days: longer than anybody waits for one step, or tortures.
pub const SECONDS_MAX: u64 = 30 * 24 * 3600;

/// Reads whole seconds.
///
/// # Errors
/// What is wrong, for people.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= SECONDS_MAX);
    seconds.map(Duration::from_secs).ok_or_else(|| format!("it is a whole number of seconds, at most {SECONDS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_no_clock_reaches_are_refused() {
        for good in ["0", "60", "2592000"] {
            assert_eq!(seconds(good).map(|time| time.as_secs().to_string()).as_deref(), Ok(good));
        }
        for bad in ["2592001", "18446744073709551615", "18446744073709551616", "-1", "1.5", "", "a minute"] {
            let told = seconds(bad).expect_err("it is refused");
            assert!(told.contains("at most 2592000"), "{told}");
        }
    }
}
