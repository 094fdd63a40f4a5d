//! The world: data centres, the links between them, clients, and what can happen.
//!
//! Invariant: a link carries messages in order, and loses what is on its way with itself; nothing else is lost.

use std::rc::Rc;

use iolite_causal::LinkId;

pub use super::client::{Client, Token};
use super::judge;
use super::node::{Calls, Side, Step};
use super::plan::{Bounds, CENTRES, Call, Centre, Pace, Plan};
use super::pool::{Cargo, Facts, MessageNumber, NodeNumber, Pool, Stepped, Waiting};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub nodes: [NodeNumber; CENTRES],
    pub dead: u8,
    /// By who dialled and who accepted.
    pub links: [[Link; CENTRES]; CENTRES],
    pub clients: Vec<Client>,
    pub made: Calls,
    /// The view of the client when it made each transaction.
    pub depends: Vec<Calls>,
    used: Used,
    /// The property that does not hold.
    pub fault: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Link {
    generation: u8,
    is_up: bool,
    to_accepted: Vec<MessageNumber>,
    to_dialled: Vec<MessageNumber>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Used {
    moves: u8,
    cuts: u8,
    restarts: u8,
    deaths: u8,
    conflicts: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The oldest message from the first to the second, on the link that the named side dialled.
    Deliver {
        from: Centre,
        to: Centre,
        dialled: bool,
    },
    Perform(Centre, usize),
    Conflict(Centre, usize),
    Timer(Centre),
    Dial(Centre, Centre),
    Cut(Centre, Centre),
    Restart(Centre),
    Die(Centre),
    Make(usize),
    Hand(usize),
    Advance(usize),
    Acknowledge(usize),
    Move(usize, Centre),
    LetIn(usize),
}

#[derive(Debug)]
pub struct Model {
    pub plan: Plan,
    pub pool: Pool,
}

impl World {
    pub fn is_alive(&self, centre: Centre) -> bool {
        self.dead >> centre & 1 == 0
    }

    pub fn alive(&self) -> impl Iterator<Item = Centre> + '_ {
        (0..CENTRES).filter(|centre| self.is_alive(*centre))
    }
}

fn link_id(dialled: Centre, accepted: Centre, generation: u8) -> LinkId {
    LinkId(16 * u64::from(generation) + 4 * dialled as u64 + accepted as u64)
}

fn ends(link: LinkId) -> (Centre, Centre) {
    ((link.0 / 4 % 4) as usize, (link.0 % 4) as usize)
}

impl Model {
    pub fn new(plan: Plan) -> Model {
        Model { pool: Pool::new(plan.clone()), plan }
    }

    /// All data centres are there, and follow each other.
    pub fn first(&self) -> World {
        let mut world = World {
            nodes: std::array::from_fn(|centre| self.pool.begin(centre).node),
            dead: 0,
            links: Default::default(),
            clients: self.plan.clients.iter().map(|at| Client::new(*at)).collect(),
            made: 0,
            depends: vec![0; self.plan.calls.len()],
            used: Used::default(),
            fault: None,
        };
        for dialled in 0..CENTRES {
            for accepted in (0..CENTRES).filter(|accepted| *accepted != dialled) {
                self.dial(&mut world, dialled, accepted);
            }
        }
        loop {
            let next = self.deliveries(&world).next();
            let Some(deliver) = next else { return world };
            self.deliver(&mut world, deliver);
        }
    }

    pub fn facts(&self, world: &World, centre: Centre) -> Rc<Facts> {
        self.pool.facts(world.nodes[centre])
    }

    pub fn step(&self, world: &mut World, centre: Centre, step: &Step) {
        let stepped = self.pool.step(world.nodes[centre], step);
        self.stepped(world, centre, &stepped);
    }

    fn stepped(&self, world: &mut World, centre: Centre, stepped: &Stepped) {
        world.nodes[centre] = stepped.node;
        for (id, message) in &stepped.said {
            let (dialled, accepted) = ends(*id);
            let link = &mut world.links[dialled][accepted];
            if !link.is_up || link_id(dialled, accepted, link.generation) != *id {
                continue;
            }
            match message {
                Some(message) if centre == dialled => link.to_accepted.push(*message),
                Some(message) => link.to_dialled.push(*message),
                None => {
                    let other = if centre == dialled { accepted } else { dialled };
                    *link = Link { generation: link.generation, ..Link::default() };
                    self.step(world, other, &Step::Closed(*id));
                }
            }
        }
    }

