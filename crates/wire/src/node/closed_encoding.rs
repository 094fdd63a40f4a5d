//! What a replica has of a stretch of the feed, to protobuf and back.
//!
//! All its names share one numbering of clients. Its commits, if it has them, are those that it names as committed: they are not named again.

use crate::DecodeError;
use crate::encoding::{Reader, Writer, each, required};
use crate::generated::proto;

use super::{Closed, ShardId, Undecided};

pub(super) fn write(closed: &Closed, writer: &mut Writer) -> proto::AnswerClosed {
    let times = [closed.through, closed.barrier, closed.latest, closed.complete];
    let [through, barrier, latest, complete] = times.map(|own| writer.timestamp(own));
    proto::AnswerClosed {
        through_near: through.near,
        through: through.full,
        barrier_near: barrier.near,
        barrier: barrier.full,
        latest_near: latest.near,
        latest: latest.full,
        complete_near: complete.near,
        complete: complete.full,
        undecided: closed.undecided.iter().map(|own| write_undecided(own, writer)).collect(),
        aborted: writer.all_listed(&closed.aborted),
        committed: writer.all_listed(&closed.committed),
        given_up: writer.all_listed(&closed.given_up),
        commits: writer.commits_beside(&closed.committed, &closed.commits),
    }
}

pub(super) fn read(closed: proto::AnswerClosed, reader: &mut Reader) -> Result<Closed, DecodeError> {
    let through = reader.timestamp(closed.through_near, closed.through)?;
    let barrier = reader.timestamp(closed.barrier_near, closed.barrier)?;
    let latest = reader.timestamp(closed.latest_near, closed.latest)?;
    let complete = reader.timestamp(closed.complete_near, closed.complete)?;
    let undecided = each(closed.undecided, |own| read_undecided(own, reader))?;
    let aborted = reader.all_listed(closed.aborted)?;
    let committed = reader.all_listed(closed.committed)?;
    let given_up = reader.all_listed(closed.given_up)?;
    let commits = reader.commits_beside(&committed, closed.commits)?;
    Ok(Closed { through, barrier, latest, complete, undecided, aborted, committed, given_up, commits })
}

fn write_undecided(undecided: &Undecided, writer: &mut Writer) -> proto::UndecidedName {
    let id = Some(Box::new(writer.listed(undecided.id)));
    proto::UndecidedName { id, participants: undecided.participants.iter().map(|shard| shard.0).collect() }
}

fn read_undecided(undecided: proto::UndecidedName, reader: &mut Reader) -> Result<Undecided, DecodeError> {
    let id = reader.listed(&*required(undecided.id, "a proposal without a name")?)?;
    if !undecided.participants.is_sorted_by(|a, b| a < b) {
        return Err(DecodeError::malformed("participants are in order, each once"));
    }
    Ok(Undecided { id, participants: undecided.participants.into_iter().map(ShardId).collect() })
}
