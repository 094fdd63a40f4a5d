//! The programs that the daemon knows.
//!
//! Invariant: a program is reclaimed from under its turn, and leaves under its turn: what holds the turn may use the region.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use iolite_memory::message::{FromDaemon, ProgramStatus};
use iolite_memory::policy::Verdict;
use iolite_memory::{Foreign, Reclaimed, Survey};

use crate::jvms::{Jvm, Jvms};
use crate::watching::Watched;

/// Regions that a daemon knows at the same time.
pub const PROGRAMS_MAX: usize = 256;
/// Connections at the same time, people's commands included.
pub const CONNECTIONS_MAX: usize = 320;

const LOCKED: &str = "nothing panics while it holds this lock";
const AS_IT_SAYS: u8 = 0;
const BACKGROUND: u8 = 1;
const FOREGROUND: u8 = 2;

/// All programs, by the number of their connection.
#[derive(Debug, Default)]
pub struct Programs {
    known: Mutex<BTreeMap<u64, Arc<Program>>>,
    /// Programs of the JVM. One that is frozen has a region, too.
    pub jvms: Jvms,
    /// The daemon's own choices.
    pub watched: Watched,
    /// Changes to the background that were seen.
    turns: AtomicU64,
}

/// A program with a region. One with two regions is here twice.
#[derive(Debug)]
pub struct Program {
    pid: u32,
    name: String,
    foreign: Foreign,
    turn: Mutex<()>,
    /// The side that a person put it on.
    said: AtomicU8,
    reclaimed_bytes: AtomicU64,
    /// The number of its last change to the background, among those of all programs, from 1. 0 is the foreground.
    rests_since: AtomicU64,
    verdict: Mutex<Option<Verdict>>,
}

