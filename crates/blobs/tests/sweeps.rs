//! Sweeps beside uploads, commits and revocations, in a small world with timestamps as the store gives them: commits that do not conflict may have
//! timestamps in another order than they happened in, and a sweep reads the past.
//!
//! Two clients have a lease each. The first writes a blob, the second one that shares its chunk, and somebody empties the row without looking. Deletes
//! come at any time, and again. After every step all chunks are there that the row names. Three broken worlds are found by that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_blobs::{ObjectName, Sweep, SweepEffect, SweepInput, SweepReport, SweepSettings};
use iolite_values::{Blob, BlobDigest, ChunkId, ChunkName, Chunks, Cutting, Id, LeaseName, StoreIncarnation, Tree};

const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(5));
const GRACE: Duration = Duration::from_secs(3600);
const SEEDS: u64 = 3000;
const STEPS: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// A sweep takes chunks of leases that are live.
    SweepLiveLeases,
    /// A sweep does not ask whether a lease that it misses is gone.
    SweepUnasked,
    /// A seal holds nothing.
    ReuseUnheld,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Row,
    Lease(usize),
    Seal(usize),
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Live,
    Gone,
    Blob(Option<Blob>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    New,
    Granted(u64),
    Put(u64),
    Sealed(u64),
    Over,
}

struct World {
    random: u64,
    broken: Broken,
    commits: Vec<(Key, u64, Value)>,
    reads: Vec<(Key, u64)>,
    resolved: u64,
    objects: BTreeSet<ObjectName>,
    steps: [Step; 2],
    /// The tree that the second client has sealed.
    sealed: Option<Blob>,
    sweep: Option<(Sweep, u64, Option<SweepEffect>)>,
    deletes: BTreeSet<ObjectName>,
}

fn lease(number: usize) -> LeaseName {
    LeaseName(Id::from_u128(number as u128 + 1))
}

fn chunk(number: usize) -> ChunkId {
    ChunkId::of(&[number as u8])
}

/// The blob of the first client has one chunk. That of the second shares it, and has one more.
fn blob(of: usize) -> Blob {
    let length = 65_536 + 5_000 * of as u64;
    let names: Vec<ChunkName> = (0..=of).map(|n| ChunkName { lease: n as u8, id: chunk(n) }).collect();
    let digest = BlobDigest::of(Cutting::Fixed64K, names.iter().map(|name| name.id), length);
    let tree = Tree::new(Cutting::Fixed64K, 0, (0..=of).map(lease).collect(), names).expect("a tree");
    Blob::tree(length, digest, tree).expect("a blob")
}

fn named(blob: &Blob) -> Vec<ObjectName> {
    let Chunks::Tree(tree) = blob.chunks() else { return Vec::new() };
    let names = tree.root().iter();
    names.map(|own| ObjectName { store: STORE, lease: tree.leases()[usize::from(own.lease)], chunk: own.id }).collect()
}

