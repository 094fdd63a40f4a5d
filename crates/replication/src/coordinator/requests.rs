//! The gateway's requests, made into questions.

use std::sync::Arc;

use iolite_machine::Now;
use iolite_store::{Request, RequestId};
use iolite_values::{Timestamp, Transaction};

use super::questions::Purpose;
use super::{Coordinator, Session};
use crate::messages::Ask;

impl Coordinator {
    pub(super) fn on_request(&mut self, now: Now, id: RequestId, request: Request) {
        match self.session {
            Session::Opening => self.waiting.push_back((id, request)),
            Session::Open { .. } => self.begin(now, id, request),
        }
    }

    pub(super) fn begin_waiting(&mut self, now: Now) {
        for (id, request) in std::mem::take(&mut self.waiting) {
            self.begin(now, id, request);
        }
    }

    fn begin(&mut self, now: Now, id: RequestId, request: Request) {
        match request {
            Request::Commit { transaction, floor } => self.propose(now, id, Arc::new(transaction), floor),
            Request::ReadAt { interest, at, limit } => {
                self.ask(now, Purpose::Read(id), Ask::ReadAt { interest, at, limit })
            }
            Request::Changes { interests, after, through } => {
                self.ask(now, Purpose::Changes(id), Ask::Changes { interests, after, through });
            }
            Request::Acknowledge { client, through } => {
                self.ask(now, Purpose::Acknowledge(id), Ask::Acknowledge { client, through });
            }
        }
    }

    /// Proposes a new timestamp. A late answer to an earlier proposal of the same transaction finds no question any more; what it would have
    /// said is said again, since it is on record.
    pub(super) fn propose(&mut self, now: Now, request: RequestId, transaction: Arc<Transaction>, floor: Timestamp) {
        let at = self.proposals.next(now, floor);
        let purpose = Purpose::Commit { request, transaction: transaction.clone(), floor };
        self.ask(now, purpose, Ask::Prepare { transaction, at });
    }
}
