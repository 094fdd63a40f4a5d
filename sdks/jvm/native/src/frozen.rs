//! The whole cycle: freeze a program, take its arrays, and give them back.
//!
//! Invariants: an array's copy replaces it only when a collection has freed the array, with all threads suspended: then no field, stack, register,
//! handle or compiled method has it, and nobody can write to it any more. An array that outlives the collection goes back to its fields as it is.
//! No thread of the program runs before every array is back, or is lost with a word.
//! Source: docs/memory.md, "Programs for the JVM".

use std::path::Path;
use std::time::{Duration, Instant};

use iolite_memory::agent::{FromAgent, Survey};
use iolite_memory::limits::{ENTRIES_MAX, OBJECT_BYTES_MAX};
use iolite_memory::{AccessError, Link, Options, Pool, Region, Restore, Slot};

use crate::arrays::{self, Found};
use crate::collection;
use crate::header;
use crate::shrink::Shrinking;
use crate::threads::{Gate, Suspended};
use crate::vm::{Field, Jni, Object, Tools, Vm};

/// G1 gives memory back at the first collection that is half a second after the one that has freed it.
const UNTIL_SHRINKING: Duration = Duration::from_millis(500);
const PAGE_BYTES: u64 = 4096;

/// The means of a session.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub vm: Vm,
    pub jni: Jni,
    /// The environment that suspends threads.
    pub tools: Tools,
    pub gate: &'a Gate,
}

/// A program that is frozen.
pub struct Frozen {
    suspended: Suspended,
    shrinking: Shrinking,
    taken: Vec<Taken>,
    pool: Pool,
    region: Region,
    /// The answer to whoever froze it.
    pub answer: FromAgent,
    restored: u64,
    lost: u64,
}

/// An array that is in the region.
struct Taken {
    slot: Slot,
    primitive: usize,
    length: i32,
    /// The fields that held it, with global references of their objects.
    places: Vec<(Object, Field)>,
}

/// An array whose fields are empty, before the proof.
struct Removed {
    taken: Taken,
    weak: Object,
}

impl Means<'_> {
    /// Says how much could be taken.
    pub fn survey(self) -> Result<Survey, String> {
        // What nobody holds is not to be counted.
        self.tools.collect();
        let suspended = self.gate.close(self.jni, self.tools)?;
        let survey = self.with_tags(|tags| arrays::survey(self.jni, tags));
        self.gate.open(self.jni, self.tools, suspended);
        survey
    }

    /// Freezes the program.
    ///
    /// # Errors
    /// When it cannot be frozen now. It runs on then, and has all that it had.
    pub fn freeze(self, socket: &Path, folder: &Path) -> Result<Frozen, String> {
        let begun = Instant::now();
        let shrinking = Shrinking::begin();
        let suspended = match self.gate.close_at_rest(self.vm, self.jni, self.tools) {
            Ok(suspended) => suspended,
            Err(reason) => {
                shrinking.end();
                return Err(reason);
            }
        };
        let removed = self.with_tags(|tags| self.remove(tags, socket, folder));
        let (region, pool, removed, survey) = match removed {
            Ok(removed) => removed,
            Err(reason) => {
                self.gate.open(self.jni, self.tools, suspended);
                shrinking.end();
                return Err(reason);
            }
        };
        let taken = self.prove(removed);
        let bytes = taken.iter().map(|taken| taken.slot.bytes()).sum();
        let arrays = taken.len() as u64;
        let left = survey.arrays - arrays;
        let microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let answer = FromAgent::Frozen { arrays, bytes, left, microseconds };
        let mut frozen = Frozen { suspended, shrinking, taken, pool, region, answer, restored: 0, lost: 0 };
        match frozen.rest(self.tools) {
            Ok(()) => Ok(frozen),
            Err(reason) => match frozen.give_back(self.jni) {
                Ok(()) => {
                    frozen.end(self);
                    Err(reason)
                }
                // Nothing was saved, so everything is in memory; what fails is the program's own heap. It stays frozen, and may be thawed again.
                Err(_) => Ok(frozen),
            },
        }
    }

    /// Brings everything back and lets the program go on.
    ///
    /// # Errors
    /// When an array cannot be read or made now. The program stays frozen, and nothing is lost.
    pub fn thaw(self, frozen: &mut Option<Frozen>) -> Result<FromAgent, String> {
        let begun = Instant::now();
        let Some(mut rests) = frozen.take() else {
            return Ok(FromAgent::Thawed { arrays: 0, lost: 0, microseconds: 0 });
        };
        if let Err(reason) = rests.give_back(self.jni) {
            *frozen = Some(rests);
            return Err(reason);
        }
        let (arrays, lost) = (rests.restored, rests.lost);
        rests.end(self);
        let microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(FromAgent::Thawed { arrays, lost, microseconds })
    }

    /// Runs with an environment of its own for tags, which all end with it, and a frame of local references.
    fn with_tags<T>(self, run: impl FnOnce(Tools) -> Result<T, String>) -> Result<T, String> {
        let tags = self.vm.tools().filter(|tags| tags.may_tag());
        let tags = tags.ok_or("the JVM lets no agent tag objects: end other agents, or use OpenJDK 17 or 18")?;
        let result = self.jni.with_frame(|| run(tags));
        tags.dispose();
        result
    }

    /// Copies arrays to a region, and empties the fields that hold them.
    fn remove(self, tags: Tools, socket: &Path, folder: &Path) -> Result<(Region, Pool, Vec<Removed>, Survey), String> {
        let (found, survey) = arrays::find(self.jni, tags)?;
        let pages = |found: &Found| (found.bytes(self.jni.length(found.array)) as u64).div_ceil(PAGE_BYTES);
        let bytes = found.iter().map(pages).sum::<u64>() * PAGE_BYTES;
        let entries = u32::try_from(found.len()).unwrap_or(ENTRIES_MAX).clamp(1, ENTRIES_MAX);
        let options = Options::new("arrays of a JVM").bytes_max(bytes.max(PAGE_BYTES)).entries_max(entries);
        // Everything is saved below, by one call.
        let options = options.swap_in(folder).memoryd_at(socket).save_every(Duration::from_secs(3600));
        let region = Region::create(options).map_err(|error| error.to_string())?;
        let pool = region.pool().map_err(|error| error.to_string())?;
        let removed = found.into_iter().filter_map(|found| self.remove_one(&pool, found)).collect();
        Ok((region, pool, removed, survey))
    }

    /// An array that does not fit, or whose identity somebody may know, stays where it is.
    fn remove_one(self, pool: &Pool, found: Found) -> Option<Removed> {
        let jni = self.jni;
        let length = jni.length(found.array);
        let bytes = found.bytes(length);
        if bytes as u64 > OBJECT_BYTES_MAX {
            return None;
        }
        let put = |bytes: &mut [u8], word| header::is_plain(word).then(|| pool.put(bytes).ok()).flatten();
        let slot = jni.with_bytes(found.array, bytes, put).flatten()?;
        let weak = jni.weak(found.array);
        if weak.is_null() {
            return None;
        }
        let places: Vec<_> = found.places.iter().map(|&(holder, field)| (jni.global(holder), field)).collect();
        for &(holder, field) in &places {
            jni.set_field(holder, field, std::ptr::null_mut());
        }
        jni.delete_local(found.array);
        let taken = Taken { slot, primitive: found.primitive, length, places };
        Some(Removed { taken, weak })
    }

    /// Collects, and puts back each array that something still holds.
    fn prove(self, removed: Vec<Removed>) -> Vec<Taken> {
        let jni = self.jni;
        // If none comes about, each array outlives it and goes back.
        collection::collect(jni, self.tools, collection::WHILE_THREADS_REST);
        let mut taken = Vec::with_capacity(removed.len());
        for removed in removed {
            let survivor = jni.local(removed.weak);
            jni.delete_weak(removed.weak);
            if survivor.is_null() {
                taken.push(removed.taken);
            } else {
                removed.taken.put(jni, survivor);
                jni.delete_local(survivor);
            }
        }
        taken
    }
}

