//! What the store says at the end, and what clients know, as one history.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use iolite::{Client, View};
use iolite_histories::{BankSetup, Client as ClientNumber, Commit, Fault, History, Outcome, Setup, Transaction};
use tokio::time::timeout;

use crate::book::Asked;
use crate::moment::moment;
use crate::step::{ACCOUNTS, BALANCE, Plan, Planner, Seen, Step, operations};

/// What each client left behind, by number. A client that is not in it was not asked for.
type Left = BTreeMap<i64, BTreeMap<i64, Vec<Seen>>>;

/// What the store kept of what clients were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Transactions that were acknowledged, and left nothing of what they saw behind.
    pub acknowledged_lost: u64,
    /// Transactions that were refused, and left something behind.
    pub aborted_there: u64,
    /// Transactions that were acknowledged or refused, and not looked for: what their clients left behind could not be read.
    pub unread: u64,
}

impl Kept {
    pub fn is_violated(&self) -> bool {
        self.acknowledged_lost > 0 || self.aborted_there > 0
    }
}

/// The store at the end of a run, as far as it could be read.
#[derive(Debug, Default)]
pub struct LastState {
    last: Vec<Asked>,
    left: Left,
}

impl LastState {
    fn kept(&self, asked: &[Asked]) -> Option<Kept> {
        if self.left.is_empty() {
            return None;
        }
        let mut kept = Kept::default();
        for asked in asked.iter().chain(&self.last) {
            let is_there = self.left.get(&asked.plan.client).map(|left| left.contains_key(&asked.plan.number));
            match (&asked.outcome, is_there) {
                (Outcome::Committed(_) | Outcome::Aborted, None) => kept.unread += 1,
                (Outcome::Committed(_), Some(false)) => kept.acknowledged_lost += 1,
                (Outcome::Aborted, Some(true)) => kept.aborted_there += 1,
                (Outcome::Committed(_), Some(true)) | (Outcome::Aborted, Some(false)) | (Outcome::Unknown, _) => {}
            }
        }
        Some(kept)
    }
}

/// The history, and what the store kept. Where it could not be read, nobody knows what transactions saw.
pub fn history(asked: Vec<Asked>, state: LastState, faults: Vec<Fault>) -> (History, Option<Kept>) {
    let kept = state.kept(&asked);
    let LastState { last, left } = state;
    let bank = BankSetup { balances: vec![BALANCE; ACCOUNTS as usize], lowest: 0 };
    let transaction = |asked: Asked| {
        let seen = left.get(&asked.plan.client).and_then(|left| left.get(&asked.plan.number));
        let is_committed = matches!(asked.outcome, Outcome::Committed(_));
        Transaction {
            client: ClientNumber(asked.plan.client as u32),
            invoked: asked.invoked,
            completed: asked.completed,
            operations: operations(&asked.plan.steps, seen.filter(|_| is_committed).map(Vec::as_slice)),
            outcome: asked.outcome,
        }
    };
    let history = History {
        setup: Setup { banks: vec![bank] },
        transactions: asked.into_iter().map(transaction).collect(),
        last: last.into_iter().map(transaction).collect(),
        faults,
    };
    (history, kept)
}

/// Reads everything there is with a client of its own, one step after the other.
#[derive(Debug)]
pub struct Reader {
    client: Client,
    /// Each step ends within this.
    within: Duration,
    number: i64,
    state: LastState,
}

impl Reader {
    /// Its number is that after those of the clients of the run.
    pub fn new(client: Client, number: u32, within: Duration) -> Reader {
        Reader { client, within, number: number.into(), state: LastState::default() }
    }

    /// What could be read, and why the rest could not.
    pub async fn read(mut self, asked: &[Asked]) -> (LastState, Vec<String>) {
        let last_number = asked.iter().map(|asked| asked.plan.number).max().unwrap_or_default();
        let read = self.read_steps(Planner::objects(last_number)).await;
        let problems = read.err().map(|error| format!("the last state was not read whole: {error:#}"));
        (self.state, problems.into_iter().collect())
    }

