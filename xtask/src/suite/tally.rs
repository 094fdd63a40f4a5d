//! Counts tests from what their runners print.
//!
//! Invariant: a runner that failed counts as at least one failure, and one that ran no test has not passed.

use std::fmt;
use std::ops::Add;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(formatter, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// How a part's tests are counted.
#[derive(Clone, Copy, Debug)]
pub enum Counting {
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; ...`, once for each test binary.
    CargoTests,
    /// `# pass 3`, or with another mark in front, at the end.
    NodeTests,
    /// `3 passed, 0 failed`, alone on the last line.
    ClosingLine,
    /// The whole part is one check.
    OneCheck,
}

impl Counting {
    /// The tests that the runner printed. A runner that failed, or ran none, counts as a failure.
    pub fn count(self, printed: &str, succeeded: bool) -> Tally {
        let mut tally = self.sum(printed, succeeded);
        let ran_nothing = tally.passed + tally.failed == 0;
        if tally.failed == 0 && (!succeeded || ran_nothing) {
            tally.failed = 1;
        }
        tally
    }

    /// The tests that the runner printed, and nothing else.
    pub fn sum(self, printed: &str, succeeded: bool) -> Tally {
        match self {
            Counting::CargoTests => printed.lines().map(cargo_line).fold(Tally::default(), Tally::add),
            Counting::NodeTests => printed.lines().map(node_line).fold(Tally::default(), Tally::add),
            Counting::ClosingLine => printed.lines().last().map(closing_line).unwrap_or_default(),
            Counting::OneCheck => Tally { passed: u64::from(succeeded), ..Tally::default() },
        }
    }
}

fn cargo_line(line: &str) -> Tally {
    let Some(result) = line.trim_start().strip_prefix("test result: ") else {
        return Tally::default();
    };
    let number_before = |word: &str| {
        let mut words = result.split([' ', ';', '.']).filter(|part| !part.is_empty());
        let mut last = "";
        words
            .find_map(|part| {
                if part == word {
                    last.parse().ok()
                } else {
                    last = part;
                    None
                }
            })
            .unwrap_or(0)
    };
    Tally { passed: number_before("passed"), failed: number_before("failed"), skipped: number_before("ignored") }
}

fn closing_line(line: &str) -> Tally {
    let numbers = line
        .split_once(" passed, ")
        .and_then(|(passed, failed)| Some((passed.parse().ok()?, failed.strip_suffix(" failed")?.parse().ok()?)));
    let (passed, failed) = numbers.unwrap_or_default();
    Tally { passed, failed, skipped: 0 }
}

fn node_line(line: &str) -> Tally {
    let Some(line) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else {
        return Tally::default();
    };
    let number = |word: &str| line.strip_prefix(word).and_then(|rest| rest.trim().parse().ok()).unwrap_or(0);
    // A cancelled test is one that a failure or a time limit kept from running to its end.
    Tally { passed: number("pass "), failed: number("fail ") + number("cancelled "), skipped: number("skipped ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn all_test_binaries_of_cargo_are_summed() {
        let printed = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                       test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Counting::CargoTests.count(printed, false), tally(7, 2, 1));
    }

    #[test]
    fn both_reporters_of_node_are_read() {
        assert_eq!(Counting::NodeTests.count("# tests 5\n# pass 3\n# fail 1\n# skipped 1\n", false), tally(3, 1, 1));
        assert_eq!(Counting::NodeTests.count("ℹ pass 3\nℹ fail 0\nℹ cancelled 2\n", false), tally(3, 2, 0));
    }

    #[test]
    fn a_runner_that_failed_is_a_failure_even_if_its_tests_passed() {
        let printed = "test result: ok. 3 passed; 0 failed; 0 ignored\nerror: could not compile `b`\n";
        assert_eq!(Counting::CargoTests.count(printed, false), tally(3, 1, 0));
        assert_eq!(Counting::OneCheck.count("", false), tally(0, 1, 0));
    }

    #[test]
    fn running_no_test_is_a_failure() {
        assert_eq!(Counting::CargoTests.count("", true), tally(0, 1, 0));
        assert_eq!(Counting::NodeTests.count("ℹ pass 0\nℹ fail 0\n", true), tally(0, 1, 0));
    }

    #[test]
    fn a_closing_line_is_read_and_a_part_without_one_has_failed() {
        assert_eq!(Counting::ClosingLine.count("ok a\nFAILED b\n1 passed, 1 failed\n", false), tally(1, 1, 0));
        assert_eq!(Counting::ClosingLine.count("20 passed, 0 failed\n", true), tally(20, 0, 0));
        assert_eq!(Counting::ClosingLine.count("ok a\n", false), tally(0, 1, 0));
    }

    #[test]
    fn the_sum_is_one_line() {
        assert_eq!((tally(1, 0, 0) + tally(2, 1, 0)).to_string(), "3 passed, 1 failed");
        assert_eq!(Tally { skipped: 1, ..Tally::default() }.to_string(), "0 passed, 0 failed, 1 skipped");
    }
}
