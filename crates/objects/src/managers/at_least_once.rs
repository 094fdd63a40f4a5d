//! A call is repeated until it has run.
//!
//! Promise: success means that the method ran, perhaps more than once. Within a bounded time there is a result, or the last reason why not.
//! The app's own errors are results, and are not repeated. Where one try may have run, no later reason says that the call did not.

use std::sync::Arc;
use std::time::Duration;

use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc};

use super::{Fact, Kind, Kit, Manager, Proxy, Settings, Slot};
use crate::executor::Later;

/// `AtLeastOnceRPC within=MILLISECONDS`.
#[derive(Clone, Copy, Debug)]
pub struct AtLeastOnceRpc;

const WITHIN: &str = "within";

/// The first pause between two tries, and the longest one.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

impl Manager for AtLeastOnceRpc {
    const KIND: Kind =
        Kind { name: "AtLeastOnceRPC", slot: Slot::Delivery, facts: &[Fact::MayRepeat], settings: &[(WITHIN, 5_000)] };

    fn proxy(&self, settings: &Settings) -> Option<Arc<dyn Proxy>> {
        Some(Arc::new(Repeats { within: Duration::from_millis(settings.get(WITHIN)) }))
    }
}

struct Repeats {
    within: Duration,
}

impl Proxy for Repeats {
    fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
        Box::pin(async move {
            let until = kit.now() + self.within.min(call.time_left);
            let mut pause = FIRST;
            let mut may_have_run = false;
            loop {
                let answer = kit.clone().next(call.clone()).await;
                if !is_worth_another_try(&answer) || kit.now() + pause >= until {
                    return if may_have_run { of_all(answer) } else { answer };
                }
                may_have_run |= has_perhaps_run(&answer);
                kit.sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
            }
        })
    }
}

/// Whether nobody knows that the call did not run, and it has no result.
fn has_perhaps_run(answer: &Answer) -> bool {
    match answer {
        Answer::Failed(CallFailure::InDoubt | CallFailure::Fenced) => true,
        Answer::Failed(CallFailure::NotRun(_) | CallFailure::Gone | CallFailure::Broke(_)) => false,
        Answer::Returned(_) | Answer::Threw(_) | Answer::Moved { .. } | Answer::NotHere => false,
    }
}

/// The answer to a call of which an earlier try may have run.
fn of_all(last: Answer) -> Answer {
    match last {
        Answer::Returned(_) | Answer::Threw(_) | Answer::Failed(CallFailure::Broke(_)) => last,
        Answer::Moved { .. } | Answer::NotHere => Answer::Failed(CallFailure::InDoubt),
        Answer::Failed(CallFailure::NotRun(_) | CallFailure::Gone | CallFailure::Fenced | CallFailure::InDoubt) => {
            Answer::Failed(CallFailure::InDoubt)
        }
    }
}

/// Whether the call may not have run, and may run the next time.
fn is_worth_another_try(answer: &Answer) -> bool {
    match answer {
        Answer::Returned(_) | Answer::Threw(_) => false,
        Answer::Moved { .. } | Answer::NotHere => true,
        Answer::Failed(CallFailure::InDoubt | CallFailure::Fenced) => true,
        Answer::Failed(CallFailure::NotRun(why)) => {
            matches!(why, NotRun::Unreachable | NotRun::Busy | NotRun::LeaseUnavailable)
        }
        Answer::Failed(CallFailure::Gone | CallFailure::Broke(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A method whose node has lost the object meanwhile has run.
    #[test]
    fn a_call_that_was_fenced_once_is_never_said_not_to_have_run() {
        let failed = [CallFailure::InDoubt, CallFailure::Fenced].map(Answer::Failed);
        assert!(failed.iter().all(|first| has_perhaps_run(first) && is_worth_another_try(first)));
        assert_eq!(of_all(Answer::Failed(CallFailure::Gone)), Answer::Failed(CallFailure::InDoubt));
    }
}
