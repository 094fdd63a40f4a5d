//! The workloads that come with the program.

use crate::design::Kept;

macro_rules! kept {
    ($name:literal) => {
        Kept {
            name: $name,
            file: concat!("workloads/", $name, ".toml"),
            text: include_str!(concat!("../../workloads/", $name, ".toml")),
        }
    };
}

/// Tables 4.5 and 4.7 of the paper, the backups of its section 4.5.2, and one for the judge.
pub const WORKLOADS: &[Kept] = &[
    kept!("few-keys"),
    kept!("paper-4.5-1"),
    kept!("paper-4.5-2"),
    kept!("paper-4.5-3"),
    kept!("paper-4.6-backup"),
    kept!("paper-4.7-read-latest"),
    kept!("paper-4.7-read-mostly"),
    kept!("paper-4.7-update-heavy"),
];
