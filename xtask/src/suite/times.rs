//! How long executables and tests took: the next run begins with the longest executable, and people see the slowest tests.
//!
//! Invariant: the file is a hint. A run without it, or with a damaged one, runs the same tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Below the target folder.
const FILE: &str = "test-times.json";
/// The number of tests that are listed.
pub const LISTED: usize = 10;

/// Seconds by the names of executables.
#[derive(Default)]
pub struct Times(BTreeMap<String, f64>);

impl Times {
    pub fn read(target: &Path) -> Times {
        let text = fs::read_to_string(target.join(FILE)).unwrap_or_default();
        Times(serde_json::from_str(&text).unwrap_or_default())
    }

    /// The time of the last run. An executable that is not known may be the longest, so it comes first.
    pub fn of(&self, name: &str) -> Duration {
        let seconds = self.0.get(name).copied().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        seconds.map_or(Duration::MAX, |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    pub fn note(&mut self, name: String, took: Duration) {
        self.0.insert(name, (took.as_secs_f64() * 100.0).round() / 100.0);
    }

    pub fn write(&self, target: &Path) {
        // Without the file the next run begins in another order, and that is all.
        let _ = fs::write(target.join(FILE), serde_json::to_string_pretty(&self.0).unwrap_or_default());
    }
}

/// One test and its seconds.
#[derive(Debug, PartialEq)]
pub struct Timed {
    pub name: String,
    pub seconds: f64,
}

/// The tests whose times an executable printed, such as `test folder::name ... ok <0.123s>`.
pub fn of_tests(executable: &str, printed: &str) -> Vec<Timed> {
    printed
        .lines()
        .filter_map(of_line)
        .map(|(test, seconds)| Timed { name: format!("{executable} {test}"), seconds })
        .collect()
}

fn of_line(line: &str) -> Option<(&str, f64)> {
    let (name, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = end.rsplit_once('<')?;
    Some((name, time.strip_suffix("s>")?.parse().ok()?))
}

/// The slowest, in their order.
pub fn slowest(mut tests: Vec<Timed>) -> Vec<Timed> {
    tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    tests.truncate(LISTED);
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_lines_of_tests_only() {
        let printed = "running 2 tests\ntest a::b ... ok <1.500s>\ntest c ... FAILED <0.001s>\ntest d ... ignored\ntest result: ok. 1\n";
        let timed = of_tests("pkg/lib", printed);
        let timed: Vec<(&str, f64)> = timed.iter().map(|timed| (timed.name.as_str(), timed.seconds)).collect();
        assert_eq!(timed, [("pkg/lib a::b", 1.5), ("pkg/lib c", 0.001)]);
    }

    #[test]
    fn what_is_not_known_comes_first_and_a_damaged_file_is_none() {
        let folder = std::env::temp_dir().join(format!("iolite-times-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let mut times = Times::default();
        times.note("a/lib".into(), Duration::from_millis(1500));
        times.write(&folder);
        let read = Times::read(&folder);
        assert_eq!((read.of("a/lib"), read.of("b/lib")), (Duration::from_millis(1500), Duration::MAX));
        fs::write(folder.join(FILE), "{\"a/lib\": ").expect("its own folder");
        assert_eq!(Times::read(&folder).of("a/lib"), Duration::MAX);
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
