//! The program of an arm: it makes its objects, says so, writes to its working set if it is to, and does what it is asked until its parent is gone.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use super::arm::{Hear, Keeping, Return, Say, Served};
use super::draw::Draw;
use super::group;
use super::objects::{Objects, content};
use crate::part::{hear_now, say};

/// Objects that a request uses.
const OBJECTS_A_REQUEST: usize = 10;
/// The time between two requests, where they do not follow each other at once.
const EVERY: Duration = Duration::from_millis(1);
/// How long requests come after a return.
const SERVES_FOR: Duration = Duration::from_secs(1);

/// A program that is to be made.
#[derive(Args, Debug)]
pub struct ProgramArguments {
    #[arg(long)]
    pub keeping: Keeping,
    #[arg(long)]
    pub mb: u64,
    #[arg(long)]
    pub object_bytes: u64,
    #[arg(long)]
    pub working_set: u64,
    #[arg(long)]
    writes: bool,
    #[arg(long)]
    pub socket: PathBuf,
    #[arg(long)]
    pub swap_in: PathBuf,
    #[arg(long)]
    pub save_every_ms: u64,
    /// Objects on the heap are read from this file instead of being computed.
    #[arg(long)]
    pub from_file: Option<PathBuf>,
    /// The control group that the program goes into before it makes anything.
    #[arg(long)]
    group: Option<PathBuf>,
}

/// # Errors
/// When the objects cannot be made, or the parent is gone.
pub fn run_program(arguments: &ProgramArguments) -> anyhow::Result<()> {
    let begun = Instant::now();
    if let Some(group) = &arguments.group {
        group::join(group)?;
    }
    let mut objects = Objects::make(arguments)?;
    let heap_at = objects.heap_at();
    let pid = std::process::id();
    say(&Hear::Ready { pid, ready_ms: ms_since(begun), heap_at })?;
    loop {
        let asked = next_order(arguments, &mut objects)?;
        say(&obey(arguments, &objects, &asked)?)?;
    }
}

/// Waits for an order, and writes to the working set meanwhile.
fn next_order(arguments: &ProgramArguments, objects: &mut Objects) -> anyhow::Result<Say> {
    let is_asked = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let asked = hear_now::<Say>();
            is_asked.store(true, Ordering::Release);
            asked
        });
        while arguments.writes && !is_asked.load(Ordering::Acquire) {
            objects.write_working_set(arguments.working_set)?;
        }
        asking.join().ok().context("the thread that listens does not panic")?
    })
}

fn obey(arguments: &ProgramArguments, objects: &Objects, asked: &Say) -> anyhow::Result<Hear> {
    let each = usize::try_from(arguments.object_bytes)?;
    let expected = content(0, each);
    let mut wrong_bytes = false;
    let mut use_one = |number| objects.read(number, &expected).map(|right| wrong_bytes |= !right);
    let begun;
    match asked {
        Say::UseAll => {
            begun = Instant::now();
            (0..objects.len()).try_for_each(&mut use_one)?;
        }
        Say::UseAllInAnyOrder { forgets } => {
            if *forgets {
                objects.forget_saved()?;
            }
            let order = Draw::new(1).shuffled(objects.len());
            begun = Instant::now();
            order.into_iter().try_for_each(&mut use_one)?;
        }
        Say::UseFrom { percent } => {
            begun = Instant::now();
            let first = objects.len() * usize::try_from(*percent)? / 100;
            (first..objects.len()).try_for_each(&mut use_one)?;
        }
        Say::Rest { touched_percent } => {
            begun = Instant::now();
            let touched = objects.len() * usize::try_from(*touched_percent)? / 100;
            (0..touched).try_for_each(&mut use_one)?;
            objects.rest()?;
        }
        Say::Return { by, touched_percent, is_paced } => {
            let touched = objects.len() * usize::try_from(*touched_percent)? / 100;
            return serve(objects, *by, touched, is_paced.then_some(EVERY), &expected).map(Hear::Served);
        }
    }
    Ok(Hear::Used { ms: ms_since(begun), wrong_bytes })
}

/// Comes back, and answers requests for a second: one after the other, or one every so often. The first one is due when the order to come back is there.
fn serve(
    objects: &Objects,
    by: Return,
    touched: usize,
    every: Option<Duration>,
    expected: &[u8],
) -> anyhow::Result<Served> {
    let mut draw = Draw::new(2);
    let mut each_ms = Vec::new();
    let mut wrong_bytes = false;
    let begun = Instant::now();
    let mut due = begun;
    objects.come_back(by)?;
    let came_back_ms = ms_since(begun);
    while due.duration_since(begun) < SERVES_FOR {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        for _ in 0..OBJECTS_A_REQUEST {
            wrong_bytes |= !objects.read(draw.below(touched), expected)?;
        }
        each_ms.push(ms_since(due));
        due = every.map_or_else(Instant::now, |every| due + every);
    }
    let first_ms = each_ms[0];
    each_ms.sort_by(f64::total_cmp);
    let part = |percent: usize| each_ms[(each_ms.len() * percent / 100).min(each_ms.len() - 1)];
    let (p50_ms, p99_ms, worst_ms) = (part(50), part(99), part(100));
    Ok(Served { came_back_ms, first_ms, p50_ms, p99_ms, worst_ms, requests: each_ms.len() as u64, wrong_bytes })
}

pub fn ms_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
