//! The checks of a run's last state find what is wrong with it: worlds are lived to their ends, and then held against something else.

use crate::app::Model;
use crate::broken::Broken;
use crate::checker::{self, Invariant, Violation};
use crate::history::{Called, Issued};
use crate::needs::Needs;
use crate::run::{catching, live};
use crate::world::World;

/// A world that was lived to its end, and passed.
fn at_the_end_of(seed: u64) -> Result<World, String> {
    let mut world = World::new(seed, Broken::Nothing, Needs::Anything);
    catching(|| live(&mut world)).map_err(|violation| format!("seed {seed}: {violation}"))?;
    Ok(world)
}

fn is_found(found: Result<(), Violation>, expected: Invariant) -> Result<(), String> {
    match found {
        Err(violation) if violation.invariant == expected => Ok(()),
        other => Err(format!("{expected:?} was to be found, and not {other:?}")),
    }
}

pub fn missed_by_a_watcher() -> Result<(), String> {
    is_found(checker::check_last(&at_the_end_of(1)?, &Model::default()), Invariant::LastState)
}

/// The first seed in whose last history texts may have been edited. Another change may shift that: then a later seed shows it, in more time.
const EDITED: u64 = 4;

pub fn texts_otherwise() -> Result<(), String> {
    for seed in EDITED..EDITED + 40 {
        let mut world = at_the_end_of(seed)?;
        let shown = world.pages_shown();
        let end = checker::check(&world.history).map_err(|violation| format!("seed {seed}: {violation}"))?;
        let found = |model: &Model| [checker::check_shown(&shown, model), checker::check_stored(&world, model)];
        for right in found(&end) {
            right.map_err(|violation| format!("seed {seed}: {violation}"))?;
        }
        if found(&Model::default()).into_iter().all(|wrong| is_found(wrong, Invariant::Texts).is_ok()) {
            return Ok(());
        }
    }
    Err(format!("no seed of {EDITED}..{} edits a text that both checks miss in an empty model", EDITED + 40))
}

pub fn durable_without_an_end() -> Result<(), String> {
    let mut world = at_the_end_of(1)?;
    let model = checker::check(&world.history).map_err(|violation| format!("seed 1: {violation}"))?;
    checker::check_last(&world, &model).map_err(|violation| format!("seed 1: {violation}"))?;
    let history = &world.history;
    // One that no tab asked back.
    let was_promised = |(mutation, called): &(&Issued, &Called)| {
        called.has_ended_by_name() && called.durable && !history.was_asked_back(**mutation)
    };
    let promised = history.calls.iter().find(was_promised).map(|(mutation, _)| *mutation);
    let called = promised.and_then(|mutation| world.history.calls.get_mut(&mutation));
    called.ok_or("seed 1 has no durable mutation that ended")?.ends.clear();
    is_found(checker::check_last(&world, &model), Invariant::Durability)
}
