//! `iolite simulate --check` and `--every-variant`: a row each, with its seconds, and a closing line that test runners count.
//!
//! Invariant: the rows come in the order of their list, and every item is run once, however many cores share them.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use iolite_simulation::{Broken, CHECKS, hunt, run};

/// Words for the row of an item: how it passed, or why it failed.
type Ended = Result<String, String>;

/// Fails when a check fails.
pub fn checks() -> anyhow::Result<ExitCode> {
    rows(&CHECKS, |check| (check.rule.to_owned(), check.run().map(|()| "holds".to_owned())))
}

/// Fails when a variant is not found by its seeds, or has too many of them.
pub fn every_variant() -> anyhow::Result<ExitCode> {
    let variants: Vec<_> = Broken::all().filter_map(|broken| Some((broken, broken.seeds()?))).collect();
    rows(&variants, |(broken, seeds)| {
        let found = hunt(broken.name(), seeds, |seed| run(seed, *broken));
        let found = found.map(|outcome| {
            let invariant = outcome.violation.map(|violation| format!("{:?}", violation.invariant)).unwrap_or_default();
            format!("found by seed {} of {}..{}: {invariant}", outcome.seed, seeds.start(), seeds.end())
        });
        (broken.name().to_owned(), found)
    })
}

/// Runs the items on all cores, each core the next one that nobody has begun, and prints a row for each.
fn rows<Item: Sync>(items: &[Item], run: impl Fn(&Item) -> (String, Ended) + Sync) -> anyhow::Result<ExitCode> {
    let (next, run) = (AtomicUsize::new(0), &run);
    let (sender, ended) = mpsc::channel();
    let (mut passed, mut failed) = (0, 0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(items.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((index, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let (name, ended) = run(item);
                    // The other end is there until all have ended.
                    let _ = sender.send((index, name, ended, began.elapsed()));
                }
            });
        }
        drop(sender);
        for (name, ended, took) in in_order(&ended) {
            match ended {
                Ok(_) => passed += 1,
                Err(_) => failed += 1,
            }
            print_row(&name, &ended, took)?;
        }
        anyhow::Ok(())
    })?;
    iolite_host::print(&format!("{passed} passed, {failed} failed\n"))?;
    Ok(if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The rows by their places: one that has ended waits for those before it.
fn in_order(
    ended: &mpsc::Receiver<(usize, String, Ended, Duration)>,
) -> impl Iterator<Item = (String, Ended, Duration)> {
    let (mut waiting, mut next) = (std::collections::BTreeMap::new(), 0);
    std::iter::from_fn(move || {
        loop {
            if let Some(row) = waiting.remove(&next) {
                next += 1;
                return Some(row);
            }
            let (index, name, row, took) = ended.recv().ok()?;
            waiting.insert(index, (name, row, took));
        }
    })
}

fn print_row(name: &str, ended: &Ended, took: Duration) -> anyhow::Result<()> {
    let (mark, words) = match ended {
        Ok(words) => ("ok", words),
        Err(words) => ("FAILED", words),
    };
    Ok(iolite_host::print(&format!("{mark:<7}{name}: {words} ({:.1} s)\n", took.as_secs_f64()))?)
}