impl Program {
    pub fn new(pid: u32, name: String, foreign: Foreign) -> Program {
        Program {
            pid,
            name,
            foreign,
            turn: Mutex::default(),
            said: AtomicU8::new(AS_IT_SAYS),
            reclaimed_bytes: AtomicU64::new(0),
            rests_since: AtomicU64::new(0),
            verdict: Mutex::default(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn memory_bytes(&self) -> u64 {
        self.foreign.memory_bytes()
    }

    pub fn survey(&self) -> Survey {
        self.foreign.survey()
    }

    /// The program's place in the order of changes to the background; `None` in the foreground. As of the last look.
    pub fn rests_since(&self) -> Option<u64> {
        Some(self.rests_since.load(Ordering::Relaxed)).filter(|&turn| turn != 0)
    }

    pub fn tell_verdict(&self, verdict: Verdict) {
        *self.verdict.lock().expect(LOCKED) = Some(verdict);
    }

    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().expect(LOCKED)
    }

    fn is_background(&self) -> bool {
        match self.said.load(Ordering::Relaxed) {
            BACKGROUND => true,
            FOREGROUND => false,
            _ => self.foreign.is_background(),
        }
    }

    fn status(&self) -> ProgramStatus {
        let survey = self.foreign.survey();
        ProgramStatus {
            pid: self.pid,
            name: self.name.clone(),
            background: self.is_background(),
            objects: survey.objects,
            resident_bytes: survey.resident_bytes,
            reclaimable_bytes: survey.reclaimable_bytes,
            reclaimed_bytes: self.reclaimed_bytes.load(Ordering::Relaxed),
            lies: survey.lies,
            working_set_bytes: survey.working_set_bytes,
            verdict: *self.verdict.lock().expect(LOCKED),
        }
    }
}

impl Programs {
    /// Adds a program.
    ///
    /// # Errors
    /// When there are too many.
    pub fn add(&self, number: u64, program: Program) -> Result<Arc<Program>, String> {
        let mut known = self.known.lock().expect(LOCKED);
        if known.len() == PROGRAMS_MAX {
            return Err(format!("memoryd has {PROGRAMS_MAX} programs already: end one"));
        }
        let program = Arc::new(program);
        known.insert(number, Arc::clone(&program));
        Ok(program)
    }

    pub fn remove(&self, number: u64) {
        self.known.lock().expect(LOCKED).remove(&number);
    }

    fn of_pid(&self, pid: u32) -> Vec<(u64, Arc<Program>)> {
        let known = self.known.lock().expect(LOCKED);
        let its = known.iter().filter(|(_, program)| program.pid == pid);
        its.map(|(number, program)| (*number, Arc::clone(program))).collect()
    }

    /// All programs with a region, in the order in which they came.
    pub fn all(&self) -> Vec<(u64, Arc<Program>)> {
        let known = self.known.lock().expect(LOCKED);
        known.iter().map(|(number, program)| (*number, Arc::clone(program))).collect()
    }

    /// Sees which programs changed sides since the last look. Returns whether one has.
    pub fn note_sides(&self, programs: &[(u64, Arc<Program>)]) -> bool {
        let mut has_turned = false;
        for (_, program) in programs {
            let was_resting = program.rests_since.load(Ordering::Relaxed) != 0;
            if program.is_background() == was_resting {
                continue;
            }
            has_turned = true;
            let turn = if was_resting { 0 } else { self.turns.fetch_add(1, Ordering::Relaxed) + 1 };
            program.rests_since.store(turn, Ordering::Relaxed);
        }
        has_turned
    }

    pub fn list(&self) -> Vec<FromDaemon> {
        let programs = self.all();
        let jvms = self.jvms.all();
        let running = jvms.iter().filter(|jvm| !jvm.is_frozen()).map(|jvm| jvm_status(jvm));
        let statuses = programs.iter().map(|(_, program)| program.status()).chain(running);
        statuses.map(FromDaemon::Program).chain(self.watched.list()).chain([FromDaemon::Done]).collect()
    }

    pub fn say_background(&self, pid: u32, is_background: bool) -> FromDaemon {
        if let Some(answer) = self.jvms.say_background(pid, is_background) {
            return answer;
        }
        let programs = self.of_pid(pid);
        if programs.is_empty() {
            return unknown(pid);
        }
        for (_, program) in programs {
            program.said.store(if is_background { BACKGROUND } else { FOREGROUND }, Ordering::Relaxed);
        }
        FromDaemon::Done
    }

    /// Takes from all regions of a process, in the order in which they came.
    pub fn reclaim(&self, pid: u32, bytes_max: u64) -> FromDaemon {
        let programs = self.of_pid(pid);
        let is_known = !programs.is_empty() || self.jvms.of_pid(pid).is_some();
        if !is_known {
            return unknown(pid);
        }
        if programs.iter().all(|(_, program)| !program.is_background()) {
            let reason = format!(
                "process {pid} is in the foreground: nothing is taken from it until it says otherwise, or `memoryd background {pid}` does"
            );
            return FromDaemon::Refused { reason };
        }
        let begun = Instant::now();
        let mut sum = Reclaimed::default();
        for (number, program) in programs {
            match self.reclaim_one(number, &program, bytes_max - sum.bytes.min(bytes_max)) {
                Ok(taken) => add(&mut sum, taken),
                Err(error) => return FromDaemon::Refused { reason: format!("the kernel makes no holes: {error}") },
            }
        }
        let microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Reclaimed { bytes, objects, given_back, holes } = sum;
        FromDaemon::Reclaimed { bytes, objects, given_back, holes, microseconds }
    }

    /// Takes from one region, for as long as its program is in the background: cold objects first.
    ///
    /// # Errors
    /// When the kernel makes no holes.
    pub fn reclaim_one(&self, number: u64, program: &Program, bytes_max: u64) -> std::io::Result<Reclaimed> {
        let _turn = program.turn();
        // It may have left while the turn was waited for: then its region is none of ours any more.
        if !self.known.lock().expect(LOCKED).contains_key(&number) {
            return Ok(Reclaimed::default());
        }
        let taken = program.foreign.reclaim(bytes_max, || program.is_background())?;
        program.reclaimed_bytes.fetch_add(taken.bytes, Ordering::Relaxed);
        Ok(taken)
    }
}

fn add(sum: &mut Reclaimed, taken: Reclaimed) {
    sum.bytes += taken.bytes;
    sum.objects += taken.objects;
    sum.given_back += taken.given_back;
    sum.holes += taken.holes;
}

/// A program of the JVM that runs has no region.
fn jvm_status(jvm: &Jvm) -> ProgramStatus {
    ProgramStatus {
        pid: jvm.pid,
        name: "JVM".to_owned(),
        background: false,
        objects: 0,
        resident_bytes: 0,
        reclaimable_bytes: 0,
        reclaimed_bytes: 0,
        lies: 0,
        working_set_bytes: 0,
        verdict: None,
    }
}

fn unknown(pid: u32) -> FromDaemon {
    FromDaemon::Refused { reason: format!("process {pid} has told memoryd of no region: see `memoryd status`") }
}

#[cfg(test)]
pub(crate) mod tests;
