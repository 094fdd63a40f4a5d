//! Every node and every message that was met, once, under a number; and what each step of a node led to.
//!
//! Invariant: a node is the inputs of its life, on the store that it began with. `Centres` cannot be copied, so a step plays them again.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use iolite_causal::{FromCentre, LinkId};
use iolite_values::Timestamp;
use iolite_wire::centres::{CentreNews, OutboxEntry};

use super::canonical::canonical;
use super::client::Token;
use super::greeting;
use super::node::{self, Calls, Node, Said, Step, name};
use super::plan::{CENTRES, Call, Centre, Plan};
use super::store::Store;
use crate::fingerprint::fingerprint;

pub type NodeNumber = u32;
pub type MessageNumber = u32;

/// A place in an outbox as a number of entries.
pub type Length = u64;

/// An entry of an outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// None of a mark.
    pub call: Option<Call>,
    /// A peer's outbox had it: no client has brought it here.
    pub is_taken: bool,
}

/// A commit that waits in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// A peer's outbox had it: no client has brought it here.
    pub is_taken: bool,
    pub is_known: bool,
}

/// The part of a node that the world looks at.
#[derive(Clone, Debug)]
pub struct Facts {
    pub centre: Centre,
    pub entries: Vec<Entry>,
    pub pending: Vec<Waiting>,
    /// Transactions with a record, and those whose outcome is known.
    pub recorded: Calls,
    pub known: Calls,
    pub is_ready: bool,
    pub is_lost: bool,
    pub shown: Calls,
    /// How many entries are at or below the gateway's position.
    pub seen: usize,
    /// The clock that was told last: `through` and `here` of each data centre.
    pub clock: [(Length, Length); CENTRES],
    /// How much of each peer's outbox is here: as it is stored, and as the machine has it.
    pub stored: [Length; CENTRES],
    pub taken: [Length; CENTRES],
    /// How much of this outbox each peer has, as it is stored.
    pub applied: [Length; CENTRES],
    pub has_timer: bool,
    /// A name for each entry's time, for those who come back.
    pub times: Vec<Timestamp>,
    pub position: Timestamp,
    pub news: Vec<CentreNews>,
    /// An invariant of its own that it broke.
    pub panicked: Option<String>,
}

impl Facts {
    /// The transactions of the first entries of the outbox.
    pub fn calls(&self, first: Length) -> Calls {
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(self.entries.len());
        self.entries[..first].iter().filter_map(|entry| entry.call).fold(0, |all, call| all | 1 << call)
    }
}

/// The part of a message that the world looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cargo {
    /// Entries with these transactions.
    Entries(Calls),
    Other,
}

/// The result of a step.
#[derive(Clone, Debug)]
pub struct Stepped {
    pub node: NodeNumber,
    /// The messages for each link; none closes the link.
    pub said: Vec<(LinkId, Option<MessageNumber>)>,
}

#[derive(Debug)]
struct Known {
    /// The life's beginning, or the node before and the step.
    origin: Origin,
    facts: Rc<Facts>,
}

#[derive(Clone, Debug)]
enum Origin {
    Began { centre: Centre, life: u8, store: Rc<Store> },
    After(NodeNumber, Step),
}

/// How many nodes are kept as they are.
const LEFT: usize = 4096;

#[derive(Debug, Default)]
struct Tables {
    nodes: Vec<Known>,
    left: BTreeMap<NodeNumber, Node>,
    by_print: HashMap<u128, NodeNumber>,
    steps: HashMap<(NodeNumber, Step), Rc<Stepped>>,
    messages: Vec<(FromCentre, Cargo)>,
    by_message: HashMap<u128, MessageNumber>,
    lets_in: HashMap<(NodeNumber, usize, Token, usize), bool>,
}

#[derive(Debug)]
pub struct Pool {
    plan: Plan,
    tables: RefCell<Tables>,
}

impl Pool {
    pub fn new(plan: Plan) -> Pool {
        Pool { plan, tables: RefCell::default() }
    }

    pub fn facts(&self, number: NodeNumber) -> Rc<Facts> {
        self.read().nodes[number as usize].facts.clone()
    }

