//! A tracking that is a map.

use iolite_machine::Machine;
use iolite_objects::managers::Recalled;
use iolite_objects::{AskId, ServerInput, TrackAsk, Tracked};
use iolite_values::{Bucket, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun, Placed, TrackAnswer};

use super::{NodeRow, World, gateway};

impl World {
    /// Whether the life of an object's owner has ended, and the object with it.
    pub(super) fn is_gone(&self, placed: &Placed) -> bool {
        self.has_ended(placed.places[0]) && !placed.declared.is_kept_for_good()
    }

    pub(super) fn has_ended(&self, node: NodeId) -> bool {
        self.nodes.get(&node.name).is_none_or(|row| row.life != node.life)
    }

    pub(super) fn is_over(&self, node: NodeId) -> bool {
        let is_lost_server = |row: &NodeRow| row.serves && row.is_lost;
        self.has_ended(node) || self.nodes.get(&node.name).is_some_and(is_lost_server)
    }

    pub(super) fn begin(&mut self, begin: Begin, at: NodeId) -> TrackAnswer {
        let before = self.rows.get(&begin.object);
        if let Some(placed) =
            before.filter(|placed| placed.declared.is_kept_for_good() || !self.is_over(placed.places[0]))
        {
            return TrackAnswer::Found(placed.clone());
        }
        let epoch = before.map_or(ObjectEpoch(1), |placed| placed.epoch.next());
        let placed = Placed { declared: begin.declared, epoch, places: vec![at] };
        self.memories.remove(&begin.object);
        self.rows.insert(begin.object, placed.clone());
        TrackAnswer::Begun(placed)
    }

    pub(super) fn tracking(&mut self, server: usize, id: AskId, question: TrackAsk) {
        self.questions += 1;
        let begun = match &question {
            TrackAsk::Begin { begin, .. } => Some((begin.object.clone(), begin.declared.managers.clone())),
            _other => None,
        };
        let tracked = self.tracked(server, question);
        let news = tracked.clone();
        self.servers[server].handle(self.now, ServerInput::Tracked(id, tracked));
        match (news, begun) {
            (Tracked::Registered(NodeId { name: NodeName::Server(_), .. }, _), _) if server == self.coordinates => {
                self.tell_buckets();
            }
            (Tracked::Track(TrackAnswer::Begun(_)), Some((object, managers))) => {
                let begun = ServerInput::Begun { object, managers };
                self.servers[self.coordinates].handle(self.now, begun);
            }
            (_other, _) => {}
        }
    }

    pub(super) fn tracked(&mut self, server: usize, question: TrackAsk) -> Tracked {
        match question {
            TrackAsk::Find(object) => {
                let found = self.rows.get(&object).filter(|placed| !self.is_gone(placed));
                let is_lost = |placed: &Placed| !placed.declared.is_kept_for_good() && self.is_over(placed.places[0]);
                let answer = match found {
                    None => TrackAnswer::Unknown,
                    Some(placed) if is_lost(placed) => TrackAnswer::Lost,
                    Some(placed) => TrackAnswer::Found(placed.clone()),
                };
                Tracked::Track(answer)
            }
            TrackAsk::Begin { begin, at } => Tracked::Track(self.begin(begin, at)),
            TrackAsk::Move { object, from, to } => match self.rows.get(&object) {
                None => Tracked::Track(TrackAnswer::Unknown),
                Some(placed) if placed.epoch != from => Tracked::Stands(placed.clone()),
                Some(placed) if placed.places != [to] && self.is_over(to) => {
                    Tracked::Track(TrackAnswer::Refused(NotRun::Unreachable))
                }
                Some(placed) => {
                    let moved = Placed { epoch: from.next(), places: vec![to], ..placed.clone() };
                    self.rows.insert(object, moved.clone());
                    Tracked::Moved(moved)
                }
            },
            TrackAsk::Take { object, from, at } => self.taken(server, object, from, at),
            TrackAsk::Remove { object, from } => match self.rows.get(&object) {
                Some(placed) if placed.epoch == from => {
                    self.rows.remove(&object);
                    Tracked::Removed
                }
                Some(placed) => Tracked::Stands(placed.clone()),
                None => Tracked::Track(TrackAnswer::Unknown),
            },
            TrackAsk::Where(node) => {
                let row = self.nodes.get(&node.name).filter(|row| row.life == node.life && !row.is_lost);
                Tracked::At(row.map(|row| gateway(row.at)))
            }
            TrackAsk::Register { name, known, serves, connection, .. } => {
                let row = self.nodes.entry(name).or_default();
                if known == NodeLife(0) || known != row.life {
                    *row = NodeRow { life: NodeLife(row.life.0 + 1), ..NodeRow::default() };
                }
                (row.at, row.serves, row.is_lost, row.connection) = (server, serves, false, connection);
                Tracked::Registered(NodeId { name, life: row.life }, row.lapses)
            }
            TrackAsk::Gone { device, connection } => {
                let row = self.nodes.entry(device.name).or_default();
                if row.at != server || row.connection != connection {
                    return Tracked::Elsewhere;
                }
                (row.is_lost, row.lapses) = (true, row.lapses + 1);
                for server in &mut self.servers {
                    server.handle(self.now, ServerInput::NodeDead(device));
                }
                Tracked::Lost
            }
            TrackAsk::List(bucket) => {
                let of_bucket = self.rows.iter().filter(|(object, _)| Bucket::of(object) == bucket);
                Tracked::Listed(of_bucket.map(|(object, placed)| (object.clone(), placed.clone())).collect())
            }
            TrackAsk::Recall(object) => self.recalled(&object),
            TrackAsk::Remember { object, from, was, memory } => self.remembered(object, from, &was, memory),
        }
    }

    pub(super) fn remembered(&mut self, object: ObjectName, from: ObjectEpoch, was: &[u8], memory: Vec<u8>) -> Tracked {
        let is_other = self.rows.get(&object).is_none_or(|placed| placed.epoch != from);
        if is_other || self.memories.get(&object).is_some_and(|before| *before != was) {
            return self.recalled(&object);
        }
        self.memories.insert(object, memory);
        Tracked::Remembered
    }

    fn taken(&mut self, server: usize, object: ObjectName, from: ObjectEpoch, at: NodeId) -> Tracked {
        match self.rows.get(&object) {
            Some(placed) if !self.is_over(placed.places[0]) => Tracked::Stands(placed.clone()),
            Some(_) | None => self.tracked(server, TrackAsk::Move { object, from, to: at }),
        }
    }

    pub(super) fn recalled(&self, object: &ObjectName) -> Tracked {
        let Some(placed) = self.rows.get(object).cloned() else { return Tracked::Track(TrackAnswer::Unknown) };
        let memory = self.memories.get(object).cloned().unwrap_or_default();
        Tracked::Recalled(Recalled { is_over: self.is_over(placed.places[0]), placed, memory })
    }
}
