//! Machine crates use few crates of others (rule 17). Ours are not counted: the graph rules them.

use super::crates::OurCrate;
use super::finding::Finding;

const OTHERS_MAX: usize = 8;

/// Crates whose code is pure: no clock, IO, thread, async or randomness.
pub const MACHINES: &[&str] = &[
    "iolite-values",
    "iolite-wire",
    "iolite-machine",
    "iolite-store",
    "iolite-replication",
    "iolite-engine",
    "iolite-catalog",
    "iolite-access",
    "iolite-gateway",
    "iolite-causal",
    "iolite-rowsync",
    "iolite-logs",
    "iolite-client",
    "iolite-objects",
    "iolite-simulation",
];

pub fn check(crates: &[OurCrate]) -> Vec<Finding> {
    let machines = crates.iter().filter(|ours| MACHINES.contains(&ours.name.as_str()));
    machines
        .filter(|ours| ours.others.len() > OTHERS_MAX)
        .map(|ours| {
            let message = format!(
                "`{}` uses {} crates of others, at most {OTHERS_MAX} in a machine crate: do without some",
                ours.name,
                ours.others.len()
            );
            Finding::failure(&ours.manifest, 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_others(name: &str, count: usize) -> Vec<Finding> {
        let others = (0..count).map(|index| format!("crate{index}")).collect();
        check(&[OurCrate { name: name.to_owned(), others, ..OurCrate::default() }])
    }

    #[test]
    fn a_machine_crate_with_more_than_eight_crates_of_others_is_reported() {
        assert_eq!(with_others("iolite-client", 8).len(), 0);
        assert_eq!(with_others("iolite-client", 9).len(), 1);
    }

    #[test]
    fn hosts_and_programs_may_use_more() {
        assert_eq!(with_others("iolite-host", 20).len(), 0);
    }
}