impl World {
    fn new(seed: u64, broken: Broken) -> World {
        World {
            random: seed,
            broken,
            commits: Vec::new(),
            reads: Vec::new(),
            resolved: 0,
            objects: BTreeSet::new(),
            steps: [Step::New; 2],
            sealed: None,
            sweep: None,
            deletes: BTreeSet::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    fn latest(&self, key: Key, at: u64) -> Option<&(Key, u64, Value)> {
        self.commits.iter().filter(|(own, when, _)| *own == key && *when <= at).max_by_key(|(_, when, _)| *when)
    }

    fn is_live(&self, of: usize, at: u64) -> bool {
        self.latest(Key::Lease(of), at).is_some_and(|(_, _, value)| *value == Value::Live)
    }

    fn row(&self, at: u64) -> Option<Blob> {
        match &self.latest(Key::Row, at)?.2 {
            Value::Blob(blob) => blob.clone(),
            Value::Live | Value::Gone => None,
        }
    }

    fn has_changed(&self, key: Key, since: u64) -> bool {
        self.commits.iter().any(|(own, when, _)| *own == key && *when > since)
    }

    /// Commits at some timestamp above what is resolved, and above all that conflicts with it.
    fn commit(&mut self, writes: Vec<(Key, Value)>, reads: &[Key]) -> u64 {
        let writes_to = |key: Key| writes.iter().any(|(own, _)| *own == key);
        let of_commits = self.commits.iter().filter(|(key, _, _)| writes_to(*key) || reads.contains(key));
        let of_reads = self.reads.iter().filter(|(key, _)| writes_to(*key));
        let above = of_commits.map(|(_, at, _)| *at).chain(of_reads.map(|(_, at)| *at)).max().unwrap_or(0);
        let least = above.max(self.resolved) + 1;
        let mut at = least + self.below(3);
        while self.commits.iter().any(|(_, used, _)| *used == at) {
            at += 1;
        }
        self.commits.extend(writes.into_iter().map(|(key, value)| (key, at, value)));
        self.reads.extend(reads.iter().map(|key| (*key, at)));
        at
    }

    fn step(&mut self) {
        match self.below(12) {
            0 | 1 => self.resolved += 1,
            2..=4 => self.upload(0),
            5..=7 => self.upload(1),
            8 if self.row(u64::MAX).is_some() && self.below(3) == 0 => {
                self.commit(vec![(Key::Row, Value::Blob(None))], &[]);
            }
            9 if self.below(4) == 0 => self.revoke(),
            10 => {
                if let Some(object) = self.deletes.first().copied() {
                    self.objects.remove(&object);
                }
            }
            _ => self.sweep(),
        }
    }

    fn upload(&mut self, of: usize) {
        let own = ObjectName { store: STORE, lease: lease(of), chunk: chunk(of) };
        match self.steps[of] {
            Step::New => {
                let at = self.commit(vec![(Key::Lease(of), Value::Live)], &[]);
                self.steps[of] = Step::Granted(at);
            }
            Step::Granted(at) => {
                self.objects.insert(own);
                self.steps[of] = Step::Put(at);
            }
            Step::Put(at) => {
                let snapshot = self.resolved;
                let from = (of == 1).then(|| self.row(snapshot)).flatten();
                let is_unheld = self.broken == Broken::ReuseUnheld;
                let moved = self.has_changed(Key::Row, snapshot) && !is_unheld;
                if !self.objects.contains(&own) || of == 1 && (from.is_none() || moved) {
                    return;
                }
                self.steps[of] = Step::Sealed(at);
                let (held, reads): (_, &[Key]) = if is_unheld { (None, &[]) } else { (from, &[Key::Row]) };
                if of == 1 {
                    self.commit(vec![(Key::Seal(of), Value::Blob(held))], reads);
                }
                self.sealed = Some(blob(of));
            }
            Step::Sealed(at) => self.submit(of, at),
            Step::Over => {}
        }
    }

    fn submit(&mut self, of: usize, granted: u64) {
        let key = Key::Lease(of);
        let snapshot = self.resolved;
        if snapshot < granted || !self.is_live(of, snapshot) || self.has_changed(key, snapshot) {
            return;
        }
        let row = (Key::Row, Value::Blob(Some(blob(of))));
        self.commit(vec![row, (key, Value::Gone), (Key::Seal(of), Value::Gone)], &[key]);
        self.steps[of] = Step::Over;
    }

    fn revoke(&mut self) {
        for of in 0..2 {
            let key = Key::Lease(of);
            if self.is_live(of, self.resolved) && !self.has_changed(key, self.resolved) {
                self.commit(vec![(key, Value::Gone), (Key::Seal(of), Value::Gone)], &[key]);
                self.steps[of] = Step::Over;
            }
        }
    }

    /// Begins a sweep, or carries out one effect of it.
    fn sweep(&mut self) {
        let Some((mut sweep, at, effect)) = self.sweep.take() else {
            let at = self.resolved;
            let is_kept = self.broken != Broken::SweepLiveLeases;
            let live = (0..2).filter(|of| is_kept && self.is_live(*of, at)).map(lease).collect();
            let mut sweep = Sweep::new(SweepSettings { store: STORE, live, after: None, grace: GRACE, is_dry: false });
            let effect = sweep.poll();
            self.sweep = Some((sweep, at, effect));
            return;
        };
        for input in effect.map(|effect| self.carry_out(effect, at)).unwrap_or_default() {
            sweep.handle(input);
        }
        let mut next = None;
        while next.is_none()
            && let Some(effect) = sweep.poll()
        {
            match effect {
                SweepEffect::Delete(object) => drop(self.deletes.insert(object)),
                SweepEffect::Done(_) => return,
                other => next = Some(other),
            }
        }
        // Deletes come whenever they come.
        if next.is_some() {
            self.sweep = Some((sweep, at, next));
        }
    }

    fn carry_out(&self, effect: SweepEffect, at: u64) -> Vec<SweepInput> {
        match effect {
            SweepEffect::List => {
                let listed = self.objects.iter().map(|object| (*object, 1)).collect();
                vec![SweepInput::Listed(listed), SweepInput::ListEnd]
            }
            SweepEffect::Read => {
                let held = (0..2).filter_map(|of| match &self.latest(Key::Seal(of), at)?.2 {
                    Value::Blob(held) => held.clone(),
                    Value::Live | Value::Gone => None,
                });
                let blobs = self.row(at).into_iter().chain(held).collect();
                vec![SweepInput::Named { blobs, more: false }]
            }
            SweepEffect::Validate(leases) => {
                let number = |name: &LeaseName| (0..2).find(|of| lease(*of) == *name).expect("one of two");
                let changed = leases.iter().any(|name| self.has_changed(Key::Lease(number(name)), at));
                vec![SweepInput::Validated { unchanged: !changed || self.broken == Broken::SweepUnasked }]
            }
            SweepEffect::Wait(_) => vec![SweepInput::Waited],
            SweepEffect::Load(_) | SweepEffect::Delete(_) | SweepEffect::Done(_) => Vec::new(),
        }
    }

    fn lacks(&self) -> Option<ObjectName> {
        let row = self.row(u64::MAX)?;
        named(&row).into_iter().find(|object| !self.objects.contains(object))
    }
}

/// The first seed in which the row names what is not there, and how many sweeps deleted something.
fn search(broken: Broken) -> (Option<u64>, usize) {
    let mut deleting = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), broken);
        for _ in 0..STEPS {
            world.step();
            if world.lacks().is_some() {
                return (Some(seed), deleting);
            }
        }
        deleting += usize::from(!world.deletes.is_empty());
    }
    (None, deleting)
}

