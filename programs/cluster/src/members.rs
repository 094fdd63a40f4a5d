//! Changing the groups of a local cluster that runs: making the replicas that join, and turning those off that have left.
//!
//! Invariants:
//! - who leaves is stopped only once a majority of the group that follows takes part in it, with all of it that answer;
//! - the number of a replica that is gone is not used again, and none that may have promised something is made anew.
//!
//! What is cut off goes on where it was by the same command: replicas that were made and are of no group yet are used first.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use iolite_host::{Authority, LinkSecurity, PidFile};
use iolite_node::NodeRole;
use iolite_node::config::{Begins, Cluster, ClusterFile, GroupPlace, ReplicaPlace, ShardPlace, SplitPlace, place_of};
use iolite_replication::node::{ReplicaId, ShardId};
use iolite_values::CoordinatorId;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::creation::HOST;
use crate::joining::Joining;
use crate::local::AUTHORITY;
use crate::node_files::{NodeFiles, make_folder};
use crate::operator::{Operator, operator_id};
use crate::split_places::described;
use crate::{ClusterError, LocalCluster, LocalNode, OperatorError, PlaceCheck, PlaceProblem, Ports, free_ports};

const OPERATOR_FOLDER: &str = "operator";
/// The certificate that is issued for one command. A link warns of what ends within a month.
const COMMAND_VALID: Duration = Duration::from_secs(40 * 24 * 3600);
/// Where the folders of replicas go that are gone: nothing is deleted.
const RETIRED: &str = "retired";

/// What is to become of a shard's group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// New replicas take the places of these.
    Replace(BTreeSet<u64>),
    /// It has so many replicas. Those that do not run leave first, then those with the highest numbers.
    Resize { shard: u32, replicas: usize },
    /// New replicas take the places of all, which are these. They are told so that a move that is asked for again is not made again.
    Move { shard: u32, from: BTreeSet<u64> },
    /// The shard that has this place becomes two, with new replicas.
    Split { at: Begins, check: PlaceCheck },
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub joined: Vec<NodeRole>,
    /// Their folders are in `retired`.
    pub retired: Vec<NodeRole>,
}

/// A change of one shard's group.
struct Plan {
    shard: u32,
    leaving: BTreeSet<u64>,
    /// So many new ones.
    joining: usize,
}

