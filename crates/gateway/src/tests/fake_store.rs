//! A store in memory: a list of commits. It validates reads by interest, without a table of commutativity.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_store::{
    ChangesError, Commit, CommitReply, Completion, CompletionDecision, Event, ReadReply, Reply, Request, RowAt,
    Segment, TooOld,
};
use iolite_values::{
    Attempt, ClientId, Counter, Decision, Direction, Id, Interest, Row, RowKey, StoreIncarnation, TableId, Timestamp,
    Transaction, TransactionId, Write,
};

pub const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(0x5707e));

#[derive(Default)]
pub struct FakeStore {
    pub log: Vec<Commit>,
    pub resolved: Timestamp,
    pub low_watermark: Timestamp,
    completions: BTreeMap<TransactionId, Completion>,
    forgotten: BTreeMap<ClientId, Counter>,
}

impl FakeStore {
    /// Has outcomes of a client up to a counter.
    pub fn complete(&mut self, client: ClientId, through: u64) {
        for counter in (1..=through).map(Counter) {
            let completion =
                Completion { attempt: Attempt(1), at: Timestamp::ZERO, decision: CompletionDecision::Aborted };
            self.completions.insert(TransactionId { client, counter }, completion);
        }
    }

    pub fn ready(&self) -> Event {
        Event::Ready { store: STORE, resolved: self.resolved }
    }

