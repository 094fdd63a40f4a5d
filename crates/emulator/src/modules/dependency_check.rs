//! Holds a write from another site back until this site has all that the write comes after.
//!
//! Invariant: a write is ready once, when the owners of all its dependencies in this site have said that they have them. Owners that do not have
//! them yet say nothing, and are asked again by a time trigger, which also gives writes up at last.
//! Source: Lloyd et al. (COPS, 2011), section 4.4, `dep_check`. Deviation: the check is repeated and not kept by the owner.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;

use super::site_ring::Sites;
use super::{Module, Outcome, Site, Work};
use crate::engine::{Dependency, Kind, Message, NodeId, OperationId, Outputs};
use crate::file::{Problem, Section};
use crate::quantity::Span;

#[derive(Debug)]
struct Held {
    since: Instant,
    work: Work,
    left: BTreeSet<Dependency>,
}

#[derive(Debug)]
pub(super) struct DependencyCheck {
    own: NodeId,
    sites: Sites,
    kind: Kind,
    give_up: Span,
    held: BTreeMap<OperationId, Held>,
}

impl DependencyCheck {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<DependencyCheck, Problem> {
        Ok(DependencyCheck {
            own: site.own,
            sites: Sites::build(section, site)?,
            kind: super::send::kind_of(section, site)?,
            give_up: section.span_or("give_up", Span::from_secs(10))?,
            held: BTreeMap::new(),
        })
    }

    fn hold(&mut self, now: Instant, work: &Work, out: &mut Outputs) -> &'static str {
        let left: BTreeSet<Dependency> = work.message.after.iter().copied().collect();
        if left.is_empty() {
            return "ready";
        }
        let held = Held { since: now, work: work.clone(), left };
        self.ask(&held, out);
        self.held.insert(work.message.operation, held);
        "waiting"
    }

    fn ask(&self, held: &Held, out: &mut Outputs) {
        for Dependency { key, version } in &held.left {
            let (version, after, replicas) = (Some(*version), Vec::new(), Vec::new());
            let base = held.work.message.clone();
            let asked =
                Message { kind: self.kind, from: self.own, key: *key, version, value: None, after, replicas, ..base };
            out.send(self.sites.owner_beside(self.own, *key), asked);
        }
    }

    fn confirm(&mut self, work: &mut Work) -> &'static str {
        let message = &work.message;
        let (operation, key) = (message.operation, message.key);
        let version = message.version.expect("the ports were checked");
        let Some(held) = self.held.get_mut(&operation) else { return "gone" };
        held.left.remove(&Dependency { key, version });
        if !held.left.is_empty() {
            return "waiting";
        }
        *work = self.held.remove(&operation).expect("it was there").work;
        "ready"
    }

    fn expire(&mut self, now: Instant, out: &mut Outputs) {
        self.held.retain(|_, held| held.since + self.give_up > now);
        self.held.values().for_each(|held| self.ask(held, out));
    }
}

impl Module for DependencyCheck {
    fn run(&mut self, now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        match call {
            "hold" => return Outcome(self.hold(now, work, out)),
            "confirm" => return Outcome(self.confirm(work)),
            _ => self.expire(now, out),
        }
        Outcome("ok")
    }
}
