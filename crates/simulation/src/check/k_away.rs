//! Data centres that cannot reach enough others: their clients go on.

use crate::broken::Broken;
use crate::centres::{OfCentres, check};
use crate::history::{ClientIndex, Moment};
use crate::needs::Needs;
use crate::world::World;

/// A seed with several data centres, of which one has two clients.
const SEED: u64 = 2;
const MILLISECOND: Moment = 1_000_000;
const SECOND: Moment = 1_000 * MILLISECOND;
const CALLS: i64 = 300;
/// The other data centres are down for so long: the feed that is held back is given up meanwhile.
const AWAY: Moment = 640 * SECOND;

/// # Errors
/// A sentence for people that says what was seen instead.
pub fn calls_go_on() -> Result<(), String> {
    let mut world = World::new(SEED, Broken::Nothing, Needs::Centres);
    world.heal();
    let told = |violation: crate::checker::Violation| violation.to_string();
    world.step_until(60 * SECOND, "every client finds its data centre", World::is_linked).map_err(told)?;
    let caller = ClientIndex(0);
    let began = world.moment();
    world.stop_all_centres_but(caller, AWAY);
    let session = world.session_of(caller);
    let first = world.next_name();
    for call in 0..CALLS {
        world.call_named(caller, OfCentres::Visit { of: call % 4, amount: 1 });
        world.step_for(50 * MILLISECOND);
    }
    world.step_for(AWAY - 5 * SECOND - (world.moment() - began));
    if world.session_of(caller) != session {
        return Err(format!("the session of {caller:?} was {session:?}, and is {:?}", world.session_of(caller)));
    }
    let told_of = &world.history.centres.clients;
    let early = told_of.values().find_map(|own| own.promised.iter().find(|name| *name >= first));
    if let Some(name) = early {
        return Err(format!("call {name} was shown or confirmed while one data centre had it"));
    }
    world.step_until(180 * SECOND, "all calls end", World::is_at_rest).map_err(told)?;
    world.step_for(30 * SECOND);
    check(&world).map_err(told)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seed_has_a_data_centre_with_two_clients() {
        let world = super::World::new(super::SEED, super::Broken::Nothing, super::Needs::Centres);
        assert!(world.clients.len() > crate::world::CENTRES);
    }
}