impl Frozen {
    /// Saves the arrays, lets memoryd take them, and lets the heap shrink.
    fn rest(&mut self, tools: Tools) -> Result<(), String> {
        self.region.save().map_err(|error| error.to_string())?;
        self.region.background();
        std::thread::sleep(UNTIL_SHRINKING);
        tools.collect();
        // A daemon that froze the program knows the region at once; the next command may be to take it.
        for _ in 0..200 {
            if self.region.link() == Link::Known {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Puts arrays back until there is none left, or one cannot be read or made now.
    fn give_back(&mut self, jni: Jni) -> Result<(), String> {
        self.region.foreground(Restore::OnDemand).map_err(|error| error.to_string())?;
        while let Some(taken) = self.taken.last() {
            let array = taken.restored(jni, &self.pool)?;
            let taken = self.taken.pop().expect("the last one was looked at");
            match array {
                Some(array) => {
                    taken.put(jni, array);
                    jni.delete_local(array);
                    self.restored += 1;
                }
                None => {
                    taken.put(jni, std::ptr::null_mut());
                    self.lost += 1;
                }
            }
        }
        Ok(())
    }

    fn end(self, means: Means<'_>) {
        means.gate.open(means.jni, means.tools, self.suspended);
        self.shrinking.end();
    }
}

impl Taken {
    /// A new array with the saved bytes, as a local reference; `None` if these were damaged.
    fn restored(&self, jni: Jni, pool: &Pool) -> Result<Option<Object>, String> {
        let bytes = match pool.read(&self.slot) {
            Ok(bytes) => bytes,
            Err(error @ AccessError::Corrupt { .. }) => {
                eprintln!("memoryd's agent: an array is lost, and its fields are null: {error}");
                return Ok(None);
            }
            Err(error) => return Err(error.to_string()),
        };
        let array = jni.new_array(self.primitive, self.length);
        let array = array.ok_or("the program's heap has no room for its arrays: try again")?;
        let copied = jni.with_bytes(array, bytes.len(), |into, _| into.copy_from_slice(&bytes));
        copied.ok_or("the JVM lends no arrays: try again")?;
        Ok(Some(array))
    }

    /// Sets the fields, and lets their objects go.
    fn put(self, jni: Jni, array: Object) {
        for (holder, field) in self.places {
            jni.set_field(holder, field, array);
            jni.delete_global(holder);
        }
    }
}
