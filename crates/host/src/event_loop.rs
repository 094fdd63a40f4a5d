//! Drives one machine.
//!
//! Invariant: every input that has arrived is handed over before outputs are taken, so that a machine can treat many as one.

use iolite_machine::Machine;

use crate::{Clock, Inbox, Stop};

/// Carries out what a machine asks for. Must not block.
pub trait Performer<M: Machine> {
    fn perform(&mut self, output: M::Output);

    /// Everything that had arrived is done.
    fn settled(&mut self, machine: &M);
}

/// Runs a machine until it is told to stop, or nobody can send it anything any more.
pub async fn drive<M: Machine>(
    machine: &mut M,
    clock: Clock,
    inbox: &mut Inbox<M::Input>,
    mut stop: Stop,
    performer: &mut impl Performer<M>,
) {
    loop {
        while let Some(output) = machine.poll() {
            performer.perform(output);
        }
        performer.settled(machine);
        let deadline = machine.deadline().map(|at| clock.deadline(at));
        tokio::select! {
            biased;
            () = stop.wait() => return,
            open = inbox.wait() => {
                let now = clock.now();
                inbox.take().for_each(|input| machine.handle(now, input));
                if !open {
                    return;
                }
            }
            () = sleep_until(deadline) => {}
        }
        let now = clock.now();
        if machine.deadline().is_some_and(|at| at <= now.instant) {
            machine.on_deadline(now);
        }
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        // A machine that has more to do: others of this thread have their turn, and what has come is handed over.
        Some(deadline) if deadline <= tokio::time::Instant::now() => tokio::task::yield_now().await,
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use iolite_machine::{Instant, Now};

    use super::*;
    use crate::{Shutdown, mailbox};

    /// Says how many inputs it got since it was last asked, and that its deadline came.
    #[derive(Default)]
    struct Counting {
        inputs: usize,
        deadline: Option<Instant>,
        outputs: VecDeque<String>,
    }

    impl Machine for Counting {
        type Input = Duration;
        type Output = String;

        fn handle(&mut self, now: Now, input: Duration) {
            self.inputs += 1;
            self.deadline = Some(now.instant + input);
        }

        fn poll(&mut self) -> Option<String> {
            match std::mem::take(&mut self.inputs) {
                0 => self.outputs.pop_front(),
                inputs => Some(format!("{inputs} inputs")),
            }
        }

        fn deadline(&self) -> Option<Instant> {
            self.deadline
        }

        fn on_deadline(&mut self, now: Now) {
            assert!(self.deadline.take() <= Some(now.instant));
            self.outputs.push_back("deadline".into());
        }

        fn validate(&self) {}
    }

    struct Noting {
        seen: Vec<String>,
        shutdown: Shutdown,
    }

    impl Performer<Counting> for Noting {
        fn perform(&mut self, output: String) {
            if output == "deadline" {
                self.shutdown.begin();
            }
            self.seen.push(output);
        }

        fn settled(&mut self, machine: &Counting) {
            assert!(machine.outputs.is_empty());
        }
    }

    #[tokio::test]
    async fn inputs_are_handed_over_together_and_deadlines_come_after_them() {
        let (mailbox, mut inbox) = mailbox(1000);
        let mut noting = Noting { seen: Vec::new(), shutdown: Shutdown::new() };
        let stop = noting.shutdown.listen();
        for _ in 0..3 {
            mailbox.send(Duration::from_millis(1));
        }
        drive(&mut Counting::default(), Clock::start(), &mut inbox, stop, &mut noting).await;
        assert_eq!(noting.seen, ["3 inputs", "deadline"]);
    }
}
