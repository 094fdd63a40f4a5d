//! Helpers that tests of several modules need.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::design::{BROKEN, DESIGNS, Kept};
use crate::engine::{Deployment, Kinds, NodeId};
use crate::hardware::HARDWARE;
use crate::modules::Site;
use crate::plan::{Plan, PlanFile, PlanFiles};
use crate::quantity::{Bytes, Span};
use crate::workload::{Popularity, Puts, WORKLOADS, Workload};

static DEPLOYMENT: LazyLock<Deployment> =
    LazyLock::new(|| Deployment::new(&BTreeMap::from([("store".to_owned(), 3)]), 2));
static KINDS: LazyLock<Kinds> = LazyLock::new(Kinds::default);

pub fn site() -> Site<'static> {
    Site { deployment: &DEPLOYMENT, own: NodeId(1), kinds: &KINDS, disk_capacity: Bytes(1 << 30) }
}

pub fn workload() -> Workload {
    Workload {
        name: "test".to_owned(),
        about: "for tests".to_owned(),
        puts_per_second: 50.0,
        gets_per_second: 50.0,
        size: Bytes(4096),
        objects: 1_000,
        data: Bytes(4_096_000),
        popularity: Popularity::Uniform,
        puts: Puts::Update,
        is_even: false,
        duration: Span::from_secs(10),
        timeout: Span::from_secs(5),
        warm_up: 0,
    }
}

fn file(kept: &Kept) -> PlanFile {
    PlanFile { name: kept.file.to_owned(), text: kept.text.to_owned() }
}

fn named(kept: &[Kept], name: &str) -> PlanFile {
    file(kept.iter().find(|kept| kept.name == name).expect("it comes with the program"))
}

/// A design of the program, or one of those with a rule taken out.
pub fn files(design: &str, rule: Option<&str>, workload: &str, seed: u64) -> PlanFiles {
    let broken = BROKEN.iter().find(|broken| broken.design == design && Some(broken.rule) == rule);
    let design = match broken {
        Some(broken) => PlanFile { name: broken.file.to_owned(), text: broken.text.to_owned() },
        None => named(DESIGNS, design),
    };
    let (workload, hardware) = (named(WORKLOADS, workload), named(HARDWARE, "hdd-7200"));
    PlanFiles { design, workload, hardware, roles: BTreeMap::new(), disks: None, seed }
}

pub fn plan(design: &str, workload: &str, seed: u64) -> Plan {
    Plan::read(&files(design, None, workload, seed)).unwrap_or_else(|error| panic!("{error}"))
}
