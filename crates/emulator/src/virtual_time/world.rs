//! The world of one virtual run: its events, and what each does.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use sha2::{Digest, Sha256};

use super::{Roughness, VirtualRun};
use crate::engine::{Deployment, Message, NodeId, NodeInput, NodeOutput};
use crate::hardware::Hardware;
use crate::plan::{Loaded, Plan};
use crate::quantity::{Span, nanos};
use crate::workload::{Begun, LoadClient, Random};

#[derive(Clone, Debug)]
enum Event {
    /// A message is at its node, and waits for a worker.
    Arrives(NodeId, Message),
    /// A worker has read it.
    Handled(NodeId, Message),
    Disk(NodeId, usize),
    Deadline(NodeId),
    Client,
    Stop(NodeId),
}

#[derive(Debug)]
struct Virtual {
    loaded: Loaded,
    /// When each worker is free.
    workers: Vec<Instant>,
    processor: Span,
    /// When the link out of this node is free.
    link_free: Instant,
    link: Span,
    /// For when an event of each disk is made.
    disk_events: Vec<Option<Instant>>,
}

pub(super) struct World<'a> {
    hardware: &'a Hardware,
    nodes: Vec<Virtual>,
    stopped: BTreeSet<NodeId>,
    client: LoadClient,
    now: Instant,
    made: u64,
    events: BTreeMap<(Instant, u64), Event>,
    /// When the last message of each pair arrives: the next one arrives later.
    in_order: BTreeMap<(NodeId, NodeId), Instant>,
    delay: Span,
    random: Random,
    trace: Sha256,
}

