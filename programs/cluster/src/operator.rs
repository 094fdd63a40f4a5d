//! Changing who keeps the shards of a cluster that runs, on whichever machines its nodes are.
//!
//! Invariants:
//! - a group is changed only to one of which a majority answers and has what the shard has: a group that never comes up would be waited for for ever;
//! - the cluster's description tells of a group only once it was chosen, and has begun: a majority takes part;
//! - what somebody else writes into a description that is in etcd meanwhile stays there.
//!
//! What is cut off is done by the same command again: it begins with what the replicas say.
//!
//! Source: docs/decisions/0009-sealed-epochs.md.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_host::{Clock, LinkSecurity, Metrics, random_id};
use iolite_node::config::{Begins, ClusterFile, ShardPlace, split_of};
use iolite_node::{ClusterSource, Directory, StoreClient, StoreClientSettings};
use iolite_replication::node::{Configuration, Group, ReplicaId, Report, Split};
use iolite_replication::{configuration_write, split_write};
use iolite_store::{CommitReply, Reply, Request};
use iolite_values::{
    Attempt, ClientId, CoordinatorId, Counter, Decision, Id, Level, Schema, Timestamp, Transaction, TransactionId,
    Write,
};
use tokio::time::{Instant, sleep, timeout_at};

use crate::ability::{Ability, Inability};
use crate::reports::{Reports, replicas_of, reports_of};
use crate::split_places::{Written, typed};
use crate::store_schema::read_schema;
use crate::taking_part::waited_for;
use crate::{OperatorError, PlaceCheck};

/// Who changes groups is a coordinator, like a gateway: its number is the last one, and `gateway-4095` the name in its certificate.
pub fn operator_id() -> CoordinatorId {
    CoordinatorId::new(CoordinatorId::MAX).expect("the last one")
}

/// Requests are made again after so long.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Who changes groups.
#[derive(Debug)]
pub struct Operator {
    client: StoreClient,
    file: PathBuf,
    within: Duration,
}

