//! Data centres, searched: as they are, and with what is wrong in each broken variant.

use iolite_causal::Broken as OfCentres;
use iolite_gateway::Broken as OfGateway;
use iolite_models::centres::configurations::{at_once, in_turn, lane, one_call, side_by_side, with, with_a_reader};
use iolite_models::centres::{
    BROUGHT_TWICE, Bounds, Broken, ENDS, Found, GOES_AWAY, MOVED, OPEN_PREFIX, ORDERS, Pace, Plan, ROW_LIES,
    SHOWN_EARLY, SURVIVED, TWICE, UNEQUAL, explore_centres,
};

const NONE: Bounds = Bounds { moves: 0, cuts: 0, restarts: 0, deaths: 0, conflicts: 0, acknowledge: false, only: None };
const ACKNOWLEDGED: Bounds = Bounds { acknowledge: true, ..NONE };

fn search(name: &str, plan: Plan, steps_max: usize) -> Found {
    let found = explore_centres(plan, steps_max);
    println!("{name}: {found}");
    found
}

/// All of it is searched, nothing is violated, and these sights are met.
fn assert_holds(name: &str, plan: Plan, sights: &[&str]) {
    let found = search(name, plan, usize::MAX);
    assert_eq!((found.violated, found.is_cut), (None, false), "{name}");
    assert!(sights.iter().all(|sight| found.met.contains(sight)), "{name}: {:?}", found.met);
}

fn bounded(plan: Plan, bounds: Bounds) -> Plan {
    with(plan, Broken::Nothing, bounds)
}

#[test]
fn one_transaction_reaches_all_through_moves_deaths_restarts_and_lost_links() {
    let one = |bounds| side_by_side(bounded(one_call(), bounds));
    assert_holds("one, a move", one(Bounds { moves: 1, ..ACKNOWLEDGED }), &[MOVED, BROUGHT_TWICE]);
    assert_holds("one, a death", one(Bounds { deaths: 1, ..ACKNOWLEDGED }), &[MOVED, BROUGHT_TWICE, SURVIVED]);
    assert_holds("one, a restart", one(Bounds { restarts: 1, ..ACKNOWLEDGED }), &[ENDS]);
    assert_holds("one, a lost link", one(Bounds { cuts: 1, ..ACKNOWLEDGED }), &[ENDS]);
    assert_holds("one, two conflicts", one(Bounds { conflicts: 2, ..ACKNOWLEDGED }), &[ENDS]);
}

#[test]
fn what_rests_on_another_transaction_is_shown_with_it_everywhere() {
    assert_holds("in turn, side by side", side_by_side(in_turn()), &[ENDS]);
    assert_holds("in turn, a move", bounded(in_turn(), Bounds { moves: 1, ..NONE }), &[MOVED, BROUGHT_TWICE]);
    let death = Bounds { deaths: 1, only: Some(0), ..NONE };
    assert_holds("in turn, 0 dies", bounded(in_turn(), death), &[MOVED, BROUGHT_TWICE, SURVIVED]);
}

#[test]
fn two_at_once_come_in_another_order_to_each_and_all_have_both() {
    assert_holds("at once", at_once(), &[ENDS, ORDERS]);
}

#[test]
fn every_broken_variant_is_found() {
    let (moves, deaths) = (Bounds { moves: 1, ..NONE }, Bounds { deaths: 1, ..NONE });
    let restarts = Bounds { restarts: 1, ..NONE };
    let of = |broken, plan: Plan, bounds| with(plan, Broken::Centres(broken), bounds);
    let behind = with(one_call(), Broken::Gateway(OfGateway::LetInBehind), moves);
    let variants = [
        ("show-before-durable", of(OfCentres::ShowBeforeDurable, one_call(), deaths), SHOWN_EARLY),
        ("name-anew", of(OfCentres::NameAnew, one_call(), NONE), TWICE),
        ("apply-side-by-side", side_by_side(of(OfCentres::ApplySideBySide, in_turn(), NONE)), OPEN_PREFIX),
        ("ship-from-history", of(OfCentres::ShipFromHistory, one_call(), restarts), UNEQUAL),
        ("acknowledge-early", side_by_side(of(OfCentres::AcknowledgeEarly, one_call(), ACKNOWLEDGED)), ROW_LIES),
        ("let-in-behind", behind, GOES_AWAY),
    ];
    for (name, plan, expected) in variants {
        assert_eq!(search(name, plan, usize::MAX).violated, Some(expected), "{name}");
    }
}

/// A data centre may die, and another one restart, whose clients then go on at any that is left.
#[test]
fn a_data_centre_that_restarts_after_a_death_has_everything_and_lets_clients_of_the_dead_one_in() {
    let bounds = Bounds { restarts: 1, deaths: 1, ..NONE };
    let plan = side_by_side(bounded(one_call(), bounds));
    assert_holds("one, a death and a restart", plan, &[MOVED, SURVIVED]);
}

/// The same rules in wider worlds. Those that are too large are cut.
fn soak(name: &str, plan: Plan) {
    assert_eq!(search(name, plan, 4_000_000).violated, None, "{name}");
}

#[test]
#[ignore = "minutes"]
fn soak_data_centres_at_every_pace() {
    for pace in [Pace::Entries, Pace::Messages] {
        soak("one", Plan { pace, ..one_call() });
        soak("one, a death", Plan { pace, ..bounded(one_call(), Bounds { deaths: 1, ..NONE }) });
        soak("one, a move", Plan { pace, ..bounded(one_call(), Bounds { moves: 1, ..NONE }) });
    }
}

#[test]
#[ignore = "minutes"]
fn soak_data_centres_that_end_and_restart() {
    soak("in turn, 0 dies", side_by_side(bounded(in_turn(), Bounds { deaths: 1, only: Some(0), ..ACKNOWLEDGED })));
    soak("a reader, 0 dies", side_by_side(bounded(with_a_reader(), Bounds { deaths: 1, only: Some(0), ..NONE })));
    soak("at once, 0 dies", bounded(at_once(), Bounds { deaths: 1, only: Some(0), ..NONE }));
    soak("a lane, a death", bounded(lane(), Bounds { deaths: 1, ..ACKNOWLEDGED }));
    let both = Bounds { moves: 1, restarts: 1, deaths: 1, ..ACKNOWLEDGED };
    soak("one, a death, a restart and a move", side_by_side(bounded(one_call(), both)));
    for only in [Some(0), Some(1)] {
        soak("in turn, a restart", side_by_side(bounded(in_turn(), Bounds { restarts: 1, only, ..NONE })));
    }
}

#[test]
#[ignore = "minutes"]
fn soak_data_centres_whose_clients_move() {
    soak("a lane, two moves", bounded(lane(), Bounds { moves: 2, ..ACKNOWLEDGED }));
    soak("at once, a move", bounded(at_once(), Bounds { moves: 1, ..ACKNOWLEDGED }));
    soak("in turn, a move", side_by_side(bounded(in_turn(), Bounds { moves: 1, ..ACKNOWLEDGED })));
}