impl<'a> World<'a> {
    pub(super) fn new(plan: &'a Plan, nodes: Vec<Loaded>, roughness: &Roughness) -> World<'a> {
        let hardware = &plan.hardware;
        let node = |loaded: Loaded| Virtual {
            disk_events: vec![None; loaded.disks.len()],
            loaded,
            workers: vec![Instant::default(); hardware.workers],
            processor: Span::ZERO,
            link_free: Instant::default(),
            link: Span::ZERO,
        };
        let mut world = World {
            hardware,
            nodes: nodes.into_iter().map(node).collect(),
            stopped: BTreeSet::new(),
            client: LoadClient::new(&plan.workload, plan.seed, Instant::default()),
            now: Instant::default(),
            made: 0,
            events: BTreeMap::new(),
            in_order: BTreeMap::new(),
            delay: roughness.delay,
            random: Random::of(plan.seed, 2),
            trace: Sha256::new(),
        };
        for (node, at) in &roughness.stops {
            world.at(Instant::default() + *at, Event::Stop(*node));
        }
        for number in 0..world.nodes.len() {
            world.nodes[number].loaded.node.start(Instant::default());
            world.wake(NodeId(number as u32));
        }
        world.wake_client();
        world
    }

    pub(super) fn run(mut self) -> VirtualRun {
        // Time triggers go on for ever; the run ends with the last operation.
        while !self.client.has_ended() {
            let ((now, _), event) = self.events.pop_first().expect("an operation that is open has a time-out");
            self.now = now;
            self.note(&event);
            self.happen(event);
        }
        let counts = |node: &Virtual| node.loaded.disks.iter().map(|disk| disk.counts()).collect();
        VirtualRun {
            disks: self.nodes.iter().map(counts).collect(),
            processors: self.nodes.iter().map(|node| node.processor).collect(),
            links: self.nodes.iter().map(|node| node.link).collect(),
            history: self.client.into_history(),
            end: self.now,
            digest: self.trace.finalize().into(),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrives(node, message) => self.arrive(node, message),
            Event::Handled(node, message) => self.give(node, NodeInput::Message(message)),
            Event::Disk(node, disk) => self.on_disk(node, disk),
            Event::Deadline(node) => {
                if !self.stopped.contains(&node) {
                    self.nodes[node.0 as usize].loaded.node.on_deadline(self.now);
                    self.drain(node);
                    self.wake(node);
                }
            }
            Event::Client => {
                for begun in self.client.on_deadline(self.now) {
                    match begun {
                        Begun::Operation(message) => self.arrive(Deployment::CLIENT, message),
                        Begun::Forget(operation) => self.give(Deployment::CLIENT, NodeInput::Forget(operation)),
                    }
                }
                self.wake_client();
            }
            Event::Stop(node) => _ = self.stopped.insert(node),
        }
    }

    /// A worker of the node takes the message as soon as one is free.
    fn arrive(&mut self, to: NodeId, message: Message) {
        let now = self.now;
        let bytes = message.bytes() as f64 * self.hardware.processor_nanos_per_byte;
        let cost = self.hardware.processor_message + Span::from_nanos(bytes as u64);
        let node = &mut self.nodes[to.0 as usize];
        let worker = node.workers.iter_mut().min().expect("a node has a worker");
        *worker = now.max(*worker) + cost;
        node.processor += cost;
        let at = *worker;
        self.at(at, Event::Handled(to, message));
    }

    fn give(&mut self, node: NodeId, input: NodeInput) {
        if self.stopped.contains(&node) {
            return;
        }
        self.nodes[node.0 as usize].loaded.node.handle(self.now, input);
        self.drain(node);
    }

    fn on_disk(&mut self, node: NodeId, disk: usize) {
        let Virtual { disk_events, loaded, .. } = &mut self.nodes[node.0 as usize];
        // One that an earlier one overtook does nothing.
        if disk_events[disk].take_if(|at| *at == self.now).is_none() {
            return;
        }
        let device = &mut loaded.disks[disk];
        device.on_deadline(self.now);
        let done: Vec<_> = std::iter::from_fn(|| device.poll()).collect();
        done.into_iter().for_each(|done| self.give(node, NodeInput::Disk(done)));
        self.wake_disk(node, disk);
    }

    fn drain(&mut self, from: NodeId) {
        while let Some(output) = self.nodes[from.0 as usize].loaded.node.poll() {
            match output {
                NodeOutput::Send { to, message } => self.send(from, to, message),
                NodeOutput::Disk { disk, request } => {
                    let device = &mut self.nodes[from.0 as usize].loaded.disks[disk];
                    device.submit(self.now, request);
                    // What a cache took has ended already; it is told when this step is over.
                    let done: Vec<_> = std::iter::from_fn(|| device.poll()).collect();
                    for done in done {
                        self.nodes[from.0 as usize].loaded.node.handle(self.now, NodeInput::Disk(done));
                    }
                    self.wake_disk(from, disk);
                }
                NodeOutput::Finished(message) => {
                    self.client.finish(self.now, &message);
                    let forget = NodeInput::Forget(message.operation);
                    self.nodes[from.0 as usize].loaded.node.handle(self.now, forget);
                }
            }
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: Message) {
        if from == to {
            return self.at(self.now, Event::Arrives(to, message));
        }
        let on_link = Span::from_secs_f64(message.bytes() as f64 / self.hardware.link_bytes_per_second as f64);
        let delay = if self.delay.is_zero() { 0 } else { self.random.below(nanos(self.delay)) };
        let node = &mut self.nodes[from.0 as usize];
        node.link_free = node.link_free.max(self.now) + on_link;
        node.link += on_link;
        let arrives = node.link_free + self.hardware.link_latency + Span::from_nanos(delay);
        let last = self.in_order.entry((from, to)).or_default();
        *last = arrives.max(*last);
        let at = *last;
        self.at(at, Event::Arrives(to, message));
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.made += 1;
        self.events.insert((at, self.made), event);
    }

    fn wake(&mut self, node: NodeId) {
        if let Some(deadline) = self.nodes[node.0 as usize].loaded.node.deadline() {
            self.at(deadline, Event::Deadline(node));
        }
    }

    fn wake_disk(&mut self, node: NodeId, disk: usize) {
        let Virtual { disk_events, loaded, .. } = &mut self.nodes[node.0 as usize];
        let deadline = loaded.disks[disk].deadline();
        if std::mem::replace(&mut disk_events[disk], deadline) == deadline {
            return;
        }
        if let Some(deadline) = deadline {
            self.at(deadline, Event::Disk(node, disk));
        }
    }

    fn wake_client(&mut self) {
        if let Some(deadline) = self.client.deadline() {
            self.at(deadline, Event::Client);
        }
    }

    fn note(&mut self, event: &Event) {
        let (kind, node, of) = match event {
            Event::Arrives(node, message) => (0_u8, *node, message.operation.0),
            Event::Handled(node, message) => (1, *node, message.operation.0 ^ u64::from(message.kind.0)),
            Event::Disk(node, disk) => (2, *node, *disk as u64),
            Event::Deadline(node) => (3, *node, 0),
            Event::Client => (4, Deployment::CLIENT, 0),
            Event::Stop(node) => (5, *node, 0),
        };
        self.trace.update([kind]);
        self.trace.update(self.now.as_nanos().to_le_bytes());
        self.trace.update(node.0.to_le_bytes());
        self.trace.update(of.to_le_bytes());
    }
}
