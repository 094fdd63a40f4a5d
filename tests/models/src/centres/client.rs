//! A client, as a stand-in: what it has shown, what it waits for, and the token with which it moves.

use super::judge;
use super::node::{Calls, Step};
use super::plan::{CENTRES, Call, Centre};
use super::pool::{Facts, Length};
use super::world::{Model, World};

/// As `CentreToken`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    pub at: Centre,
    pub clock: [(Length, Length); CENTRES],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub at: Centre,
    /// The data centre that it waits at to be let in.
    pub to: Option<Centre>,
    /// Entries of the outbox that its snapshot contains.
    pub seen: usize,
    pub snapshot: Calls,
    pub pending: Calls,
    /// Handed over in this session.
    pub handed: Calls,
    pub acknowledged: u64,
    /// The counter that was acknowledged in this session.
    pub said: u64,
    pub session: u8,
    pub token: Token,
}

impl Client {
    pub fn new(at: Centre) -> Client {
        Client {
            at,
            to: None,
            seen: 0,
            snapshot: 0,
            pending: 0,
            handed: 0,
            acknowledged: 0,
            said: 0,
            session: 1,
            token: Token { at, clock: [(0, 0); CENTRES] },
        }
    }

    pub fn view(&self) -> Calls {
        self.snapshot | self.pending
    }
}

impl Model {
    /// Transactions of a client, in order.
    pub fn own(&self, client: usize) -> impl Iterator<Item = Call> + '_ {
        (0..self.plan.calls.len()).filter(move |call| self.plan.calls[*call].client == client)
    }

    /// The transaction that a client makes next, if it can.
    pub fn next_call(&self, world: &World, client: usize) -> Option<Call> {
        let next = self.own(client).find(|call| world.made >> call & 1 == 0)?;
        let sees = |call: Call| world.clients[client].view() >> call & 1 != 0;
        self.plan.calls[next].after.is_none_or(sees).then_some(next)
    }

    pub fn make(&self, world: &mut World, client: usize) -> Option<()> {
        let call = self.next_call(world, client)?;
        world.depends[call] = world.clients[client].view();
        world.made |= 1 << call;
        world.clients[client].pending |= 1 << call;
        if self.next_handed(world, client) == Some(call) {
            self.hand(world, client)?;
        }
        Some(())
    }

    /// The transaction that goes to the data centre next: of one client the later one waits for the outcome of the earlier one.
    pub fn next_handed(&self, world: &World, client: usize) -> Option<Call> {
        let own = &world.clients[client];
        let facts = self.serving(world, client)?;
        let first = self.own(client).find(|call| own.pending >> call & 1 != 0 && facts.known >> call & 1 == 0)?;
        (own.handed >> first & 1 == 0).then_some(first)
    }

    pub fn hand(&self, world: &mut World, client: usize) -> Option<()> {
        let call = self.next_handed(world, client)?;
        let own = &mut world.clients[client];
        own.handed |= 1 << call;
        let (at, step) = (own.at, Step::Submit { call, session: own.session, seen: own.seen });
        self.step(world, at, &step);
        Some(())
    }

    /// The data centre that serves a client now.
    pub fn serving(&self, world: &World, client: usize) -> Option<std::rc::Rc<Facts>> {
        let own = &world.clients[client];
        let is_served = own.to.is_none() && world.is_alive(own.at);
        is_served.then(|| self.facts(world, own.at)).filter(|facts| facts.is_ready && !facts.is_lost)
    }

    /// Shows a client what its data centre shows.
    pub fn show(&self, world: &mut World, client: usize) {
        let facts = self.facts(world, world.clients[client].at);
        let own = &mut world.clients[client];
        if own.snapshot & !facts.shown != 0 {
            world.fault.get_or_insert(judge::GOES_AWAY);
        }
        let ended = own.pending & facts.shown;
        if ended & !facts.recorded != 0 {
            world.fault.get_or_insert(judge::SEEN_TWICE);
        }
        own.pending &= !ended;
        (own.snapshot, own.seen) = (facts.shown, facts.seen);
        own.token = Token { at: own.at, clock: facts.clock };
        let made = world.made;
        let own_calls = self.own(client).take_while(|call| made >> call & 1 != 0 && own.pending >> call & 1 == 0);
        own.acknowledged = own.acknowledged.max(own_calls.count() as u64);
    }

    pub fn acknowledge(&self, world: &mut World, client: usize) {
        let own = &mut world.clients[client];
        own.said = own.acknowledged;
        let (at, through, session) = (own.at, own.acknowledged, own.session);
        if self.plan.bounds.acknowledge && through > 0 {
            self.step(world, at, &Step::Acknowledge { client, through, session });
        }
    }

    pub fn can_be_let_in(&self, world: &World, client: usize) -> bool {
        let own = &world.clients[client];
        let Some(to) = own.to.filter(|to| world.is_alive(*to)) else { return false };
        let facts = self.facts(world, to);
        facts.is_ready && !facts.is_lost && self.pool.lets_in(world.nodes[to], client, &own.token, own.seen)
    }

    pub fn let_in(&self, world: &mut World, client: usize) -> Option<()> {
        let own = &mut world.clients[client];
        let to = own.to.take()?;
        (own.at, own.handed, own.session) = (to, 0, own.session + 1);
        self.show(world, client);
        self.acknowledge(world, client);
        Some(())
    }
}
