//! Measurements as cells: a record for each combination of parameters, and the ratios that aims are about.
//!
//! Invariant: a run that lost something, or saw something wrong, has a fault for it, and its exit code says so.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

/// The report of one workload's run.
#[derive(Clone, Debug)]
pub struct Cells {
    workload: String,
    /// The same for all cells.
    settings: Map<String, Value>,
    cells: Vec<Value>,
    ratios: Map<String, Value>,
    faults: Vec<String>,
}

impl Cells {
    pub fn new(workload: &str, settings: Value) -> Cells {
        let Value::Object(settings) = settings else { panic!("settings have names") };
        Cells { workload: workload.to_owned(), settings, cells: Vec::new(), ratios: Map::new(), faults: Vec::new() }
    }

    pub fn push(&mut self, cell: Value) {
        self.cells.push(cell);
    }

    /// Leaves out a ratio to nothing, such as a round trip of 0 ms.
    pub fn ratio(&mut self, name: &str, value: f64, of: f64) {
        if of > 0.0 {
            self.ratios.insert(name.to_owned(), json!(value / of));
        }
    }

    pub fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    #[cfg(test)]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    fn json(&self) -> Value {
        let mut all = Map::from_iter([("workload".to_owned(), json!(self.workload))]);
        all.extend(self.settings.clone());
        all.insert("cells".to_owned(), json!(self.cells));
        all.insert("ratios".to_owned(), json!(self.ratios));
        all.insert("faults".to_owned(), json!(self.faults));
        Value::Object(all)
    }

    fn in_words(&self) -> String {
        let mut text = format!("{}: {}\n", self.workload, line(&self.settings));
        for cell in &self.cells {
            let Value::Object(cell) = cell else { continue };
            let (beside, own): (Map<_, _>, Map<_, _>) =
                cell.clone().into_iter().partition(|(name, _)| name == "beside");
            let _ = writeln!(text, "  {}", line(&own));
            for other in beside.values().flat_map(Value::as_array).flatten().filter_map(Value::as_object) {
                let _ = writeln!(text, "    beside {}", line(other));
            }
        }
        text + &self.findings()
    }

    fn findings(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.ratios {
            let _ = writeln!(text, "  {name}: {}", plain(value));
        }
        for fault in &self.faults {
            let _ = writeln!(text, "  WRONG: {fault}");
        }
        text
    }

    /// Prints one line of JSON, or a line for each cell, ratio and fault.
    ///
    /// # Errors
    /// When it cannot be printed.
    pub fn print(&self, as_json: bool) -> anyhow::Result<ExitCode> {
        self.print_text(as_json, self.in_words())
    }

    /// The same, with a table of the workload's own in place of the lines for each cell.
    ///
    /// # Errors
    /// As [`Cells::print`].
    pub fn print_table(&self, table: &str, as_json: bool) -> anyhow::Result<ExitCode> {
        let text = format!("{}: {}\n{table}{}", self.workload, line(&self.settings), self.findings());
        self.print_text(as_json, text)
    }

    fn print_text(&self, as_json: bool, in_words: String) -> anyhow::Result<ExitCode> {
        let text = if as_json { format!("{}\n", self.json()) } else { in_words };
        iolite_host::print(&text)?;
        Ok(if self.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn line(values: &Map<String, Value>) -> String {
    values.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.3}", number.as_f64().unwrap_or_default()),
        Value::Object(values) => format!("({})", line(values)),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join("; "),
        Value::Null => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_said_and_a_ratio_to_nothing_is_left_out() {
        let mut cells = Cells::new("views", json!({"delay_ms": 67}));
        cells.push(json!({"of": "log", "beside": [{"system": "other", "confirmed": {"p50": 1.5}}]}));
        cells.ratio("to nothing", 3.0, 0.0);
        cells.ratio("half", 1.0, 2.0);
        cells.fault("a member has other cells".to_owned());
        let value = cells.json();
        assert_eq!(value["ratios"], json!({"half": 0.5}));
        assert_eq!((&value["delay_ms"], &value["faults"][0]), (&json!(67), &json!("a member has other cells")));
        let text = cells.in_words();
        for words in ["views: delay_ms 67", "    beside confirmed (p50 1.500)", "half: 0.500", "WRONG: a member"] {
            assert!(text.contains(words), "{text}");
        }
    }
}
