//! openraft's types from messages and back.

use std::collections::BTreeSet;

use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest, VoteResponse};
use openraft::vote::RaftLeaderId;
use openraft::{EntryPayload, Membership};

use super::peer::{
    AppendMessage, Appended, AppendedMessage, AskVoteMessage, EntryMessage, LogIdMessage, MembersMessage, VoteMessage,
    VotedMessage,
};
use super::{Entry, LeaderId, LogId, Proposal, Types, Vote};

impl From<Vote> for VoteMessage {
    fn from(vote: Vote) -> VoteMessage {
        let Vote { leader_id, committed } = vote;
        VoteMessage { term: leader_id.term, node: leader_id.node_id, committed }
    }
}

impl From<VoteMessage> for Vote {
    fn from(message: VoteMessage) -> Vote {
        let VoteMessage { term, node, committed } = message;
        Vote { leader_id: LeaderId::new(term, node), committed }
    }
}

impl From<LogId> for LogIdMessage {
    fn from(id: LogId) -> LogIdMessage {
        LogIdMessage { term: id.leader_id.term, node: id.leader_id.node_id, index: id.index }
    }
}

impl From<LogIdMessage> for LogId {
    fn from(message: LogIdMessage) -> LogId {
        LogId { leader_id: LeaderId::new(message.term, message.node), index: message.index }
    }
}

impl From<&Entry> for EntryMessage {
    fn from(entry: &Entry) -> EntryMessage {
        let (proposal, members) = match &entry.payload {
            EntryPayload::Blank => (None, None),
            EntryPayload::Normal(Proposal(bytes)) => (Some(bytes.clone()), None),
            EntryPayload::Membership(members) => (None, Some(MembersMessage { nodes: members.voter_ids().collect() })),
        };
        EntryMessage { id: entry.log_id.into(), proposal, members }
    }
}

impl From<EntryMessage> for Entry {
    fn from(message: EntryMessage) -> Entry {
        let payload = match (message.proposal, message.members) {
            (Some(bytes), _) => EntryPayload::Normal(Proposal(bytes)),
            (None, Some(members)) => {
                let nodes: BTreeSet<u64> = members.nodes.into_iter().collect();
                EntryPayload::Membership(Membership::new_with_defaults(vec![nodes], []))
            }
            (None, None) => EntryPayload::Blank,
        };
        Entry { log_id: message.id.into(), payload }
    }
}

impl From<&AppendEntriesRequest<Types>> for AppendMessage {
    fn from(request: &AppendEntriesRequest<Types>) -> AppendMessage {
        AppendMessage {
            vote: request.vote.into(),
            previous: request.prev_log_id.map(Into::into),
            entries: request.entries.iter().map(Into::into).collect(),
            committed: request.leader_commit.map(Into::into),
        }
    }
}

impl From<AppendMessage> for AppendEntriesRequest<Types> {
    fn from(message: AppendMessage) -> AppendEntriesRequest<Types> {
        AppendEntriesRequest {
            vote: message.vote.into(),
            prev_log_id: message.previous.map(Into::into),
            entries: message.entries.into_iter().map(Into::into).collect(),
            leader_commit: message.committed.map(Into::into),
        }
    }
}

impl From<AppendEntriesResponse<Types>> for AppendedMessage {
    fn from(response: AppendEntriesResponse<Types>) -> AppendedMessage {
        let appended = match response {
            AppendEntriesResponse::Success => Some(Appended::All(())),
            AppendEntriesResponse::PartialSuccess(Some(through)) => Some(Appended::Through(through.into())),
            AppendEntriesResponse::PartialSuccess(None) => None,
            AppendEntriesResponse::Conflict => Some(Appended::Conflict(())),
            AppendEntriesResponse::HigherVote(vote) => Some(Appended::HigherVote(vote.into())),
        };
        AppendedMessage { appended }
    }
}

impl From<AppendedMessage> for AppendEntriesResponse<Types> {
    fn from(message: AppendedMessage) -> AppendEntriesResponse<Types> {
        match message.appended {
            Some(Appended::All(())) => AppendEntriesResponse::Success,
            Some(Appended::Through(through)) => AppendEntriesResponse::PartialSuccess(Some(through.into())),
            None => AppendEntriesResponse::PartialSuccess(None),
            Some(Appended::Conflict(())) => AppendEntriesResponse::Conflict,
            Some(Appended::HigherVote(vote)) => AppendEntriesResponse::HigherVote(vote.into()),
        }
    }
}

impl From<VoteRequest<Types>> for AskVoteMessage {
    fn from(request: VoteRequest<Types>) -> AskVoteMessage {
        let VoteRequest { vote, last_log_id, leadership_transfer: transfer } = request;
        AskVoteMessage { vote: vote.into(), last: last_log_id.map(Into::into), transfer }
    }
}

impl From<AskVoteMessage> for VoteRequest<Types> {
    fn from(message: AskVoteMessage) -> VoteRequest<Types> {
        let AskVoteMessage { vote, last, transfer } = message;
        VoteRequest { vote: vote.into(), last_log_id: last.map(Into::into), leadership_transfer: transfer }
    }
}

impl From<VoteResponse<Types>> for VotedMessage {
    fn from(response: VoteResponse<Types>) -> VotedMessage {
        let VoteResponse { vote, vote_granted: granted, last_log_id } = response;
        VotedMessage { vote: vote.into(), granted, last: last_log_id.map(Into::into) }
    }
}

impl From<VotedMessage> for VoteResponse<Types> {
    fn from(message: VotedMessage) -> VoteResponse<Types> {
        let VotedMessage { vote, granted, last } = message;
        VoteResponse { vote: vote.into(), vote_granted: granted, last_log_id: last.map(Into::into) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry_comes_back_as_it_was() {
        let log_id = LogId { leader_id: LeaderId::new(3, 1), index: 9 };
        let members = Membership::new_with_defaults(vec![BTreeSet::from([0, 1, 2])], []);
        for payload in [
            EntryPayload::Blank,
            EntryPayload::Normal(Proposal(bytes::Bytes::new())),
            EntryPayload::Normal(Proposal(bytes::Bytes::from_static(b"command"))),
            EntryPayload::Membership(members),
        ] {
            let entry = Entry { log_id, payload };
            assert_eq!(Entry::from(EntryMessage::from(&entry)), entry);
        }
    }
}
