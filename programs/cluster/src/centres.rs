//! Several data centres on one machine: each a cluster of its own, in a folder below one.
//!
//! Invariant: the folder holds a whole group or none: it is made under another name, and renamed when all is there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use iolite_causal::CentreName;
use iolite_host::{Authority, random_id, sync_folder_of};
use iolite_logs::PAGE_ENTRIES_MAX;
use iolite_node::config::{CENTRES_MAX, CentreTable, DELAY_MS_MAX, PeerTable, centre_node};
use iolite_wire::centres::Place;
use serde::{Deserialize, Serialize};

use crate::creation::HOST;
use crate::local::{AUTHORITY, TOKEN};
use crate::node_files::{make_folder, write_file};
use crate::readiness::get;
use crate::{ClusterError, ClusterShape, LocalCluster, Ports, free_ports};

const SHAPE: &str = "centres.toml";
/// The certificates of a data centre, in its folder.
const CERTIFICATES: &str = "centre";
/// Ports of one data centre: those of its nodes, and the one for the others.
const PORTS_OF_EACH: u16 = 400;
const CENTRE_PORT: u16 = 300;
/// The last port that the only data centre of a group can begin at.
const LAST_FIRST_PORT: u16 = u16::MAX - CENTRE_PORT;

/// A group as it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CentresShape {
    pub names: Vec<String>,
    /// Data centres that have a transaction before others see it.
    pub k: usize,
    /// Milliseconds that a round trip takes in addition, for each pair in order: first and second, first and third, and so on.
    pub rtt_ms: Vec<f64>,
    /// The shape of each data centre. Its ports are those of the first one.
    pub cluster: ClusterShape,
}

/// All data centres of a folder.
#[derive(Debug)]
pub struct LocalCentres {
    folder: PathBuf,
    shape: CentresShape,
    centres: Vec<(CentreName, LocalCluster)>,
}

/// One line of how far a data centre is with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReport {
    pub peer: CentreName,
    pub following: bool,
    pub stopped: bool,
    /// The peer lacks what was deleted here: it has to be made anew.
    pub lost: bool,
    /// The peer has deleted what is lacking here: this data centre serves no client, and has to be made anew.
    pub lost_here: bool,
    pub taken: u64,
    pub applied: u64,
    /// Entries of the peer's outbox that are not here, at most. None: the peer does not answer.
    pub lag: Option<u64>,
}

impl CentresShape {
    /// Data centres that are called `a`, `b` and so on, each with one replica.
    pub fn new(count: usize) -> CentresShape {
        let names = ('a'..='z').take(count).map(String::from).collect();
        let cluster = ClusterShape { replicas: 1, ..ClusterShape::default() };
        CentresShape { names, k: count.min(2), rtt_ms: Vec::new(), cluster }
    }

    /// Pairs of data centres.
    pub fn pairs(count: usize) -> usize {
        count * count.saturating_sub(1) / 2
    }