impl Operator {
    /// Dials the replicas of a cluster's file. Each step of a change may take `within`.
    ///
    /// # Errors
    /// [`OperatorError`], about files.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn open(file: &Path, security: LinkSecurity, within: Duration) -> Result<Operator, OperatorError> {
        let client = StoreClient::open(client_settings(file, operator_id(), security)?)?;
        Ok(Operator { client, file: file.to_owned(), within })
    }

    /// The cluster's description, as it is.
    ///
    /// # Errors
    /// [`OperatorError`], about the file or etcd.
    pub async fn file(&self) -> Result<ClusterFile, OperatorError> {
        Ok(ClusterSource::new(&self.file).read().await?.file)
    }

    /// For people: what is to be done so that nodes learn of a change.
    ///
    /// # Errors
    /// [`OperatorError`], about the file.
    pub fn how_nodes_learn(&self) -> Result<&'static str, OperatorError> {
        let is_in_etcd = ClusterSource::new(&self.file).is_in_etcd()?;
        Ok(if is_in_etcd {
            "Nodes read that in etcd within a second"
        } else {
            "Bring the cluster's file to every node"
        })
    }

    /// Changes the description, again when somebody else has changed it meanwhile: a change that was made already makes no difference.
    async fn edit(
        &self,
        change: impl Fn(&mut ClusterFile) -> Result<(), OperatorError>,
    ) -> Result<ClusterFile, OperatorError> {
        let mut source = ClusterSource::new(&self.file);
        loop {
            let read = source.read().await?;
            let mut file = read.file.clone();
            change(&mut file)?;
            if file == read.file || source.replace(&file, read.revision).await? {
                return Ok(file);
            }
        }
    }

    async fn reports_of(&self, replicas: &[ReplicaId]) -> Result<Reports, OperatorError> {
        reports_of(&self.client, replicas).await
    }

    /// Brings the file up to the groups that the replicas know, and returns it: a command before may have been cut off. Each of these groups has
    /// begun then.
    ///
    /// # Errors
    /// [`OperatorError`].
    pub async fn refresh(&self) -> Result<ClusterFile, OperatorError> {
        let mut file = self.file().await?;
        let reports = self.reports_of(&replicas_of(&file)).await?;
        // One that has ended has no group any more.
        for shard in file.clone().shards.iter().filter(|shard| !shard.replicas.is_empty()) {
            let groups = reports.values().map(|report| &report.group).filter(|group| group.shard.0 == shard.number);
            let Some(latest) = groups.max_by_key(|group| group.epoch) else { continue };
            if latest.epoch.0 > shard.epoch {
                self.expect_taking_part(latest).await?;
                file = self.note(latest).await?;
            }
        }
        Ok(file)
    }

    /// Gives a shard to these replicas. Those that are new have to be `joining` in the file, and to run. Returns the file as it is then: who is
    /// `leaving` may be turned off.
    ///
    /// # Errors
    /// [`OperatorError`]. Where it says that the group was chosen, the shard goes over to it as soon as it can.
    ///
    /// Cancelling it leaves the shard with the one group or the other; the file is brought up to that by the next command.
    pub async fn change(&self, shard: u32, members: &[u64]) -> Result<ClusterFile, OperatorError> {
        let file = self.refresh().await?;
        let group = group_of(&file, shard)?;
        let wanted: Vec<ReplicaId> = members.iter().copied().map(ReplicaId).collect();
        let next = Configuration::after(&group, &wanted)?;
        let known = file.shard(shard).ok_or(OperatorError::NoShard { shard })?;
        if let Some(unknown) = wanted.iter().find(|id| known.all().all(|place| place.number != id.0)) {
            return Err(OperatorError::Unknown { replica: *unknown, shard });
        }
        if group.members() == next.group().members() {
            return Ok(file);
        }
        self.expect_able(&group, next.group()).await?;
        if self.choose(configuration_write(&next)).await? {
            self.expect_taking_part(next.group()).await?;
            return self.note(next.group()).await;
        }
        let file = self.refresh().await?;
        let now = group_of(&file, shard)?;
        match now.epoch.cmp(&next.group().epoch) {
            Ordering::Less => Err(OperatorError::InDoubt { shard }),
            Ordering::Equal if now == *next.group() => Ok(file),
            Ordering::Equal | Ordering::Greater => {
                Err(OperatorError::Overtaken { shard, members: numbers(now.members()) })
            }
        }
    }

    /// Writes into the description that a group has begun, unless a later one is in it.
    async fn note(&self, group: &Group) -> Result<ClusterFile, OperatorError> {
        let shard = group.shard.0;
        self.edit(|file| {
            let place = file.shard_mut(shard).ok_or(OperatorError::NoShard { shard })?;
            if place.epoch < group.epoch.0 { become_group(place, group) } else { Ok(()) }
        })
        .await
    }

    /// Asks these replicas again and again, until their reports leave no problem, or the time is up.
    async fn wait_until(
        &self,
        replicas: &[ReplicaId],
        mut problem: impl FnMut(&Reports) -> Option<OperatorError>,
    ) -> Result<(), OperatorError> {
        let until = Instant::now() + self.within;
        while let Some(error) = problem(&self.reports_of(replicas).await?) {
            if Instant::now() >= until {
                return Err(error);
            }
            sleep(ASK_AGAIN_AFTER).await;
        }
        Ok(())
    }

    /// Waits until those that are new have what the shard has, and a majority of the next group answers.
    async fn expect_able(&self, group: &Group, next: &Group) -> Result<(), OperatorError> {
        let all: BTreeSet<ReplicaId> = group.members().iter().chain(next.members()).copied().collect();
        let all: Vec<ReplicaId> = all.into_iter().collect();
        let mut ability = Ability::new(group, next);
        self.wait_until(&all, |reports| {
            let Inability { behind, silent } = ability.problem(reports)?;
            Some(OperatorError::Unable { behind, silent, within: self.within })
        })
        .await
    }

    /// Commits the write. `false`: another operator was first, or it is not known what became of it; the replicas know.
    async fn choose(&self, write: Write) -> Result<bool, OperatorError> {
        let until = Instant::now() + self.within;
        let standing = self.client.standing();
        let standing = timeout_at(until, standing).await.map_err(|_| OperatorError::NoMajority(self.within))??;
        let client = ClientId(Id::from_u128(random_id()));
        let (counter, decision) = (Counter(1), Decision::Commit(vec![write]));
        let id = TransactionId { client, counter };
        let (snapshot, reads, level) = (standing.resolved, Vec::new(), Level::Strict);
        let transaction = Transaction { id, attempt: Attempt(1), snapshot, reads, level, decision };
        let request = Request::Commit { transaction, floor: Timestamp::ZERO, within: Some(self.within) };
        let reply = self.client.request(request).await?;
        // Nobody asks for its outcome any more. Whether this arrives does not matter.
        let acknowledge = Request::Acknowledge { client, through: counter };
        let _ = timeout_at(Instant::now() + ASK_AGAIN_AFTER, self.client.request(acknowledge)).await;
        match reply {
            Reply::Commit(CommitReply::Completed(_)) => Ok(true),
            Reply::Commit(CommitReply::Conflict { .. } | CommitReply::Forgotten | CommitReply::InDoubt { .. }) => {
                Ok(false)
            }
            Reply::Refused(refusal) => Err(OperatorError::Refused(refusal.to_string())),
            other => Err(OperatorError::Refused(format!("{other:?}"))),
        }
    }

    async fn expect_taking_part(&self, group: &Group) -> Result<(), OperatorError> {
        self.wait_until(group.members(), |reports| {
            let (shard, within) = (group.shard.0, self.within);
            let error =
                |missing: Vec<ReplicaId>| OperatorError::NotTakingPart { shard, missing: numbers(&missing), within };
            waited_for(group, reports).map(error)
        })
        .await
    }

    /// Splits a shard as the cluster's file says, where the replicas of both parts have to be, and to run. Returns the file as it is then: the
    /// replicas of the shard are `leaving`, and may be turned off.
    ///
    /// # Errors
    /// [`OperatorError`]. Once the split was chosen it cannot be taken back: the shard waits for its parts.
    ///
    /// Cancelling it is as of [`Operator::change`].
    pub async fn split(&self, shard: u32, check: PlaceCheck) -> Result<ClusterFile, OperatorError> {
        let mut file = self.refresh().await?;
        let place = file.split_mut(shard).ok_or(OperatorError::NoSplit { shard })?.clone();
        let split = split_of(&place).map_err(OperatorError::Problem)?;
        if !place.done {
            let parent = group_of(&file, shard)?;
            let parts = [split.lower().members(), split.upper().members()].concat();
            let reports = self.reports_of(&[parent.members(), &parts[..]].concat()).await?;
            if !is_chosen(&split, &reports) {
                if parent != *split.parent() {
                    return Err(OperatorError::OtherParent { shard });
                }
                typed(&place.at, &self.schema().await?, Written::InFile, check)?;
                self.expect_answers(&parts).await?;
                if !self.choose(split_write(&split)).await? {
                    self.expect_split(&split).await?;
                }
            }
            // A part may have another group by now: one of its replicas was lost, and replaced.
            for part in [split.lower(), split.upper()] {
                self.expect_taking_part(&group_of(&file, part.shard.0)?).await?;
            }
            self.expect_unneeded(&file, shard).await?;
            file = self
                .edit(|file| {
                    file.end_shard(shard);
                    Ok(())
                })
                .await?;
        }
        Ok(file)
    }

    /// A place as it is written on the command line, with values of the types that the table's key has.
    ///
    /// # Errors
    /// [`OperatorError::Place`], when no shard can begin there.
    pub async fn place(&self, at: &Begins, check: PlaceCheck) -> Result<Begins, OperatorError> {
        Ok(typed(at, &self.schema().await?, Written::OnCommandLine, check)?)
    }

    async fn schema(&self) -> Result<Schema, OperatorError> {
        read_schema(&self.client, self.within).await
    }

    /// Whether a replica says that the split of the cluster's file was chosen. All replicas of its parts were made before.
    ///
    /// # Errors
    /// [`OperatorError`].
    pub async fn has_chosen_split(&self, shard: u32) -> Result<bool, OperatorError> {
        let mut file = self.file().await?;
        let place = file.split_mut(shard).ok_or(OperatorError::NoSplit { shard })?.clone();
        let split = split_of(&place).map_err(OperatorError::Problem)?;
        let reports = self.reports_of(&replicas_of(&file)).await?;
        Ok(is_chosen(&split, &reports))
    }

    /// A part needs all of its replicas, for a majority has to come up, and nobody can undo a split.
    async fn expect_answers(&self, parts: &[ReplicaId]) -> Result<(), OperatorError> {
        self.wait_until(parts, |reports| {
            let silent: Vec<ReplicaId> = parts.iter().filter(|id| !reports.contains_key(id)).copied().collect();
            let is_any = !silent.is_empty();
            is_any.then_some(OperatorError::Unable { behind: Vec::new(), silent, within: self.within })
        })
        .await
    }

    async fn expect_split(&self, split: &Split) -> Result<(), OperatorError> {
        let reports = self.reports_of(split.parent().members()).await?;
        let mut known = reports.values().filter_map(|report| report.split.as_ref());
        let shard = split.parent().shard.0;
        match known.next() {
            Some(own) if own == split => Ok(()),
            Some(_) => Err(OperatorError::OtherSplit { shard }),
            None => Err(OperatorError::InDoubt { shard }),
        }
    }

    /// Waits until nobody needs the replicas of the ended shard any more.
    async fn expect_unneeded(&self, file: &ClusterFile, shard: u32) -> Result<(), OperatorError> {
        let left: Vec<ReplicaId> =
            file.shard(shard).into_iter().flat_map(ShardPlace::all).map(|place| ReplicaId(place.number)).collect();
        let keeps = |id: &ReplicaId| file.shards.iter().flat_map(|shard| &shard.replicas).any(|own| own.number == id.0);
        // All of them were turned off, and forgotten.
        if left.is_empty() {
            return Ok(());
        }
        self.wait_until(&left, |reports| {
            let error = || OperatorError::Needed { shard, replicas: numbers(&left), within: self.within };
            (!is_unneeded(reports, keeps)).then(error)
        })
        .await
    }
}

