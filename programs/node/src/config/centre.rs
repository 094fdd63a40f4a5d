//! The part of a gateway's file that says of which group of data centres it is.
//!
//! Invariant: a data centre is not its own peer, each peer has one address, and `k` is not more than there are data centres.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_causal::{CentreName, CentreNameError};
use iolite_host::{LinkSecurity, NodeName, TlsFiles};
use iolite_wire::limits::CENTRE_GROUP;
use serde::{Deserialize, Serialize};

use super::node::DELAY_MS_MAX;

/// Data centres of a group, this one among them.
pub const CENTRES_MAX: usize = 7;

/// `[centre]`, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CentreTable {
    /// The deployment: data centres of different groups refuse each other.
    pub group: String,
    pub name: String,
    /// Data centres that have a transaction before others see it. Two, if there are more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// The address at which the others reach this gateway. A gateway without one only dials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// The folder of certificates by the group's authority. Without one links are plain, and on this machine only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerTable>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerTable {
    pub name: String,
    /// `HOST:PORT`.
    pub address: String,
    /// Milliseconds that a round trip takes in addition: for development.
    #[serde(default)]
    pub rtt_ms: f64,
}

/// A gateway's part in a group.
#[derive(Clone, Debug)]
pub struct CentreConfig {
    pub group: String,
    pub name: CentreName,
    pub k: usize,
    pub listen: Option<SocketAddr>,
    pub security: LinkSecurity,
    pub peers: BTreeMap<CentreName, PeerConfig>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    pub address: String,
    /// Half of the round trip that is added.
    pub delay: Duration,
}

/// Mistakes in `[centre]`. Each message says what to correct.
#[derive(Debug, thiserror::Error)]
pub enum CentreProblem {
    #[error("`name` of [centre]: {0}")]
    Name(#[from] CentreNameError),
    #[error("`group` of [centre] has {0} bytes: give the group a name of 1 to {most}", most = CENTRE_GROUP.most)]
    Group(usize),
    #[error(
        "{0} is named twice in [centre]: each data centre has a name of its own, and stands among the peers of the others only"
    )]
    Twice(CentreName),
    #[error("[centre] names {0} data centres, with this one: a group has at most {CENTRES_MAX}")]
    TooMany(usize),
    #[error("`k` of [centre] is {k}; with {centres} data centres it is to be one of 1 to {centres}")]
    K { k: usize, centres: usize },
    #[error("`rtt_ms` of {name} is {rtt_ms}; it is to be a time of zero or more milliseconds, at most {DELAY_MS_MAX}")]
    Delay { name: CentreName, rtt_ms: f64 },
    #[error("[centre] is for gateways: put it into their files")]
    OfStore,
}

impl CentreConfig {
    pub(super) fn of(table: CentreTable, folder: &Path) -> Result<CentreConfig, CentreProblem> {
        let CentreTable { group, name, k, listen, certificates, peers: table } = table;
        if group.is_empty() || group.len() > CENTRE_GROUP.most {
            return Err(CentreProblem::Group(group.len()));
        }
        let name = CentreName::new(&name)?;
        let mut peers = BTreeMap::new();
        for PeerTable { name: peer, address, rtt_ms } in table {
            let peer = CentreName::new(&peer)?;
            if !(0.0..=DELAY_MS_MAX).contains(&rtt_ms) {
                return Err(CentreProblem::Delay { name: peer, rtt_ms });
            }
            let config = PeerConfig { address, delay: Duration::from_secs_f64(rtt_ms / 2_000.0) };
            if peer == name || peers.insert(peer.clone(), config).is_some() {
                return Err(CentreProblem::Twice(peer));
            }
        }
        let centres = peers.len() + 1;
        if centres > CENTRES_MAX {
            return Err(CentreProblem::TooMany(centres));
        }
        let k = k.unwrap_or(centres.min(2));
        if k == 0 || k > centres {
            return Err(CentreProblem::K { k, centres });
        }
        let security = match certificates {
            Some(certificates) => LinkSecurity::Tls(TlsFiles::in_folder(&folder.join(certificates))),
            None => LinkSecurity::PlainOnLoopback,
        };
        Ok(CentreConfig { group, name, k, listen, security, peers })
    }

    /// The names of all others.
    pub fn peer_names(&self) -> BTreeSet<CentreName> {
        self.peers.keys().cloned().collect()
    }
}

/// The name in the certificate of a data centre.
pub fn centre_node(name: &CentreName) -> NodeName {
    NodeName::new(&format!("{CENTRE}{name}")).expect("a centre's name is part of a node's")
}

/// The data centre whose certificate has this name.
pub fn centre_of(node: &NodeName) -> Option<CentreName> {
    CentreName::new(node.as_str().strip_prefix(CENTRE)?).ok()
}

const CENTRE: &str = "centre-";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CentreConfig, String> {
        let table: CentreTable = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        CentreConfig::of(table, Path::new("/etc/iolite")).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_gateway_says_of_which_group_it_is() {
        let text = "group = \"shop\"\nname = \"eu\"\nlisten = \"127.0.0.1:7800\"\n\
                    peers = [{ name = \"us\", address = \"us.example.org:7800\", rtt_ms = 80 }]";
        let config = read(text).expect("it is right");
        assert_eq!((config.k, config.name.as_str()), (2, "eu"));
        let peer = PeerConfig { address: "us.example.org:7800".into(), delay: Duration::from_millis(40) };
        assert_eq!(config.peers, [(CentreName::new("us").expect("a name"), peer)].into());
        assert!(matches!(config.security, LinkSecurity::PlainOnLoopback));
        assert_eq!(centre_of(&centre_node(&config.name)), Some(config.name));
        assert_eq!(read("group = \"shop\"\nname = \"eu\"").expect("alone").k, 1);
    }

    #[test]
    fn mistakes_are_told_with_what_to_do() {
        let peer = |name: &str| format!("{{ name = \"{name}\", address = \"h:1\" }}");
        let file = |more: &str, peers: &str| format!("group = \"shop\"\nname = \"eu\"\n{more}\npeers = [{peers}]");
        let many = (0..7).map(|number| peer(&format!("c{number}"))).collect::<Vec<_>>().join(",");
        for (text, told) in [
            (file("", &peer("eu")), "eu is named twice"),
            (file("", &[peer("us"), peer("us")].join(",")), "us is named twice"),
            (file("k = 3", &peer("us")), "with 2 data centres it is to be one of 1 to 2"),
            (file("k = 0", &peer("us")), "`k` of [centre] is 0"),
            (file("", &many), "[centre] names 8 data centres"),
            (file("", &peer("US")), "\"US\" is no name for a data centre"),
            (file("", "{ name = \"us\", address = \"h:1\", rtt_ms = -1 }"), "`rtt_ms` of us is -1"),
            (file("", "").replace("shop", ""), "`group` of [centre] has 0 bytes"),
            (file("kk = 2", ""), "unknown field `kk`"),
        ] {
            let problem = read(&text).map(|_| ()).expect_err("it is wrong");
            assert!(problem.contains(told), "{problem}");
        }
    }
}
