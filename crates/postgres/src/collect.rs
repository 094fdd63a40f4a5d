//! Folding and forgetting history, in the background.
//!
//! Invariants:
//! - a state is what the log makes of a row at a resolved timestamp, so it is right whoever writes it;
//! - whatever is forgotten is at or below the low watermark, and the states there are written by the same SQL transaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_values::Timestamp;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_postgres::{Client, Error, Statement};

use crate::connection::{BackOff, connect, in_time};
use crate::error::WorkError;
use crate::facts::RowId;
use crate::locks::LockKey;
use crate::log::Log;
use crate::numbers::{timestamp_from_column, timestamp_to_column};
use crate::records;
use crate::rows::Rows;
use crate::shared::{FOLD_AFTER, Shared};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The last commit that is one too many.
const SURPLUS: &str = "
SELECT max(at) FROM (SELECT at, sum(operations) OVER (ORDER BY at DESC) AS kept FROM commits) AS counted WHERE kept > $1";

const FOLD: &str = "
INSERT INTO states (tbl, key, at, row) SELECT tbl, key, $1, row FROM unnest($2::int8[], $3::bytea[], $4::bytea[]) AS s(tbl, key, row)
ON CONFLICT DO NOTHING";

const FORGET_STATES: &str = "
DELETE FROM states s USING unnest($2::int8[], $3::bytea[]) AS f(tbl, key) WHERE s.tbl = f.tbl AND s.key = f.key AND s.at < $1";

const FORGET_TOUCHES: &str = "
DELETE FROM touches t USING unnest($2::int8[], $3::bytea[]) AS f(tbl, key) WHERE t.tbl = f.tbl AND t.key = f.key AND t.at <= $1";

const FORGET_COMMITS: &str = "DELETE FROM commits WHERE at <= $1";

const RAISE: &str = "UPDATE history SET low_watermark = $1 WHERE low_watermark < $1";

pub(crate) struct Collector {
    shared: Arc<Shared>,
    /// Rows with a long history, of which others were told while they read them.
    long: mpsc::UnboundedReceiver<RowId>,
}

struct Session {
    client: Client,
    rows: Rows,
    log: Log,
    surplus: Statement,
    fold: Statement,
    forget_states: Statement,
    forget_touches: Statement,
}

impl Collector {
    pub fn new(shared: Arc<Shared>, long: mpsc::UnboundedReceiver<RowId>) -> Collector {
        Collector { shared, long }
    }

    /// Collects until the store is stopped.
    pub async fn run(mut self) {
        let mut back_off = BackOff::new();
        loop {
            match self.session(&mut back_off).await {
                Ok(()) => return,
                Err(error) => {
                    self.shared.counts.reconnected();
                    tracing::warn!("history is not collected for a moment: {error}");
                    back_off.wait().await;
                }
            }
        }
    }

    async fn session(&mut self, back_off: &mut BackOff) -> Result<(), WorkError> {
        let session = in_time(Session::open(&self.shared)).await?;
        let collect_every = self.shared.settings.retention.collect_every;
        let mut collect_at = Instant::now() + collect_every;
        loop {
            let long = tokio::select! {
                id = self.long.recv() => match id {
                    Some(id) => Some(id),
                    None => return Ok(()),
                },
                () = sleep_until(collect_at) => None,
            };
            if let Some(id) = long {
                let mut ids = BTreeSet::from([id]);
                while let Ok(id) = self.long.try_recv() {
                    ids.insert(id);
                }
                for id in ids {
                    in_time(session.fold_long(&self.shared, id)).await?;
                }
            }
            if Instant::now() >= collect_at {
                while in_time(session.collect(&self.shared)).await? {}
                collect_at = Instant::now() + collect_every;
            }
            back_off.reset();
        }
    }
}

impl Session {
    async fn open(shared: &Shared) -> Result<Session, WorkError> {
        let client = connect(shared, None).await?;
        Ok(Session {
            rows: Rows::prepare(&client).await?,
            log: Log::prepare(&client).await?,
            surplus: client.prepare(SURPLUS).await?,
            fold: client.prepare(FOLD).await?,
            forget_states: client.prepare(FORGET_STATES).await?,
            forget_touches: client.prepare(FORGET_TOUCHES).await?,
            client,
        })
    }

