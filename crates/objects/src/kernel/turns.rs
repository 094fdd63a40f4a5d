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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(side: Side, layer: u8) -> Layered {
        Layered { object: ObjectName::new("Note", "a").expect("a short name"), side, layer }
    }

    #[test]
    fn tasks_of_a_component_take_turns_in_the_order_in_which_they_asked() {
        let (mut turns, own) = (Turns::default(), of(Side::Instance, 0));
        let asked = [1, 2, 3].map(|task| turns.ask(own.clone(), OpId(task)));
        assert_eq!(asked, [true, false, false]);
        assert_eq!(turns.end(&own, OpId(2)), None, "it was not its turn, and nobody else's has come");
        assert_eq!(turns.end(&own, OpId(1)), Some(OpId(3)));
        assert_eq!(turns.end(&own, OpId(3)), None, "nobody waits");
        assert!(turns.ask(own.clone(), OpId(4)), "nobody has the turn");
        assert_eq!(turns.end(&own, OpId(4)), None);
        assert_eq!(turns.0.len(), 0, "nothing is left of them");
    }

    #[test]
    fn components_wait_for_none_of_another_side_or_layer_and_those_beside_the_object_are_counted() {
        let mut turns = Turns::default();
        for own in [of(Side::Instance, 0), of(Side::Instance, 1), of(Side::Proxy, 0)] {
            assert!(turns.ask(own.clone(), OpId(1)), "{own:?}");
            assert!(!turns.ask(own.clone(), OpId(2)), "{own:?}");
        }
        let object = of(Side::Instance, 0).object;
        assert_eq!(turns.waiting(&object), 2, "one a layer, and none of the proxy's");
        assert_eq!(turns.end(&of(Side::Proxy, 0), OpId(1)), Some(OpId(2)));
        assert_eq!(turns.waiting(&object), 2);
        assert_eq!(turns.end(&of(Side::Instance, 1), OpId(1)), Some(OpId(2)));
        assert_eq!(turns.waiting(&object), 1);
    }
}