    pub fn cargo(&self, number: MessageNumber) -> Cargo {
        self.read().messages[number as usize].1
    }

    pub fn nodes(&self) -> usize {
        self.read().nodes.len()
    }

    /// A data centre whose process begins, on an empty store.
    pub fn begin(&self, centre: Centre) -> Stepped {
        self.begin_on(centre, 0, Store::new(centre))
    }

    /// The process begins anew, on what the store has.
    pub fn restart(&self, number: NodeNumber) -> Stepped {
        let node = self.node(number);
        self.begin_on(node.centre, node.life + 1, node.store)
    }

    fn begin_on(&self, centre: Centre, life: u8, store: Store) -> Stepped {
        let origin = Origin::Began { centre, life, store: Rc::new(store) };
        let Origin::Began { store, .. } = &origin else { unreachable!("it was just made") };
        let mut node = Node::new(&self.plan, centre, life, store.as_ref().clone());
        let said = node.run();
        self.add(node, origin, said, None)
    }

    pub fn step(&self, number: NodeNumber, step: &Step) -> Rc<Stepped> {
        if let Some(stepped) = self.read().steps.get(&(number, step.clone())) {
            return stepped.clone();
        }
        let message = self.read().message_of(step);
        let mut node = self.node(number);
        let taken = catch_unwind(AssertUnwindSafe(|| node.take(&self.plan, step, message)));
        let origin = Origin::After(number, step.clone());
        let stepped = match taken {
            Ok(said) => self.add(node, origin, said, None),
            Err(panic) => self.add(self.play(number), origin, Vec::new(), Some(reason(&panic))),
        };
        let stepped = Rc::new(stepped);
        self.write().steps.insert((number, step.clone()), stepped.clone());
        stepped
    }

    /// The node itself: as it was left, or made by all inputs of its life.
    fn node(&self, number: NodeNumber) -> Node {
        let left = self.write().left.remove(&number);
        left.unwrap_or_else(|| self.play(number))
    }

    fn play(&self, number: NodeNumber) -> Node {
        let (mut node, steps) = {
            let tables = self.read();
            let (mut at, mut steps) = (number, Vec::new());
            loop {
                match &tables.nodes[at as usize].origin {
                    Origin::After(before, step) => {
                        let message = tables.message_of(step);
                        steps.push((step.clone(), message));
                        at = *before;
                    }
                    Origin::Began { centre, life, store } => {
                        break (Node::new(&self.plan, *centre, *life, store.as_ref().clone()), steps);
                    }
                }
            }
        };
        node.run();
        for (step, message) in steps.into_iter().rev() {
            node.take(&self.plan, &step, message);
        }
        node
    }

    fn add(&self, node: Node, origin: Origin, said: Vec<Said>, panicked: Option<String>) -> Stepped {
        let text = format!("{:?} {:?} {:?} {panicked:?}", node.machine, node.store, node.told);
        let print = fingerprint(&canonical(&text, node.now()));
        let is_whole = panicked.is_none();
        let facts = facts(&self.plan, &node, panicked);
        let mut tables = self.write();
        let next = NodeNumber::try_from(tables.nodes.len()).expect("they fit into memory");
        let number = *tables.by_print.entry(print).or_insert(next);
        if number == next {
            tables.nodes.push(Known { origin, facts: Rc::new(facts) });
            if is_whole {
                tables.leave(number, node);
            }
        }
        let said = said.into_iter().map(|said| match said {
            Said::Message(link, message) => (link, Some(tables.add_message(message))),
            Said::Closed(link) => (link, None),
        });
        Stepped { node: number, said: said.collect() }
    }

    /// Whether the gateway of a node lets a client in that has this token.
    pub fn lets_in(&self, number: NodeNumber, whose: usize, token: &Token, seen: usize) -> bool {
        let key = (number, whose, token.clone(), seen);
        if let Some(lets_in) = self.read().lets_in.get(&key) {
            return *lets_in;
        }
        let lets_in = greeting::lets_in(self.plan.broken, &self.facts(number), whose, token, seen);
        self.write().lets_in.insert(key, lets_in);
        lets_in
    }

