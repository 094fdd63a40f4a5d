//! The data directory of a replica in a group: its journal, and whose it is.
//!
//! Invariant: a replica of a group that has once been started never begins again with nothing. What it promised would be forgotten, and others
//! count on it. So an empty directory is taken only where the operator says that it is the replica's first start, and a directory of another
//! replica or cluster is refused.

use std::io;
use std::path::{Path, PathBuf};

use iolite_engine::{
    Disk, Durability, HoldingDisk, Incarnation, Journal, NativeDisk, NativeDiskError, OpenError, Options, Origin,
    Recovery,
};
use iolite_host::{Readers, random_id, write_durably};
use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId};
use iolite_values::StoreIncarnation;
use serde::{Deserialize, Serialize};

use crate::config::Faults;

/// Whose data it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub store: StoreIncarnation,
    pub shard: ShardId,
    pub replica: ReplicaId,
}

impl Owner {
    fn of(store: StoreIncarnation, replica: ReplicaId, group: &Group) -> Owner {
        Owner { store, shard: group.shard, replica }
    }
}

/// A data directory that is this process's own as long as the journal lives.
pub struct OpenReplica {
    pub journal: Journal<ReplicaDisk>,
    pub recovery: Recovery,
    /// Who kept the shard when the replica was made.
    pub first_group: Group,
}

/// Whether a replica has been here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Never: make its directory.
    First,
    Again,
}

/// Why a replica's data directory cannot be used. Nothing that was in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaDirectoryError {
    #[error(
        "there is no replica in {}. If this is the first start of a new replica, say so with --first. If its disk was lost, it cannot \
         come back under its number: replace it by a new replica", directory.display()
    )]
    Missing { directory: PathBuf },
    #[error("{} holds the data of {found} already: leave --first out", directory.display())]
    NotFirst { directory: PathBuf, found: String },
    #[error("{} holds the data of {found}, and this is {wanted}: correct the configuration", directory.display())]
    OfAnother { directory: PathBuf, found: String, wanted: String },
    #[error(
        "the journal in {} is gone, or is of another history, although a replica was here: its disk is lost. It cannot come back under \
         its number: replace it by a new replica", directory.display()
    )]
    JournalLost { directory: PathBuf },
    #[error(
        "replica {} is of a group that was changed already, and {} has none of its data: if its disk was lost, it cannot come back under its number. \
         A new replica is `joining` first, and becomes a member by `iolite cluster` or `iolite shard`", replica.0, directory.display()
    )]
    MemberAlready { replica: ReplicaId, directory: PathBuf },
    #[error("the file {} is damaged: {problem}. Restore it, or replace the replica", file.display())]
    Damaged { file: PathBuf, problem: String },
    #[error("the file {} cannot be used: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    #[error(transparent)]
    Disk(#[from] NativeDiskError),
    #[error("the data directory {}: {source}", directory.display())]
    Journal { directory: PathBuf, source: OpenError },
}

/// The operating system's, or one that loses on purpose.
pub type ReplicaDisk = Box<dyn Disk + Send>;

pub(crate) const OWNER_FILE: &str = "replica.toml";

/// The file, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnerFile {
    store: String,
    shard: u32,
    replica: u64,
    /// Who kept the shard when the replica was made, and in which epoch.
    members: Vec<u64>,
    epoch: u32,
}

/// Opens the directory of a replica, which is locked as long as the journal lives. At a first start `group` is who keeps the shard; later on the
/// directory says who did then, for the journal counts on it.
///
/// # Errors
/// [`ReplicaDirectoryError`].
pub fn open_replica(
    directory: &Path,
    (store, replica, group): (StoreIncarnation, ReplicaId, &Group),
    start: Start,
    durability: Durability,
    faults: &Faults,
) -> Result<OpenReplica, ReplicaDirectoryError> {
    let file = directory.join(OWNER_FILE);
    let owner = Owner::of(store, replica, group);
    let known = check_owner(directory, read(&file)?, owner, start)?;
    if start == Start::First && group.epoch > Epoch(0) && group.contains(replica) {
        return Err(ReplicaDirectoryError::MemberAlready { replica, directory: directory.to_owned() });
    }
    let native = NativeDisk::open(directory)?;
    let disk: ReplicaDisk = if faults.hold_unsynced { Box::new(HoldingDisk::new(native)) } else { Box::new(native) };
    let options = Options { durability, ..Options::default() };
    let failed = |source| ReplicaDirectoryError::Journal { directory: directory.to_owned(), source };
    let own = Incarnation(store.0.as_u128());
    // A journal that is made although one was here is never taken for it, at no later start either.
    let new = if start == Start::First { own } else { Incarnation(random_id()) };
    let (journal, recovery) = Journal::open(disk, options, new).map_err(failed)?;
    let is_own = match start {
        // What an attempt before has left: no replica has used it.
        Start::First => recovery.records.is_empty() && recovery.checkpoint_chunks.is_empty(),
        Start::Again => recovery.origin == Origin::Recovered,
    };
    if recovery.incarnation != own || !is_own {
        return Err(ReplicaDirectoryError::JournalLost { directory: directory.to_owned() });
    }
    if start == Start::First {
        write(&file, owner, group).map_err(|source| ReplicaDirectoryError::Io { file, source })?;
    }
    Ok(OpenReplica { journal, recovery, first_group: known.unwrap_or_else(|| group.clone()) })
}

