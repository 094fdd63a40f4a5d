//! Commits: of the feed, and of a segment for a replica that is behind.

use iolite_store::Commit;
use iolite_values::Write;

use crate::DecodeError;
use crate::generated::proto;
use crate::journal::{Completed, CompletedDecision};
use crate::node::ProposalId;

use super::level::{read_level, write_level};
use super::reader::required;
use super::{Reader, Writer};

impl Writer {
    pub(crate) fn commits(&mut self, commits: &[Commit]) -> Vec<proto::FeedCommit> {
        self.commits_beside(&[], commits)
    }

    /// Commits that are named already, each at its place. One that is not what stands there is named itself.
    pub(crate) fn commits_beside(&mut self, named: &[ProposalId], commits: &[Commit]) -> Vec<proto::FeedCommit> {
        let mut written = Vec::with_capacity(commits.len());
        for (place, commit) in commits.iter().enumerate() {
            let is_named =
                named.get(place).is_some_and(|id| (id.at, id.transaction) == (commit.at, commit.transaction));
            let id = (!is_named).then(|| Box::new(self.listed_transaction(commit.at, commit.transaction)));
            written.push(proto::FeedCommit { id, writes: self.writes(&commit.writes) });
        }
        written
    }

    pub(crate) fn segment_commit(&mut self, completed: &Completed) -> proto::SegmentCommit {
        let Completed { transaction, attempt, at, level, ref decision, is_home } = *completed;
        let (writes, aborted): (&[Write], _) = match decision {
            CompletedDecision::Committed(writes) => (writes, false),
            CompletedDecision::Aborted => (&[], true),
        };
        proto::SegmentCommit {
            id: Some(Box::new(self.listed(ProposalId { at, transaction, attempt }))),
            writes: self.writes(writes),
            aborted,
            away: !is_home,
            level: write_level(level),
        }
    }
}

impl Reader {
    pub(crate) fn commits(&mut self, commits: Vec<proto::FeedCommit>) -> Result<Vec<Commit>, DecodeError> {
        self.commits_beside(&[], commits)
    }

    pub(crate) fn commits_beside(
        &mut self,
        named: &[ProposalId],
        commits: Vec<proto::FeedCommit>,
    ) -> Result<Vec<Commit>, DecodeError> {
        let mut read = Vec::with_capacity(commits.len());
        for (place, commit) in commits.into_iter().enumerate() {
            let (at, transaction) = match (commit.id, named.get(place)) {
                (Some(id), _) => self.listed_transaction(&id)?,
                (None, Some(id)) => (id.at, id.transaction),
                (None, None) => return Err(DecodeError::malformed("a commit without a name")),
            };
            read.push(Commit { at, transaction, writes: self.writes(commit.writes)?.into() });
        }
        Ok(read)
    }

    pub(crate) fn segment_commit(&mut self, commit: proto::SegmentCommit) -> Result<Completed, DecodeError> {
        let id = self.listed(&*required(commit.id, "a commit without a name")?)?;
        let decision = match commit.aborted {
            false => CompletedDecision::Committed(self.writes(commit.writes)?),
            true if commit.writes.is_empty() => CompletedDecision::Aborted,
            true => return Err(DecodeError::malformed("an abort with writes")),
        };
        let (ProposalId { at, transaction, attempt }, level) = (id, read_level(commit.level)?);
        Ok(Completed { transaction, attempt, at, level, decision, is_home: !commit.away })
    }
}