    fn problem(&self) -> Option<String> {
        let (count, pairs) = (self.names.len(), CentresShape::pairs(self.names.len()));
        if count == 0 || count > CENTRES_MAX {
            return Some(format!("a group has 1 to {CENTRES_MAX} data centres, and not {count}"));
        }
        if let Some(problem) = self.names.iter().find_map(|name| CentreName::new(name).err()) {
            return Some(problem.to_string());
        }
        let mut sorted = self.names.clone();
        sorted.sort();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Some("two data centres have one name: give each its own".to_owned());
        }
        if self.k == 0 || self.k > count {
            return Some(format!("k is {}: with {count} data centres it is to be one of 1 to {count}", self.k));
        }
        if self.cluster.gateways > 1 {
            // Links are known by names, and the gateways of a data centre have one name: each would close the links of the other one.
            return Some(format!(
                "a data centre of a group has one gateway for now, and not {}",
                self.cluster.gateways
            ));
        }
        if !matches!(self.rtt_ms.len(), 0 | 1) && self.rtt_ms.len() != pairs {
            return Some(format!("{count} data centres have {pairs} pairs: give one round trip, or one for each pair"));
        }
        if let Some(rtt_ms) = self.rtt_ms.iter().find(|rtt_ms| !(0.0..=DELAY_MS_MAX).contains(*rtt_ms)) {
            let told = "a round trip is a time of zero or more milliseconds";
            return Some(format!("{told}, at most {DELAY_MS_MAX}, and not {rtt_ms}"));
        }
        if self.names.iter().any(|name| name == AUTHORITY) {
            return Some(format!(
                "{AUTHORITY} is the folder of what certificates are issued with: choose another name"
            ));
        }
        let others = PORTS_OF_EACH * (count as u16 - 1);
        if let Ports::From(port) = self.cluster.ports
            && port > LAST_FIRST_PORT - others
        {
            let most = LAST_FIRST_PORT - others;
            return Some(format!(
                "the ports from {port} on are not enough for {count} data centres: choose one of 1 to {most}"
            ));
        }
        self.cluster.problem()
    }

    /// The round trip of two data centres, by their places.
    fn rtt_ms(&self, one: usize, other: usize) -> f64 {
        let (low, high) = (one.min(other), one.max(other));
        let before: usize = (0..low).map(|first| self.names.len() - 1 - first).sum();
        let place = if self.rtt_ms.len() == 1 { 0 } else { before + high - low - 1 };
        self.rtt_ms.get(place).copied().unwrap_or_default()
    }

    /// The addresses of the data centres for each other.
    fn addresses(&self) -> Result<Vec<SocketAddr>, ClusterError> {
        let ports = match self.cluster.ports {
            Ports::From(first) => {
                (0..self.names.len() as u16).map(|place| first + PORTS_OF_EACH * place + CENTRE_PORT).collect()
            }
            Ports::Free => free_ports(&[HOST], self.names.len()).map_err(ClusterError::Port)?,
        };
        Ok(ports.into_iter().map(|port| SocketAddr::new(HOST, port)).collect())
    }

    fn cluster(&self, place: usize) -> ClusterShape {
        let ports = match self.cluster.ports {
            Ports::From(first) => Ports::From(first + PORTS_OF_EACH * place as u16),
            Ports::Free => Ports::Free,
        };
        ClusterShape { ports, ..self.cluster.clone() }
    }
}

impl LocalCentres {
    /// Makes a group in a folder that is missing or empty, and starts nothing.
    ///
    /// # Errors
    /// [`ClusterError`]; the folder is as it was then.
    pub fn create(folder: &Path, shape: &CentresShape) -> Result<LocalCentres, ClusterError> {
        if let Some(problem) = shape.problem() {
            return Err(ClusterError::Shape(problem));
        }
        let failed = |source| ClusterError::Io { path: folder.to_owned(), source };
        if folder.exists() {
            // It fails unless it is empty.
            std::fs::remove_dir(folder).map_err(|_| ClusterError::NotEmpty { folder: folder.to_owned() })?;
        }
        let mut unfinished = folder.components().collect::<PathBuf>().into_os_string();
        unfinished.push(format!(".unfinished-{:08x}", random_id() as u32));
        let unfinished = PathBuf::from(unfinished);
        let made = write(&unfinished, shape).and_then(|()| std::fs::rename(&unfinished, folder).map_err(failed));
        let made = made.and_then(|()| sync_folder_of(folder).map_err(failed));
        if made.is_err() {
            // It holds nothing that anybody uses.
            let _ = std::fs::remove_dir_all(&unfinished);
        }
        made.and_then(|()| LocalCentres::open(folder))
    }