#[test]
fn no_sweep_takes_what_a_row_names() {
    let (found, deleting) = search(Broken::Nothing);
    assert_eq!(found, None);
    assert!(deleting > SEEDS as usize / 20, "only {deleting} worlds had garbage");
}

#[test]
fn sweeps_of_live_leases_are_found() {
    assert!(search(Broken::SweepLiveLeases).0.is_some());
}

#[test]
fn sweeps_that_do_not_ask_are_found() {
    assert!(search(Broken::SweepUnasked).0.is_some());
}

#[test]
fn a_seal_that_holds_nothing_is_found() {
    assert!(search(Broken::ReuseUnheld).0.is_some());
}

/// Objects of leases 1 to 4, two each, of which rows name all of lease 2 and one of lease 3. Lease 4 is live.
struct Store(BTreeMap<ObjectName, u64>);

impl Store {
    fn new() -> Store {
        let objects = (0..4).flat_map(|of| (0..2).map(move |n| (object(of, n), 10)));
        Store(objects.collect())
    }

    fn sweep(
        &mut self,
        after: Option<LeaseName>,
        most: usize,
        changed: Option<LeaseName>,
        is_dry: bool,
    ) -> SweepReport {
        let live = [lease(3)].into();
        let mut sweep = Sweep::of_at_most(SweepSettings { store: STORE, live, after, grace: GRACE, is_dry }, most);
        loop {
            let input = match sweep.poll().expect("it says when it is done") {
                SweepEffect::List => {
                    sweep.handle(SweepInput::Listed(self.0.clone().into_iter().collect()));
                    SweepInput::ListEnd
                }
                SweepEffect::Read => SweepInput::Named { blobs: vec![two_of(1), one_of(2)], more: false },
                SweepEffect::Validate(leases) => {
                    SweepInput::Validated { unchanged: !changed.is_some_and(|changed| leases.contains(&changed)) }
                }
                SweepEffect::Wait(GRACE) => SweepInput::Waited,
                SweepEffect::Delete(object) => {
                    assert!(self.0.remove(&object).is_some(), "once");
                    SweepInput::Deleted(object)
                }
                SweepEffect::Done(report) => return report,
                other @ (SweepEffect::Load(_) | SweepEffect::Wait(_)) => panic!("{other:?}"),
            };
            sweep.handle(input);
        }
    }
}

fn object(of: usize, number: usize) -> ObjectName {
    ObjectName { store: STORE, lease: lease(of), chunk: chunk(10 * of + number) }
}

fn of_lease(of: usize, numbers: &[usize], length: u64) -> Blob {
    let names: Vec<ChunkName> = numbers.iter().map(|n| ChunkName { lease: 0, id: chunk(10 * of + n) }).collect();
    let digest = BlobDigest::of(Cutting::Fixed64K, names.iter().map(|name| name.id), length);
    Blob::tree(length, digest, Tree::new(Cutting::Fixed64K, 0, vec![lease(of)], names).expect("a tree"))
        .expect("a blob")
}