    fn read(&self) -> Ref<'_, Tables> {
        self.tables.borrow()
    }

    fn write(&self) -> RefMut<'_, Tables> {
        self.tables.borrow_mut()
    }
}

impl Tables {
    /// The message that a step brings.
    fn message_of(&self, step: &Step) -> Option<FromCentre> {
        let Step::Message(_, message) = step else { return None };
        Some(self.messages[*message as usize].0.clone())
    }

    /// Keeps a node for the first step from it. Most have one only.
    fn leave(&mut self, number: NodeNumber, node: Node) {
        self.left.insert(number, node);
        if self.left.len() > LEFT {
            self.left.pop_first();
        }
    }

    fn add_message(&mut self, message: FromCentre) -> MessageNumber {
        let next = MessageNumber::try_from(self.messages.len()).expect("they fit into memory");
        let number = *self.by_message.entry(fingerprint(&message)).or_insert(next);
        if number == next {
            // As it goes over the wire.
            let bytes = message.encode().expect("it is small");
            let message = FromCentre::decode(&bytes).expect("it was encoded");
            let cargo = cargo(&message);
            self.messages.push((message, cargo));
        }
        number
    }
}

fn cargo(message: &FromCentre) -> Cargo {
    match message {
        FromCentre::Entries(entries) => {
            let entries = entries.entries.iter().filter_map(|(_, bytes)| OutboxEntry::decode(bytes).ok());
            Cargo::Entries(entries.filter_map(|entry| call_of_entry(&entry)).fold(0, |all, call| all | 1 << call))
        }
        FromCentre::Follow { .. } | FromCentre::Following { .. } | FromCentre::Applied { .. } | FromCentre::Lost => {
            Cargo::Other
        }
    }
}

fn entry_of(entry: &OutboxEntry) -> Entry {
    let is_taken = matches!(entry, OutboxEntry::Transaction(shipped) if shipped.taken.is_some());
    Entry { call: call_of_entry(entry), is_taken }
}

/// The transaction of an entry.
pub fn call_of_entry(entry: &OutboxEntry) -> Option<Call> {
    match entry {
        OutboxEntry::Transaction(shipped) => node::call_of(&shipped.writes),
        OutboxEntry::Seen(_) => None,
    }
}

fn facts(plan: &Plan, node: &Node, panicked: Option<String>) -> Facts {
    let (store, told) = (&node.store, &node.told);
    let figures = node.machine.figures();
    let calls = 0..plan.calls.len();
    let those = |is: &dyn Fn(Call) -> bool| calls.clone().filter(|call| is(*call)).fold(0, |all, call| all | 1 << call);
    let mut facts = Facts {
        centre: node.centre,
        entries: store.entries.iter().map(|(_, entry)| entry_of(entry)).collect(),
        pending: store.waiting().map(|(is_taken, is_known)| Waiting { is_taken, is_known }).collect(),
        recorded: those(&|call| store.has_record(node::id(plan, call))),
        known: those(&|call| store.knows(node::id(plan, call))),
        is_ready: told.is_ready,
        is_lost: told.lost.is_some(),
        shown: told.shown,
        seen: store.entries.iter().filter(|(at, _)| *at <= told.position).count(),
        clock: [(0, 0); CENTRES],
        stored: [0; CENTRES],
        taken: [0; CENTRES],
        applied: [0; CENTRES],
        has_timer: node.has_timer(),
        times: store.entries.iter().map(|(at, _)| *at).collect(),
        position: told.position,
        news: told.news.iter().cloned().collect(),
        panicked,
    };
    for centre in 0..CENTRES {
        let ceiling = told.news.back().and_then(|news| news.clock.get(&name(centre)));
        facts.clock[centre] = ceiling.map_or((0, 0), |ceiling| (ceiling.through.0, ceiling.here.0));
        facts.stored[centre] = store.place_about(&name(centre), "taken");
        let peer = figures.peers.iter().find(|peer| peer.name == name(centre));
        facts.taken[centre] = peer.map_or(0, |peer| peer.taken.0);
        facts.applied[centre] = store.place_about(&name(centre), "applied");
    }
    facts
}

fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
