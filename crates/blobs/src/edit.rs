//! Edits: a new blob that shares with an earlier one what was not touched.
//!
//! Invariants: what changed is named under the lease to come, and a changed blob has at least one such name; other names keep lease and place.
//! A tree lists at most 64 leases: the edit that would need one more takes over the chunks of the lease that has the fewest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_values::{Blob, BlobDigest, BlobError, ChunkId, ChunkName, Chunks, Cutting, LeaseName, Tree};

use crate::build::{Chunk, Finished};
use crate::geometry::{Geometry, Place};
use crate::names::{Names, Need};
use crate::node::encode_node;

/// Why an edit did nothing yet, or does nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Give these chunks, and call again with the same. Nothing was done.
    #[error("chunks that the edit rests on have to be loaded first")]
    Needs(Vec<ChunkId>),
    /// There is no content between the end and there.
    #[error("a blob of {length} bytes ends before {at}: write from its end on, or before")]
    PastTheEnd { at: u64, length: u64 },
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// A blob that is being edited. The blob that it began from stays as it is.
///
/// Each call does all or nothing. A call that [needs](EditError::Needs) chunks is repeated when they were [given](Edit::give).
#[derive(Clone, Debug)]
pub struct Edit {
    before: Blob,
    names: Option<Names>,
    length: u64,
    /// Chunks of content that are another now.
    changed: BTreeMap<u64, ChunkId>,
    /// The chunk of content that was written last. It is closed when another one is written.
    open: Option<(u64, Vec<u8>)>,
    /// Contents that were given, until a call has used them.
    given: BTreeMap<ChunkId, Vec<u8>>,
    made: VecDeque<Chunk>,
}

impl Edit {
    pub fn new(before: &Blob) -> Edit {
        let open = before.bytes().map(|bytes| (0, bytes.to_vec()));
        Edit {
            before: before.clone(),
            names: Names::of(before, false),
            length: before.length(),
            changed: BTreeMap::new(),
            open,
            given: BTreeMap::new(),
            made: VecDeque::new(),
        }
    }

    /// Bytes of content, as edited.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Takes the content of a chunk. One that is not what its name says is not asked for, and is ignored.
    pub fn give(&mut self, content: Vec<u8>) {
        self.given.insert(ChunkId::of(&content), content);
    }

    /// The next chunk that is to be stored on the device. Later calls may ask for it.
    pub fn pop(&mut self) -> Option<Chunk> {
        self.made.pop_front()
    }

