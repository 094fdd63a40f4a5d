//! All systems of a run side by side, as text or as one line of JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::Report;
use crate::transactions::measure::Course;

#[derive(Clone, Debug)]
pub struct Table {
    pub workload: String,
    pub keys: u64,
    pub clients: u16,
    pub delay_ms: u64,
    pub seed: u64,
    /// Replicas of each shard of Iolite.
    pub down: u16,
    pub coordinators: u16,
    pub skew_ms: u64,
    /// Iolite's record; `None` where only others were measured.
    pub own: Option<Report>,
    /// A record for each system, in the order in which they ran.
    pub beside: Vec<Report>,
}

/// A line of the table: what it is called, and what it says of a system.
type Line = (&'static str, fn(&Report) -> String);

const WIDTH: usize = 16;

const LINES: &[Line] = &[
    ("version", |report| report.version.clone()),
    ("throughput_per_s", |report| number(report.throughput_per_s)),
    ("latency_ms p50", |report| number(report.latency_ms.p50)),
    ("latency_ms p90", |report| number(report.latency_ms.p90)),
    ("latency_ms p99", |report| number(report.latency_ms.p99)),
    ("commit_latency_ms p50", |report| number(report.commit_latency_ms.p50)),
    ("commit_latency_ms p90", |report| number(report.commit_latency_ms.p90)),
    ("commit_latency_ms p99", |report| number(report.commit_latency_ms.p99)),
    ("  of writers p50", |report| number(report.write_commit_latency_ms.p50)),
    ("  of writers p90", |report| number(report.write_commit_latency_ms.p90)),
    ("  of writers p99", |report| number(report.write_commit_latency_ms.p99)),
    ("committed", |report| report.committed.to_string()),
    ("aborts", |report| report.aborts.to_string()),
    ("retries", |report| report.retries.to_string()),
    ("  proposed_again_per_op", |report| report.proposed_again_per_op.map_or("none".to_owned(), number)),
    ("  slow_paths_per_op", |report| report.slow_paths_per_op.map_or("none".to_owned(), number)),
    ("unknown", |report| report.unknown.to_string()),
    ("lost_updates", |report| report.lost_updates.to_string()),
    ("violations", |report| report.violations.to_string()),
    ("busiest node", |report| busiest(report, |node| node.name.clone())),
    ("  cpu_us_per_op", |report| busiest(report, |node| number(node.cpu_us_per_op))),
    ("  messages_per_op", |report| busiest(report, |node| number(node.messages_per_op))),
    ("  projected_peak_per_s", |report| busiest(report, |node| number(node.projected_peak_per_s))),
    ("all nodes cpu_us_per_op", |report| number(report.nodes.iter().map(|node| node.cpu_us_per_op).sum())),
    ("client_cpu_us_per_op", |report| number(report.client_cpu_us_per_op)),
    ("bytes_up_per_op", |report| number(report.bytes_up_per_op)),
    ("bytes_down_per_op", |report| number(report.bytes_down_per_op)),
    ("durability", |report| report.durability.clone()),
    ("  verified", |report| report.durability_verified.clone()),
    ("  syncs_per_write", syncs),
    ("fsync_ms p50", |report| report.fsync_ms.p50.map_or("none".to_owned(), number)),
];

impl Table {
    pub fn of(course: &Course, own: Option<Report>, beside: Vec<Report>) -> Table {
        Table {
            workload: course.workload.name(),
            keys: course.zipf.keys(),
            clients: course.setup.clients,
            delay_ms: u64::try_from(course.setup.delay.as_millis()).unwrap_or(u64::MAX),
            seed: course.seed,
            down: course.setup.down,
            coordinators: course.setup.coordinators,
            skew_ms: u64::try_from(course.setup.skew.as_millis()).unwrap_or(u64::MAX),
            own,
            beside,
        }
    }

    pub fn is_good(&self) -> bool {
        self.all().all(Report::is_good)
    }

    /// One line of JSON, or a table with a column for each system.
    pub fn text(&self, json: bool) -> anyhow::Result<String> {
        if json {
            return Ok(format!("{}\n", self.json()?));
        }
        let Table { workload, keys, clients, delay_ms, seed, down, coordinators, skew_ms, own: _, beside: _ } = self;
        let mut text = format!("{workload}, {keys} keys, {clients} clients, delay {delay_ms} ms, seed {seed}");
        if *down > 0 {
            write!(text, ", {down} of each shard's replicas down")?;
        }
        if *coordinators > 1 {
            write!(text, ", {coordinators} coordinators, clocks {skew_ms} ms apart")?;
        }
        text.push('\n');
        row(&mut text, "", self.all().map(|report| report.system.to_owned()))?;
        for (name, of) in LINES {
            row(&mut text, name, self.all().map(of))?;
        }
        for report in self.all() {
            writeln!(text, "{}: {}; {}", report.system, report.isolation, report.durability_setting)?;
        }
        Ok(text)
    }

    fn all(&self) -> impl Iterator<Item = &Report> {
        self.own.iter().chain(&self.beside)
    }

    /// Iolite's own record, as of every workload, and beside it the others'.
    fn json(&self) -> serde_json::Result<Value> {
        let own = self.own.as_ref().map(serde_json::to_value).transpose()?;
        let mut table = match own {
            Some(Value::Object(own)) => own,
            Some(_) | None => Map::new(),
        };
        let Table { workload, keys, clients, delay_ms, seed, down, coordinators, skew_ms, own: _, beside } = self;
        let settings = [
            ("workload", json!(workload)),
            ("keys", json!(keys)),
            ("clients", json!(clients)),
            ("delay_ms", json!(delay_ms)),
            ("seed", json!(seed)),
            ("down", json!(down)),
            ("coordinators", json!(coordinators)),
            ("skew_ms", json!(skew_ms)),
            ("beside", serde_json::to_value(beside)?),
        ];
        table.extend(settings.map(|(name, value)| (name.to_owned(), value)));
        Ok(Value::Object(table))
    }
}

fn row(text: &mut String, name: &str, cells: impl Iterator<Item = String>) -> std::fmt::Result {
    write!(text, "{name:<24}")?;
    for cell in cells {
        write!(text, " {cell:>WIDTH$}")?;
    }
    text.push('\n');
    Ok(())
}

fn busiest(report: &Report, of: impl Fn(&super::BusiestNode) -> String) -> String {
    report.busiest_node.as_ref().map_or("none".to_owned(), of)
}

/// Of each node.
fn syncs(report: &Report) -> String {
    let Some(nodes) = &report.syncs_per_write else { return "none".to_owned() };
    nodes.iter().map(|node| format!("{:.2}", node.syncs)).collect::<Vec<_>>().join(" ")
}

/// With three digits, or all before the point.
fn number(number: f64) -> String {
    match number {
        large if large >= 100.0 => format!("{large:.0}"),
        middle if middle >= 10.0 => format!("{middle:.1}"),
        small => format!("{small:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::report::tests::report;

    fn table(beside: Vec<Report>) -> Table {
        let workload = "ycsb-t".into();
        Table {
            workload,
            keys: 10,
            clients: 1,
            delay_ms: 0,
            seed: 1,
            down: 0,
            coordinators: 1,
            skew_ms: 0,
            own: None,
            beside,
        }
    }

    #[test]
    fn every_system_has_a_column_and_one_bad_one_makes_the_run_bad() {
        let bad = Report { system: "other", lost_updates: 3, ..report() };
        let table = table(vec![report(), bad]);
        assert!(!table.is_good());
        let text = table.text(false).expect("it is plain");
        let line = text.lines().find(|line| line.starts_with("lost_updates")).expect("it is there");
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["lost_updates", "0", "3"]);
    }

    #[test]
    fn json_is_one_line_with_a_record_for_each_system() {
        let text = table(vec![report(), report()]).text(true).expect("it is plain");
        assert_eq!(text.lines().count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(value["beside"].as_array().map(Vec::len), Some(2));
        assert_eq!(value["beside"][0]["syncs_per_write"][0]["syncs"], 1.0);
    }

    #[test]
    fn iolites_own_record_is_the_object_itself_and_its_column_the_first() {
        let own = Report { system: "iolite", committed: 7, ..report() };
        let table = Table { own: Some(own), ..table(vec![report()]) };
        let value = table.json().expect("it is plain");
        assert_eq!((&value["system"], &value["committed"], &value["keys"]), (&json!("iolite"), &json!(7), &json!(10)));
        assert_eq!(value["beside"].as_array().map(Vec::len), Some(1));
        let text = table.text(false).expect("it is plain");
        let heads = text.lines().nth(1).expect("it is there");
        assert_eq!(heads.split_whitespace().collect::<Vec<_>>(), ["iolite", "memory"]);
        let bad = Report { violations: 1, ..report() };
        assert!(table.is_good() && !Table { own: Some(bad), ..table }.is_good());
    }
}