impl LocalCluster {
    /// Changes the groups of a cluster that runs, and returns when the replicas that left are stopped. Each step may take `within`.
    ///
    /// # Errors
    /// [`ClusterError`]. The same change again goes on where it was.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn change(&self, change: &Change, program: &Path, within: Duration) -> Result<Changed, ClusterError> {
        // Else all that follows would be in vain.
        ClusterFile::read(&self.file())?;
        make_folder(&self.folder().join(OPERATOR_FOLDER))?;
        let _alone = PidFile::take(&self.folder().join(OPERATOR_FOLDER).join("pid"))?;
        let operator = Operator::open(&self.file(), self.command_security(operator_id())?, within)?;
        let file = operator.refresh().await?;
        let mut changed = Changed::default();
        if let Change::Split { at, check } = change {
            changed.joined = self.split((at, *check), &operator, program).await?;
        }
        for plan in self.plans(change, &file)? {
            let (joining, mut started) = self.join(&plan, program)?;
            let file = operator.file().await?;
            let place = file.shard(plan.shard).ok_or(OperatorError::NoShard { shard: plan.shard })?;
            let staying = place.replicas.iter().map(|replica| replica.number).filter(|id| !plan.leaving.contains(id));
            let members: Vec<u64> = staying.chain(joining.iter().copied()).collect();
            started.beside(operator.change(plan.shard, &members)).await?;
            changed.joined.extend(joining.into_iter().map(|number| NodeRole::Store(ReplicaId(number))));
        }
        for place in operator.file().await?.shards.iter().flat_map(|shard| &shard.leaving) {
            changed.retired.push(self.retire(place.number, within)?);
        }
        Ok(changed)
    }

    /// With which a command that is a node like a gateway reaches the replicas: by a certificate that is issued for it alone.
    ///
    /// # Errors
    /// [`ClusterError`], about the authority.
    pub fn command_security(&self, id: CoordinatorId) -> Result<LinkSecurity, ClusterError> {
        let Some(authority) = self.authority()? else { return Ok(LinkSecurity::PlainOnLoopback) };
        let role = NodeRole::Gateway(id);
        let folder = self.folder().join(OPERATOR_FOLDER).join(role.to_string());
        forget_ended(&folder)?;
        // Others may begin at the same time.
        let own = folder.join(std::process::id().to_string());
        Ok(LinkSecurity::Tls(authority.issue(&role.name(), COMMAND_VALID, &own)?))
    }

    /// What is still to be done for it.
    fn plans(&self, change: &Change, file: &ClusterFile) -> Result<Vec<Plan>, ClusterError> {
        let members = |shard: u32| -> Result<Vec<u64>, ClusterError> {
            let place = file.shard(shard).ok_or(OperatorError::NoShard { shard })?;
            Ok(place.replicas.iter().map(|replica| replica.number).collect())
        };
        match change {
            Change::Split { .. } => Ok(Vec::new()),
            Change::Replace(replaced) => replace(replaced, file),
            Change::Move { shard, from } => {
                let plan = |leaving: BTreeSet<u64>| Plan { shard: *shard, joining: leaving.len(), leaving };
                Ok(moved(*shard, from, file)?.map(plan).into_iter().collect())
            }
            Change::Resize { shard, replicas } => {
                let own = members(*shard)?;
                let joining = replicas.saturating_sub(own.len());
                let leaving = self.least_useful(&own)?.into_iter().take(own.len().saturating_sub(*replicas)).collect();
                Ok(vec![Plan { shard: *shard, leaving, joining }])
            }
        }
    }

    /// Those that do not run, and then the highest numbers.
    fn least_useful(&self, members: &[u64]) -> Result<Vec<u64>, ClusterError> {
        let mut sorted = Vec::new();
        for number in members {
            let runs = match self.store(*number) {
                Some(node) => node.pid()?.is_some(),
                None => false,
            };
            sorted.push((runs, std::cmp::Reverse(*number)));
        }
        sorted.sort_unstable();
        Ok(sorted.into_iter().map(|(_, number)| number.0).collect())
    }

    fn store(&self, number: u64) -> Option<&LocalNode> {
        self.nodes().iter().find(|node| node.role == NodeRole::Store(ReplicaId(number)))
    }

    /// Makes replicas, or takes those that are there already, and starts what does not run.
    fn join(&self, plan: &Plan, program: &Path) -> Result<(Vec<u64>, Joining), ClusterError> {
        let mut file = ClusterFile::read(&self.file())?;
        let next = file.next_replica();
        let shard = file.shard_mut(plan.shard).ok_or(OperatorError::NoShard { shard: plan.shard })?;
        let missing = plan.joining.saturating_sub(shard.joining.len());
        for number in (next..).take(missing) {
            shard.joining.push(ReplicaPlace { number, address: self.address(number, 1)?.to_string() });
        }
        let joining: Vec<u64> = shard.joining.iter().take(plan.joining).map(|replica| replica.number).collect();
        self.write(&file)?;
        let started = self.make_and_start(&joining, program)?;
        Ok((joining, started))
    }

    /// Replicas that are in the cluster's file, and may be half made or stopped.
    fn make_and_start(&self, replicas: &[u64], program: &Path) -> Result<Joining, ClusterError> {
        let cluster = Cluster::read(&self.file())?;
        let (shape, authority) = (self.shape()?, self.authority()?);
        let files = NodeFiles { folder: self.folder(), shape: &shape, authority: authority.as_ref() };
        let mut joining = Joining::default();
        for number in replicas {
            let replica = ReplicaId(*number);
            let folder = self.folder().join(NodeRole::Store(replica).to_string());
            let kept = cluster.shard_of(replica).ok_or(ClusterError::NoReplica { replica: *number })?;
            if !LocalNode::is_made(&folder) {
                files.write_store(cluster.store, &kept.group, replica, self.address(*number, 2)?)?;
            }
            let node = LocalNode::open(&folder)?;
            let child = if node.pid()?.is_none() { Some(node.start(program)?) } else { None };
            joining.add(node, child);
        }
        Ok(joining)
    }

    /// Those of the replicas whose folders are there.
    fn made(&self, replicas: &[u64]) -> Vec<u64> {
        let folder = |number| self.folder().join(NodeRole::Store(ReplicaId(number)).to_string());
        replicas.iter().copied().filter(|number| LocalNode::is_made(&folder(*number))).collect()
    }

    /// Writes what is to be split where into the cluster's file, with new replicas, as many for each part as the shard has. Returns the shard; what
    /// was planned before goes on.
    fn plan_split(&self, at: &Begins, file: &mut ClusterFile) -> Result<u32, ClusterError> {
        if let Some(planned) = file.splits.iter().find(|split| split.at == *at) {
            return Ok(planned.parent.number);
        }
        let cluster = Cluster::of(file).map_err(OperatorError::Problem)?;
        let place = place_of(ShardId(0), Some(at)).map_err(OperatorError::Problem)?;
        let parent = cluster.shards.of_row(place.table, &place.key);
        if cluster.shards.extent(parent).is_some_and(|extent| extent.from == place) {
            return Err(OperatorError::from(PlaceProblem::Begun { place: described(at) }).into());
        }
        let shard = file.shard(parent.0).ok_or(OperatorError::NoShard { shard: parent.0 })?.clone();
        let replicas = shard.replicas.iter().map(|replica| replica.number).collect();
        let group = GroupPlace { number: shard.number, epoch: shard.epoch, replicas };
        let parts = [self.part(file, &shard)?, self.part(file, &shard)?];
        let [lower, upper] = parts;
        let begins = shard.begins.clone();
        file.splits.push(SplitPlace { done: false, at: at.clone(), begins, parent: group, lower, upper });
        // Whether the place is inside of the shard.
        Cluster::of(file).map_err(OperatorError::Problem)?;
        Ok(shard.number)
    }

    /// A new shard with as many new replicas as this one has.
    fn part(&self, file: &mut ClusterFile, shard: &ShardPlace) -> Result<GroupPlace, ClusterError> {
        let (number, next) = (file.next_shard(), file.next_replica());
        let numbers: Vec<u64> = (next..).take(shard.replicas.len()).collect();
        let place = |number: &u64| -> Result<ReplicaPlace, ClusterError> {
            Ok(ReplicaPlace { number: *number, address: self.address(*number, 1)?.to_string() })
        };
        let replicas = numbers.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let (joining, leaving) = (Vec::new(), Vec::new());
        file.shards.push(ShardPlace { number, epoch: 0, begins: None, replicas, joining, leaving });
        Ok(GroupPlace { number, epoch: 0, replicas: numbers })
    }

    async fn split(
        &self,
        (at, check): (&Begins, PlaceCheck),
        operator: &Operator,
        program: &Path,
    ) -> Result<Vec<NodeRole>, ClusterError> {
        let mut file = operator.file().await?;
        // One that is planned was checked. While it is made, the store may not answer.
        let is_planned = file.splits.iter().any(|split| split.at == *at);
        let at = if is_planned { at.clone() } else { operator.place(at, check).await? };
        let shard = self.plan_split(&at, &mut file)?;
        self.write(&file)?;
        let split = file.split_mut(shard).ok_or(OperatorError::NoSplit { shard })?.clone();
        let parts = [split.lower.replicas, split.upper.replicas].concat();
        let mut joining = match split.done {
            true => Joining::default(),
            // Who is not there any more has lost its disk, and is replaced by a change of the part's group.
            false if operator.has_chosen_split(shard).await? => self.make_and_start(&self.made(&parts), program)?,
            false => self.make_and_start(&parts, program)?,
        };
        joining.beside(operator.split(shard, check)).await?;
        Ok(if split.done { Vec::new() } else { parts.into_iter().map(|id| NodeRole::Store(ReplicaId(id))).collect() })
    }

    fn authority(&self) -> Result<Option<Authority>, ClusterError> {
        let plain = self.shape()?.plain;
        Ok(if plain { None } else { Some(Authority::open(&self.folder().join(AUTHORITY))?) })
    }

    /// Of a replica: where it listens (kind 1), or its probes (kind 2).
    fn address(&self, number: u64, kind: u16) -> Result<SocketAddr, ClusterError> {
        let port = match self.shape()?.ports {
            Ports::From(first) => u16::try_from(number).ok().and_then(|number| first.checked_add(100 * kind + number)),
            Ports::Free => free_ports(&[HOST], 1).map_err(ClusterError::Port)?.first().copied(),
        };
        let none =
            || ClusterError::Shape(format!("there is no port for replica {number}: choose free ones, with --port 0"));
        Ok(SocketAddr::new(HOST, port.ok_or_else(none)?))
    }

    /// Stops a replica, puts its folder aside, and takes it out of the cluster's file.
    fn retire(&self, number: u64, within: Duration) -> Result<NodeRole, ClusterError> {
        let role = NodeRole::Store(ReplicaId(number));
        let folder = self.folder().join(role.to_string());
        if folder.is_dir() {
            self.stop(|node| node.role == role, within)?;
            let retired = self.folder().join(RETIRED);
            make_folder(&retired)?;
            let aside = retired.join(role.to_string());
            std::fs::rename(&folder, &aside).map_err(|source| ClusterError::Io { path: aside, source })?;
        }
        let mut file = ClusterFile::read(&self.file())?;
        file.forget(number);
        self.write(&file)?;
        Ok(role)
    }

    fn write(&self, file: &ClusterFile) -> Result<(), ClusterError> {
        let path = self.file();
        file.write(&path).map_err(|source| ClusterError::Io { path, source })
    }
}

