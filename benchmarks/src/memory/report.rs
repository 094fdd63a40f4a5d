//! The table and the JSON of a run.

use std::collections::BTreeMap;

use serde::Serialize;

/// One run: a cell for each working set.
#[derive(Debug, Serialize)]
pub struct Report {
    pub mb: u64,
    pub object_bytes: u64,
    /// `running`, `stopped` or `writing`.
    pub programs: &'static str,
    pub load_before: String,
    pub cells: Vec<Cell>,
    /// The aims, by name: of the first cell.
    pub ratios: BTreeMap<&'static str, f64>,
}

/// A working set, and every arm with it.
#[derive(Debug, Serialize)]
pub struct Cell {
    pub working_set_percent: u64,
    pub arms: BTreeMap<&'static str, Taken>,
    /// Arms that this machine does not allow, with the reason.
    pub not_run: BTreeMap<&'static str, String>,
}

/// The bytes that an arm took, and how long that was.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Taken {
    pub ms: f64,
    /// Bytes that the program's memory shrank by, as the kernel counts them.
    pub bytes: u64,
    /// From the end of the taking until the program has used every byte again.
    pub back_ms: f64,
    pub wrong_bytes: bool,
}

/// The machine's load, as the kernel says it.
pub fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

/// Each arm that did not run, with its reason and the working sets.
pub fn not_run_in_words(cells: &[Cell]) -> Vec<String> {
    let mut working_sets: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for cell in cells {
        for (arm, reason) in &cell.not_run {
            working_sets.entry((arm, reason)).or_default().push(format!("{} %", cell.working_set_percent));
        }
    }
    let in_words = |((arm, reason), percents): ((&str, &str), Vec<String>)| {
        format!("not run: {arm} at {}: {reason}", percents.join(", "))
    };
    working_sets.into_iter().map(in_words).collect()
}

impl Report {
    pub fn is_right(&self) -> bool {
        self.cells.iter().flat_map(|cell| cell.arms.values()).all(|taken| !taken.wrong_bytes)
    }

    pub fn in_words(&self) -> String {
        let mut lines = vec![
            format!(
                "{} MB in objects of {} bytes, programs {}; load {}",
                self.mb, self.object_bytes, self.programs, self.load_before
            ),
            "| working set | arm | MB taken | ms | MB a ms | all back, ms |".to_owned(),
            "| ---: | --- | ---: | ---: | ---: | ---: |".to_owned(),
        ];
        for cell in &self.cells {
            for (arm, taken) in &cell.arms {
                let mb = taken.bytes as f64 / 1e6;
                let wrong = if taken.wrong_bytes { " WRONG BYTES" } else { "" };
                lines.push(format!(
                    "| {} % | {arm}{wrong} | {mb:.0} | {:.1} | {:.2} | {:.0} |",
                    cell.working_set_percent,
                    taken.ms,
                    mb / taken.ms,
                    taken.back_ms
                ));
            }
        }
        lines.extend(self.ratios.iter().map(|(name, ratio)| format!("{name}: {ratio:.3}")));
        lines.extend(not_run_in_words(&self.cells));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_that_fails_at_one_working_set_is_named_with_it() {
        let cell = |working_set_percent, reason: Option<&str>| Cell {
            working_set_percent,
            arms: BTreeMap::new(),
            not_run: reason.map(|reason| ("zram", reason.to_owned())).into_iter().collect(),
        };
        let cells = [cell(0, None), cell(20, Some("busy")), cell(40, Some("busy")), cell(60, Some("no root"))];
        assert_eq!(not_run_in_words(&cells), ["not run: zram at 20 %, 40 %: busy", "not run: zram at 60 %: no root"]);
    }
}
