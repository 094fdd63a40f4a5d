//! Wakes tasks at a time, to a fraction of a millisecond: the runtime's own timers know whole ones only. For delays that are measured.
//!
//! Invariant: a task is woken at its time or later, never before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::Waker;
use std::time::Instant;

struct Alarm {
    at: Instant,
    /// Which of those at one time was set first.
    order: u64,
    waker: Waker,
}

/// Wakes at that time. The first one starts a thread that serves all of them to the process's end.
pub(crate) fn wake_at(at: Instant, waker: Waker) {
    static ALARMS: OnceLock<Option<Sender<(Instant, Waker)>>> = OnceLock::new();
    let alarms = ALARMS.get_or_init(|| {
        let (alarms, set) = channel();
        let thread = std::thread::Builder::new().name("link delays".into()).spawn(move || serve(&set));
        thread.map(|_| alarms).ok()
    });
    match alarms {
        Some(alarms) => drop(alarms.send((at, waker))),
        // Without a thread it is the runtime's timer.
        None => drop(tokio::spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            waker.wake();
        })),
    }
}

fn serve(set: &Receiver<(Instant, Waker)>) {
    let mut alarms: BinaryHeap<Reverse<Alarm>> = BinaryHeap::new();
    for order in 0.. {
        let next = match alarms.peek() {
            None => set.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Reverse(alarm)) => set.recv_timeout(alarm.at.saturating_duration_since(Instant::now())),
        };
        match next {
            Ok((at, waker)) => alarms.push(Reverse(Alarm { at, order, waker })),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        while alarms.peek().is_some_and(|Reverse(alarm)| alarm.at <= now) {
            alarms.pop().into_iter().for_each(|Reverse(alarm)| alarm.waker.wake());
        }
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Alarm) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Alarm) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Alarm) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;
    use std::time::Duration;

    use super::*;

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Woken>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn each_is_woken_at_its_time_whatever_the_order_in_which_they_were_set() {
        let begun = Instant::now();
        let set = |millis| {
            let woken = Arc::new(Woken(AtomicBool::new(false)));
            let at = begun + Duration::from_millis(millis);
            wake_at(at, woken.clone().into());
            (at, woken)
        };
        let mut waiting: Vec<_> = [40, 10, 25, 0, 25].map(set).into();
        while !waiting.is_empty() {
            waiting.retain(|(at, woken)| {
                let is_woken = woken.0.load(Ordering::SeqCst);
                assert!(!is_woken || Instant::now() >= *at, "too early");
                !is_woken
            });
            assert!(begun.elapsed() < Duration::from_secs(30), "too late");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}