    fn dial(&self, world: &mut World, dialled: Centre, accepted: Centre) {
        let link = &mut world.links[dialled][accepted];
        *link = Link { generation: link.generation + 1, is_up: true, ..Link::default() };
        let link = link_id(dialled, accepted, link.generation);
        self.step(world, accepted, &Step::Opened { link, peer: dialled, side: Side::Accepted });
        self.step(world, dialled, &Step::Opened { link, peer: accepted, side: Side::Dialled });
    }

    /// A link is lost. Those of its two ends hear of it that are named.
    fn lose(&self, world: &mut World, dialled: Centre, accepted: Centre, hear: &[Centre]) {
        let link = &mut world.links[dialled][accepted];
        if !link.is_up {
            return;
        }
        let id = link_id(dialled, accepted, link.generation);
        *link = Link { generation: link.generation, ..Link::default() };
        hear.iter().for_each(|centre| self.step(world, *centre, &Step::Closed(id)));
    }

    /// Messages that can come next, one a link and direction.
    fn deliveries<'a>(&self, world: &'a World) -> impl Iterator<Item = Action> + use<'a> {
        let pairs = (0..CENTRES).flat_map(|one| (0..CENTRES).map(move |other| (one, other)));
        pairs.flat_map(|(dialled, accepted)| {
            let link = &world.links[dialled][accepted];
            let up = (!link.to_accepted.is_empty()).then_some(Action::Deliver {
                from: dialled,
                to: accepted,
                dialled: true,
            });
            let down = (!link.to_dialled.is_empty()).then_some(Action::Deliver {
                from: accepted,
                to: dialled,
                dialled: false,
            });
            up.into_iter().chain(down)
        })
    }

    fn queue<'a>(&self, world: &'a mut World, action: Action) -> Option<(LinkId, Centre, &'a mut Vec<MessageNumber>)> {
        let Action::Deliver { from, to, dialled } = action else { return None };
        let (dials, accepts) = if dialled { (from, to) } else { (to, from) };
        let link = &mut world.links[dials][accepts];
        let id = link_id(dials, accepts, link.generation);
        Some((id, to, if dialled { &mut link.to_accepted } else { &mut link.to_dialled }))
    }

    fn deliver(&self, world: &mut World, action: Action) -> Option<()> {
        let (link, to, queue) = self.queue(world, action)?;
        let message = queue.remove(0);
        self.step(world, to, &Step::Message(link, message));
        Some(())
    }

    /// Whether a message comes at once at this pace.
    fn is_quiet(&self, world: &mut World, action: Action) -> bool {
        let Some((_, to, queue)) = self.queue(world, action) else { return false };
        let cargo = self.pool.cargo(queue[0]);
        match (self.plan.pace, cargo) {
            (Pace::Messages, _) | (Pace::Entries, Cargo::Entries(_)) => false,
            (Pace::Eager, Cargo::Entries(calls)) => calls & !self.facts(world, to).known == 0,
            (Pace::Eager | Pace::Entries, Cargo::Other) => true,
        }
    }

    /// Lets happen what happens at once.
    fn settle(&self, world: &mut World) {
        loop {
            let quiet: Vec<Action> = self.deliveries(world).collect();
            let quiet = quiet.into_iter().find(|action| self.is_quiet(world, *action));
            let next = quiet.or_else(|| world.alive().find_map(|centre| self.prompt(world, centre)));
            match next {
                Some(Action::Perform(centre, which)) => self.step(world, centre, &Step::Perform(which)),
                Some(Action::Timer(centre)) => self.step(world, centre, &Step::Timer),
                Some(deliver) => drop(self.deliver(world, deliver)),
                None => return,
            }
        }
    }

    /// The next thing that a data centre does at once.
    fn prompt(&self, world: &World, centre: Centre) -> Option<Action> {
        let (facts, is_eager) = (self.facts(world, centre), self.plan.pace == Pace::Eager);
        let is_due = |own: &Waiting| is_eager && own.is_known || own.is_taken && !self.plan.side_by_side;
        let due = facts.pending.iter().position(is_due).map(|which| Action::Perform(centre, which));
        due.or_else(|| (is_eager && facts.has_timer).then_some(Action::Timer(centre)))
    }

    /// Everything that can happen. `may`: also what need not.
    pub fn can(&self, world: &World, may: bool) -> Vec<Action> {
        let mut actions: Vec<Action> = self.deliveries(world).collect();
        for centre in world.alive() {
            self.centre_can(world, centre, may, &mut actions);
        }
        for client in 0..world.clients.len() {
            self.client_can(world, client, may, &mut actions);
        }
        actions
    }

    fn centre_can(&self, world: &World, centre: Centre, may: bool, actions: &mut Vec<Action>) {
        let (facts, bounds, used) = (self.facts(world, centre), &self.plan.bounds, world.used);
        for which in 0..facts.pending.len() {
            actions.push(Action::Perform(centre, which));
            if may && used.conflicts < bounds.conflicts {
                actions.push(Action::Conflict(centre, which));
            }
        }
        if facts.has_timer {
            actions.push(Action::Timer(centre));
        }
        for other in world.alive().filter(|other| *other != centre) {
            let is_up = world.links[centre][other].is_up;
            if !is_up {
                actions.push(Action::Dial(centre, other));
            } else if may && used.cuts < bounds.cuts {
                actions.push(Action::Cut(centre, other));
            }
        }
        if may && bounds.only.is_none_or(|only| only == centre) {
            if used.restarts < bounds.restarts {
                actions.push(Action::Restart(centre));
            }
            if used.deaths < bounds.deaths {
                actions.push(Action::Die(centre));
            }
        }
    }

    fn client_can(&self, world: &World, client: usize, may: bool, actions: &mut Vec<Action>) {
        let own = &world.clients[client];
        if self.next_call(world, client).is_some() {
            actions.push(Action::Make(client));
        }
        if self.next_handed(world, client).is_some() {
            actions.push(Action::Hand(client));
        }
        if let Some(facts) = self.serving(world, client) {
            if facts.shown != own.snapshot {
                actions.push(Action::Advance(client));
            }
            if self.plan.bounds.acknowledge && own.acknowledged > own.said {
                actions.push(Action::Acknowledge(client));
            }
        }
        if self.can_be_let_in(world, client) {
            actions.push(Action::LetIn(client));
        }
        let (at, Bounds { moves, .. }) = (own.to.unwrap_or(own.at), self.plan.bounds);
        if !world.is_alive(at) || may && world.used.moves < moves {
            let others = world.alive().filter(|other| *other != at);
            actions.extend(others.map(|other| Action::Move(client, other)));
        }
    }

    /// The world after something has happened; none if it is the same.
    pub fn after(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        self.act(&mut next, action)?;
        self.settle(&mut next);
        if next == *world {
            return None;
        }
        next.fault = next.fault.or_else(|| judge::fault(self, &next));
        Some(next)
    }

    fn act(&self, world: &mut World, action: Action) -> Option<()> {
        match action {
            Action::Deliver { .. } => self.deliver(world, action)?,
            Action::Perform(centre, which) => self.step(world, centre, &Step::Perform(which)),
            Action::Conflict(centre, which) => {
                world.used.conflicts += 1;
                self.step(world, centre, &Step::Conflict(which));
            }
            Action::Timer(centre) => self.step(world, centre, &Step::Timer),
            Action::Dial(dialled, accepted) => self.dial(world, dialled, accepted),
            Action::Cut(dialled, accepted) => {
                world.used.cuts += 1;
                self.lose(world, dialled, accepted, &[dialled, accepted]);
                self.dial(world, dialled, accepted);
            }
            Action::Restart(centre) => self.restart(world, centre),
            Action::Die(centre) => self.die(world, centre),
            Action::Make(client) => self.make(world, client)?,
            Action::Hand(client) => self.hand(world, client)?,
            Action::Advance(client) => self.show(world, client),
            Action::Acknowledge(client) => self.acknowledge(world, client),
            Action::Move(client, to) => {
                let own = &mut world.clients[client];
                let at = own.to.replace(to).unwrap_or(own.at);
                world.used.moves += u8::from(world.is_alive(at));
            }
            Action::LetIn(client) => self.let_in(world, client)?,
        }
        Some(())
    }

    fn restart(&self, world: &mut World, centre: Centre) {
        world.used.restarts += 1;
        let others: Vec<Centre> = world.alive().filter(|other| *other != centre).collect();
        for other in &others {
            self.lose(world, centre, *other, &[*other]);
            self.lose(world, *other, centre, &[*other]);
        }
        let began = self.pool.restart(world.nodes[centre]);
        self.stepped(world, centre, &began);
        for other in others {
            self.dial(world, centre, other);
            self.dial(world, other, centre);
        }
        for own in world.clients.iter_mut().filter(|own| own.at == centre && own.to.is_none()) {
            own.to = Some(centre);
        }
    }

    fn die(&self, world: &mut World, centre: Centre) {
        world.used.deaths += 1;
        world.dead |= 1 << centre;
        for other in 0..CENTRES {
            let hears: &[Centre] = if world.is_alive(other) { &[other] } else { &[] };
            self.lose(world, centre, other, hears);
            self.lose(world, other, centre, hears);
        }
    }

    /// Whether nothing has to happen any more.
    pub fn is_final(&self, world: &World) -> bool {
        self.can(world, false).is_empty()
    }

    pub fn all_calls(&self) -> Calls {
        (0..self.plan.calls.len()).fold(0, |all, call: Call| all | 1 << call)
    }
}
