//! The clients at all nodes: they create, find, call and move objects, and speak to managers, as chance has it.

use std::time::Duration;

use iolite_objects::Placing;
use iolite_values::ObjectName;

use super::asking::Wanted;
use super::kinds::{Kind, Promise};
use super::names::{APPEND, At, LOOK, PASS, PULL, PUSH, READ, SLOW};
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::world::World;

impl World {
    pub fn on_work(&mut self, at: At) {
        if !self.works {
            return;
        }
        let is_managed = self.random.chance(500);
        let object = self.any_object(is_managed);
        match self.random.below(100) {
            // The object is part of a transaction of this client, which goes on by itself.
            _ if self.host(at).app.scripts.contains_key(&object) => {}
            0..=17 => self.create_something(at, object),
            18..=22 => self.find(at, object),
            23..=32 if is_managed => self.move_something(at, is_managed),
            33..=52 if is_managed => self.say_something(at, object),
            23..=84 => self.call_something(at, is_managed, object),
            _ if is_managed => self.call_something(at, is_managed, object),
            _ => self.move_something(at, is_managed),
        }
        let after = self.random.between(20 * MILLISECOND, self.rough.work_every);
        self.later(at, after, NodeEvent::Work);
        self.carry(at);
    }

    fn create_something(&mut self, at: At, object: ObjectName) {
        let placing = if self.random.chance(500) { Placing::Here } else { Placing::AtServer };
        self.create(at, object, placing);
    }

    fn any_object(&mut self, is_managed: bool) -> ObjectName {
        let is_wanted = |object: &&ObjectName| Kind::MANAGED.contains(&Kind::of(object)) == is_managed;
        let all: Vec<&ObjectName> = self.objects.iter().filter(is_wanted).collect();
        all[self.random.below(all.len() as u64) as usize].clone()
    }

    /// An object that is here, mostly.
    fn near_object(&mut self, at: At, is_managed: bool) -> ObjectName {
        let app = &self.host(at).app;
        let is_wanted = |object: &&ObjectName| {
            !app.copies.contains(*object) && Kind::MANAGED.contains(&Kind::of(object)) == is_managed
        };
        let own: Vec<ObjectName> = app.objects.keys().filter(is_wanted).cloned().collect();
        if own.is_empty() || self.random.chance(150) {
            return self.any_object(is_managed);
        }
        own[self.random.below(own.len() as u64) as usize].clone()
    }

    fn call_something(&mut self, at: At, is_managed: bool, object: ObjectName) {
        if is_managed {
            let times = self.random.below(5);
            return self.call_often(at, object, times);
        }
        let object = if self.random.chance(300) { self.near_object(at, is_managed) } else { object };
        let method = match self.random.below(10) {
            0..=2 => READ,
            3..=6 => APPEND,
            7..=8 => SLOW,
            _ => PASS,
        };
        self.call_method(at, object, method);
    }

    /// Calls an object, and calls it soon again so often.
    fn call_often(&mut self, at: At, object: ObjectName, times: u64) {
        let reads = if Kind::of(&object) == Kind::Immutable { 80 } else { 50 };
        let method = match self.random.below(100) {
            few if few < reads => READ,
            80..=85 => LOOK,
            86..=91 => SLOW,
            92..=95 => PASS,
            _ => APPEND,
        };
        if times > 0 {
            let after = self.random.between(10, 500) * MILLISECOND;
            self.later(at, after, NodeEvent::Again(object.clone(), times - 1));
        }
        self.call_method(at, object, method);
    }

    /// The client calls an object again, unless a transaction of it has begun.
    pub fn again(&mut self, at: At, object: ObjectName, times: u64) {
        if self.works && !self.host(at).app.scripts.contains_key(&object) {
            self.call_often(at, object, times);
            self.carry(at);
        }
    }

    fn call_method(&mut self, at: At, object: ObjectName, method: &'static str) {
        let is_managed = self.random.chance(500);
        let target = (method == PASS).then(|| self.any_object(is_managed));
        let longest = if self.random.chance(100) { 6_000 } else { 700 };
        let hold = self.random.between(1, longest) * MILLISECOND;
        let longest = if self.random.chance(200) { 20_000 } else { 5_000 };
        let time = Duration::from_nanos(self.random.between(200, longest) * MILLISECOND);
        self.call(at, Wanted { method, target, hold, ..Wanted::read(object, time) });
    }

    fn move_something(&mut self, at: At, is_managed: bool) {
        let object = self.near_object(at, is_managed);
        let nodes: Vec<_> = self.all().into_iter().filter_map(|at| self.node(at)).collect();
        if !nodes.is_empty() {
            let to = nodes[self.random.below(nodes.len() as u64) as usize];
            self.move_to(at, object, to);
        }
    }

    /// Says something to the manager of an object, or calls it if no manager listens.
    fn say_something(&mut self, at: At, object: ObjectName) {
        let kind = Kind::of(&object);
        if kind.listener().is_none() {
            return self.call_something(at, true, object);
        }
        if kind.promise() == Promise::Transactions {
            return self.transact(at, object);
        }
        let word = if kind == Kind::Explicit {
            if self.random.chance(400) { PULL.to_owned() } else { PUSH.to_owned() }
        } else {
            let nodes: Vec<_> = self.all().into_iter().filter_map(|at| self.node(at)).collect();
            let Some(last) = nodes.len().checked_sub(1) else { return };
            nodes[self.random.between(0, last as u64) as usize].to_string()
        };
        self.speak(at, object, word);
    }
}
