//! Data centres that cannot reach enough others: their clients go on.

use crate::broken::Broken;
use crate::centres::{Name, OfCentres, check};
use crate::history::{ClientIndex, Moment};
use crate::needs::Needs;
use crate::world::World;

/// A seed with several data centres, of which one has two clients.
const SEED: u64 = 1;
const MILLISECOND: Moment = 1_000_000;
const SECOND: Moment = 1_000 * MILLISECOND;
const CALLS: i64 = 300;
const CALLS_LATER: i64 = 200;
/// The other data centres are down for so long: more than the minute for which a store keeps its history.
const AWAY: Moment = 80 * SECOND;

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
    call(&mut world, caller, CALLS);
    world.step_for(AWAY - 5 * SECOND - (world.moment() - began));
    if world.session_of(caller) != session {
        return Err(format!("the session of {caller:?} was {session:?}, and is {:?}", world.session_of(caller)));
    }
    if let Some(name) = promised_from(&world, first) {
        return Err(format!("call {name} was shown or confirmed while one data centre had it"));
    }
    // The others come back, and the client never pauses.
    call(&mut world, caller, CALLS_LATER);
    if promised_from(&world, first).is_none() {
        let standing = world.standing_of_centres();
        return Err(format!(
            "no call was confirmed in the time of {CALLS_LATER} calls with all data centres: {standing}"
        ));
    }
    world.step_until(180 * SECOND, "all calls end", World::is_at_rest).map_err(told)?;
    world.step_for(30 * SECOND);
    check(&world).map_err(told)
}

fn call(world: &mut World, caller: ClientIndex, calls: i64) {
    for call in 0..calls {
        world.call_named(caller, OfCentres::Visit { of: call % 4, amount: 1 });
        world.step_for(50 * MILLISECOND);
    }
}

/// A call from this one on that was confirmed, or shown to another client.
fn promised_from(world: &World, first: Name) -> Option<Name> {
    let mut clients = world.history.centres.clients.values();
    clients.find_map(|own| own.promised.iter().find(|name| *name >= first))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seed_has_a_data_centre_with_two_clients() {
        let world = super::World::new(super::SEED, super::Broken::Nothing, super::Needs::Centres);
        assert!(world.clients.len() > crate::world::CENTRES);
    }
}
