//! The clients at all nodes: they create, find, call and move objects, as chance has it.

use std::time::Duration;

use iolite_objects::Placing;
use iolite_values::ObjectName;

use super::asking::Wanted;
use super::names::{APPEND, At, PASS, READ, SLOW, objects};
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::world::World;

impl World {
    pub fn on_work(&mut self, at: At) {
        if !self.works {
            return;
        }
        match self.random.below(100) {
            0..=17 => {
                let placing = if self.random.chance(500) { Placing::Here } else { Placing::AtServer };
                let object = self.any_object();
                self.create(at, object, placing);
            }
            18..=22 => {
                let object = self.any_object();
                self.find(at, object);
            }
            23..=84 => self.call_something(at),
            _ => self.move_something(at),
        }
        let after = self.random.between(20 * MILLISECOND, self.rough.work_every);
        self.later(at, after, NodeEvent::Work);
        self.carry(at);
    }

    fn any_object(&mut self) -> ObjectName {
        let all = objects();
        all[self.random.below(all.len() as u64) as usize].clone()
    }

    /// An object that is here, mostly.
    fn near_object(&mut self, at: At) -> ObjectName {
        let own: Vec<ObjectName> = self.host(at).app.objects.keys().cloned().collect();
        if own.is_empty() || self.random.chance(150) {
            return self.any_object();
        }
        own[self.random.below(own.len() as u64) as usize].clone()
    }

    fn call_something(&mut self, at: At) {
        let method = match self.random.below(10) {
            0..=2 => READ,
            3..=6 => APPEND,
            7..=8 => SLOW,
            _ => PASS,
        };
        let object = if self.random.chance(300) { self.near_object(at) } else { self.any_object() };
        let target = (method == PASS).then(|| self.any_object());
        let longest = if self.random.chance(100) { 6_000 } else { 700 };
        let hold = self.random.between(1, longest) * MILLISECOND;
        let longest = if self.random.chance(200) { 20_000 } else { 5_000 };
        let time = Duration::from_nanos(self.random.between(200, longest) * MILLISECOND);
        self.call(at, Wanted { object, method, target, hold, within: None, time });
    }

    fn move_something(&mut self, at: At) {
        let object = self.near_object(at);
        let nodes: Vec<_> = self.all().into_iter().filter_map(|at| self.node(at)).collect();
        if !nodes.is_empty() {
            let to = nodes[self.random.below(nodes.len() as u64) as usize];
            self.move_to(at, object, to);
        }
    }
}
