//! Runs the managers' code: futures that wait for nothing but the kernel.
//!
//! Invariants: the same inputs in the same order run the same tasks in the same order; a task waits for operations only, each of which is answered once or
//! dropped with its task. No task reads a clock, waits for a socket, or draws a random number.
//!
//! Why futures stand in a machine here, and nowhere else: docs/decisions/0035.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use iolite_machine::Instant;

use crate::table::Table;

/// Something that ends later.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Names an operation that a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpId(pub(crate) u64);

/// Names a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskId(u64);

/// The desk between tasks and their kernel: what they have asked, and what was answered.
#[derive(Debug)]
pub(crate) struct Desk<A, R> {
    pub now: Instant,
    last: u64,
    /// Operations that the kernel has not seen yet.
    asked: VecDeque<(OpId, TaskId, A)>,
    /// Operations that tasks wait for.
    open: Table<OpId, Progress<R>>,
    /// The task that is being run.
    running: TaskId,
    ready: VecDeque<TaskId>,
}

/// How far an operation is that a task waits for.
#[derive(Debug)]
enum Progress<R> {
    /// This task waits.
    Asked(TaskId),
    Answered(R),
}

/// A desk that tasks share.
#[derive(Debug)]
pub(crate) struct SharedDesk<A, R>(Arc<Mutex<Desk<A, R>>>);

impl<A, R> Clone for SharedDesk<A, R> {
    fn clone(&self) -> SharedDesk<A, R> {
        SharedDesk(self.0.clone())
    }
}

impl<A, R> SharedDesk<A, R> {
    fn lock(&self) -> MutexGuard<'_, Desk<A, R>> {
        // One thread uses it, and a panic ends the machine.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Instant {
        self.lock().now
    }

    /// An operation, which the kernel sees when the task waits or ends.
    pub fn ask(&self, ask: A) -> Operation<A, R> {
        let mut desk = self.lock();
        desk.last += 1;
        let op = OpId(desk.last);
        let task = desk.running;
        desk.asked.push_back((op, task, ask));
        Operation { op, desk: self.clone() }
    }

    /// Tells the kernel something that has no answer.
    pub fn tell(&self, ask: A) {
        let mut desk = self.lock();
        desk.last += 1;
        let (op, task) = (OpId(desk.last), desk.running);
        desk.asked.push_back((op, task, ask));
    }
}

/// An operation that a task waits for. Dropping it gives its answer up: what was asked happens all the same.
#[derive(Debug)]
pub(crate) struct Operation<A, R> {
    op: OpId,
    desk: SharedDesk<A, R>,
}

impl<A, R> Operation<A, R> {
    pub fn id(&self) -> OpId {
        self.op
    }
}

impl<A, R> Future for Operation<A, R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<R> {
        let mut desk = self.desk.lock();
        match desk.open.remove(&self.op) {
            Some(Progress::Answered(answer)) => Poll::Ready(answer),
            Some(Progress::Asked(_)) | None => {
                let task = desk.running;
                desk.open.insert(self.op, Progress::Asked(task));
                Poll::Pending
            }
        }
    }
}

impl<A, R> Drop for Operation<A, R> {
    fn drop(&mut self) {
        self.desk.lock().open.remove(&self.op);
    }
}

/// Tasks, and what each is for.
pub(crate) struct Executor<A, R, E, T> {
    desk: SharedDesk<A, R>,
    tasks: Table<TaskId, (E, Later<T>)>,
    last: u64,
}

impl<A, R, E, T> std::fmt::Debug for Executor<A, R, E, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

impl<A, R, E: PartialEq, T> Executor<A, R, E, T> {
    pub fn new(now: Instant) -> Executor<A, R, E, T> {
        let desk = Desk {
            now,
            last: 0,
            asked: VecDeque::new(),
            open: Table::default(),
            running: TaskId(0),
            ready: VecDeque::new(),
        };
        Executor { desk: SharedDesk(Arc::new(Mutex::new(desk))), tasks: Table::default(), last: 0 }
    }

    pub fn desk(&self) -> SharedDesk<A, R> {
        self.desk.clone()
    }

