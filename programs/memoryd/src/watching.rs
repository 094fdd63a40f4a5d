//! The daemon's own choices: it watches the free memory, and takes by the policy of `iolite_memory::policy` when the reserve is not there.
//!
//! Invariant: each choice can be read in `memoryd status`, with its reason.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite_memory::message::{Choice, FromDaemon, MemoryStatus};
use iolite_memory::policy::{Numbers, Order, Plan, Settings, World, plan};

use crate::limit::{Limit, Memory};
use crate::programs::{Program, Programs};

const LOCKED: &str = "nothing panics while it holds this lock";
/// How often the daemon looks at the free memory while there is plenty.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often it looks while less than four reserves are free.
const LOOK_SOON: Duration = Duration::from_millis(10);
/// After a look that took nothing, the daemon rests so many times as long as the look was: reading tables takes time.
const RESTS: u32 = 20;
/// How many choices `status` tells.
const CHOICES_TOLD: usize = 32;

/// The memory that the daemon watches, and how much of it is kept free.
#[derive(Debug)]
pub struct Watch {
    pub limit: Limit,
    /// Without it a twentieth of the limit.
    pub reserve_bytes: Option<u64>,
    pub floor_bytes: u64,
}

impl Watch {
    fn settings(&self, memory: Memory) -> Settings {
        let reserve_bytes = self.reserve_bytes.unwrap_or(memory.limit_bytes / 20).min(memory.limit_bytes);
        Settings { reserve_bytes, floor_bytes: self.floor_bytes }
    }
}

/// The choices so far.
#[derive(Debug, Default)]
pub struct Watched {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    memory: Option<MemoryStatus>,
    choices: VecDeque<(Instant, Choice)>,
}

impl Watched {
    /// The memory and the last choices, for `status`. Nothing if the daemon does not watch.
    pub fn list(&self) -> Vec<FromDaemon> {
        let state = self.state.lock().expect(LOCKED);
        let choices = state.choices.iter().map(|(at, choice)| {
            let milliseconds_ago = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
            FromDaemon::Choice(Choice { milliseconds_ago, ..choice.clone() })
        });
        state.memory.clone().map(FromDaemon::Memory).into_iter().chain(choices).collect()
    }

    fn tell_memory(&self, of: String, memory: Memory, settings: Settings) {
        let mut state = self.state.lock().expect(LOCKED);
        let (taken_bytes, short_bytes) =
            state.memory.as_ref().map_or((0, 0), |memory| (memory.taken_bytes, memory.short_bytes));
        state.memory = Some(MemoryStatus {
            of,
            limit_bytes: memory.limit_bytes,
            free_bytes: memory.free_bytes,
            reserve_bytes: settings.reserve_bytes,
            taken_bytes,
            short_bytes,
        });
    }

    fn tell_short(&self, short_bytes: u64) {
        if let Some(memory) = &mut self.state.lock().expect(LOCKED).memory {
            memory.short_bytes = short_bytes;
        }
    }

    fn tell_choice(&self, choice: Choice) {
        let mut state = self.state.lock().expect(LOCKED);
        if let Some(memory) = &mut state.memory {
            memory.taken_bytes += choice.taken_bytes;
        }
        if state.choices.len() == CHOICES_TOLD {
            state.choices.pop_front();
        }
        state.choices.push_back((Instant::now(), choice));
    }
}

/// Watches for ever, in a thread of its own.
///
/// # Errors
/// When the limit cannot be read, or there is no thread.
pub fn begin(programs: &Arc<Programs>, watch: Watch) -> io::Result<()> {
    // A limit that cannot be read is told at the start.
    look(programs, &watch)?;
    let programs = Arc::clone(programs);
    let run = move || {
        let mut is_told = false;
        loop {
            let begun = Instant::now();
            let looked = look(&programs, &watch);
            if let (Err(error), false) = (&looked, is_told) {
                eprintln!("memoryd: takes nothing by itself, since the free memory cannot be read: {error}");
            }
            is_told = looked.is_err();
            let next = looked.unwrap_or(Look::Plenty);
            std::thread::sleep(match next {
                Look::Plenty => LOOK_EVERY,
                Look::Near => LOOK_SOON,
                Look::Nothing => LOOK_SOON.max(begun.elapsed() * RESTS),
            });
        }
    };
    std::thread::Builder::new().name("watching".to_owned()).spawn(run).map(|_| ())
}

/// The outcome of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plenty,
    /// Less than four reserves are free, or memory was taken.
    Near,
    /// The reserve is not there, and no program could give anything.
    Nothing,
}

/// Looks once, and takes what the policy says.
pub fn look(programs: &Programs, watch: &Watch) -> io::Result<Look> {
    let all = programs.all();
    let turned = programs.note_sides(&all);
    let memory = watch.limit.read(|| all.iter().map(|(_, program)| program.memory_bytes()).sum())?;
    let settings = watch.settings(memory);
    programs.watched.tell_memory(watch.limit.in_words(), memory, settings);
    if memory.free_bytes >= settings.reserve_bytes {
        let is_near = memory.free_bytes < settings.reserve_bytes.saturating_mul(4);
        return Ok(if is_near || turned { Look::Near } else { Look::Plenty });
    }
    let world = World {
        free_bytes: memory.free_bytes,
        programs: all.iter().map(|(number, program)| numbers_of(*number, program)).collect(),
    };
    let Some(plan) = plan(settings, &world) else { return Ok(Look::Near) };
    let taken = carry_out(programs, &all, memory, &plan);
    Ok(if taken > 0 { Look::Near } else { Look::Nothing })
}

fn numbers_of(number: u64, program: &Program) -> Numbers {
    let survey = program.survey();
    Numbers {
        number,
        rests_since: program.rests_since(),
        resident_bytes: survey.resident_bytes,
        reclaimable_bytes: survey.reclaimable_bytes,
        cold_bytes: survey.cold_bytes,
    }
}

fn carry_out(programs: &Programs, all: &[(u64, Arc<Program>)], memory: Memory, plan: &Plan) -> u64 {
    for ((_, program), (_, verdict)) in all.iter().zip(&plan.verdicts) {
        program.tell_verdict(*verdict);
    }
    programs.watched.tell_short(plan.short_bytes);
    let of_number = |number: u64| all.iter().find(|(known, _)| *known == number).map(|(_, program)| program);
    let mut sum = 0;
    for order in &plan.orders {
        let Some(program) = of_number(order.number) else { continue };
        let taken = match programs.reclaim_one(order.number, program, order.bytes_max) {
            Ok(taken) => taken.bytes,
            Err(error) => {
                eprintln!("memoryd: the kernel makes no holes: {error}");
                0
            }
        };
        sum += taken;
        if taken > 0 {
            programs.watched.tell_choice(choice_of(order, program, memory, taken));
        }
    }
    sum
}

fn choice_of(order: &Order, program: &Program, memory: Memory, taken_bytes: u64) -> Choice {
    Choice {
        pid: program.pid(),
        name: program.name().to_owned(),
        part: order.part,
        free_bytes: memory.free_bytes,
        asked_bytes: order.bytes_max,
        taken_bytes,
        milliseconds_ago: 0,
    }
}

#[cfg(test)]
mod tests;
