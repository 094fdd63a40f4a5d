//! A sweep of the store of chunks: it finds objects that nothing names and nothing can name any more, and deletes them.
//!
//! Invariants: an object is deleted only if its lease was not live at `at`, no row and no seal named the object at `at`, and the store says that
//! the lease is unchanged since. So the lease was spent or revoked at or below `at`, and what is garbage stays garbage: deletes may come late,
//! or twice. A tree that cannot be read keeps all objects of its leases. Memory is bounded: leases past the bound are for the next pass.
//! Source: ours (docs/decisions/0028-leases-are-rows.md), for the garbage of Simba's store (Perkins 2015, section 3.3.2).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use iolite_values::{Blob, ChunkId, LeaseName, StoreIncarnation};

use crate::edit::tree_of;
use crate::leases::ObjectName;
use crate::limits::{SWEEP_DELETES_MAX, SWEEP_OBJECTS_MAX, SWEEP_VALIDATES_MAX};
use crate::walk::Walk;

/// An input of a sweep.
#[derive(Clone, Debug)]
pub enum SweepInput {
    /// Objects of the store's incarnation, each with its bytes. In any order, each once.
    Listed(Vec<(ObjectName, u64)>),
    /// All objects were listed.
    ListEnd,
    /// Blobs that rows or seals had at the sweep's timestamp, and whether there are more of them.
    Named {
        blobs: Vec<Blob>,
        more: bool,
    },
    /// The content of a node. `None`: it is not there.
    Loaded(Option<Vec<u8>>),
    /// Whether all of the leases that were asked about are unchanged.
    Validated {
        unchanged: bool,
    },
    Waited,
    Deleted(ObjectName),
    /// The host could not do what it was asked. The sweep ends, and has deleted nothing more.
    Failed(String),
}

/// An effect of a sweep, which its host carries out. One is open at a time, but for deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepEffect {
    /// List all objects of the store's incarnation.
    List,
    /// Read the next page of the blobs that rows and seals had at the sweep's timestamp.
    Read,
    /// Read this node.
    Load(ObjectName),
    /// Ask the store whether the rows of these leases are unchanged since the sweep's timestamp.
    Validate(Vec<LeaseName>),
    /// Let so much time pass: somebody may be reading what a row named a moment ago.
    Wait(Duration),
    Delete(ObjectName),
    Done(SweepReport),
}

/// The result of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// All objects, and their bytes.
    pub objects: u64,
    pub bytes: u64,
    /// Objects that nothing names, and their bytes.
    pub garbage: u64,
    pub garbage_bytes: u64,
    pub deleted: u64,
    /// Trees of rows that lack a node, or have one that is none.
    pub damaged: u64,
    /// Leases above this one are for the next pass. `None`: all were looked at.
    pub next: Option<LeaseName>,
    /// Why the sweep ended early.
    pub failure: Option<String>,
}

/// The settings of a sweep.
#[derive(Clone, Debug)]
pub struct SweepSettings {
    pub store: StoreIncarnation,
    /// The leases that are live at the sweep's timestamp.
    pub live: BTreeSet<LeaseName>,
    /// Leases up to this one were looked at by an earlier pass.
    pub after: Option<LeaseName>,
    pub grace: Duration,
    /// The sweep deletes nothing, and only reports.
    pub is_dry: bool,
}

/// One pass over the store of chunks, as of one timestamp.
#[derive(Debug)]
pub struct Sweep {
    settings: SweepSettings,
    /// Objects without a live lease that nothing is known to name, with their bytes.
    candidates: BTreeMap<LeaseName, BTreeMap<ChunkId, u64>>,
    count: usize,
    most: usize,
    blobs: VecDeque<Blob>,
    /// The tree in hand: its leases, and the walk through it.
    walk: Option<(Vec<LeaseName>, Walk)>,
    has_more: bool,
    unvalidated: Vec<Vec<LeaseName>>,
    asked: Vec<LeaseName>,
    garbage: Vec<ObjectName>,
    deletes_open: usize,
    is_over: bool,
    report: SweepReport,
    effects: VecDeque<SweepEffect>,
}

impl Sweep {
    pub fn new(settings: SweepSettings) -> Sweep {
        Sweep::of_at_most(settings, SWEEP_OBJECTS_MAX)
    }

    /// With another bound of the candidates that are held at a time.
    pub fn of_at_most(settings: SweepSettings, most: usize) -> Sweep {
        Sweep {
            settings,
            candidates: BTreeMap::new(),
            count: 0,
            most,
            blobs: VecDeque::new(),
            walk: None,
            has_more: true,
            unvalidated: Vec::new(),
            asked: Vec::new(),
            garbage: Vec::new(),
            deletes_open: 0,
            is_over: false,
            report: SweepReport::default(),
            effects: VecDeque::from([SweepEffect::List]),
        }
    }

    pub fn handle(&mut self, input: SweepInput) {
        if self.is_over {
            return;
        }
        match input {
            SweepInput::Listed(objects) => objects.into_iter().for_each(|(object, bytes)| self.list(object, bytes)),
            SweepInput::ListEnd => self.effects.push_back(SweepEffect::Read),
            SweepInput::Named { blobs, more } => {
                self.blobs.extend(blobs);
                self.has_more = more;
                self.look();
            }
            SweepInput::Loaded(content) => self.loaded(content),
            SweepInput::Validated { unchanged } => self.validated(unchanged),
            SweepInput::Waited => self.delete_more(),
            SweepInput::Deleted(_) => {
                self.deletes_open -= 1;
                self.report.deleted += 1;
                self.delete_more();
            }
            SweepInput::Failed(problem) => {
                self.report.failure = Some(problem);
                self.end();
            }
        }
    }