fn is_chosen(split: &Split, reports: &Reports) -> bool {
    reports.values().any(|report| report.split.as_ref() == Some(split))
}

/// Whether one of them was told that no replica that keeps a shard needs them. Where nobody answers, nothing is known.
fn is_unneeded(reports: &Reports, keeps: impl Fn(&ReplicaId) -> bool) -> bool {
    let mut needed = reports.values().filter_map(Report::needed_by);
    needed.any(|needed| !needed.iter().any(&keeps))
}

/// As which node, with which certificate.
pub(crate) fn client_settings(
    file: &Path,
    id: CoordinatorId,
    security: LinkSecurity,
) -> Result<StoreClientSettings, OperatorError> {
    Ok(StoreClientSettings {
        directory: Directory::open(file)?,
        id,
        security,
        delay: Duration::ZERO,
        clock: Clock::start(),
        metrics: Metrics::default(),
    })
}

fn group_of(file: &ClusterFile, shard: u32) -> Result<Group, OperatorError> {
    let place = file.shard(shard).ok_or(OperatorError::NoShard { shard })?;
    place.group().map_err(OperatorError::Problem)
}

fn become_group(shard: &mut ShardPlace, group: &Group) -> Result<(), OperatorError> {
    let members: Vec<u64> = group.members().iter().map(|member| member.0).collect();
    let became = shard.become_group(group.epoch.0, &members);
    became.map_err(|number| OperatorError::Unknown { replica: ReplicaId(number), shard: shard.number })
}

/// For people.
pub(crate) fn numbers(replicas: &[ReplicaId]) -> String {
    replicas.iter().map(|replica| replica.0.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_does_not_say_that_nobody_needs_the_replicas_of_a_shard_that_ended() {
        assert!(!is_unneeded(&Reports::new(), |_| true));
    }
}
