//! Runs test executables side by side, in slots by their weight (`weights.rs`).
//!
//! Invariant: every executable runs exactly once. Of those that compute and those that wait as many run at once as they have slots; one that
//! measures runs when all others have ended.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};

use super::executables::{Executable, build};
use super::running::{Ended, LIMITS, run};
use super::tally::Tally;
use super::times::{Timed, Times, of_tests};
use super::weights::Weight;

/// The sum of all executables.
#[derive(Default)]
pub struct Outcome {
    pub tally: Tally,
    pub tests: Vec<Timed>,
}

/// Builds the tests and runs them.
pub fn run_all(root: &Path) -> Result<Outcome> {
    let target = root.join("target");
    let Some(executables) = build(root)? else {
        return Ok(Outcome { tally: Tally { failed: 1, ..Tally::default() }, tests: Vec::new() });
    };
    let logs = target.join("test-output");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let mut times = Times::read(&target);
    let pool = Pool { executables: longest_first(executables, &times), logs: &logs };
    let ended = pool.run()?;
    ended.iter().for_each(|(name, ended)| times.note(name.clone(), ended.took));
    times.write(&target);
    let mut outcome = Outcome::default();
    for (name, ended) in ended {
        outcome.tally = outcome.tally + ended.tally;
        outcome.tests.extend(of_tests(&name, &ended.printed));
    }
    Ok(outcome)
}

fn longest_first(mut executables: Vec<Executable>, times: &Times) -> Vec<Executable> {
    executables.sort_by_key(|executable| std::cmp::Reverse(times.of(&executable.name())));
    executables
}

struct Pool<'a> {
    executables: Vec<Executable>,
    logs: &'a Path,
}

impl Pool<'_> {
    fn run(&self) -> Result<Vec<(String, Ended)>> {
        let ended = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let (pool, ended) = (self, &ended);
            let both = [Weight::Computes, Weight::Waits];
            let both = both.map(|weight| scope.spawn(move || pool.run_those(weight, ended)));
            both.into_iter().try_for_each(|one| one.join().expect("it does not panic"))
        })?;
        self.run_those(Weight::Alone, &ended)?;
        Ok(ended.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn run_those(&self, weight: Weight, ended: &Mutex<Vec<(String, Ended)>>) -> Result<()> {
        let of_weight = self.executables.iter().filter(|executable| executable.weight() == weight);
        let queue: Mutex<VecDeque<&Executable>> = Mutex::new(of_weight.collect());
        let work = || -> Result<()> {
            while let Some(executable) = next(&queue) {
                let one = run(executable, LIMITS, self.logs)?;
                tell(executable, &one);
                lock(ended).push((executable.name(), one));
            }
            Ok(())
        };
        thread::scope(|scope| {
            let slots: Vec<_> = (0..weight.slots()).map(|_| scope.spawn(work)).collect();
            slots.into_iter().try_for_each(|slot| slot.join().expect("a slot does not panic"))
        })
    }
}

/// A function, so that the queue is not locked while what it gave runs.
fn next<'e>(queue: &Mutex<VecDeque<&'e Executable>>) -> Option<&'e Executable> {
    lock(queue).pop_front()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line for an executable that passed; all that it printed, and how to run it again, for one that did not.
fn tell(executable: &Executable, ended: &Ended) {
    let (name, seconds) = (executable.name(), ended.took.as_secs_f64());
    if ended.tally.failed == 0 {
        println!("{name:<40}{} ({seconds:.1} s)", ended.tally);
        return;
    }
    let wrong = ended.wrong.as_deref().unwrap_or_default();
    println!("== FAILED {name}: {wrong} ({seconds:.1} s); it printed\n{}", ended.printed);
    println!("== FAILED {name}: {wrong}; run it again with\n    {}", executable.command());
}