    /// Puts bytes in place of those at `at` and behind. The content grows if they reach past its end.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), EditError> {
        let end = at.saturating_add(bytes.len() as u64);
        if at > self.length {
            return Err(EditError::PastTheEnd { at, length: self.length });
        }
        if end > Blob::BYTES_MAX {
            return Err(BlobError::TooLong { length: end }.into());
        }
        let after = Geometry::new(Cutting::Fixed64K, self.length.max(end));
        let touched = after.leaves_with(at..end);
        let before = self.geometry();
        self.load(touched.clone().filter(|leaf| {
            let whole = before.bytes_of(*leaf);
            !whole.is_empty() && (whole.start < at || end < whole.end)
        }))?;
        self.length = self.length.max(end);
        for leaf in touched {
            let place = after.bytes_of(leaf);
            let from = place.start.max(at);
            let to = place.end.min(end);
            let is_new = leaf >= before.leaves() || (from == place.start && to == place.end);
            let mut content = self.take(leaf, is_new);
            let within = (from - place.start) as usize;
            let new = &bytes[(from - at) as usize..(to - at) as usize];
            content.resize(content.len().max(within + new.len()), 0);
            content[within..within + new.len()].copy_from_slice(new);
            self.open = Some((leaf, content));
        }
        self.given.clear();
        Ok(())
    }

    /// Ends the content after so many bytes.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn truncate(&mut self, length: u64) -> Result<(), EditError> {
        if length > self.length {
            return Err(EditError::PastTheEnd { at: length, length: self.length });
        }
        let last = length / Cutting::CHUNK_BYTES_MAX as u64;
        let kept = (length % Cutting::CHUNK_BYTES_MAX as u64) as usize;
        let is_cut = kept > 0 && length < self.length;
        if is_cut {
            self.load([last].into_iter())?;
            let mut content = self.take(last, false);
            content.truncate(kept);
            self.open = Some((last, content));
        }
        self.length = length;
        let leaves = self.geometry().leaves();
        self.changed.retain(|leaf, _| *leaf < leaves);
        self.open.take_if(|(leaf, _)| *leaf >= leaves);
        self.given.clear();
        Ok(())
    }

    /// The edited blob. Store the [last chunks](Finished::pop) before anything names it.
    ///
    /// # Errors
    /// [`EditError::Needs`]: all nodes of the tree have to be given, because the digest covers all names.
    pub fn finish(&mut self) -> Result<Finished, EditError> {
        if self.changed.is_empty() && self.length == self.before.length() && self.is_open_as_before() {
            return Ok(Finished { blob: self.before.clone(), made: VecDeque::new() });
        }
        self.make(false)
    }

    /// The same content with all of its chunks under the lease to come: for a row that may not rest on others' leases.
    ///
    /// # Errors
    /// As [`Edit::finish`].
    pub fn finish_on_its_own(&mut self) -> Result<Finished, EditError> {
        self.make(true)
    }

    fn is_open_as_before(&self) -> bool {
        self.open.as_ref().is_none_or(|(_, content)| self.before.bytes().is_some_and(|bytes| **bytes == **content))
    }

    fn geometry(&self) -> Geometry {
        Geometry::new(Cutting::Fixed64K, self.length)
    }

    /// The id of a chunk of content that is not open.
    fn id_of(&self, leaf: u64) -> Result<ChunkId, Need> {
        if let Some(id) = self.changed.get(&leaf) {
            return Ok(*id);
        }
        let names = self.names.as_ref().expect("a blob without a tree has one chunk, which is open or changed");
        Ok(names.at(Place { layer: 0, index: leaf })?.expect("the content reaches so far").id)
    }

    /// Sees to it that these chunks of content are there, and the nodes on the way to them.
    fn load(&mut self, leaves: impl Iterator<Item = u64>) -> Result<(), EditError> {
        let mut needs = BTreeSet::new();
        for leaf in leaves {
            if self.open.as_ref().is_some_and(|(open, _)| *open == leaf) {
                continue;
            }
            match self.reach(leaf) {
                Ok(id) if self.given.contains_key(&id) => {}
                Ok(id) | Err(id) => drop(needs.insert(id)),
            }
        }
        if needs.is_empty() { Ok(()) } else { Err(EditError::Needs(needs.into_iter().collect())) }
    }

    /// The id of a chunk of content, or of the node that is needed to tell. Nodes that were given are taken in.
    fn reach(&mut self, leaf: u64) -> Result<ChunkId, ChunkId> {
        loop {
            let need = match self.id_of(leaf) {
                Ok(id) => return Ok(id),
                Err(need) => need,
            };
            let content = self.given.get(&need.name.id).ok_or(need.name.id)?;
            let names = self.names.as_mut().expect("a need is of a tree");
            names.give(need, content).map_err(|_| need.name.id)?;
        }
    }

    /// The content of a chunk that was loaded, to be written. A new one has none.
    ///
    /// The chunk that was open is closed, unless it is this one.
    fn take(&mut self, leaf: u64, is_new: bool) -> Vec<u8> {
        match self.open.take() {
            Some((open, content)) if open == leaf => return content,
            Some((open, content)) => self.close(open, content),
            None => {}
        }
        if is_new {
            return Vec::new();
        }
        let id = self.id_of(leaf).expect("it was loaded");
        self.given.get(&id).cloned().unwrap_or_default()
    }

    fn close(&mut self, leaf: u64, content: Vec<u8>) {
        let chunk = Chunk::new(content);
        self.changed.insert(leaf, chunk.id);
        // The call in hand may come to this chunk again.
        self.given.insert(chunk.id, chunk.content.clone());
        self.made.push_back(chunk);
    }

    fn make(&mut self, on_its_own: bool) -> Result<Finished, EditError> {
        if self.length <= Blob::INLINE_BYTES_MAX as u64 {
            return self.make_inline();
        }
        self.load_nodes()?;
        if let Some((leaf, content)) = self.open.take() {
            self.close(leaf, content);
        }
        let leases = self.leases(on_its_own);
        let mut layers = vec![self.leaf_names(&leases)];
        let digest = BlobDigest::of(Cutting::Fixed64K, layers[0].iter().map(|name| name.id), self.length);
        for layer in 1..=self.geometry().depth() {
            let nodes = self.node_names(layer, &layers[usize::from(layer) - 1], &leases);
            layers.push(nodes);
        }
        let mut root = layers.pop().expect("there is a layer of content");
        take_one_over(&mut root, leases.to_come);
        let tree = Tree::new(Cutting::Fixed64K, self.geometry().depth(), leases.listed, root)?;
        let blob = Blob::tree(self.length, digest, tree)?;
        self.given.clear();
        Ok(Finished { blob, made: std::mem::take(&mut self.made) })
    }

    fn make_inline(&mut self) -> Result<Finished, EditError> {
        if self.length == 0 {
            return Ok(Finished { blob: Blob::inline([])?, made: VecDeque::new() });
        }
        self.load([0].into_iter())?;
        let mut content = self.take(0, false);
        content.truncate(self.length as usize);
        let blob = Blob::inline(content.clone())?;
        self.open = Some((0, content));
        Ok(Finished { blob, made: VecDeque::new() })
    }

    /// Sees to it that all nodes are there: a layer of nodes at a time is asked for.
    fn load_nodes(&mut self) -> Result<(), EditError> {
        let leaves = self.geometry().leaves().min(self.names.as_ref().map_or(0, |names| names.geometry().leaves()));
        let mut needs = BTreeSet::new();
        for leaf in (0..leaves).step_by(Tree::NODE_NAMES_MAX) {
            // Changed or not, the node that names it is needed for its neighbours.
            let changed = self.changed.remove(&leaf);
            if let Err(id) = self.reach(leaf) {
                needs.insert(id);
            }
            self.changed.extend(changed.map(|id| (leaf, id)));
        }
        if needs.is_empty() { Ok(()) } else { Err(EditError::Needs(needs.into_iter().collect())) }
    }

    fn leaf_names(&self, leases: &Leases) -> Vec<ChunkName> {
        (0..self.geometry().leaves())
            .map(|index| match self.changed.get(&index) {
                Some(id) => ChunkName { lease: leases.to_come, id: *id },
                None => leases.renumbered(self.before_at(Place { layer: 0, index }).expect("all nodes are there")),
            })
            .collect()
    }

    /// The name at a place of the tree before, if it has one.
    fn before_at(&self, place: Place) -> Option<ChunkName> {
        self.names.as_ref()?.at(place).expect("all nodes are there")
    }

    /// Nodes over the names of the layer below. One that lists what it listed before keeps its name.
    fn node_names(&mut self, layer: u8, below: &[ChunkName], leases: &Leases) -> Vec<ChunkName> {
        let nodes = below.chunks(Tree::NODE_NAMES_MAX).zip(0..);
        let mut names = Vec::new();
        for (listed, index) in nodes {
            let chunk = Chunk::new(encode_node(listed));
            let before = self.before_at(Place { layer, index }).filter(|before| before.id == chunk.id);
            names.push(match before {
                Some(before) => leases.renumbered(before),
                None => {
                    let id = chunk.id;
                    self.made.push_back(chunk);
                    ChunkName { lease: leases.to_come, id }
                }
            });
        }
        names
    }

    /// The leases of the new tree, and the index that each index of the tree before has in it.
    fn leases(&self, on_its_own: bool) -> Leases {
        let listed = self.names.as_ref().map_or(&[][..], |names| names.tree().leases());
        if on_its_own {
            return Leases { listed: Vec::new(), numbers: vec![0; listed.len() + 1], to_come: 0 };
        }
        let numbers = (0..=listed.len()).map(|index| index as u8).collect();
        if listed.len() < Tree::LEASES_MAX {
            return Leases { listed: listed.to_vec(), numbers, to_come: listed.len() as u8 };
        }
        let fewest = self.lease_with_the_fewest(listed.len());
        Leases::full(listed, numbers, fewest)
    }

    fn lease_with_the_fewest(&self, leases: usize) -> usize {
        let mut counts = vec![0u64; leases];
        let geometry = self.geometry();
        for layer in 0..=geometry.depth() {
            for index in 0..geometry.names(layer) {
                let before = self.before_at(Place { layer, index });
                if let Some(count) = before.and_then(|name| counts.get_mut(usize::from(name.lease))) {
                    *count += 1;
                }
            }
        }
        (0..leases).min_by_key(|lease| counts[*lease]).expect("there are 64")
    }
}