    /// # Errors
    /// [`ClusterError::NoCentres`], and what can be wrong in its files.
    pub fn open(folder: &Path) -> Result<LocalCentres, ClusterError> {
        let file = folder.join(SHAPE);
        if !file.is_file() {
            return Err(ClusterError::NoCentres { folder: folder.to_owned() });
        }
        let text = std::fs::read_to_string(&file).map_err(|source| ClusterError::Io { path: file.clone(), source })?;
        let shape: CentresShape = toml::from_str(&text).map_err(|error: toml::de::Error| {
            let problem = error.message().to_owned();
            ClusterError::Damaged { file: file.clone(), problem }
        })?;
        let open = |name: &String| {
            let named = CentreName::new(name).map_err(|error| ClusterError::Shape(error.to_string()))?;
            Ok((named, LocalCluster::open(&folder.join(name))?))
        };
        let centres = shape.names.iter().map(open).collect::<Result<_, ClusterError>>()?;
        Ok(LocalCentres { folder: folder.to_owned(), shape, centres })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn shape(&self) -> &CentresShape {
        &self.shape
    }

    /// Each data centre, in the order in which they were named.
    pub fn centres(&self) -> &[(CentreName, LocalCluster)] {
        &self.centres
    }

    /// The cluster of one of them.
    pub fn centre(&self, name: &str) -> Option<&LocalCluster> {
        self.centres.iter().find(|(own, _)| own.as_str() == name).map(|(_, cluster)| cluster)
    }

    /// How far each data centre is with its peers, as the first gateways tell. None: that one does not answer.
    pub fn reports(&self) -> Vec<Option<Vec<PeerReport>>> {
        let told =
            |(_, cluster): &(CentreName, LocalCluster)| get(cluster.gateways().next()?.address?, "/metrics").ok();
        let metrics: Vec<Option<String>> = self.centres.iter().map(told).collect();
        let names = || self.centres.iter().map(|(name, _)| name);
        let of = |own: &String| {
            let peers = names().zip(&metrics).filter_map(|(peer, other)| report(peer, own, other.as_deref()));
            peers.collect()
        };
        metrics.iter().map(|own| own.as_ref().map(of)).collect()
    }
}

/// A report from what a data centre's metrics tell of a peer, and the peer's of itself. None: it is no peer.
fn report(peer: &CentreName, own: &str, other: Option<&str>) -> Option<PeerReport> {
    let of_peer = |name: &str| value(own, &format!("{name}{{peer=\"{peer}\"}}"));
    let taken = of_peer("iolite_centre_taken")?;
    Some(PeerReport {
        peer: peer.clone(),
        following: of_peer("iolite_centre_following") == Some(1),
        stopped: of_peer("iolite_centre_stopped") == Some(1),
        lost: of_peer("iolite_centre_lost") == Some(1),
        lost_here: of_peer("iolite_centre_lost_here") == Some(1),
        taken,
        applied: of_peer("iolite_centre_applied").unwrap_or_default(),
        lag: other.and_then(|metrics| Some(entries_between(taken, value(metrics, "iolite_centre_last")?))),
    })
}

fn value(metrics: &str, name: &str) -> Option<u64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Entries behind a place and through another one, if all pages between are full: no outbox has more.
fn entries_between(taken: u64, last: u64) -> u64 {
    let number =
        |place: u64| Place(place).parts().map_or(0, |(page, index)| page * PAGE_ENTRIES_MAX as u64 + index + 1);
    number(last).saturating_sub(number(taken))
}

fn write(folder: &Path, shape: &CentresShape) -> Result<(), ClusterError> {
    make_folder(folder)?;
    let addresses = shape.addresses()?;
    let authority = match shape.cluster.plain {
        true => None,
        false => Some(Authority::create(&folder.join(AUTHORITY))?),
    };
    let mut token = None;
    for (place, name) in shape.names.iter().enumerate() {
        let own = folder.join(name);
        let cluster = LocalCluster::create(&own, &shape.cluster(place))?;
        // Clients have one token for all, wherever they are.
        let token = token.get_or_insert(cluster.token()?);
        iolite_host::write_durably(&own.join(TOKEN), token.as_bytes(), iolite_host::Readers::Owner)
            .map_err(|source| ClusterError::Io { path: own.join(TOKEN), source })?;
        if let Some(authority) = &authority {
            let name = CentreName::new(name).map_err(|error| ClusterError::Shape(error.to_string()))?;
            authority.issue(&centre_node(&name), Authority::NODE_VALID, &own.join(CERTIFICATES))?;
        }
        for (number, gateway) in cluster.gateways().enumerate() {
            // The others reach the first one.
            let listen = (number == 0).then_some(addresses[place]);
            gateway.edit(|file| file.centre = Some(table(shape, place, &addresses, listen)))?;
        }
    }
    // It says that all is there.
    write_file(&folder.join(SHAPE), &toml::to_string(shape).expect("numbers, texts and lists"))
}

fn table(shape: &CentresShape, place: usize, addresses: &[SocketAddr], listen: Option<SocketAddr>) -> CentreTable {
    let peer = |(other, name): (usize, &String)| PeerTable {
        name: name.clone(),
        address: addresses[other].to_string(),
        rtt_ms: shape.rtt_ms(place, other),
    };
    CentreTable {
        group: GROUP.to_owned(),
        name: shape.names[place].clone(),
        k: Some(shape.k),
        listen,
        certificates: (!shape.cluster.plain).then(|| Path::new("..").join(CERTIFICATES)),
        peers: shape.names.iter().enumerate().filter(|(other, _)| *other != place).map(peer).collect(),
    }
}

/// The name of a group on one machine.
const GROUP: &str = "local";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_their_round_trips_in_order() {
        let shape = CentresShape { rtt_ms: vec![80.0, 90.0, 170.0], ..CentresShape::new(3) };
        assert_eq!(shape.problem(), None);
        assert_eq!([(0, 1), (2, 0), (1, 2)].map(|(one, other)| shape.rtt_ms(one, other)), [80.0, 90.0, 170.0]);
        let shape = CentresShape { rtt_ms: vec![50.0], ..CentresShape::new(3) };
        assert_eq!(shape.rtt_ms(1, 2), 50.0);
        assert_eq!(CentresShape::new(3).rtt_ms(1, 2), 0.0);
    }