/// Removes what commands that have ended were issued: a folder for each, by the number of its process, which may be this one's now. (A certificate
/// that is issued into a folder leaves the authorities that are there, and one that was replaced would be trusted for ever.)
fn forget_ended(folder: &Path) -> Result<(), ClusterError> {
    let about = |source| ClusterError::Io { path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(about)?,
    };
    for entry in entries {
        let entry = entry.map_err(about)?;
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(process) = number.and_then(Pid::from_raw) else { continue };
        let has_ended = test_kill_process(process) == Err(Errno::SRCH);
        if has_ended || process == rustix::process::getpid() {
            match std::fs::remove_dir_all(entry.path()) {
                // Another command has done it.
                Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(about)?,
            }
        }
    }
    Ok(())
}

/// Each shard's part of it. Those that have left already are only to be turned off.
fn replace(replaced: &BTreeSet<u64>, file: &ClusterFile) -> Result<Vec<Plan>, ClusterError> {
    let mut plans = Vec::new();
    let mut found = BTreeSet::new();
    for shard in &file.shards {
        let is_meant = |place: &&ReplicaPlace| replaced.contains(&place.number);
        let leaving: BTreeSet<u64> = shard.replicas.iter().filter(is_meant).map(|place| place.number).collect();
        found.extend(leaving.iter().copied());
        found.extend(shard.leaving.iter().filter(is_meant).map(|place| place.number));
        if !leaving.is_empty() {
            plans.push(Plan { shard: shard.number, joining: leaving.len(), leaving });
        }
    }
    match replaced.difference(&found).next() {
        None => Ok(plans),
        Some(unknown) => Err(ClusterError::NoReplica { replica: *unknown }),
    }
}