struct Leases {
    listed: Vec<LeaseName>,
    numbers: Vec<u8>,
    to_come: u8,
}

impl Leases {
    /// The last lease takes the place of the one that is given up, whose chunks go under the lease to come: the last index from now on.
    fn full(listed: &[LeaseName], mut numbers: Vec<u8>, given_up: usize) -> Leases {
        let last = listed.len() - 1;
        let mut kept = listed.to_vec();
        kept.swap_remove(given_up);
        numbers[last] = given_up as u8;
        numbers[given_up] = last as u8;
        Leases { listed: kept, numbers, to_come: last as u8 }
    }

    fn renumbered(&self, name: ChunkName) -> ChunkName {
        ChunkName { lease: self.numbers[usize::from(name.lease)], id: name.id }
    }
}

/// A blob that changed is sent under a lease, and so at least one name of its root is of the lease to come.
fn take_one_over(root: &mut [ChunkName], to_come: u8) {
    if root.iter().all(|name| name.lease != to_come) {
        let last = root.last_mut().expect("a tree has a chunk");
        last.lease = to_come;
    }
}

/// Whether a blob has chunks at all.
pub(crate) fn tree_of(blob: &Blob) -> Option<&Tree> {
    match blob.chunks() {
        Chunks::Inline(_) => None,
        Chunks::Tree(tree) => Some(tree),
    }
}
