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

/// What was left behind, by client and number.
type Left = BTreeMap<(i64, i64), Vec<Seen>>;

/// What the store kept of what clients were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Transactions that were acknowledged, and left nothing of what they saw behind.
    pub acknowledged_lost: u64,
    /// Transactions that were refused, and left something behind.
    pub aborted_there: u64,
}

/// The store at the end of a run.
#[derive(Debug)]
pub struct LastState {
    last: Vec<Asked>,
    left: Left,
}

impl LastState {
    /// Reads everything there is, in so much time.
    ///
    /// # Errors
    /// That it cannot be read.
    pub async fn read(reader: &Client, clients: u32, asked: &[Asked], within: Duration) -> anyhow::Result<LastState> {
        let last_number = asked.iter().map(|asked| asked.plan.number).max().unwrap_or_default();
        let read = async {
            let last = read_last(reader, clients, Planner::objects(last_number)).await?;
            let left = read_left(reader, clients).await?;
            Ok(LastState { last, left })
        };
        timeout(within, read).await.with_context(|| format!("the last state cannot be read within {within:?}"))?
    }

    fn kept(&self, asked: &[Asked]) -> Kept {
        let mut kept = Kept::default();
        for asked in asked.iter().chain(&self.last) {
            let is_there = self.left.contains_key(&(asked.plan.client, asked.plan.number));
            match asked.outcome {
                Outcome::Committed(_) if !is_there => kept.acknowledged_lost += 1,
                Outcome::Aborted if is_there => kept.aborted_there += 1,
                Outcome::Committed(_) | Outcome::Aborted | Outcome::Unknown => {}
            }
        }
        kept
    }
}

/// The history, and what the store kept. Where it could not be read, nobody knows what transactions saw.
pub fn history(asked: Vec<Asked>, state: Option<LastState>, faults: Vec<Fault>) -> (History, Option<Kept>) {
    let kept = state.as_ref().map(|state| state.kept(&asked));
    let (last, left) = state.map(|state| (state.last, state.left)).unwrap_or_default();
    let bank = BankSetup { balances: vec![BALANCE; ACCOUNTS as usize], lowest: 0 };
    let transaction = |asked: Asked| {
        let seen = left.get(&(asked.plan.client, asked.plan.number));
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

/// By transactions that only read. They leave what they saw behind like all others.
async fn read_last(reader: &Client, clients: u32, objects: u32) -> anyhow::Result<Vec<Asked>> {
    let all = (0..objects).flat_map(|n| [Step::Read(n), Step::List(n), Step::Count(n), Step::Set(n)]);
    let steps: Vec<Step> = all.chain([Step::Bank]).collect();
    let mut asked = Vec::new();
    // A closure may find out that it lacks something a few times only.
    for (number, steps) in steps.chunks(5).enumerate() {
        let plan = Plan { client: clients.into(), number: number as i64 + 1, steps: steps.to_vec() };
        let invoked = moment();
        reader.mutate("transact", &plan)?.confirmed().await?;
        asked.push(Asked { plan, invoked, completed: moment(), outcome: Outcome::Committed(Commit::Unstamped) });
    }
    Ok(asked)
}

/// What transactions wrote down, of all clients and of the reader.
async fn read_left(reader: &Client, clients: u32) -> anyhow::Result<Left> {
    let mut left = Left::new();
    for client in 0..=i64::from(clients) {
        let rows = reader.read(View::Confirmed, move |tx| tx.rows("seen", &[iolite::Value::Int(client)])).await?;
        for row in rows.iter() {
            let iolite::Value::Int(number) = row.key()[1] else { continue };
            let what: String = row.get("what").map_err(|error| anyhow::anyhow!("{error}"))?;
            left.insert((client, number), serde_json::from_str(&what)?);
        }
    }
    Ok(left)
}
