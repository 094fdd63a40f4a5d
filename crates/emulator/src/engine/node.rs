//! A node: it runs the graph of each message that comes, waits for disks between steps, and minds its triggers.
//!
//! Invariant: steps run in the order of the design, each when the disk operations of the one before have ended; equal inputs give equal outputs.
//! Source: Perkins 2015, section 4.3.2, the event dispatcher.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use iolite_machine::Instant;

use super::{
    Answer, Asked, Deployment, End, Handler, Kinds, Message, NodeId, OperationId, Outputs, Program, Refusal, Target,
};
use crate::disk::{DiskAlloc, DiskDone, DiskRequest, Ticket};
use crate::modules::{Module, Outcome, Work};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeInput {
    Message(Message),
    Disk(DiskDone),
    /// At the client: the operation has its answer, or was given up.
    Forget(OperationId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeOutput {
    Send {
        to: NodeId,
        message: Message,
    },
    Disk {
        disk: usize,
        request: DiskRequest,
    },
    /// At the client: the operation ended with this.
    Finished(Message),
}

/// A graph that waits for disks.
struct Parked {
    work: Work,
    graph: Graph,
    target: Target,
    /// Operations that have not ended.
    left: usize,
}

/// The handler of the program that a graph belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Graph {
    On(super::Kind),
    Every(usize),
    When(usize),
}

pub struct Node {
    own: NodeId,
    program: Program,
    modules: Vec<Box<dyn Module>>,
    parked: BTreeMap<u64, Parked>,
    /// The parked graph that each disk operation belongs to.
    tickets: BTreeMap<Ticket, u64>,
    next: u64,
    /// When each time trigger is due.
    due: Vec<Instant>,
    /// Whether each state trigger has run since its measure rose.
    risen: Vec<bool>,
    outputs: VecDeque<NodeOutput>,
}

impl Node {
    pub fn new(own: NodeId, program: Program, modules: Vec<Box<dyn Module>>) -> Node {
        let risen = vec![false; program.when.len()];
        let (parked, tickets, outputs) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Node { own, program, modules, parked, tickets, next: 0, due: Vec::new(), risen, outputs }
    }

    pub fn allocations(&self) -> Vec<DiskAlloc> {
        self.modules.iter().flat_map(|module| module.allocations()).collect()
    }

    /// From here on time triggers run.
    pub fn start(&mut self, now: Instant) {
        self.due = self.program.every.iter().map(|trigger| now + trigger.period).collect();
    }

    /// # Panics
    /// When the message is one that the role does not take, which the loader of designs rules out.
    pub fn handle(&mut self, now: Instant, input: NodeInput) {
        match input {
            NodeInput::Message(message) => {
                let graph = Graph::On(message.kind);
                let start = self.handler(graph).start;
                self.go_on(now, Work::new(message), graph, start);
            }
            NodeInput::Disk(done) => self.on_disk(now, done),
            NodeInput::Forget(operation) => self.modules.iter_mut().for_each(|module| module.forget(operation)),
        }
        self.check_states(now);
    }

    pub fn poll(&mut self) -> Option<NodeOutput> {
        self.outputs.pop_front()
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.due.iter().min().copied()
    }

    /// Runs the time triggers that are due. A call that comes early does nothing.
    pub fn on_deadline(&mut self, now: Instant) {
        for number in 0..self.due.len() {
            while self.due[number] <= now {
                self.due[number] = self.due[number] + self.program.every[number].period;
                self.trigger(now, Graph::Every(number));
            }
        }
        self.check_states(now);
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.parked.is_empty() && self.outputs.is_empty()
    }

    fn on_disk(&mut self, now: Instant, done: DiskDone) {
        let number = self.tickets.remove(&done.ticket).expect("a disk ends what it was asked for, once");
        let parked = self.parked.get_mut(&number).expect("a ticket belongs to a graph that waits");
        parked.left -= 1;
        if done.content.is_some() {
            parked.work.message.value = done.content;
        }
        if parked.left == 0 {
            let Parked { work, graph, target, .. } = self.parked.remove(&number).expect("it was there");
            self.go_on(now, work, graph, target);
        }
    }

    fn check_states(&mut self, now: Instant) {
        for number in 0..self.program.when.len() {
            let trigger = &self.program.when[number];
            let measures = self.modules.iter().filter_map(|module| module.measure(&trigger.measure));
            let is_above = measures.fold(f64::MIN, f64::max) > trigger.above;
            let had_risen = std::mem::replace(&mut self.risen[number], is_above);
            if is_above && !had_risen {
                self.trigger(now, Graph::When(number));
            }
        }
    }

    fn trigger(&mut self, now: Instant, graph: Graph) {
        let message = Message {
            kind: Kinds::PUT,
            operation: OperationId(0),
            asked: Asked::Put,
            client: Deployment::CLIENT,
            from: self.own,
            key: super::Key(0),
            value: None,
            version: None,
            volume: None,
            replicas: Vec::new(),
            answer: None,
            room: 0,
        };
        let start = self.handler(graph).start;
        self.go_on(now, Work::new(message), graph, start);
    }

    fn handler(&self, graph: Graph) -> &Handler {
        match graph {
            Graph::On(kind) => self.program.on.get(&kind).expect("the loader saw that each message has a handler"),
            Graph::Every(number) => &self.program.every[number].handler,
            Graph::When(number) => &self.program.when[number].handler,
        }
    }

    /// Runs steps until one waits for disks, or the graph ends.
    fn go_on(&mut self, now: Instant, mut work: Work, graph: Graph, mut target: Target) {
        loop {
            let number = match target {
                Target::Step(number) => number,
                Target::End(end) => return self.end(end, work),
            };
            let step = &self.handler(graph).steps[number];
            let (module, call) = (step.module, step.call);
            let mut out = Outputs::default();
            let Outcome(result) = self.modules[module].run(now, call, &mut work, &mut out);
            target = *self.handler(graph).steps[number]
                .edges
                .get(result)
                .expect("the loader saw that each result has an edge");
            self.outputs.extend(out.messages.into_iter().map(|(to, message)| NodeOutput::Send { to, message }));
            if !out.orders.is_empty() {
                return self.park(work, graph, target, out.orders);
            }
        }
    }

    fn park(&mut self, work: Work, graph: Graph, target: Target, orders: Vec<super::DiskOrder>) {
        self.next += 1;
        let number = self.next;
        self.parked.insert(number, Parked { work, graph, target, left: orders.len() });
        for order in orders {
            self.next += 1;
            let ticket = Ticket(self.next);
            self.tickets.insert(ticket, number);
            let super::DiskOrder { disk, owner, offset, length, transfer } = order;
            self.outputs
                .push_back(NodeOutput::Disk { disk, request: DiskRequest { ticket, owner, offset, length, transfer } });
        }
    }

    fn end(&mut self, end: End, work: Work) {
        let message = work.message;
        let answer = match end {
            End::Done => return,
            End::Finish => return self.outputs.push_back(NodeOutput::Finished(message)),
            End::Next => return self.pass_on(message),
            End::ReplyToClient if message.asked == Asked::Put => Answer::Stored,
            End::ReplyToClient => Answer::Found,
            End::Missing => Answer::Missing,
            End::Refuse => Answer::Refused(Refusal::Full),
        };
        let to = message.client;
        let message = reply(self.own, &message, answer);
        // The client answers itself without a message.
        self.outputs.push_back(match to == self.own {
            true => NodeOutput::Finished(message),
            false => NodeOutput::Send { to, message },
        });
    }

    fn pass_on(&mut self, mut message: Message) {
        let own = message.replicas.iter().position(|node| *node == self.own);
        let Some(next) = own.and_then(|place| message.replicas.get(place + 1)).copied() else { return };
        message.from = self.own;
        self.outputs.push_back(NodeOutput::Send { to: next, message });
    }
}

/// The answer to a client, without what it need not know.
pub fn reply(own: NodeId, message: &Message, answer: Answer) -> Message {
    let kind = if message.asked == Asked::Put { Kinds::PUT_RESPONSE } else { Kinds::GET_RESPONSE };
    let value = message.value.filter(|_| answer == Answer::Found);
    Message { kind, from: own, value, answer: Some(answer), ..message.clone() }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Node { own, parked, outputs, .. } = self;
        write!(formatter, "Node {{ {own:?}, {} graphs wait, {} outputs }}", parked.len(), outputs.len())
    }
}
