//! A client: one transaction after the other, each until it is decided; sometimes twice, sometimes at another gateway, sometimes acknowledged.

use iolite_store::{CommitReply, Reply, Request};
use iolite_values::{Attempt, ClientId, Counter, Id, Level, Timestamp, Transaction, TransactionId};

use super::history::{History, Outcome};
use super::random::Random;
use super::workload::{Task, View};
use crate::gateway::Gateway;

pub struct Client<'a> {
    id: ClientId,
    gateways: &'a [Gateway],
    history: &'a History,
    random: Random,
    home: usize,
    /// The client's own state is as far as this.
    seen: Timestamp,
}

impl<'a> Client<'a> {
    pub fn new(number: u64, seed: u64, gateways: &'a [Gateway], history: &'a History) -> Client<'a> {
        let home = number as usize % gateways.len();
        let id = ClientId(Id::from_u128(u128::from(number) + 1));
        let random = Random::new(seed.wrapping_mul(1000).wrapping_add(number));
        Client { id, gateways, history, random, home, seen: history.highest_told() }
    }

    pub async fn run(mut self, transactions: u64) {
        for counter in 1..=transactions {
            let id = TransactionId { client: self.id, counter: Counter(counter) };
            let task = Task::draw(&mut self.random);
            let level = task.level(&mut self.random);
            let transaction = self.decide(id, task, level).await;
            if self.random.percent(5) {
                self.acknowledge(&transaction).await;
            }
            if self.random.percent(5) {
                self.home = self.random.below(self.gateways.len() as u64) as usize;
            }
        }
    }

    async fn decide(&mut self, id: TransactionId, task: Task, level: Level) -> Transaction {
        let mut attempt = Attempt(1);
        loop {
            let gateway = &self.gateways[self.home];
            let snapshot = gateway.reach(self.seen).await;
            let view = View { gateway, history: self.history, at: snapshot };
            let (read, decision) = task.run(&view).await;
            let mut transaction = Transaction { id, attempt, snapshot, reads: Vec::new(), decision, level };
            transaction.reads = level.guarded(&read, transaction.writes()).into_owned();
            let told_before = self.history.highest_told();
            match self.submit(&transaction).await {
                CommitReply::Completed(completion) => {
                    self.seen = self.seen.max(completion.at);
                    let outcome = Outcome { read, transaction: transaction.clone(), completion, told_before };
                    self.history.outcome(outcome);
                    return transaction;
                }
                CommitReply::Conflict { at_least } => {
                    self.history.conflict();
                    self.seen = self.seen.max(at_least);
                    attempt = attempt.next();
                }
                CommitReply::Forgotten => {
                    self.history.violate(format!("{id:?} was forgotten before it was acknowledged"));
                    return transaction;
                }
                CommitReply::InDoubt { .. } => unreachable!("it waits for as long as it takes"),
            }
        }
    }

    /// Perhaps at two gateways at once, which then have to say the same.
    async fn submit(&mut self, transaction: &Transaction) -> CommitReply {
        let first = commit(&self.gateways[self.home], transaction, self.seen);
        if !self.random.percent(10) {
            return first.await;
        }
        let other = self.random.below(self.gateways.len() as u64) as usize;
        let (first, second) = tokio::join!(first, commit(&self.gateways[other], transaction, self.seen));
        match (&first, &second) {
            (CommitReply::Completed(a), CommitReply::Completed(b)) if a == b => {}
            (CommitReply::Conflict { .. }, CommitReply::Conflict { .. }) => {}
            _ => self.history.violate(format!("{transaction:?} came to {first:?} and to {second:?}")),
        }
        first
    }

    async fn acknowledge(&mut self, transaction: &Transaction) {
        let TransactionId { client, counter: through } = transaction.id;
        let reply = self.gateways[self.home].ask(Request::Acknowledge { client, through }).await;
        let again = commit(&self.gateways[self.home], transaction, self.seen).await;
        if reply != Reply::Acknowledged || again != CommitReply::Forgotten {
            self.history.violate(format!("after {reply:?} {:?} came to {again:?}", transaction.id));
        }
    }
}

async fn commit(gateway: &Gateway, transaction: &Transaction, floor: Timestamp) -> CommitReply {
    match gateway.ask(Request::Commit { transaction: transaction.clone(), floor, within: None }).await {
        Reply::Commit(reply) => reply,
        other => panic!("a commit was answered with {other:?}"),
    }
}