    #[test]
    fn metrics_tell_how_far_a_peer_is() {
        let (us, asia) = (CentreName::new("us").expect("a name"), CentreName::new("asia").expect("a name"));
        let taken = Place::new(1, 3).0;
        let own = format!(
            "iolite_centre_taken{{peer=\"us\"}} {taken}\niolite_centre_following{{peer=\"us\"}} 1\niolite_centre_lost_here{{peer=\"us\"}} 1\n"
        );
        let other = format!("iolite_centre_last {}\n", Place::new(2, 0).0);
        let lag = Some(PAGE_ENTRIES_MAX as u64 - 3);
        let told = PeerReport {
            peer: us.clone(),
            following: true,
            stopped: false,
            lost: false,
            lost_here: true,
            taken,
            applied: 0,
            lag,
        };
        assert_eq!(report(&us, &own, Some(&other)), Some(told.clone()));
        assert_eq!(report(&us, &own, None), Some(PeerReport { lag: None, ..told }));
        assert_eq!(report(&asia, &own, Some(&other)), None);
        assert_eq!(
            [(0, 0), (0, Place::new(0, 0).0), (taken, taken)].map(|(one, other)| entries_between(one, other)),
            [0, 1, 0]
        );
    }

    #[test]
    fn a_group_that_cannot_be_is_told_why() {
        let with = |change: &dyn Fn(&mut CentresShape)| {
            let mut shape = CentresShape::new(3);
            change(&mut shape);
            shape.problem().expect("it is wrong")
        };
        for (problem, told) in [
            (with(&|shape| shape.names.clear()), "1 to 7 data centres, and not 0"),
            (with(&|shape| shape.cluster.gateways = 2), "one gateway for now, and not 2"),
            (with(&|shape| shape.names[1] = "A".into()), "\"A\" is no name"),
            (with(&|shape| shape.names[1] = "a".into()), "two data centres have one name"),
            (with(&|shape| shape.k = 4), "k is 4"),
            (with(&|shape| shape.rtt_ms = vec![1.0, 2.0]), "3 data centres have 3 pairs"),
            (with(&|shape| shape.rtt_ms = vec![-1.0]), "and not -1"),
            (with(&|shape| shape.rtt_ms = vec![f64::NAN]), "and not NaN"),
            (with(&|shape| shape.names[1] = "authority".into()), "authority is the folder"),
            (with(&|shape| shape.cluster.ports = Ports::From(65_000)), "choose one of 1 to 64435"),
            (with(&|shape| shape.cluster.replicas = 2), "1, 3, 5 or 7 replicas"),
        ] {
            assert!(problem.contains(told), "{problem}");
        }
    }
}
