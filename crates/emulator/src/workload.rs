//! Workloads: which operations a client asks for, when, of which objects and how large.

mod client;
mod draws;
mod kept;
mod random;

pub use client::{Begun, LoadClient, Recorded};
pub(crate) use client::{request, value_of};
pub use draws::{Draw, Draws};
pub use kept::WORKLOADS;
pub use random::Random;

use crate::file::{Problem, Section};
use crate::quantity::{Bytes, Span};

/// How popular objects are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Popularity {
    Uniform,
    /// Zipf's law with this exponent, popular objects scattered over all.
    Zipfian(f64),
    /// Zipf's law over age: the newest are the most popular.
    Latest(f64),
}

/// The objects that puts write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Puts {
    /// Objects that are there.
    Update,
    /// New ones.
    Insert,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    pub name: String,
    pub about: String,
    pub puts_per_second: f64,
    pub gets_per_second: f64,
    pub size: Bytes,
    /// Objects that are there before the run, one by one.
    pub objects: u64,
    /// The bytes that all data together take, of which these objects are a sample.
    pub data: Bytes,
    pub popularity: Popularity,
    pub puts: Puts,
    /// Operations begin by chance (Poisson), or at even distances.
    pub is_even: bool,
    pub duration: Span,
    /// An operation without an answer for so long has failed.
    pub timeout: Span,
    /// The number of operations that are answered before any counts.
    pub warm_up: u64,
}

impl Workload {
    /// More than this is not kept in memory one by one: `data` stands for more.
    pub const OBJECTS_MAX: u64 = 1_000_000;
    pub const OPERATIONS_MAX: u64 = 10_000_000;

    /// # Errors
    /// What is wrong with the file, and where.
    pub fn load(file: &str, text: &str) -> Result<Workload, Problem> {
        let root = Section::parse(file, text)?;
        let size = root.bytes("size")?;
        let objects = root.count_or("objects", 10_000)?;
        let skew = root.number_or("skew", 0.99)?;
        let popularity = match root.choice("popularity", &["uniform", "zipfian", "latest"], Some(0))? {
            0 => Popularity::Uniform,
            1 => Popularity::Zipfian(skew),
            _ => Popularity::Latest(skew),
        };
        let puts = match root.choice("puts", &["update", "insert"], Some(0))? {
            0 => Puts::Update,
            _ => Puts::Insert,
        };
        let workload = Workload {
            name: root.text("name")?.to_owned(),
            about: root.text("about")?.to_owned(),
            puts_per_second: root.number_or("puts_per_second", 0.0)?,
            gets_per_second: root.number_or("gets_per_second", 0.0)?,
            size,
            objects,
            data: root.bytes_or("data", Bytes(size.0.saturating_mul(objects)))?,
            popularity,
            puts,
            is_even: root.choice("arrivals", &["poisson", "even"], Some(0))? == 1,
            duration: root.span("duration")?,
            timeout: root.span_or("timeout", Span::from_secs(30))?,
            warm_up: root.number_or("warm_up", 200.0)? as u64,
        };
        root.finish()?;
        workload.check(&root)?;
        Ok(workload)
    }

    fn check(&self, root: &Section) -> Result<(), Problem> {
        let rate = self.puts_per_second + self.gets_per_second;
        if rate <= 0.0 {
            let remedy = "give `puts_per_second` or `gets_per_second`, or both";
            return Err(root.problem("puts_per_second", "nothing is asked for", remedy));
        }
        if rate * self.duration.as_secs_f64() > Workload::OPERATIONS_MAX as f64 {
            let what = format!("these are more than {} operations", Workload::OPERATIONS_MAX);
            return Err(root.problem("duration", what, "take a shorter duration or a lower rate"));
        }
        if self.objects > Workload::OBJECTS_MAX {
            let what = format!("more than {} objects are not kept one by one", Workload::OBJECTS_MAX);
            return Err(root.problem("objects", what, "take fewer as a sample, and say in `data` what all take"));
        }
        if self.size.0 == 0 || self.data.0 < self.size.0.saturating_mul(self.objects) {
            let what = "the objects take more than `data`, or nothing";
            return Err(root.problem(
                "data",
                what,
                "let `data` be at least `objects` times `size`, and `size` more than nothing",
            ));
        }
        if self.timeout.is_zero() || self.duration.is_zero() {
            return Err(root.problem(
                "duration",
                "a time of nothing measures nothing",
                "give `duration` and `timeout` a length",
            ));
        }
        Ok(())
    }

    /// The room that each object takes in the store before the run.
    pub fn room(&self) -> u64 {
        self.data.0 / self.objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = \"a\"\nabout = \"b\"\nsize = \"4 KiB\"\nduration = \"10 s\"\ngets_per_second = 5\n";

    #[test]
    fn each_mistake_is_told_with_its_line_and_a_remedy() {
        assert!(Workload::load("w.toml", GOOD).is_ok());
        let wrong = [
            ("size = \"4 KiB\"", "size = \"4 pounds\"", 3, "is not a size"),
            ("size = \"4 KiB\"\n", "", 1, "has no `size`"),
            ("gets_per_second = 5", "puts_per_second = 0", 5, "nothing is asked for"),
            ("duration = \"10 s\"", "duration = \"9999999 s\"", 4, "more than 10000000 operations"),
            ("about = \"b\"", "about = \"b\"\nobjects = 2000000", 3, "not kept one by one"),
            ("about = \"b\"", "about = \"b\"\ndata = \"1 MiB\"", 3, "more than `data`"),
            ("about = \"b\"", "about = \"b\"\npopularity = \"odd\"", 3, "cannot be `odd`"),
            ("about = \"b\"", "about = \"b\"\nrate = 3", 3, "nothing reads `rate`"),
            ("duration = \"10 s\"", "duration = \"0 s\"", 4, "measures nothing"),
            ("duration", "duration duration", 4, "not TOML"),
        ];
        for (from, to, line, what) in wrong {
            let problem = Workload::load("w.toml", &GOOD.replace(from, to)).expect_err(what);
            assert!(problem.what.contains(what) && problem.line == line, "{problem} for {to}");
            assert!(!problem.remedy.is_empty());
        }
    }

    #[test]
    fn the_workloads_that_come_with_the_program_load() {
        for kept in WORKLOADS {
            let workload = Workload::load(kept.file, kept.text).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(workload.name, kept.name);
        }
    }
}