    /// Gives a row a state of its own at what is resolved, so that fewer commits have to be applied to the last one.
    async fn fold_long(&self, shared: &Shared, id: RowId) -> Result<(), WorkError> {
        let through = shared.resolved();
        self.client.batch_execute(BEGIN).await?;
        // A state must not come after somebody has forgotten the row.
        let collector = LockKey::of_collector(shared.space).as_i64();
        self.client.execute("SELECT pg_advisory_xact_lock($1)", &[&collector]).await?;
        let rows = self.rows.fetch(&self.client, &[(id.clone(), Timestamp::MAX)], through).await?;
        let long = rows.into_iter().filter(|(_, facts)| facts.commits.len() > FOLD_AFTER && !facts.latest.is_empty());
        for (id, facts) in long {
            let state = records::encode_row(&id, facts.latest);
            self.write_states(through, &[(&id, state)]).await?;
        }
        Ok(self.client.batch_execute("COMMIT").await?)
    }

    /// Forgets some of what retention does not keep. Says whether there may be more.
    async fn collect(&self, shared: &Shared) -> Result<bool, WorkError> {
        self.client.batch_execute(BEGIN).await?;
        let collector = LockKey::of_collector(shared.space).as_i64();
        let mine = self.client.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&collector]).await?;
        let mut more = false;
        if mine.get(0) {
            let through = self.collectable(shared).await?;
            let stretch = self.log.read(&self.client, Timestamp::ZERO, through).await?;
            if let Some((last, _)) = stretch.commits.last() {
                let commits = stretch.commits.iter().filter_map(|(_, commit)| commit.as_ref());
                let writes = commits.flat_map(|commit| commit.writes.iter());
                let ids = writes.map(|write| (write.cell.table, write.cell.row.clone())).collect();
                self.forget(*last, ids).await?;
                more = true;
            }
        }
        self.client.batch_execute("COMMIT").await?;
        Ok(more)
    }

    /// Through where history may be forgotten.
    async fn collectable(&self, shared: &Shared) -> Result<Timestamp, WorkError> {
        let (resolved, retention) = (shared.resolved(), shared.settings.retention);
        let age = u64::try_from(retention.age.as_micros()).unwrap_or(u64::MAX);
        let too_old = Timestamp::end_of(resolved.micros().saturating_sub(age));
        let operations_max = i64::try_from(retention.operations_max).unwrap_or(i64::MAX);
        let surplus = self.client.query_one(&self.surplus, &[&operations_max]).await?;
        let surplus = surplus.get::<_, Option<i64>>(0).map(timestamp_from_column).unwrap_or_default();
        Ok(too_old.max(surplus).min(resolved))
    }

    async fn forget(&self, through: Timestamp, ids: BTreeSet<RowId>) -> Result<(), WorkError> {
        let wanted: Vec<_> = ids.iter().map(|id| (id.clone(), Timestamp::MAX)).collect();
        let rows = self.rows.fetch(&self.client, &wanted, through).await?;
        // A row that holds nothing leaves nothing.
        let rows = rows.into_iter().filter(|(_, facts)| !facts.latest.is_empty());
        let states: Vec<_> = rows.map(|(id, facts)| (id.clone(), records::encode_row(&id, facts.latest))).collect();
        let states: Vec<_> = states.iter().map(|(id, state)| (id, state.clone())).collect();
        self.write_states(through, &states).await?;
        let (tables, keys) = columns_of(ids.iter());
        let at = timestamp_to_column(through);
        self.client.execute(&self.forget_states, &[&at, &tables, &keys]).await?;
        self.client.execute(&self.forget_touches, &[&at, &tables, &keys]).await?;
        self.client.execute(FORGET_COMMITS, &[&at]).await?;
        self.client.execute(RAISE, &[&at]).await?;
        Ok(())
    }

    async fn write_states(&self, at: Timestamp, states: &[(&RowId, Vec<u8>)]) -> Result<(), Error> {
        let (tables, keys) = columns_of(states.iter().map(|(id, _)| *id));
        let rows: Vec<&[u8]> = states.iter().map(|(_, row)| &row[..]).collect();
        self.client.execute(&self.fold, &[&timestamp_to_column(at), &tables, &keys, &rows]).await?;
        Ok(())
    }
}

fn columns_of<'a>(ids: impl Iterator<Item = &'a RowId>) -> (Vec<i64>, Vec<&'a [u8]>) {
    ids.map(|(table, key)| (i64::from(table.0), key.as_bytes())).unzip()
}