fn two_of(of: usize) -> Blob {
    of_lease(of, &[0, 1], 70_000)
}

fn one_of(of: usize) -> Blob {
    of_lease(of, &[0], 5_000)
}

#[test]
fn what_nothing_names_goes_and_the_rest_stays() {
    let mut store = Store::new();
    let dry = store.sweep(None, 100, None, true);
    assert_eq!((dry.objects, dry.bytes, dry.garbage, dry.garbage_bytes, dry.deleted), (8, 80, 3, 30, 0));
    let report = store.sweep(None, 100, None, false);
    assert_eq!((report.deleted, report.next, report.failure), (3, None, None));
    let left = [object(1, 0), object(1, 1), object(2, 0), object(3, 0), object(3, 1)];
    assert!(store.0.keys().copied().eq(left), "{:?}", store.0);
}

#[test]
fn a_lease_that_has_changed_is_left_to_the_next_sweep_and_holds_up_no_other() {
    let mut store = Store::new();
    assert_eq!(store.sweep(None, 100, Some(lease(0)), false).deleted, 1, "of the third lease");
    assert_eq!(store.sweep(None, 100, None, false).deleted, 2);
}

#[test]
fn what_is_too_much_at_a_time_takes_several_passes() {
    let mut store = Store::new();
    let (mut after, mut passes, mut deleted) = (None, 0, 0);
    loop {
        let report = store.sweep(after, 2, None, false);
        (passes, deleted, after) = (passes + 1, deleted + report.deleted, report.next);
        if after.is_none() {
            break;
        }
    }
    assert_eq!((passes, deleted, store.0.len()), (3, 3, 5));
}

/// A tree with a node, which the store has lost: what lies below cannot be known.
#[test]
fn a_tree_that_cannot_be_read_keeps_all_of_its_leases() {
    let names = vec![ChunkName { lease: 0, id: ChunkId::of(b"a node") }];
    let length = 65 * 65_536;
    let tree = Tree::new(Cutting::Fixed64K, 1, vec![lease(0)], names).expect("a tree");
    let deep = Blob::tree(length, BlobDigest::of(Cutting::Fixed64K, [], length), tree).expect("a blob");
    let settings = SweepSettings { store: STORE, live: BTreeSet::new(), after: None, grace: GRACE, is_dry: false };
    let mut sweep = Sweep::new(settings);
    sweep.handle(SweepInput::Listed(vec![(object(0, 0), 1), (object(1, 0), 1)]));
    sweep.handle(SweepInput::ListEnd);
    sweep.handle(SweepInput::Named { blobs: vec![deep], more: false });
    sweep.handle(SweepInput::Loaded(None));
    sweep.handle(SweepInput::Validated { unchanged: true });
    sweep.handle(SweepInput::Waited);
    let effects: Vec<SweepEffect> = std::iter::from_fn(|| sweep.poll()).collect();
    assert!(effects.contains(&SweepEffect::Delete(object(1, 0))), "{effects:?}");
    assert!(!effects.contains(&SweepEffect::Delete(object(0, 0))), "{effects:?}");
    sweep.handle(SweepInput::Deleted(object(1, 0)));
    assert!(matches!(sweep.poll(), Some(SweepEffect::Done(report)) if report.damaged == 1));
}

#[test]
fn a_sweep_asks_for_a_thousand_leases_and_deletes_16_objects_at_a_time() {
    let settings = SweepSettings { store: STORE, live: BTreeSet::new(), after: None, grace: GRACE, is_dry: false };
    let mut sweep = Sweep::new(settings);
    sweep.handle(SweepInput::Listed((0..1001).map(|of| (object(of, 0), 1)).collect()));
    sweep.handle(SweepInput::ListEnd);
    sweep.handle(SweepInput::Named { blobs: Vec::new(), more: false });
    let mut asked = Vec::new();
    let mut deletes = 0;
    while let Some(effect) = sweep.poll() {
        match effect {
            SweepEffect::Validate(leases) => {
                asked.push(leases.len());
                sweep.handle(SweepInput::Validated { unchanged: true });
            }
            SweepEffect::Wait(_) => sweep.handle(SweepInput::Waited),
            SweepEffect::Delete(_) => deletes += 1,
            SweepEffect::List | SweepEffect::Read | SweepEffect::Load(_) | SweepEffect::Done(_) => {}
        }
    }
    asked.sort_unstable();
    assert_eq!((asked, deletes), (vec![1, 1000], 16));
}
