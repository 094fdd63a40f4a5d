//! What came of a run.

use std::collections::BTreeMap;
use std::fmt;

use iolite_histories::Report;
use serde_json::json;

use crate::evidence::Kept;
use crate::faults::FaultKind;

#[derive(Debug)]
pub struct TortureReport {
    pub cluster: String,
    pub seconds: u64,
    pub seed: u64,
    pub faults: BTreeMap<FaultKind, u64>,
    /// What went wrong before anything was judged: nodes that ended by themselves, clients without an answer.
    pub problems: Vec<String>,
    /// `None`: nothing of what was left behind could be read.
    pub kept: Option<Kept>,
    pub answers: Answers,
    /// `None`: the history is not one that can be judged, and a problem says why.
    pub judgement: Option<Report>,
}

/// Whether clients had answers after the faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Every client, so long after the end of the faults.
    All {
        after_ms: u64,
    },
    NotAll,
    /// Something was wrong before.
    NotAwaited,
}

impl Answers {
    pub fn after_ms(self) -> Option<u64> {
        match self {
            Answers::All { after_ms } => Some(after_ms),
            Answers::NotAll | Answers::NotAwaited => None,
        }
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answers::All { after_ms } => write!(f, "every client had an answer {after_ms} ms after the faults"),
            Answers::NotAll => f.write_str("not every client had an answer after the faults"),
            Answers::NotAwaited => f.write_str("no answers were awaited after the faults: something was wrong before"),
        }
    }
}

/// What is to be said of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was found, and everything was judged.
    Clean,
    NotClean,
    /// Nothing was found in what was judged, which is not all.
    NotJudged,
}

impl Verdict {
    /// For programs.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::NotClean => "not_clean",
            Verdict::NotJudged => "not_judged",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Clean => "clean",
            Verdict::NotClean => "NOT CLEAN",
            Verdict::NotJudged => {
                "NOT JUDGED TO THE END: nothing was found, but a checker gave up, or a part of the last state was not read; see above"
            }
        })
    }
}

impl TortureReport {
    pub fn verdict(&self) -> Verdict {
        let Some(judgement) = &self.judgement else { return Verdict::NotClean };
        let is_violated = self.kept.is_some_and(|kept| kept.is_violated());
        if is_violated || !(self.problems.is_empty() && judgement.is_clean()) {
            return Verdict::NotClean;
        }
        if self.kept == Some(Kept::default()) && judgement.is_whole() { Verdict::Clean } else { Verdict::NotJudged }
    }

    /// One line for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let faults: BTreeMap<&str, u64> = self.faults.iter().map(|(kind, count)| (kind.name(), *count)).collect();
        json!({
            "cluster": self.cluster,
            "seconds": self.seconds,
            "seed": self.seed,
            "faults": faults,
            "problems": self.problems,
            "acknowledged_lost": self.kept.map(|kept| kept.acknowledged_lost),
            "aborted_there": self.kept.map(|kept| kept.aborted_there),
            "unread": self.kept.map(|kept| kept.unread),
            "settled_after_ms": self.answers.after_ms(),
            "verdict": self.verdict().name(),
            "is_clean": self.verdict() == Verdict::Clean,
            "judgement": self.judgement.as_ref().map(Report::to_json),
        })
    }
}

impl fmt::Display for TortureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(f, "cluster {}, {} s, seed {}: {}", self.cluster, self.seconds, self.seed, faults.join(", "))?;
        writeln!(f, "{}", self.answers)?;
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        match self.kept {
            Some(Kept { acknowledged_lost: lost, aborted_there: there, unread }) => {
                write!(f, "{lost} acknowledged transactions lost, {there} refused ones found")?;
                writeln!(f, "{}", if unread > 0 { format!(", {unread} not looked for") } else { String::new() })?;
            }
            None => writeln!(f, "what was lost is not known: the last state was not read")?,
        }
        if let Some(judgement) = &self.judgement {
            write!(f, "{judgement}")?;
        }
        write!(f, "{}", self.verdict())
    }
}

#[cfg(test)]
mod tests {
    use iolite_histories::{
        Client, Commit, History, Moment, Operation, Outcome, PeerVerdict, Register, Transaction, Value, judge,
    };

    use super::*;

    /// Of a value that was written, and read at the end.
    fn report() -> TortureReport {
        let transaction = |from, operation| Transaction {
            client: Client(1),
            invoked: Moment(from),
            completed: Moment(from + 1),
            operations: vec![operation],
            outcome: Outcome::Committed(Commit::Unstamped),
        };
        let (register, value) = (Register(0), Value(7));
        let mut history = History::default();
        history.transactions.push(transaction(0, Operation::Write { register, value }));
        history.last.push(transaction(10, Operation::Read { register, value: Some(value) }));
        TortureReport {
            cluster: "1x1".into(),
            seconds: 1,
            seed: 1,
            faults: BTreeMap::new(),
            problems: Vec::new(),
            kept: Some(Kept::default()),
            answers: Answers::All { after_ms: 1 },
            judgement: Some(judge(&history).expect("it is well formed")),
        }
    }

    #[test]
    fn a_history_that_was_not_judged_to_its_end_is_not_called_clean() {
        let mut report = report();
        assert_eq!(report.verdict(), Verdict::Clean, "{report}");
        let judgement = report.judgement.as_mut().expect("it was judged");
        judgement.adya.registers = PeerVerdict::TooLarge { parts: 40_000_000 };
        assert_eq!(report.verdict(), Verdict::NotJudged, "{report}");
        report.kept = Some(Kept { acknowledged_lost: 1, ..Kept::default() });
        assert_eq!(report.verdict(), Verdict::NotClean, "{report}");
    }

    #[test]
    fn an_object_that_nobody_read_at_the_end_is_not_judged() {
        let mut report = report();
        report.judgement.as_mut().expect("it was judged").last_state = None;
        assert_eq!(report.verdict(), Verdict::NotJudged, "{report}");
    }

    #[test]
    fn a_problem_makes_a_run_unclean_whatever_was_judged() {
        let mut report = report();
        report.problems.push("store-1 ended by itself".into());
        assert_eq!(report.verdict(), Verdict::NotClean, "{report}");
    }
}
