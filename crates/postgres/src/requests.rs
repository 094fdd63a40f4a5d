//! Requests that have no answer yet, and in which order they are served.
//!
//! Invariant: of what is answered, or given up, nothing is kept, and no work on it begins: neither in its turn nor after a failure.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use iolite_store::{Request, RequestId};
use tokio::sync::Semaphore;

use crate::shared::lock;

/// On which connections a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    Read,
}

/// In the order in which requests came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Turn(u64);

/// One request. Its number may be used again when it is answered; its turn is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub id: RequestId,
    turn: Turn,
}

#[derive(Debug)]
pub(crate) struct Requests {
    state: Mutex<State>,
    /// A permit for each request that came, which whoever looks for the next one uses up.
    commits: Semaphore,
    reads: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    last: Turn,
    open: BTreeMap<RequestId, (Turn, Kind)>,
    commits: BTreeMap<Turn, (Ticket, Request)>,
    reads: BTreeMap<Turn, (Ticket, Request)>,
}

impl Kind {
    fn of(request: &Request) -> Kind {
        if request.only_reads() { Kind::Read } else { Kind::Commit }
    }
}

impl Requests {
    pub fn new() -> Requests {
        Requests { state: Mutex::default(), commits: Semaphore::new(0), reads: Semaphore::new(0) }
    }

    pub fn add(&self, id: RequestId, request: Request) -> Ticket {
        let kind = Kind::of(&request);
        let ticket = self.state().add(id, kind, request);
        self.coming(kind).add_permits(1);
        ticket
    }

    /// The next one of a kind, once there is one.
    pub async fn next(&self, kind: Kind) -> (Ticket, Request) {
        loop {
            self.coming(kind).acquire().await.expect("nobody closes it").forget();
            // It may have been answered meanwhile, or given up.
            if let Some((_, next)) = self.state().waiting(kind).pop_first() {
                return next;
            }
        }
    }

    /// Whether it has no answer yet.
    pub fn is_open(&self, ticket: Ticket) -> bool {
        self.state().is_open(ticket)
    }

    /// It is answered. Says whether it was not before.
    pub fn end(&self, ticket: Ticket) -> bool {
        self.state().end(ticket)
    }

    /// Nobody waits for the answer any more.
    pub fn give_up(&self, id: RequestId) {
        let mut state = self.state();
        if let Some((turn, _)) = state.open.get(&id).copied() {
            state.end(Ticket { id, turn });
        }
    }

    /// How many have no answer.
    pub fn len(&self) -> usize {
        self.state().open.len()
    }

    fn coming(&self, kind: Kind) -> &Semaphore {
        match kind {
            Kind::Commit => &self.commits,
            Kind::Read => &self.reads,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn add(&mut self, id: RequestId, kind: Kind, request: Request) -> Ticket {
        self.last = Turn(self.last.0 + 1);
        let ticket = Ticket { id, turn: self.last };
        let earlier = self.open.insert(id, (ticket.turn, kind));
        assert!(earlier.is_none(), "the caller used {id:?} again while its request was open");
        self.waiting(kind).insert(ticket.turn, (ticket, request));
        ticket
    }

    fn is_open(&self, ticket: Ticket) -> bool {
        self.open.get(&ticket.id).is_some_and(|(turn, _)| *turn == ticket.turn)
    }

    fn end(&mut self, ticket: Ticket) -> bool {
        if !self.is_open(ticket) {
            return false;
        }
        let Some((turn, kind)) = self.open.remove(&ticket.id) else { return false };
        self.waiting(kind).remove(&turn);
        true
    }

    fn waiting(&mut self, kind: Kind) -> &mut BTreeMap<Turn, (Ticket, Request)> {
        match kind {
            Kind::Commit => &mut self.commits,
            Kind::Read => &mut self.reads,
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{ClientId, Counter};

    use super::*;

    fn request() -> Request {
        Request::Acknowledge { client: ClientId::default(), through: Counter(1) }
    }

    #[tokio::test]
    async fn what_is_answered_before_its_turn_is_not_kept_and_not_served() {
        let requests = Requests::new();
        let tickets: Vec<Ticket> = (0..100).map(|number| requests.add(RequestId(number), request())).collect();
        assert!(tickets[..99].iter().all(|ticket| requests.end(*ticket)));
        assert_eq!((requests.len(), requests.state().commits.len()), (1, 1));
        assert_eq!(requests.next(Kind::Commit).await, (tickets[99], request()));
    }

    #[tokio::test]
    async fn a_number_that_is_used_again_is_another_request() {
        let requests = Requests::new();
        let first = requests.add(RequestId(1), request());
        assert!(requests.next(Kind::Commit).await.0 == first && requests.end(first));
        let second = requests.add(RequestId(1), request());
        assert!(!requests.end(first) && !requests.is_open(first) && requests.is_open(second));
    }
}
