//! The store's replies: to the gateway's side as they are, and to what was asked in the data centre's own name.

use std::time::Duration;

use iolite_store::{CommitReply, Event, Reply, RequestId};
use iolite_values::Timestamp;

use super::own::Purpose;
use super::{Asker, Centres, Stage};
use crate::commits::Answered;
use crate::interface::{Broken, Output};

/// After so long a write that the store does not take is tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

impl Centres {
    pub(super) fn on_reply(&mut self, number: RequestId, reply: Reply) {
        if self.forgotten.remove(&number) {
            self.asker(number);
            return;
        }
        let reply = match &mut self.stage {
            Stage::Running(running) => match running.commits.on_reply(number, reply) {
                Answered::Reply(reply) => reply,
                Answered::Again => {
                    if self.settings.broken == Broken::RepeatUnjudged {
                        running.commits.forget_judged(number);
                    }
                    return;
                }
            },
            Stage::Away | Stage::Reading(_) => reply,
        };
        match self.asker(number) {
            Some(Asker::Front(asked)) => self.emit(Output::Event(Event::Reply(asked, reply))),
            Some(Asker::Own(own)) => {
                if let Some(purpose) = self.purposes.remove(&own) {
                    self.on_own(purpose, reply);
                }
            }
            None => {}
        }
    }

    fn on_own(&mut self, purpose: Purpose, reply: Reply) {
        match (purpose, reply) {
            (Purpose::Read(which), Reply::ReadAt(reply)) => self.on_read(which, reply),
            (Purpose::Mark(counter), reply) => {
                self.own_ended(counter, is_recorded(&reply));
                self.on_marked(is_recorded(&reply));
            }
            (Purpose::Trim(counter), reply) => {
                self.own_ended(counter, is_recorded(&reply));
                if let Stage::Running(running) = &mut self.stage {
                    running.trimming.ended(is_recorded(&reply), ended(&reply, running.position));
                }
            }
            (Purpose::Take(peer, place), reply) => {
                if let Stage::Running(running) = &mut self.stage
                    && let Some(taking) = running.taking.get_mut(&peer)
                {
                    taking.on_reply(place, &reply, running.position);
                }
            }
            (Purpose::Write(peer, column, counter), reply) => {
                self.own_ended(counter, is_recorded(&reply));
                if let Stage::Running(running) = &mut self.stage {
                    let at = ended(&reply, running.position);
                    running.rows.ended(&peer, column, at);
                }
            }
            (Purpose::Pages(link), Reply::ReadAt(reply)) => self.on_pages(link, reply.ok()),
            (Purpose::Pages(link), _) => self.on_pages(link, None),
            (Purpose::Acknowledge, _) => {}
            (Purpose::Read(_), reply) => {
                panic!("the store answers {reply:?} to a read")
            }
        }
    }
}

fn is_recorded(reply: &Reply) -> bool {
    matches!(reply, Reply::Commit(CommitReply::Completed(_)))
}

/// When the feed shows what came of a write, and it may be looked at again. `position`: the feed's.
fn ended(reply: &Reply, position: Timestamp) -> Timestamp {
    match reply {
        Reply::Commit(CommitReply::Completed(completion)) => completion.at,
        Reply::Commit(CommitReply::Conflict { at_least }) => *at_least,
        Reply::Commit(CommitReply::Forgotten | CommitReply::InDoubt { .. })
        | Reply::Validated(_)
        | Reply::ReadAt(_)
        | Reply::Changes(_)
        | Reply::Completions(_)
        | Reply::LastOutcome(_)
        | Reply::Acknowledged
        | Reply::Refused(_) => Timestamp::end_of(position.micros() + REFUSED_PAUSE.as_micros() as u64),
    }
}
