//! Properties that hold in every world of data centres, and sights that a search has to meet.

use super::node::Calls;
use super::plan::CENTRES;
use super::pool::Facts;
use super::world::{Model, World};

pub const BREAKS: &str = "no machine breaks an invariant of its own";
pub const OPEN_VIEW: &str = "what a client sees is closed under causality";
pub const OPEN_PREFIX: &str = "every prefix of every outbox is closed under causality";
pub const GOES_AWAY: &str = "nothing that was shown goes away";
pub const LOSES_OWN: &str = "a client sees its own writes";
pub const TWICE: &str = "each transaction is applied once";
pub const SEEN_TWICE: &str = "a client sees no write of its own twice";
pub const ROW_LIES: &str = "what a row says of a peer is true";
pub const SHOWN_EARLY: &str = "what is shown is in K data centres";
pub const ENDLESS: &str = "marks come to an end";
pub const UNEQUAL: &str = "in the end all data centres have everything";
pub const SHUT_OUT: &str = "in the end every client is let in, and has everything";

/// Properties of every state; the last two of those in which nothing has to happen.
pub const NEVER: [&str; 12] = [
    BREAKS,
    OPEN_VIEW,
    OPEN_PREFIX,
    GOES_AWAY,
    LOSES_OWN,
    TWICE,
    SEEN_TWICE,
    ROW_LIES,
    SHOWN_EARLY,
    ENDLESS,
    UNEQUAL,
    SHUT_OUT,
];

pub const ENDS: &str = "everybody has everything";
pub const MOVED: &str = "everybody has everything, and a client has moved";
pub const ORDERS: &str = "two outboxes in another order";
pub const BROUGHT_TWICE: &str = "a client brought one transaction to two data centres";
pub const SURVIVED: &str = "a data centre is dead, and all others have everything";

/// Sights of a search. A configuration names those that it has to meet.
pub const SIGHTS: [&str; 5] = [ENDS, MOVED, ORDERS, BROUGHT_TWICE, SURVIVED];

/// The property that does not hold in this world.
pub fn fault(model: &Model, world: &World) -> Option<&'static str> {
    let facts: Vec<_> = (0..CENTRES).map(|centre| model.facts(world, centre)).collect();
    let is_closed =
        |calls: Calls| (0..world.depends.len()).all(|call| calls >> call & 1 == 0 || world.depends[call] & !calls == 0);
    let own = |client: usize| model.own(client).fold(0, |all: Calls, call| all | 1 << call);
    let marks_max = 4 * world.depends.len() + 2;
    let checks = [
        (BREAKS, facts.iter().all(|own| own.panicked.is_none())),
        (OPEN_VIEW, world.clients.iter().all(|own| is_closed(own.view()))),
        (OPEN_PREFIX, facts.iter().all(|own| (1..=own.entries.len()).all(|end| is_closed(own.calls(end as u64))))),
        (
            LOSES_OWN,
            (0..world.clients.len()).all(|own_of| own(own_of) & world.made & !world.clients[own_of].view() == 0),
        ),
        (TWICE, facts.iter().all(|own| is_once(own))),
        (
            ROW_LIES,
            (0..CENTRES).all(|one| (0..CENTRES).all(|other| one == other || is_true(&facts[one], &facts[other]))),
        ),
        (SHOWN_EARLY, world.alive().all(|centre| is_in_k(model.plan.k, facts[centre].shown, &facts))),
        (ENDLESS, facts.iter().all(|own| own.entries.iter().filter(|entry| entry.call.is_none()).count() <= marks_max)),
    ];
    let fault = checks.into_iter().find(|(_, holds)| !holds).map(|(name, _)| name);
    fault.or_else(|| fault_of_end(model, world, &facts))
}

fn fault_of_end(model: &Model, world: &World, facts: &[std::rc::Rc<Facts>]) -> Option<&'static str> {
    if !model.is_final(world) {
        return None;
    }
    let all = model.all_calls();
    if !world.alive().all(|centre| facts[centre].calls(u64::MAX) == all) {
        return Some(UNEQUAL);
    }
    let has_all = world.clients.iter().all(|own| own.to.is_none() && own.snapshot == all && own.pending == 0);
    (!has_all).then_some(SHUT_OUT)
}

fn is_once(facts: &Facts) -> bool {
    let mut calls: Vec<_> = facts.entries.iter().filter_map(|entry| entry.call).collect();
    let count = calls.len();
    calls.sort_unstable();
    calls.dedup();
    calls.len() == count
}

/// Whether what one data centre says of another is true: how much it has of the other's outbox, and how much the other has of its own.
fn is_true(one: &Facts, other: &Facts) -> bool {
    let peer = other.centre;
    let here = one.calls(u64::MAX);
    other.calls(one.stored[peer]) & !here == 0
        && other.calls(one.taken[peer]) & !here == 0
        && one.calls(one.applied[peer]) & !other.calls(u64::MAX) == 0
}

fn is_in_k(k: usize, shown: Calls, facts: &[std::rc::Rc<Facts>]) -> bool {
    let has = |call: usize| facts.iter().filter(|own| own.calls(u64::MAX) >> call & 1 != 0).count();
    (0..8).filter(|call| shown >> call & 1 != 0).all(|call| has(call) >= k)
}

/// Whether a world is such a sight.
pub fn is_sight(model: &Model, world: &World, sight: &str) -> bool {
    let facts = || (0..CENTRES).map(|centre| model.facts(world, centre)).collect::<Vec<_>>();
    let all = model.all_calls();
    let ended = || world.clients.iter().all(|own| own.to.is_none() && own.snapshot == all && own.pending == 0);
    match sight {
        ENDS => ended(),
        MOVED => ended() && world.clients.iter().zip(&model.plan.clients).any(|(own, first)| own.at != *first),
        ORDERS => {
            let facts = facts();
            let orders = facts.iter().map(|own| own.entries.iter().filter_map(|entry| entry.call).collect());
            let orders: Vec<Vec<usize>> = orders.filter(|own: &Vec<_>| own.len() == model.plan.calls.len()).collect();
            orders.windows(2).any(|pair| pair[0] != pair[1])
        }
        BROUGHT_TWICE => {
            let facts = facts();
            let brought =
                |call: usize, own: &Facts| own.entries.iter().any(|entry| entry.call == Some(call) && !entry.is_taken);
            (0..model.plan.calls.len()).any(|call| facts.iter().filter(|own| brought(call, own)).count() > 1)
        }
        SURVIVED => world.dead != 0 && ended(),
        other => panic!("no sight is {other:?}"),
    }
}
