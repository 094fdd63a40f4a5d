//! Taking the chunks that rows name.
//!
//! Invariants: each is taken once, however many cells name it. What is taken is what its name says. What is not there, or is not what its name says, is
//! counted, and told with the cells that name it. In memory are the names of a window, and so many chunks as are read at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_blobs::ObjectName;
use iolite_node::{BlobStore, CellName, Flaw, Unavailable};
use iolite_store::RowAt;
use iolite_values::{StoreIncarnation, Tree};
use tokio::task::JoinHandle;

use super::{BackupError, Taking};
use crate::format::PartKind;
use crate::manifest::ChunksSummary;
use crate::naming::{Name, Naming, Window};
use crate::stored_chunk::{StoredChunk, is_content_of};

/// Names of chunks that a backup holds at a time. It reads the rows again for the others.
pub const NAMES_MAX: usize = 1_000_000;
/// Chunks that a backup reads at a time.
pub const READS_OPEN_MAX: usize = 16;
/// Chunks that a backup lacks and names. The others are only counted.
pub const LACKING_TOLD_MAX: usize = 1_000;

/// A chunk that is not in a backup, though a row of it names the chunk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lack {
    pub cell: CellName,
    pub object: ObjectName,
    pub flaw: Flaw,
}

/// Chunks that are lacking, as far as they are told.
type Lacking = BTreeMap<Name, Flaw>;

impl Taking<'_> {
    /// Takes all chunks that rows name. `told` hears how many there are by now.
    pub async fn chunks(
        &mut self,
        naming: &Naming<'_>,
        told: &mut impl FnMut(ChunksSummary),
    ) -> Result<(ChunksSummary, BTreeSet<Lack>), BackupError> {
        let (mut taken, mut lacking, mut after) = (ChunksSummary::default(), Lacking::new(), None);
        loop {
            let mut window = Window::above(after, NAMES_MAX);
            // A tree is worth a walk if one of its leases is not done with.
            let is_ahead = |tree: &Tree| after.is_none_or(|(done, _)| tree.leases().iter().any(|lease| *lease >= done));
            naming.each(is_ahead, |_, _, name| window.add(name)).await?;
            let (names, cut) = window.into_names();
            self.window(naming.chunks, naming.store, names, (&mut taken, &mut lacking), told).await?;
            after = cut;
            if after.is_none() {
                break;
            }
        }
        Ok((taken, lacks(naming, &lacking).await?))
    }

    /// Takes these chunks, some of which may be lacking.
    async fn window(
        &mut self,
        chunks: &BlobStore,
        store: StoreIncarnation,
        names: BTreeSet<Name>,
        (taken, lacking): (&mut ChunksSummary, &mut Lacking),
        told: &mut impl FnMut(ChunksSummary),
    ) -> Result<(), BackupError> {
        let mut names = names.into_iter();
        let mut ahead: VecDeque<(Name, JoinHandle<Read>)> = VecDeque::new();
        loop {
            while ahead.len() < READS_OPEN_MAX
                && let Some((lease, chunk)) = names.next()
            {
                let (chunks, object) = (chunks.clone(), ObjectName { store, lease, chunk });
                ahead.push_back(((lease, chunk), tokio::spawn(read(chunks, object))));
            }
            let Some(((lease, chunk), read)) = ahead.pop_front() else { return Ok(()) };
            match read.await.expect("a read neither panics nor is cancelled")? {
                Ok(content) => {
                    *taken = taken.with(content.len());
                    self.push(PartKind::Chunks, &StoredChunk { lease, chunk, content }.encode()).await?;
                }
                Err(flaw) => {
                    taken.lacking += 1;
                    if lacking.len() < LACKING_TOLD_MAX {
                        lacking.insert((lease, chunk), flaw);
                    }
                }
            }
            told(*taken);
        }
    }
}

type Read = Result<Result<Vec<u8>, Flaw>, Unavailable>;

async fn read(chunks: BlobStore, object: ObjectName) -> Read {
    Ok(match chunks.load(object).await? {
        None => Err(Flaw::Missing),
        Some(content) if is_content_of(object.chunk, &content) => Ok(content),
        Some(_) => Err(Flaw::Changed),
    })
}

/// The cells that name what is lacking: so many at most.
async fn lacks(naming: &Naming<'_>, lacking: &Lacking) -> Result<BTreeSet<Lack>, BackupError> {
    let mut lacks = BTreeSet::new();
    if lacking.is_empty() {
        return Ok(lacks);
    }
    let leases: BTreeSet<_> = lacking.keys().map(|(lease, _)| *lease).collect();
    let has_some = |tree: &Tree| tree.leases().iter().any(|lease| leases.contains(lease));
    let each = |row: &RowAt, column, name| {
        if let Some(flaw) = lacking.get(&name).copied().filter(|_| lacks.len() < LACKING_TOLD_MAX) {
            let cell = CellName::of(naming.schema, row, column);
            lacks.insert(Lack { cell, object: naming.object(name), flaw });
        }
    };
    naming.each(has_some, each).await?;
    Ok(lacks)
}

#[cfg(test)]
mod tests {
    use iolite_node::ObjectsAddress;
    use iolite_node::config::BlobsConfig;
    use iolite_values::{ChunkId, Id, LeaseName};

    use super::*;
    use crate::format::Part;
    use crate::place::Place;

    #[tokio::test]
    async fn chunks_are_taken_as_they_are_and_those_that_are_lacking_are_told() {
        let folder = std::env::temp_dir().join(format!("iolite-taking-{:032x}", iolite_host::random_id()));
        let config = BlobsConfig::at(ObjectsAddress::Folder(folder.join("blobs")));
        let (chunks, store) = (BlobStore::open(&config).expect("it is made"), StoreIncarnation(Id::from_u128(5)));
        let place = Place::of(folder.join("backup").to_str().expect("plain letters")).expect("a folder");
        let lease = LeaseName(Id::from_u128(7));
        let content = |number: u8| vec![number; 1_000];
        let names: BTreeSet<Name> = (0..40).map(|number| (lease, ChunkId::of(&content(number)))).collect();
        for number in 0..40 {
            let content = content(number);
            let object = ObjectName { store, lease, chunk: ChunkId::of(&content) };
            // Number 3 is not there, and number 4 is something else.
            match number {
                3 => {}
                4 => chunks.store(object, b"something else".into()).await.expect("stored"),
                _ => chunks.store(object, content).await.expect("stored"),
            }
        }
        let mut taking = Taking { place: &place, parts: Vec::new(), part: None };
        let (mut taken, mut lacking, mut last) = (ChunksSummary::default(), Lacking::new(), ChunksSummary::default());
        let done = taking.window(&chunks, store, names, (&mut taken, &mut lacking), &mut |now| last = now).await;
        done.expect("it can be read");
        taking.flush().await.expect("it can be written");
        assert_eq!((taken, last), (ChunksSummary { chunks: 38, bytes: 38_000, lacking: 2 }, taken));
        let flaws = [(3, Flaw::Missing), (4, Flaw::Changed)];
        let flaws = flaws.map(|(number, flaw)| ((lease, ChunkId::of(&content(number))), flaw));
        assert_eq!(lacking, BTreeMap::from(flaws));
        let part = std::fs::read(folder.join("backup/part-00000000")).expect("it was written");
        let Ok(Part::Chunks(read)) = Part::decode(&part) else { panic!("a part of chunks") };
        let is_whole = |stored: &StoredChunk| stored.lease == lease && ChunkId::of(&stored.content) == stored.chunk;
        assert!(read.len() == 38 && read.iter().all(is_whole));
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