/// Returns the replica's first group, if it has been here before.
fn check_owner(
    directory: &Path,
    found: Option<(Owner, Group)>,
    owner: Owner,
    start: Start,
) -> Result<Option<Group>, ReplicaDirectoryError> {
    let directory = directory.to_owned();
    match (start, found) {
        (Start::Again, None) => Err(ReplicaDirectoryError::Missing { directory }),
        (Start::First, Some((found, _))) => {
            Err(ReplicaDirectoryError::NotFirst { directory, found: found.to_string() })
        }
        (Start::Again, Some((found, _))) if found != owner => {
            let (found, wanted) = (found.to_string(), owner.to_string());
            Err(ReplicaDirectoryError::OfAnother { directory, found, wanted })
        }
        (Start::First, None) => Ok(None),
        (Start::Again, Some((_, group))) => Ok(Some(group)),
    }
}

fn read(file: &Path) -> Result<Option<(Owner, Group)>, ReplicaDirectoryError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ReplicaDirectoryError::Io { file: file.to_owned(), source }),
    };
    let damaged = |problem| ReplicaDirectoryError::Damaged { file: file.to_owned(), problem };
    let owner: OwnerFile = toml::from_str(&text).map_err(|error| damaged(error.message().to_owned()))?;
    let store = owner.store.parse().map_err(|_| damaged("`store` is no id".into()))?;
    let members: Vec<ReplicaId> = owner.members.into_iter().map(ReplicaId).collect();
    let group = Group::new(ShardId(owner.shard), Epoch(owner.epoch), &members);
    let group = group.map_err(|error| damaged(error.to_string()))?;
    Ok(Some((Owner::of(StoreIncarnation(store), ReplicaId(owner.replica), &group), group)))
}

/// Durable when it returns: it says that the journal is not to be empty again.
fn write(file: &Path, owner: Owner, group: &Group) -> io::Result<()> {
    let Owner { store, shard, replica } = owner;
    let members = group.members().iter().map(|member| member.0).collect();
    let (store, epoch) = (store.0.to_string(), group.epoch.0);
    let text = OwnerFile { store, shard: shard.0, replica: replica.0, members, epoch };
    let text = toml::to_string(&text).map_err(io::Error::other)?;
    write_durably(file, text.as_bytes(), Readers::All)
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Owner { store, shard, replica } = self;
        write!(f, "replica {} of shard {} of the cluster {}", replica.0, shard.0, store.0)
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::Id;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("iolite-replica-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            Folder(path)
        }

        fn open(&self, replica: u64, start: Start) -> Result<Recovery, String> {
            let store = StoreIncarnation(Id::from_u128(7));
            let members = [1, 2, 3].map(ReplicaId);
            let group = Group::new(ShardId(1), Epoch(0), &members).expect("three");
            let opened = self.open_of((store, ReplicaId(replica), &group), start)?;
            assert_eq!(opened.first_group, group);
            Ok(opened.recovery)
        }

        fn open_of(&self, who: (StoreIncarnation, ReplicaId, &Group), start: Start) -> Result<OpenReplica, String> {
            let opened = open_replica(&self.0, who, start, Durability::Fsync, &Faults::default());
            opened.map_err(|error| error.to_string())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_replica_is_first_once_and_then_always_there() {
        let folder = Folder::new("first");
        assert!(folder.open(2, Start::Again).unwrap_err().contains("--first"));
        assert_eq!(folder.open(2, Start::First).map(|recovery| recovery.origin), Ok(Origin::Created));
        assert_eq!(folder.open(2, Start::Again).map(|recovery| recovery.origin), Ok(Origin::Recovered));
        assert!(folder.open(2, Start::First).unwrap_err().contains("leave --first out"));
        let other = folder.open(3, Start::Again).unwrap_err();
        assert!(other.contains("holds the data of replica 2") && other.contains("this is replica 3"), "{other}");
    }

    #[test]
    fn a_replica_whose_journal_is_gone_does_not_come_back() {
        let folder = Folder::new("lost");
        folder.open(2, Start::First).expect("an empty folder");
        for entry in std::fs::read_dir(&folder.0).expect("it is there") {
            let file = entry.expect("a file").path();
            if file.extension().is_some_and(|extension| extension == "segment") {
                std::fs::remove_file(file).expect("it can be");
            }
        }
        for _ in 0..2 {
            let error = folder.open(2, Start::Again).unwrap_err();
            assert!(error.contains("its disk is lost"), "{error}");
        }
    }

    #[test]
    fn a_first_start_that_was_cut_off_is_made_again() {
        let folder = Folder::new("cut-off");
        folder.open(2, Start::First).expect("an empty folder");
        std::fs::remove_file(folder.0.join(OWNER_FILE)).expect("it is there");
        assert!(folder.open(2, Start::First).is_ok());
    }

    #[test]
    fn a_replica_starts_with_the_group_that_it_was_made_in() {
        let folder = Folder::new("made-in");
        let store = StoreIncarnation(Id::from_u128(7));
        let group =
            |epoch, members: [u64; 3]| Group::new(ShardId(1), Epoch(epoch), &members.map(ReplicaId)).expect("three");
        let fourth = ReplicaId(4);
        let is_member = folder.open_of((store, fourth, &group(2, [1, 2, 4])), Start::First).map(drop).unwrap_err();
        assert!(is_member.contains("`joining` first"), "{is_member}");
        let (before, after) = (group(1, [1, 2, 3]), group(2, [1, 2, 4]));
        drop(folder.open_of((store, fourth, &before), Start::First).expect("an empty folder"));
        let again = folder.open_of((store, fourth, &after), Start::Again).expect("it was there");
        assert_eq!(again.first_group, before);
    }
}