    /// The report as far as it is known. Garbage is whole when the sweep waits.
    pub fn report(&self) -> &SweepReport {
        &self.report
    }

    pub fn poll(&mut self) -> Option<SweepEffect> {
        self.effects.pop_front()
    }

    fn list(&mut self, object: ObjectName, bytes: u64) {
        self.report.objects += 1;
        self.report.bytes += bytes;
        let is_of_pass = self.settings.after.is_none_or(|after| object.lease > after)
            && self.report.next.is_none_or(|next| object.lease <= next);
        if !is_of_pass || self.settings.live.contains(&object.lease) {
            return;
        }
        let earlier = self.candidates.entry(object.lease).or_default().insert(object.chunk, bytes);
        self.count += usize::from(earlier.is_none());
        // The last leases are for the next pass. One lease alone may be past the bound.
        while self.count > self.most
            && self.candidates.len() > 1
            && let Some((_, chunks)) = self.candidates.pop_last()
        {
            self.count -= chunks.len();
            self.report.next = self.candidates.last_key_value().map(|(lease, _)| *lease);
        }
    }

    /// Takes out of the candidates what the blobs name, as far as that is known without a node.
    fn look(&mut self) {
        loop {
            let Some((leases, walk)) = &mut self.walk else {
                match self.blobs.pop_front() {
                    Some(blob) => self.walk = tree_of(&blob).map(|tree| (tree.leases().to_vec(), Walk::new(&blob))),
                    None if self.has_more => return self.effects.push_back(SweepEffect::Read),
                    None => return self.ask(),
                }
                continue;
            };
            // Nothing below concerns this pass.
            let concerns = leases.iter().any(|lease| self.candidates.contains_key(lease));
            let Some(met) = walk.next().filter(|_| concerns) else {
                self.walk = None;
                continue;
            };
            let Some(lease) = leases.get(usize::from(met.name.lease)).copied() else { continue };
            if met.is_node() {
                let (store, chunk) = (self.settings.store, met.name.id);
                self.effects.push_back(SweepEffect::Load(ObjectName { store, lease, chunk }));
            }
            self.name(lease, met.name.id);
            if met.is_node() {
                return;
            }
        }
    }

    fn name(&mut self, lease: LeaseName, chunk: ChunkId) {
        if let Some(chunks) = self.candidates.get_mut(&lease) {
            chunks.remove(&chunk);
            if chunks.is_empty() {
                self.candidates.remove(&lease);
            }
        }
    }

    /// Goes into a node. If that cannot be read, everything under the leases of its tree is kept.
    fn loaded(&mut self, content: Option<Vec<u8>>) {
        let Some((leases, walk)) = &mut self.walk else { return };
        let entered = content.is_some_and(|content| walk.enter(&content).is_ok());
        if !entered {
            self.report.damaged += 1;
            leases.iter().for_each(|lease| drop(self.candidates.remove(lease)));
            self.walk = None;
        }
        self.look();
    }

    /// All that rows and seals name is known: asks whether the leases of the rest are what they were.
    fn ask(&mut self) {
        let leases: Vec<LeaseName> = self.candidates.keys().copied().collect();
        self.unvalidated = leases.chunks(SWEEP_VALIDATES_MAX).map(<[LeaseName]>::to_vec).collect();
        self.ask_next();
    }

    fn ask_next(&mut self) {
        match self.unvalidated.pop() {
            Some(leases) => {
                self.asked.clone_from(&leases);
                self.effects.push_back(SweepEffect::Validate(leases));
            }
            None => self.begin_deleting(),
        }
    }

    /// Asks about halves where one lease has changed. That one is left to the next sweep.
    fn validated(&mut self, unchanged: bool) {
        let asked = std::mem::take(&mut self.asked);
        match (unchanged, &asked[..]) {
            (true, leases) => {
                for lease in leases {
                    let chunks = self.candidates.remove(lease).unwrap_or_default();
                    self.report.garbage += chunks.len() as u64;
                    self.report.garbage_bytes += chunks.values().sum::<u64>();
                    let store = self.settings.store;
                    self.garbage.extend(chunks.into_keys().map(|chunk| ObjectName { store, lease: *lease, chunk }));
                }
            }
            (false, [] | [_]) => {}
            (false, leases) => {
                let (first, second) = leases.split_at(leases.len() / 2);
                self.unvalidated.extend([first.to_vec(), second.to_vec()]);
            }
        }
        self.ask_next();
    }

    fn begin_deleting(&mut self) {
        if self.garbage.is_empty() || self.settings.is_dry {
            return self.end();
        }
        self.effects.push_back(SweepEffect::Wait(self.settings.grace));
    }

    fn delete_more(&mut self) {
        while self.deletes_open < SWEEP_DELETES_MAX
            && let Some(object) = self.garbage.pop()
        {
            self.deletes_open += 1;
            self.effects.push_back(SweepEffect::Delete(object));
        }
        if self.deletes_open == 0 {
            self.end();
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.effects.push_back(SweepEffect::Done(self.report.clone()));
    }
}
