//! The turns of tasks at the components of objects.
//!
//! Invariant: of the tasks that ask for a component's turn, the first one has it, and the others wait.

use std::collections::VecDeque;

use iolite_values::ObjectName;

use crate::executor::OpId;
use crate::managers::{Layered, Side};
use crate::table::Table;

#[derive(Debug, Default)]
pub(super) struct Turns(Table<ObjectName, Vec<OfComponent>>);

#[derive(Debug)]
struct OfComponent {
    side: Side,
    layer: u8,
    tasks: VecDeque<OpId>,
}

impl OfComponent {
    fn is_of(&self, own: &Layered) -> bool {
        self.side == own.side && self.layer == own.layer
    }
}

impl Turns {
    /// A task asks for its turn. Whether it has it.
    pub fn ask(&mut self, own: Layered, task: OpId) -> bool {
        let Layered { side, layer, .. } = own;
        let row = self.0.row(&own.object);
        match row.iter_mut().find(|turns| turns.is_of(&own)) {
            Some(turns) => {
                turns.tasks.push_back(task);
                false
            }
            None => {
                row.push(OfComponent { side, layer, tasks: VecDeque::from([task]) });
                true
            }
        }
    }

    /// A task has had its turn, or waits for it no longer. Returns the task that has it now, if that has changed.
    pub fn end(&mut self, own: &Layered, task: OpId) -> Option<OpId> {
        let row = self.0.get_mut(&own.object)?;
        let at = row.iter().position(|turns| turns.is_of(own))?;
        let tasks = &mut row[at].tasks;
        let had_it = tasks.front() == Some(&task);
        tasks.retain(|waiting| *waiting != task);
        let next = tasks.front().copied();
        if next.is_none() {
            row.swap_remove(at);
        }
        if row.is_empty() {
            self.0.remove(&own.object);
        }
        next.filter(|_| had_it)
    }

    /// Tasks beside an object that wait for their turn.
    pub fn waiting(&self, object: &ObjectName) -> usize {
        let beside = self.0.get(object).into_iter().flatten().filter(|turns| turns.side == Side::Instance);
        beside.map(|turns| turns.tasks.len() - 1).sum()
    }
}