/// Which replicas of a shard have still to leave for it to be moved from these: all, or, where it was moved already, none. All of them are gone
/// then, or leave this shard: a replica that is anywhere else was never moved from.
fn moved(shard: u32, from: &BTreeSet<u64>, file: &ClusterFile) -> Result<Option<BTreeSet<u64>>, ClusterError> {
    if let Some(unknown) = from.iter().find(|number| **number >= file.next_replica()) {
        return Err(ClusterError::NoReplica { replica: *unknown });
    }
    let place = file.shard(shard).ok_or(OperatorError::NoShard { shard })?;
    let members: BTreeSet<u64> = place.replicas.iter().map(|replica| replica.number).collect();
    if *from == members {
        return Ok(Some(members));
    }
    let present = file.shards.iter().flat_map(ShardPlace::all).filter(|replica| from.contains(&replica.number));
    if present.into_iter().all(|replica| place.leaving.contains(replica)) {
        return Ok(None);
    }
    let names = |numbers: &BTreeSet<u64>| numbers.iter().map(|id| format!("store-{id}")).collect::<Vec<_>>().join(",");
    Err(ClusterError::OtherMembers { shard, from: names(from), members: names(&members) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved_from(from: &[u64]) -> Result<Option<BTreeSet<u64>>, String> {
        let set = |numbers: &[u64]| numbers.iter().copied().collect::<BTreeSet<u64>>();
        let at = |number: &u64| ReplicaPlace { number: *number, address: "localhost:1".to_owned() };
        let shard = |number: u32, replicas: &[u64], leaving: &[u64]| ShardPlace {
            number,
            epoch: 0,
            begins: None,
            replicas: replicas.iter().map(at).collect(),
            joining: Vec::new(),
            leaving: leaving.iter().map(at).collect(),
        };
        let shards = vec![shard(4, &[6, 7, 8], &[2]), shard(5, &[3, 4, 5], &[])];
        let file = ClusterFile { store: String::new(), last_replica: None, shards, splits: Vec::new() };
        moved(4, &set(from), &file).map_err(|error| error.to_string())
    }

    #[test]
    fn what_commands_that_ended_were_issued_is_removed() {
        let folder = std::env::temp_dir().join(format!("iolite-issued-{}", std::process::id()));
        let mut ended = std::process::Command::new("true").spawn().expect("it is everywhere");
        ended.wait().expect("it was started");
        let own = std::process::id().to_string();
        for name in [own.clone(), ended.id().to_string(), "1".to_owned(), "certificates".to_owned()] {
            std::fs::create_dir_all(folder.join(name)).expect("a temporary folder");
        }
        forget_ended(&folder).expect("they can be removed");
        let left =
            std::fs::read_dir(&folder).expect("it is there").map(|entry| entry.expect("it can be read").file_name());
        let left: BTreeSet<_> = left.collect();
        assert_eq!(
            left,
            BTreeSet::from(["1".into(), "certificates".into()]),
            "of a process that lives, and of nobody's"
        );
        assert!(forget_ended(&folder.join("missing")).is_ok());
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn a_shard_is_moved_from_those_that_keep_it_and_not_again() {
        assert_eq!(moved_from(&[6, 7, 8]), Ok(Some([6, 7, 8].into())));
        assert_eq!(moved_from(&[0, 1, 2]), Ok(None), "they have left");
        assert!(moved_from(&[9]).is_err_and(|error| error.contains("has the replica 9")));
        // Some of them, and those of another shard.
        for wrong in [[5, 6, 7], [3, 4, 5]] {
            let other = moved_from(&wrong).expect_err("they never kept it together");
            assert!(other.contains("shard 4 is kept by store-6,store-7,store-8"), "{other}");
        }
    }
}
