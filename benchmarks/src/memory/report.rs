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
    /// Arms that this machine does not allow, with the reason.
    pub not_run: BTreeMap<&'static str, String>,
}

/// A working set, and every arm with it.
#[derive(Debug, Serialize)]
pub struct Cell {
    pub working_set_percent: u64,
    pub arms: BTreeMap<&'static str, Taken>,
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

impl Report {
    pub fn is_right(&self) -> bool {
        self.cells.iter().flat_map(|cell| cell.arms.values()).all(|taken| !taken.wrong_bytes)
    }

    pub fn in_words(&self) -> String {
        let mut lines = vec![
            format!(
                "{} MB in objects of {} bytes, programs {}; load {}",
                self.mb,
                self.object_bytes,
                self.programs,
                self.load_before.trim()
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
        lines.extend(self.not_run.iter().map(|(arm, reason)| format!("not run: {arm}: {reason}")));
        lines.join("\n")
    }
}
