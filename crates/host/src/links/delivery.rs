//! From a link to the machine: received messages wait for room in its mailbox, and before that, if the link is to be slower than it is, for
//! their time.
//!
//! Invariants:
//! - messages keep their order, and none is handed over before its delay has passed;
//! - what waits here is bounded: past it the link is not read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::alarm::wake_at;
use crate::Mailbox;

/// Bytes that wait for their time: what a line of 1 Gbit/s holds in half a second.
pub(crate) const HELD_BYTES_MAX: usize = 64 << 20;

/// Messages that were read together.
#[derive(Debug)]
pub(crate) struct Batch<I> {
    pub inputs: Vec<I>,
    /// What they count for in the mailbox.
    pub bytes: usize,
}

pub(crate) struct Delivery<I> {
    mailbox: Mailbox<I>,
    delay: Duration,
    /// Behind each other, with the time from which each may be handed over.
    held: VecDeque<(Instant, Batch<I>)>,
    held_bytes: usize,
    /// The batch that waits for room.
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Who is woken when.
    alarm: Option<(Instant, Waker)>,
}

impl<I> Batch<I> {
    pub fn new() -> Batch<I> {
        Batch { inputs: Vec::new(), bytes: 0 }
    }
}

impl<I: Send + 'static> Delivery<I> {
    pub fn new(mailbox: Mailbox<I>, delay: Duration) -> Delivery<I> {
        Delivery { mailbox, delay, held: VecDeque::new(), held_bytes: 0, waiting: None, alarm: None }
    }

    /// Takes what has just been read, and leaves an empty batch.
    pub fn add(&mut self, batch: &mut Batch<I>) {
        if batch.inputs.is_empty() {
            return;
        }
        if self.delay.is_zero() {
            self.hand_over(batch);
        } else {
            self.held_bytes += batch.bytes;
            let batch = std::mem::replace(batch, Batch::new());
            self.held.push_back((Instant::now() + self.delay, batch));
        }
    }

    /// Hands over what may be. Ready when more may be read.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let empty = self.poll_empty(context);
        if self.waiting.is_none() && self.held_bytes < HELD_BYTES_MAX { Poll::Ready(()) } else { empty }
    }

    /// Hands over what may be. Ready when nothing is left.
    pub fn poll_empty(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(waiting) = self.waiting.as_mut() {
                std::task::ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            let Some((due, _)) = self.held.front() else { return Poll::Ready(()) };
            let due = *due;
            if Instant::now() < due {
                self.set_alarm(due, context.waker());
                return Poll::Pending;
            }
            if let Some((_, mut batch)) = self.held.pop_front() {
                self.held_bytes -= batch.bytes;
                self.hand_over(&mut batch);
            }
        }
    }

    /// Only when nothing waits before it.
    fn hand_over(&mut self, batch: &mut Batch<I>) {
        if !self.mailbox.try_send_all(batch.bytes, &mut batch.inputs) {
            let (mailbox, inputs, bytes) = (self.mailbox.clone(), std::mem::take(&mut batch.inputs), batch.bytes);
            self.waiting = Some(Box::pin(async move { mailbox.send_all(bytes, inputs).await }));
        }
        batch.bytes = 0;
    }

    fn set_alarm(&mut self, due: Instant, waker: &Waker) {
        let is_set = self.alarm.as_ref().is_some_and(|(at, woken)| *at == due && woken.will_wake(waker));
        if !is_set {
            self.alarm = Some((due, waker.clone()));
            wake_at(due, waker.clone());
        }
    }
}
