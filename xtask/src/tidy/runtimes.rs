//! No machine crate reaches an async runtime or a thread pool, through any number of others.

use std::collections::BTreeSet;

use super::crates::Crates;
use super::dependencies::is_machine;
use super::finding::Finding;

const RUNTIMES: &[&str] =
    &["tokio", "async-std", "async-executor", "smol", "mio", "futures-executor", "rayon-core", "glommio", "monoio"];

pub fn check(crates: &Crates) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ours in crates.ours.iter().filter(|ours| is_machine(ours)) {
        let reached = reach(crates, &ours.name);
        for runtime in RUNTIMES.iter().filter(|runtime| reached.contains(**runtime)) {
            let message = format!(
                "`{}` reaches the runtime `{runtime}`: machines have none, find what brings it with `cargo tree -i {runtime}`",
                ours.name
            );
            findings.push(Finding::failure(&ours.manifest, 1, message));
        }
    }
    findings
}

fn reach<'a>(crates: &'a Crates, start: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(name) = waiting.pop() {
        let used = crates.resolved.get(name).into_iter().flatten();
        waiting.extend(used.map(String::as_str).filter(|used| reached.insert(*used)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::crates::OurCrate;
    use super::*;

    fn findings(name: &str) -> usize {
        let manifest = format!("crates/{name}/Cargo.toml");
        let ours = vec![OurCrate { name: name.to_owned(), manifest, ..OurCrate::default() }];
        let resolved = [(name, "middle"), ("middle", "tokio"), ("tokio", "mio")]
            .map(|(user, used)| (user.to_owned(), vec![used.to_owned()]));
        check(&Crates { ours, resolved: resolved.into() }).len()
    }

    #[test]
    fn a_runtime_behind_another_crate_is_reported() {
        assert_eq!(findings("iolite-gateway"), 2);
    }

    #[test]
    fn the_host_may_have_one() {
        assert_eq!(findings("iolite-host"), 0);
    }
}
