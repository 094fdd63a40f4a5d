//! Sites with a copy of all objects each: a key has one owner in every site, by a ring of the site's nodes.
//!
//! Source: Lloyd et al., "Don't settle for eventual" (COPS, 2011), section 4.1. Deviation: a key has one node in a site, not a chain.

use iolite_machine::Instant;

use super::ring::Ring;
use super::{Module, Outcome, Site, Work};
use crate::engine::{Key, NodeId, Outputs, Session};
use crate::file::{Problem, Section};

/// The rings of all sites. The nodes of the role belong to the sites in turn.
#[derive(Debug)]
pub(super) struct Sites {
    nodes: Vec<NodeId>,
    rings: Vec<Ring>,
}

impl Sites {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<Sites, Problem> {
        let nodes = super::send::nodes_of(section, site)?;
        let sites = section.count_or("sites", 3)? as usize;
        if sites > nodes.len() {
            let what = format!("{} nodes do not make {sites} sites", nodes.len());
            return Err(section.problem("sites", what, "give the role more nodes, or take fewer sites"));
        }
        let points = section.count_or("points", 128)?.min(1 << 16);
        let of = |number| nodes.iter().copied().skip(number).step_by(sites).collect::<Vec<_>>();
        let rings = (0..sites).map(|number| Ring::of(&of(number), 1, points)).collect();
        Ok(Sites { nodes, rings })
    }

    /// The owner of a key in the site of a node.
    pub(super) fn owner_beside(&self, node: NodeId, key: Key) -> NodeId {
        let place = self.nodes.iter().position(|known| *known == node).expect("the node is of this role");
        self.rings[place % self.rings.len()].replicas(key)[0]
    }

    /// The owners of a key; the first is in the site of the session.
    fn owners(&self, session: Session, key: Key) -> Vec<NodeId> {
        let home = session.0 as usize;
        let sites = self.rings.len();
        (0..sites).flat_map(|further| self.rings[(home + further) % sites].replicas(key)).collect()
    }
}

#[derive(Debug)]
pub(super) struct SiteRing {
    sites: Sites,
}

impl SiteRing {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<SiteRing, Problem> {
        Ok(SiteRing { sites: Sites::build(section, site)? })
    }
}

impl Module for SiteRing {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        work.message.replicas = self.sites.owners(work.message.session, work.message.key);
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::site;

    #[test]
    fn a_key_has_an_owner_in_each_site_and_the_home_of_a_session_comes_first() {
        let section = Section::parse("a.toml", "role = \"store\"\nsites = 2").expect("this is TOML");
        let sites = Sites::build(&section, &site()).expect("three nodes make two sites");
        // Nodes 1 and 3 are one site, node 2 is the other.
        for key in (0..50).map(Key) {
            let owners = sites.owners(Session(0), key);
            assert!(owners[0] != NodeId(2) && owners[1] == NodeId(2), "{owners:?}");
            assert_eq!(sites.owners(Session(1), key), [owners[1], owners[0]]);
            assert_eq!(sites.owners(Session(2), key), owners);
            assert_eq!(sites.owner_beside(NodeId(1), key), owners[0]);
            assert_eq!(sites.owner_beside(NodeId(2), key), NodeId(2));
        }
        let section = Section::parse("a.toml", "role = \"store\"\nsites = 4").expect("this is TOML");
        assert!(Sites::build(&section, &site()).is_err_and(|problem| problem.what.contains("do not make 4 sites")));
    }
}