    pub fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Commit { transaction, floor, within: _ } => Reply::Commit(self.commit(transaction, floor)),
            Request::Validate { .. } => unreachable!("gateways validate nothing"),
            Request::ReadAt { interest, at, limit } => {
                assert!(at <= self.resolved, "reads are at resolved timestamps");
                let mut rows = self.rows(&interest, at);
                if limit.direction == Direction::Descending {
                    rows.reverse();
                }
                Reply::ReadAt(self.if_kept(at).map(|()| ReadReply::through_limit(at, rows, limit)))
            }
            Request::Changes { interests, after, through, bytes_max } => {
                assert!(through <= self.resolved && after <= through);
                let in_time = self.log.iter().filter(|own| own.at > after && own.at <= through);
                let touching = in_time.filter(|own| {
                    own.writes.iter().any(|write| interests.iter().any(|interest| interest.includes(&write.cell)))
                });
                let commits: Vec<Commit> = touching.cloned().collect();
                let is_too_much = commits.iter().map(Commit::size_bytes).sum::<usize>() > bytes_max;
                let told = if is_too_much { Err(ChangesError::TooMuch) } else { Ok(commits) };
                Reply::Changes(self.if_kept(after).map_err(ChangesError::from).and(told))
            }
            Request::Completions { client, after, at, most } => {
                let own = self.completions.iter().filter(|(id, _)| id.client == client && id.counter > after);
                let own = own.filter(|(_, completion)| completion.at <= at);
                let own = own.map(|(id, completion)| (id.counter, completion.clone())).take(most).collect();
                Reply::Completions(self.if_kept(at).map(|()| own))
            }
            Request::LastOutcome { client, at } => {
                let own = self.completions.iter().filter(|(id, own)| id.client == client && own.at <= at);
                let last = own.map(|(id, _)| id.counter).chain(self.forgotten.get(&client).copied()).max();
                Reply::LastOutcome(self.if_kept(at).map(|()| last.unwrap_or_default()))
            }
            Request::Acknowledge { client, through } => {
                self.forgotten.insert(client, through);
                self.completions.retain(|id, _| id.client != client || id.counter > through);
                Reply::Acknowledged
            }
        }
    }

    /// The feed up to the last commit, and a little further.
    pub fn publish(&mut self) -> Event {
        let from = self.resolved;
        let last = self.log.last().map_or(from, |own| own.at).max(from);
        self.resolved = Timestamp::from_u64(last.as_u64() + 1);
        let commits = self.log.iter().filter(|own| own.at > from).cloned().collect();
        Event::Feed(Segment { from, to: self.resolved, commits })
    }

    /// The feed up to the commit that is the `count`th from here.
    pub fn publish_some(&mut self, count: usize) -> Event {
        let from = self.resolved;
        let commits: Vec<Commit> = self.log.iter().filter(|own| own.at > from).take(count).cloned().collect();
        self.resolved = commits.last().map_or(from, |own| own.at);
        Event::Feed(Segment { from, to: self.resolved, commits })
    }

    pub fn rows(&self, interest: &Interest, at: Timestamp) -> Vec<RowAt> {
        let mut rows: BTreeMap<(TableId, RowKey), Row> = BTreeMap::new();
        for write in self.log.iter().filter(|own| own.at <= at).flat_map(|own| own.writes.iter()) {
            if interest.includes(&write.cell) {
                let row = rows.entry((write.cell.table, write.cell.row.clone())).or_default();
                row.apply(write.cell.column, &write.operation).expect("tests write one type a column");
            }
        }
        let kept = rows.into_iter().filter(|(_, row)| !row.is_empty());
        let mut kept: Vec<RowAt> = kept.map(|((table, key), row)| RowAt { table, key, row }).collect();
        if let Interest::Query(query) = interest {
            kept.retain(|own| query.selects(&own.key, &own.row));
            kept.sort_by_cached_key(|own| query.index_key(&own.key, &own.row));
        }
        kept
    }

    /// Somebody else commits. Returns when.
    pub fn write(&mut self, writes: Vec<Write>) -> Timestamp {
        let at = self.next();
        let transaction = TransactionId { client: ClientId::default(), counter: Counter(at.as_u64()) };
        self.log.push(Commit { at, transaction, writes: writes.into() });
        at
    }

    fn next(&self) -> Timestamp {
        let last = self.log.last().map_or(Timestamp::ZERO, |own| own.at).max(self.resolved);
        Timestamp::from_u64(last.as_u64() / 10 * 10 + 10)
    }

    /// Whether the answers of a query have changed. Other reads are compared by what was written.
    fn differs(&self, interest: &Interest, since: Timestamp) -> bool {
        match interest {
            Interest::Cell(_) | Interest::Range { .. } => true,
            Interest::Query(_) => self.rows(interest, since) != self.rows(interest, Timestamp::MAX),
        }
    }

    fn if_kept(&self, at: Timestamp) -> Result<(), TooOld> {
        if at < self.low_watermark { Err(TooOld { low_watermark: self.low_watermark }) } else { Ok(()) }
    }

    fn commit(&mut self, transaction: Transaction, floor: Timestamp) -> CommitReply {
        if self.forgotten.get(&transaction.id.client).is_some_and(|through| transaction.id.counter <= *through) {
            return CommitReply::Forgotten;
        }
        if let Some(completion) = self.completions.get(&transaction.id) {
            return CommitReply::Completed(completion.clone());
        }
        let later = self.log.iter().filter(|own| own.at > transaction.snapshot);
        let conflict = later.rev().find(|own| {
            let reads = transaction.reads.iter().map(iolite_values::Read::interest);
            let touched = |interest: &Interest| own.writes.iter().any(|write| interest.includes(&write.cell));
            reads.into_iter().any(|interest| touched(&interest) && self.differs(&interest, transaction.snapshot))
        });
        if let Some(conflict) = conflict {
            return CommitReply::Conflict { at_least: conflict.at };
        }
        let at = self.next().max(Timestamp::from_u64(floor.as_u64() + 1));
        let decision = match transaction.decision {
            Decision::Commit(writes) => {
                self.log.push(Commit { at, transaction: transaction.id, writes: Arc::from(writes) });
                CompletionDecision::Committed
            }
            Decision::Abort(_) => CompletionDecision::Aborted,
        };
        let completion = Completion { attempt: transaction.attempt, at, decision };
        self.completions.insert(transaction.id, completion.clone());
        CommitReply::Completed(completion)
    }
}
