//! Data centres, searched: as they are, and with what is wrong in each broken variant.

use iolite_models::centres::configurations::{at_once, in_turn, lane, one_call, with, with_a_reader};
use iolite_models::centres::{Bounds, Broken, Found, Pace, Plan, explore_centres};

fn search(name: &str, plan: Plan) -> Found {
    let found = explore_centres(plan, 300_000);
    println!("{name}: {found}");
    found
}

#[test]
fn broken_out() {
    use iolite_causal::Broken as C;
    let none = Bounds::default();
    let of = |broken| Broken::Centres(broken);
    search("show", with(one_call(), of(C::ShowBeforeDurable), Bounds { deaths: 1, ..none }));
    search("anew", with(one_call(), of(C::NameAnew), none));
    search("side", Plan { side_by_side: true, ..with(in_turn(), of(C::ApplySideBySide), none) });
    search("ship", with(one_call(), of(C::ShipFromHistory), Bounds { restarts: 1, ..none }));
    let acks = Bounds { acknowledge: true, ..none };
    search("acks", Plan { side_by_side: true, ..with(one_call(), of(C::AcknowledgeEarly), acks) });
    let moves = Bounds { moves: 1, ..none };
    search("let in", with(one_call(), Broken::Gateway(iolite_gateway::Broken::LetInBehind), moves));
}

#[test]
fn try_out() {
    let none = Bounds::default();
    search("in turn", in_turn());
    search("at once", at_once());
    search("in turn, move", with(in_turn(), Broken::Nothing, Bounds { moves: 1, ..none }));
}

fn soak(name: &str, plan: Plan) {
    let found = explore_centres(plan, 3_000_000);
    println!("{name}: {found}");
}

#[test]
#[ignore]
fn soak_1() {
    let none = Bounds::default();
    let n = Broken::Nothing;
    let side = |plan| Plan { side_by_side: true, ..plan };
    let all = Bounds { moves: 1, cuts: 1, restarts: 1, deaths: 1, conflicts: 1, acknowledge: true, only: None };
    soak("one all", side(with(one_call(), n, Bounds { cuts: 0, conflicts: 0, ..all })));
    soak("one cut", side(with(one_call(), n, Bounds { cuts: 1, moves: 1, acknowledge: true, ..none })));
    soak("one conflict", side(with(one_call(), n, Bounds { conflicts: 2, moves: 1, acknowledge: true, ..none })));
    soak("one entries", Plan { pace: Pace::Entries, ..one_call() });
    soak("one messages", Plan { pace: Pace::Messages, ..one_call() });
    soak("lane move 2", with(lane(), n, Bounds { moves: 2, acknowledge: true, ..none }));
    soak("lane death", with(lane(), n, Bounds { deaths: 1, acknowledge: true, ..none }));
}

#[test]
#[ignore]
fn soak_2() {
    let none = Bounds::default();
    let n = Broken::Nothing;
    let side = |plan| Plan { side_by_side: true, ..plan };
    soak("turn side death 0", side(with(in_turn(), n, Bounds { deaths: 1, only: Some(0), ..none })));
    soak("reader 0 dies side", side(with(with_a_reader(), n, Bounds { deaths: 1, only: Some(0), ..none })));
    soak("once move", with(at_once(), n, Bounds { moves: 1, acknowledge: true, ..none }));
    soak("once death 0", with(at_once(), n, Bounds { deaths: 1, only: Some(0), ..none }));
    soak("turn restart 0", with(in_turn(), n, Bounds { restarts: 1, only: Some(0), ..none }));
    soak("turn move acks", with(in_turn(), n, Bounds { moves: 1, acknowledge: true, ..none }));
    soak("turn restart 1 side", side(with(in_turn(), n, Bounds { restarts: 1, only: Some(1), ..none })));
}
