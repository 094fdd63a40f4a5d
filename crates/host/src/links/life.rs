//! Whether the peer of a link still lives.
//!
//! Invariant: only time in which this side listened counts against the peer.

use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Counts ticks without a sign of life.
#[derive(Debug)]
pub(crate) struct Life {
    ticks: Interval,
    since_heard: u32,
    ticks_max: u32,
    listening: Listening,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listening {
    Yes,
    /// Nothing is read until the machine has room.
    No,
}

impl Life {
    pub fn new(tick: Duration, silence_max: Duration) -> Life {
        let mut ticks = interval_at(Instant::now() + tick, tick);
        // A node that was itself not running for a while has not heard anything in that time.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ticks_max = silence_max.as_nanos().div_ceil(tick.as_nanos());
        let ticks_max = u32::try_from(ticks_max).unwrap_or(u32::MAX);
        Life { ticks, since_heard: 0, ticks_max, listening: Listening::Yes }
    }

    /// Ready once a tick: then a sign of life of this side is due.
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<()> {
        std::task::ready!(self.ticks.poll_tick(context));
        match self.listening {
            Listening::Yes => self.since_heard += 1,
            Listening::No => self.since_heard = 0,
        }
        Poll::Ready(())
    }

    /// The first tick may come at once behind the last sign of life, so one more than those of the silence pass.
    pub fn is_over(&self) -> bool {
        self.since_heard > self.ticks_max
    }

    pub fn heard(&mut self) {
        self.since_heard = 0;
    }

    pub fn listening(&mut self) {
        self.listening = Listening::Yes;
    }

    pub fn not_listening(&mut self) {
        self.listening = Listening::No;
    }
}
