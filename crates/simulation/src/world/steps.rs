//! Gateways that end at a step of a transaction: when some of the messages of that step have left, and the others have not.

use iolite_replication::node::Ask;

use super::World;
use super::front_node::Leaving;
use crate::faults::Fault;
use crate::history::Moment;

const MILLISECOND: Moment = 1_000_000;

/// A step of a coordinator. Before the first, a transaction is only in its gateway's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Prepare,
    Finalise,
    /// Its gateway has been told then.
    Outcome,
    /// It takes a proposal over.
    Poll,
}

impl Step {
    fn of(leaving: &Leaving) -> Option<Step> {
        let Leaving::ToReplica(_, message) = leaving else { return None };
        match message.ask {
            Ask::Prepare { .. } => Some(Step::Prepare),
            Ask::Finalise { .. } => Some(Step::Finalise),
            Ask::Outcome { .. } => Some(Step::Outcome),
            Ask::Poll { .. } => Some(Step::Poll),
            Ask::Open
            | Ask::Begin
            | Ask::Close { .. }
            | Ask::Resolved { .. }
            | Ask::ReadAt { .. }
            | Ask::Changes { .. }
            | Ask::Validate { .. }
            | Ask::Acknowledge { .. }
            | Ask::Report
            | Ask::Configured { .. } => None,
        }
    }

    fn fault(self) -> Fault {
        match self {
            Step::Prepare => Fault::CrashAtPrepare,
            Step::Finalise => Fault::CrashAtFinalise,
            Step::Outcome => Fault::CrashAtOutcome,
            Step::Poll => Fault::CrashAtPoll,
        }
    }
}

impl World {
    /// The next time that some gateway comes to some step, it ends there. Steps that are seldom taken are always among them.
    pub(super) fn set_trap(&mut self) {
        let often = if self.random.chance(350) { Step::Prepare } else { Step::Outcome };
        self.traps.extend([often, Step::Finalise, Step::Poll]);
    }

    /// Sends what leaves a gateway: all of it, or what comes before its end at a step.
    pub(super) fn leave_front(&mut self, front: usize, mut leaving: Vec<Leaving>) {
        let comes_to = leaving.iter().filter_map(Step::of).find(|step| self.traps.contains(step));
        let ends_at = comes_to.filter(|_| !self.healing);
        if let Some(step) = ends_at {
            let left = self.left_of(step, &leaving);
            leaving.truncate(left);
        }
        leaving.into_iter().for_each(|output| self.take_from_front(front, output));
        if let Some(step) = ends_at {
            self.traps.remove(&step);
            self.faults.add(step.fault(), 1);
            // What it left open is for others to take over: one of them ends at that.
            if step != Step::Poll {
                self.traps.insert(Step::Poll);
            }
            let down = self.random.between(1, 300) * MILLISECOND;
            self.stop_front(front, down);
        }
    }

    /// How much leaves before the end: anything from none to all of the messages of the step.
    fn left_of(&mut self, step: Step, leaving: &[Leaving]) -> usize {
        let is_of_step = |(_, own): &(usize, &Leaving)| Step::of(own) == Some(step);
        let places: Vec<usize> = leaving.iter().enumerate().filter(is_of_step).map(|(place, _)| place).collect();
        let left = self.random.below(places.len() as u64 + 1) as usize;
        places.get(left).copied().unwrap_or(leaving.len())
    }
}