    pub fn set_now(&self, now: Instant) {
        self.desk.lock().now = now;
    }

    /// Begins a task. `end` says what its result is for.
    pub fn spawn(&mut self, end: E, task: Later<T>) -> TaskId {
        self.last += 1;
        let id = TaskId(self.last);
        self.tasks.insert(id, (end, task));
        self.desk.lock().ready.push_back(id);
        id
    }

    /// Answers an operation. A task that has given it up does not hear of it.
    pub fn answer(&mut self, op: OpId, answer: R) {
        let mut desk = self.desk.lock();
        if let Some(progress) = desk.open.get_mut(&op)
            && let Progress::Asked(task) = *progress
        {
            *progress = Progress::Answered(answer);
            desk.ready.push_back(task);
        }
    }

    /// Runs the next task that is ready, until it waits or ends. None: none is ready.
    pub fn step(&mut self) -> Option<Option<(TaskId, E, T)>> {
        let id = {
            let mut desk = self.desk.lock();
            let id = desk.ready.pop_front()?;
            desk.running = id;
            id
        };
        // One that was ready twice may have ended.
        let Some((_, task)) = self.tasks.get_mut(&id) else { return Some(None) };
        let mut context = Context::from_waker(Waker::noop());
        match task.as_mut().poll(&mut context) {
            Poll::Pending => Some(None),
            Poll::Ready(result) => self.tasks.remove(&id).map(|(end, _)| Some((id, end, result))),
        }
    }

    /// The next operation that a task has asked.
    pub fn asked(&mut self) -> Option<(OpId, TaskId, A)> {
        self.desk.lock().asked.pop_front()
    }

    /// Ends the tasks that are for this, wherever they wait.
    pub fn cancel(&mut self, end: &E) -> Vec<TaskId> {
        let ended: Vec<TaskId> = self.tasks.iter().filter(|(_, (own, _))| own == end).map(|(id, _)| *id).collect();
        for id in &ended {
            self.tasks.remove(id);
        }
        ended
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tasks = Executor<&'static str, u64, &'static str, u64>;

    fn run(tasks: &mut Tasks) -> Vec<(&'static str, u64)> {
        let mut ended = Vec::new();
        while let Some(stepped) = tasks.step() {
            ended.extend(stepped.map(|(_, end, result)| (end, result)));
        }
        ended
    }

    #[test]
    fn tasks_run_in_the_order_in_which_they_became_ready() {
        let mut tasks = Tasks::new(Instant::default());
        for name in ["a", "b"] {
            let desk = tasks.desk();
            tasks.spawn(name, Box::pin(async move { desk.ask(name).await + desk.ask("again").await }));
        }
        assert_eq!(run(&mut tasks), []);
        let asked: Vec<_> = std::iter::from_fn(|| tasks.asked()).collect();
        let ops: Vec<_> = asked.iter().map(|(op, _, ask)| (*op, *ask)).collect();
        let [(a, "a"), (b, "b")] = ops[..] else { panic!("{ops:?}") };
        tasks.answer(b, 1);
        tasks.answer(a, 2);
        assert_eq!(run(&mut tasks), []);
        let again: Vec<_> = std::iter::from_fn(|| tasks.asked()).map(|(op, _, _)| op).collect();
        again.into_iter().for_each(|op| tasks.answer(op, 10));
        assert_eq!(run(&mut tasks), [("b", 11), ("a", 12)]);
    }

    #[test]
    fn a_task_that_is_cancelled_hears_of_nothing_and_leaves_nothing() {
        let mut tasks = Tasks::new(Instant::default());
        let desk = tasks.desk();
        tasks.spawn("a", Box::pin(async move { desk.ask("x").await }));
        run(&mut tasks);
        let (op, _, _) = tasks.asked().expect("it has asked");
        assert_eq!(tasks.cancel(&"a").len(), 1);
        tasks.answer(op, 1);
        assert_eq!((run(&mut tasks).len(), tasks.len()), (0, 0));
        assert_eq!(tasks.desk().lock().open.len(), 0, "nobody waits for the answer");
    }
}
