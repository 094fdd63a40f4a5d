//! Devices of users: before anything is written from a device, a row of `_access` says whose it is.
//!
//! Invariants: nothing of a user's session is given to the store before the rows name its user as the device's, and the device as one of the user's. All
//! gateways of a store decide by these rows, and a commit that changes them rests on them. Who only looks on leaves nothing.
//! With the development token there are no such rows.

use std::collections::{BTreeMap, BTreeSet};

use iolite_access::{Access, Admitted, UserDevice};
use iolite_machine::Now;
use iolite_store::{CommitReply, ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{ClientId, Counter, Decision, LaneNumber, Timestamp};

use crate::Gateway;
use crate::sessions::farewell::Farewell;
use crate::store::Purpose;

/// The devices of open sessions that have begun to write.
#[derive(Debug, Default)]
pub struct Devices {
    /// Clients whose devices' rows are there.
    known: BTreeSet<ClientId>,
    questions: BTreeMap<ClientId, Question>,
    /// Lanes whose next mutation waits for that.
    waiting: BTreeSet<(ClientId, LaneNumber)>,
}

/// How far the rows of a device are known.
#[derive(Debug)]
enum Question {
    Reading {
        /// The snapshot of what is read.
        at: Timestamp,
        open: BTreeSet<RequestId>,
        device: UserDevice,
    },
    Committing(Counter),
    /// The rows have changed meanwhile, and are read again when the feed is there.
    Early(Timestamp),
}

impl Devices {
    /// The store has started again.
    pub fn clear(&mut self) {
        *self = Devices::default();
    }

    /// The lanes that wait for rows of devices.
    pub fn waiting(&self) -> impl Iterator<Item = (ClientId, LaneNumber)> {
        self.waiting.iter().copied()
    }

    pub fn validate(&self, is_open: impl Fn(ClientId) -> bool) {
        assert!(self.known.iter().chain(self.questions.keys()).all(|client| is_open(*client)), "of open sessions");
        assert!(self.questions.keys().all(|client| !self.known.contains(client)), "what is known is not asked");
        assert!(self.waiting.iter().all(|(client, _)| self.questions.contains_key(client)), "what waits is asked");
    }
}

impl Gateway {
    /// Whether the mutation of a lane has to wait for the rows of its device. They are asked for.
    pub(crate) fn waits_for_device(&mut self, client: ClientId, lane: LaneNumber) -> bool {
        let session = self.clients.get(&client).and_then(|id| self.open(*id));
        let is_user = session.is_some_and(|open| open.identity.user().is_some());
        let is_asked = match self.settings.access {
            Access::Development(_) => false,
            Access::Tokens(_) => is_user && !self.devices.known.contains(&client),
        };
        if is_asked && self.devices.waiting.insert((client, lane)) && !self.devices.questions.contains_key(&client) {
            self.ask_device(client);
        }
        is_asked
    }

    fn ask_device(&mut self, client: ClientId) {
        let Some(open) = self.clients.get(&client).and_then(|id| self.open(*id)) else { return };
        let Some(user) = open.identity.user() else { return };
        let device = UserDevice::new(open.device.0, user.subject.digest());
        let at = self.position();
        let asked = device.interests().map(|interest| {
            self.ask(Purpose::Device(client), Request::ReadAt { interest, at, limit: ReadLimit::NONE })
        });
        self.devices.questions.insert(client, Question::Reading { at, open: asked.into(), device });
    }

    pub(crate) fn on_device(
        &mut self,
        now: Now,
        client: ClientId,
        request: RequestId,
        reply: Result<ReadReply, TooOld>,
    ) {
        let Some(Question::Reading { at, open, device }) = self.devices.questions.get_mut(&client) else { return };
        if !open.remove(&request) {
            return;
        }
        let reply = match reply {
            Ok(reply) => reply,
            Err(TooOld { low_watermark }) => {
                let rest = std::mem::take(open);
                self.give_up(rest);
                return self.ask_device_at(client, low_watermark);
            }
        };
        reply.rows.iter().for_each(|row| device.restore(&row.key, &row.row));
        if !open.is_empty() {
            return;
        }
        let (at, admitted) = (*at, device.admit(now.wall));
        match admitted {
            Ok(Admitted::Known) => self.device_is_known(now, client),
            Ok(Admitted::By(reads, writes)) => {
                let purpose = |counter| Purpose::DeviceRow { client, counter };
                let counter = self.commit_own(purpose, at, reads, Decision::Commit(writes));
                self.devices.questions.insert(client, Question::Committing(counter));
            }
            Err(error) => {
                if let Some(session) = self.clients.get(&client).copied() {
                    self.end(session, &Farewell::Unauthorized(error));
                }
            }
        }
    }

    /// The rows are committed, or were changed by somebody else.
    pub(crate) fn on_device_row(&mut self, now: Now, client: ClientId, counter: Counter, reply: &CommitReply) {
        self.own_ended(counter);
        match self.devices.questions.get(&client) {
            Some(Question::Committing(own)) if *own == counter => {}
            // The session for which it was is over.
            Some(Question::Committing(_) | Question::Reading { .. } | Question::Early(_)) | None => return,
        }
        match reply {
            CommitReply::Completed(_) => self.device_is_known(now, client),
            CommitReply::Conflict { at_least } => self.ask_device_at(client, *at_least),
            CommitReply::Forgotten | CommitReply::InDoubt { .. } => self.device_is_unknown(client),
        }
    }

    /// The store does not say whose a device is. Its client comes back.
    pub(crate) fn device_is_unknown(&mut self, client: ClientId) {
        if let Some(session) = self.clients.get(&client).copied() {
            let problem = "the store does not say yet to whom this device belongs: come back in a moment";
            self.end(session, &Farewell::Unavailable(problem.into()));
        }
    }

    fn ask_device_at(&mut self, client: ClientId, at_least: Timestamp) {
        match at_least > self.position() {
            true => drop(self.devices.questions.insert(client, Question::Early(at_least))),
            false => self.ask_device(client),
        }
    }

    /// The feed is further.
    pub(crate) fn ask_early_devices(&mut self) {
        let position = self.position();
        let is_due = |question: &Question| match question {
            Question::Early(at) => *at <= position,
            Question::Reading { .. } | Question::Committing(_) => false,
        };
        let due = self.devices.questions.iter().filter(|(_, own)| is_due(own)).map(|(client, _)| *client);
        for client in due.collect::<Vec<_>>() {
            self.ask_device(client);
        }
    }

    fn device_is_known(&mut self, now: Now, client: ClientId) {
        self.devices.questions.remove(&client);
        self.devices.known.insert(client);
        for lane in self.lanes_of_device(client) {
            self.devices.waiting.remove(&(client, lane));
            self.judge_in_lane(now, client, lane);
        }
    }

    /// The session of a client has ended. It sends again what waited.
    pub(crate) fn forget_device(&mut self, client: ClientId) {
        self.devices.known.remove(&client);
        if let Some(Question::Reading { open, .. }) = self.devices.questions.remove(&client) {
            self.give_up(open);
        }
        for lane in self.lanes_of_device(client) {
            self.devices.waiting.remove(&(client, lane));
            drop(self.lanes.take(client, lane));
        }
    }

    fn lanes_of_device(&self, client: ClientId) -> Vec<LaneNumber> {
        let all = (client, LaneNumber::STRONG)..=(client, LaneNumber(u32::MAX));
        self.devices.waiting.range(all).map(|(_, lane)| *lane).collect()
    }
}
