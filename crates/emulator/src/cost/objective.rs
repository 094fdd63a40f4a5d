//! A service-level objective (SLO): latencies that a store keeps at percentiles, as in `get p90 < 60 ms, put p90 < 20 s`.
//!
//! Invariant: an operation that failed counts as later than any bound, so a store does not meet an SLO by refusing.

use std::fmt;

use crate::engine::{Answer, Asked};
use crate::quantity::{Span, read_span};
use crate::workload::Recorded;

/// One bound: so many in a hundred operations of a kind end within a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub asked: Asked,
    pub percentile: f64,
    pub within: Span,
}

/// All bounds that a store has to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Slo(Vec<Bound>);

/// A bound and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub bound: Bound,
    /// The latency at the percentile; nothing if the operation there had failed.
    pub latency: Option<Span>,
}

impl Slo {
    /// Reads bounds that stand between commas.
    ///
    /// # Errors
    /// The part that is none, and how it is written.
    pub fn read(text: &str) -> Result<Slo, String> {
        let bounds = text.split(',').map(Bound::read).collect::<Result<Vec<Bound>, String>>()?;
        Ok(Slo(bounds))
    }

    pub fn bounds(&self) -> &[Bound] {
        &self.0
    }

    /// Holds a history against each bound. The first `warm_up` answers do not count.
    pub fn measure(&self, history: &[Recorded], warm_up: u64) -> Vec<Measured> {
        let counted = &history[history.len().min(warm_up as usize)..];
        let measured = |bound: &Bound| {
            let mut latencies: Vec<Option<Span>> =
                counted.iter().filter(|one| one.asked == bound.asked).map(latency).collect();
            // Those that failed come last.
            latencies.sort_by_key(|latency| (latency.is_none(), *latency));
            let rank = (bound.percentile / 100.0 * latencies.len() as f64).ceil().max(1.0) as usize;
            Measured { bound: *bound, latency: latencies.get(rank - 1).copied().flatten() }
        };
        self.0.iter().map(measured).collect()
    }
}

fn latency(one: &Recorded) -> Option<Span> {
    match one.answer {
        Answer::Stored | Answer::Found | Answer::Missing => Some(one.end.since(one.due)),
        Answer::Refused(_) => None,
    }
}

impl Bound {
    fn read(text: &str) -> Result<Bound, String> {
        let wrong = || format!("`{}` is no bound of an SLO: write it like `get p90 < 60 ms`", text.trim());
        let (left, within) = text.split_once('<').ok_or_else(wrong)?;
        let mut words = left.split_whitespace();
        let (Some(asked), Some(percentile), None) = (words.next(), words.next(), words.next()) else {
            return Err(wrong());
        };
        let asked = match asked {
            "put" => Asked::Put,
            "get" => Asked::Get,
            _ => return Err(wrong()),
        };
        let percentile: f64 = percentile.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
        if !(percentile > 0.0 && percentile <= 100.0) {
            return Err(format!("`{}`: a percentile is above 0 and at most 100", text.trim()));
        }
        let within = read_span(within).filter(|within| !within.is_zero()).ok_or_else(wrong)?;
        Ok(Bound { asked, percentile, within })
    }
}

impl Measured {
    pub fn is_met(&self) -> bool {
        self.latency.is_some_and(|latency| latency < self.bound.within)
    }

    /// The bound over what was measured: 1 or more meets it, 0 is never.
    pub fn ratio(&self) -> f64 {
        let over = |latency: Span| self.bound.within.as_secs_f64() / latency.as_secs_f64().max(1e-9);
        self.latency.map_or(0.0, over)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = if self.asked == Asked::Put { "put" } else { "get" };
        write!(formatter, "{asked} p{} < {}", self.percentile, told(self.within))
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds: Vec<String> = self.0.iter().map(Bound::to_string).collect();
        formatter.write_str(&bounds.join(", "))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.latency {
            Some(latency) => write!(formatter, "{}: {}", self.bound, told(latency)),
            None => write!(formatter, "{}: failed", self.bound),
        }
    }
}

fn told(span: Span) -> String {
    let ms = span.as_secs_f64() * 1e3;
    match ms {
        ms if ms >= 1e4 => format!("{:.1} s", ms / 1e3),
        ms if ms.fract() == 0.0 => format!("{ms} ms"),
        ms => format!("{ms:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use iolite_machine::Instant;

    use super::*;
    use crate::engine::{Key, Refusal, Session};

    fn ended(asked: Asked, ms: u64, answer: Answer) -> Recorded {
        let end = Instant::default() + Span::from_millis(ms);
        let (due, start) = (Instant::default(), Instant::default());
        Recorded { session: Session(0), key: Key(1), asked, wrote: None, due, start, end, answer, read: None }
    }

    #[test]
    fn bounds_are_read_and_told_alike() {
        let slo = Slo::read("get p90 < 60ms, put p99.9 < 20 s").expect("these are bounds");
        assert_eq!(slo.to_string(), "get p90 < 60 ms, put p99.9 < 20.0 s");
        assert_eq!(slo.bounds()[1].within, Span::from_secs(20));
        for wrong in
            ["", "get", "get p90", "get 90 < 5 ms", "list p90 < 5 ms", "get p90 < 5", "get p0 < 5 ms", "get p90 < 0 s"]
        {
            assert!(Slo::read(wrong).is_err(), "{wrong}");
        }
        assert!(Slo::read("get p101 < 5 ms").is_err_and(|what| what.contains("at most 100")));
    }

    #[test]
    fn the_slowest_that_count_decide_and_what_failed_is_slower_than_all() {
        let slo = Slo::read("get p90 < 60 ms").expect("this is a bound");
        let mut history: Vec<Recorded> = (1..=10).map(|ms| ended(Asked::Get, ms * 6, Answer::Found)).collect();
        let at = |history: &[Recorded], warm_up| slo.measure(history, warm_up)[0];
        assert_eq!(at(&history, 0).latency, Some(Span::from_millis(54)));
        assert!(at(&history, 0).is_met() && !at(&history, 5).is_met());
        assert!((at(&history, 5).ratio() - 1.0).abs() < 1e-9);
        history.push(ended(Asked::Put, 1, Answer::Stored));
        history[0].answer = Answer::Refused(Refusal::Full);
        assert_eq!(at(&history, 0).latency, Some(Span::from_millis(60)));
        history[1].answer = Answer::Refused(Refusal::TimedOut);
        assert_eq!((at(&history, 0).latency, at(&history, 0).ratio()), (None, 0.0));
    }

    #[test]
    fn a_bound_on_what_never_came_is_not_met() {
        let slo = Slo::read("put p50 < 1 s").expect("this is a bound");
        assert!(!slo.measure(&[], 0)[0].is_met());
    }
}