    /// What was left behind comes first: it says what was lost, and what transactions saw.
    async fn read_steps(&mut self, objects: u32) -> anyhow::Result<()> {
        // A view may be older than what was acknowledged, but not than the reader's own transaction.
        self.transact(0, Vec::new()).await?;
        for client in 0..self.number {
            self.read_left(client).await?;
        }
        let last = self.read_last(objects).await;
        let own = if self.state.last.is_empty() { Ok(()) } else { self.read_left(self.number).await };
        last.and(own)
    }

    /// By transactions that only read. They leave what they saw behind like all others.
    async fn read_last(&mut self, objects: u32) -> anyhow::Result<()> {
        let all = (0..objects).flat_map(|n| [Step::Read(n), Step::List(n), Step::Count(n), Step::Set(n)]);
        let steps: Vec<Step> = all.chain([Step::Bank]).collect();
        // A closure may find out that it lacks something a few times only.
        for (number, steps) in steps.chunks(5).enumerate() {
            let asked = self.transact(number as i64 + 1, steps.to_vec()).await?;
            self.state.last.push(asked);
        }
        Ok(())
    }

    async fn transact(&self, number: i64, steps: Vec<Step>) -> anyhow::Result<Asked> {
        let plan = Plan { client: self.number, number, steps };
        let invoked = moment();
        let handle = self.client.mutate("transact", &plan)?;
        let confirmed = timeout(self.within, handle.confirmed()).await;
        confirmed
            .with_context(|| format!("no answer within {:?} to the reader's transaction {number}", self.within))??;
        Ok(Asked { plan, invoked, completed: moment(), outcome: Outcome::Committed(Commit::Unstamped) })
    }

    /// What a client's transactions wrote down: all of it, or nothing.
    async fn read_left(&mut self, client: i64) -> anyhow::Result<()> {
        let rows = self.client.read(View::Confirmed, move |tx| tx.rows("seen", &[iolite::Value::Int(client)]));
        let rows = timeout(self.within, rows).await;
        let rows = rows.with_context(|| format!("client {client}'s rows do not come within {:?}", self.within))??;
        let mut left = BTreeMap::new();
        for row in rows.iter() {
            let iolite::Value::Int(number) = row.key()[1] else { continue };
            let what: String = row.get("what").map_err(|error| anyhow::anyhow!("{error}"))?;
            left.insert(number, serde_json::from_str(&what)?);
        }
        self.state.left.insert(client, left);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first transaction of a client.
    fn first(client: i64, outcome: Outcome) -> Asked {
        let plan = Plan { client, number: 1, steps: vec![Step::Read(0)] };
        Asked { plan, invoked: moment(), completed: moment(), outcome }
    }

    #[test]
    fn what_one_client_left_is_judged_where_that_of_another_could_not_be_read() {
        let committed = Outcome::Committed(Commit::Unstamped);
        let asked =
            vec![first(0, committed), first(1, committed), first(2, Outcome::Aborted), first(2, Outcome::Unknown)];
        let nobody = LastState::default();
        assert_eq!(nobody.kept(&asked), None);
        let state = LastState { last: Vec::new(), left: BTreeMap::from([(0, BTreeMap::new())]) };
        let (_, kept) = history(asked, state, Vec::new());
        assert_eq!(kept, Some(Kept { acknowledged_lost: 1, aborted_there: 0, unread: 2 }));
    }

    #[test]
    fn what_was_left_is_judged_where_objects_could_not_be_read() {
        let asked = vec![first(0, Outcome::Committed(Commit::Unstamped))];
        let left = BTreeMap::from([(1, vec![Seen::Value(Some(7))])]);
        let state = LastState { last: Vec::new(), left: BTreeMap::from([(0, left)]) };
        let (history, kept) = history(asked, state, Vec::new());
        assert_eq!(kept, Some(Kept::default()));
        assert_eq!(history.transactions[0].operations.len(), 1, "{history:?}");
    }
}
