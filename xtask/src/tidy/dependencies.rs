//! Machine crates use few crates of others (rule 17). Ours are not counted: the graph rules them.

use super::crates::OurCrate;
use super::finding::Finding;

const OTHERS_MAX: usize = 8;

/// Crates in `crates/` that touch the world. All others there are machines: no clock, IO, thread, async or randomness.
const HOSTS: &[&str] = &["iolite-host", "iolite-postgres", "iolite-memory"];

pub fn is_machine(ours: &OurCrate) -> bool {
    ours.manifest.starts_with("crates/") && !HOSTS.contains(&ours.name.as_str())
}

pub fn check(crates: &[OurCrate]) -> Vec<Finding> {
    crates
        .iter()
        .filter(|ours| is_machine(ours) && ours.others.len() > OTHERS_MAX)
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

    fn with_others(folder: &str, name: &str, count: usize) -> Vec<Finding> {
        let others = (0..count).map(|index| format!("crate{index}")).collect();
        let manifest = format!("{folder}/{name}/Cargo.toml");
        check(&[OurCrate { name: format!("iolite-{name}"), manifest, ours: Vec::new(), others }])
    }

    #[test]
    fn a_machine_crate_with_more_than_eight_crates_of_others_is_reported() {
        assert_eq!(with_others("crates", "client", 8).len(), 0);
        assert_eq!(with_others("crates", "client", 9).len(), 1);
    }

    #[test]
    fn hosts_and_programs_may_use_more() {
        assert_eq!(with_others("crates", "host", 20).len(), 0);
        assert_eq!(with_others("programs", "server", 20).len(), 0);
    }
}
