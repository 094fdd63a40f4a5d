//! Systems side by side, of workloads of clients: a record for each, as text or as one line of JSON.
//!
//! Iolite's own record is the object itself, with the keys of every workload; the others' are in its `beside`.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::report::Report;

/// One system, or one way to run it.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    pub system: String,
    pub version: String,
    /// What an acknowledged write is.
    pub durability_setting: String,
    #[serde(flatten)]
    pub report: Report,
    /// What only this workload has.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A line of the text: what it is called, and where its value is in a record.
pub type Line = (&'static str, &'static str);

#[derive(Clone, Debug)]
pub struct Beside {
    /// What was the same for all.
    pub settings: Vec<(&'static str, Value)>,
    /// In the order in which they were measured.
    pub records: Vec<Record>,
    /// Lines of this workload alone.
    pub lines: &'static [Line],
}

const NAME_WIDTH: usize = 28;
const WIDTH: usize = 18;

const LINES: &[Line] = &[
    ("version", "/version"),
    ("throughput_per_s", "/throughput_per_s"),
    ("latency_ms p50", "/latency_ms/p50"),
    ("latency_ms p90", "/latency_ms/p90"),
    ("latency_ms p99", "/latency_ms/p99"),
    ("commit_latency_ms p50", "/commit_latency_ms/p50"),
    ("commit_latency_ms p99", "/commit_latency_ms/p99"),
    ("committed", "/committed"),
    ("aborts", "/aborts"),
    ("unknown", "/unknown"),
    ("lost_updates", "/lost_updates"),
    ("violations", "/violations"),
    ("bytes_up_per_op", "/bytes_up_per_op"),
    ("bytes_down_per_op", "/bytes_down_per_op"),
    ("durability", "/durability"),
    ("fsync_ms p50", "/fsync_ms/p50"),
];

impl Beside {
    pub fn is_good(&self) -> bool {
        self.records.iter().all(|record| record.report.is_good())
    }

    /// One line of JSON, or a table with a column for each system.
    pub fn text(&self, json: bool) -> anyhow::Result<String> {
        let records = self.records.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        if json {
            return Ok(format!("{}\n", self.json(records)));
        }
        let settings = self.settings.iter().map(|(name, value)| format!("{name} {}", plain(value)));
        let mut text = format!("{}\n", settings.collect::<Vec<_>>().join(", "));
        row(&mut text, "", self.records.iter().map(|record| record.system.clone()))?;
        for (name, pointer) in LINES.iter().chain(self.lines) {
            row(&mut text, name, records.iter().map(|record| record.pointer(pointer).map_or("-".to_owned(), plain)))?;
        }
        for record in &self.records {
            writeln!(text, "{}: {}", record.system, record.durability_setting)?;
        }
        Ok(text)
    }

    fn json(&self, records: Vec<Value>) -> Value {
        let mut records = records.into_iter();
        let mut own = match records.next() {
            Some(Value::Object(own)) => own,
            Some(_) | None => Map::new(),
        };
        own.extend(self.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        own.insert("beside".to_owned(), json!(records.collect::<Vec<_>>()));
        Value::Object(own)
    }
}

fn row(text: &mut String, name: &str, cells: impl Iterator<Item = String>) -> std::fmt::Result {
    write!(text, "{name:<NAME_WIDTH$}")?;
    for cell in cells {
        write!(text, " {cell:>WIDTH$}")?;
    }
    text.push('\n');
    Ok(())
}

/// Numbers that are no counts with three digits, or all before the point.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => match number.as_f64().unwrap_or_default() {
            large if large >= 100.0 => format!("{large:.0}"),
            middle if middle >= 10.0 => format!("{middle:.1}"),
            small => format!("{small:.3}"),
        },
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    fn record(system: &str, lost_updates: u64) -> Record {
        let more = Map::from_iter([("rounds".to_owned(), json!(lost_updates + 5))]);
        let report = Report { lost_updates, ..report() };
        let (version, durability_setting) = (String::new(), String::new());
        Record { system: system.to_owned(), version, durability_setting, report, more }
    }

    fn two() -> Beside {
        let records = vec![record("iolite", 0), record("other", 3)];
        Beside { settings: vec![("delay_ms", json!(36))], records, lines: &[("rounds", "/rounds")] }
    }

    #[test]
    fn every_system_has_a_column_and_one_bad_one_makes_the_run_bad() {
        assert!(!two().is_good());
        assert!(Beside { records: vec![record("iolite", 0)], ..two() }.is_good());
        let text = two().text(false).expect("it is plain");
        for line in ["lost_updates 0 3", "rounds 5 8"] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert!(text.lines().any(|found| words(found) == words(line)), "{text}");
        }
    }

    #[test]
    fn iolites_own_record_is_the_object_itself() {
        let text = two().text(true).expect("it is plain");
        assert_eq!(text.lines().count(), 1);
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!((&value["system"], &value["rounds"], &value["delay_ms"]), (&json!("iolite"), &json!(5), &json!(36)));
        assert_eq!(value["beside"].as_array().map(Vec::len), Some(1));
        assert_eq!(value["beside"][0]["lost_updates"], 3);
    }
}
