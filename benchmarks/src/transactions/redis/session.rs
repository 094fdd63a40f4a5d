//! One client of Redis.
//!
//! Invariant: every key is watched before it is read, so EXEC fails if any was written since. A commit whose WAIT was not answered in
//! time is unknown: the primary has it, and maybe nobody else.

use anyhow::{Context, anyhow, bail};

use crate::redis::{Connection, Reply};
use crate::transactions::system::{Interrupted, Outcome, Session};
use crate::transactions::workload::{KeyNumber, Mode, Value};

#[derive(Debug)]
pub struct RedisSession {
    connection: Connection,
    mode: Mode,
    reads: usize,
    puts: Vec<(KeyNumber, Value)>,
    /// Whether the server still watches keys of a transaction that ended here.
    watching: Watching,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watching {
    Nothing,
    Old,
}

/// How long WAIT waits for a replica.
const WAIT_MS: &[u8] = b"5000";

impl RedisSession {
    pub fn new(connection: Connection) -> RedisSession {
        RedisSession { connection, mode: Mode::ReadOnly, reads: 0, puts: Vec::new(), watching: Watching::Nothing }
    }

    async fn try_get(&mut self, key: &str) -> anyhow::Result<Value> {
        if self.watching == Watching::Old {
            self.connection.write(&[b"UNWATCH"]).await?;
        }
        self.connection.send(&[&[b"WATCH", key.as_bytes()], &[b"GET", key.as_bytes()]]).await?;
        if self.watching == Watching::Old {
            ok(self.connection.receive().await?)?;
            self.watching = Watching::Nothing;
        }
        ok(self.connection.receive().await?)?;
        self.reads += 1;
        let value = value_of(self.connection.receive().await?)?;
        value.with_context(|| format!("no value at {key}"))
    }

    /// Whether EXEC did it, and how many replicas have it.
    async fn try_commit(&mut self) -> anyhow::Result<Option<i64>> {
        let puts = std::mem::take(&mut self.puts);
        self.connection.write(&[b"MULTI"]).await?;
        for (key, value) in &puts {
            self.connection.write(&[b"SET", key.name().as_bytes(), &value.bytes()]).await?;
        }
        match self.mode {
            Mode::ReadOnly => self.connection.send(&[&[b"EXEC"]]).await?,
            Mode::ReadWrite => self.connection.send(&[&[b"EXEC"], &[b"WAIT", b"1", WAIT_MS]]).await?,
        }
        ok(self.connection.receive().await?)?;
        for _ in &puts {
            ok(self.connection.receive().await?)?;
        }
        let done = match self.connection.receive().await? {
            Reply::Array(None) => None,
            Reply::Array(Some(_)) => Some(()),
            other => bail!("EXEC was answered by {other:?}"),
        };
        let replicas = match self.mode {
            Mode::ReadOnly => 1,
            Mode::ReadWrite => match self.connection.receive().await? {
                Reply::Integer(replicas) => replicas,
                other => bail!("WAIT was answered by {other:?}"),
            },
        };
        Ok(done.map(|()| replicas))
    }
}

impl Session for RedisSession {
    async fn load(&mut self, keys: &[KeyNumber], value: Value) -> anyhow::Result<()> {
        for key in keys {
            self.connection.write(&[b"SET", key.name().as_bytes(), &value.bytes()]).await?;
        }
        self.connection.send(&[]).await?;
        for _ in keys {
            ok(self.connection.receive().await?)?;
        }
        Ok(())
    }

    async fn read(&mut self, keys: &[KeyNumber]) -> anyhow::Result<Vec<Option<Value>>> {
        let names: Vec<String> = keys.iter().map(|key| key.name()).collect();
        let words: Vec<&[u8]> = [&b"MGET"[..]].into_iter().chain(names.iter().map(String::as_bytes)).collect();
        self.connection.send(&[&words]).await?;
        let Reply::Array(Some(values)) = self.connection.receive().await? else { bail!("MGET has no values") };
        values.into_iter().map(value_of).collect()
    }

    fn begin(&mut self, mode: Mode) {
        if self.reads > 0 {
            self.watching = Watching::Old;
        }
        self.mode = mode;
        self.reads = 0;
        self.puts.clear();
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        self.try_get(&key.name()).await.map_err(Interrupted::Broken)
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.puts.push((key, value));
    }

    async fn commit(&mut self) -> Outcome {
        // One read is a snapshot by itself: there is nothing to validate.
        if self.mode == Mode::ReadOnly && self.reads <= 1 {
            return Outcome::Committed;
        }
        let committed = self.try_commit().await;
        // EXEC ends watching, whatever its outcome.
        self.reads = 0;
        match committed {
            Ok(None) => Outcome::Aborted,
            Ok(Some(0)) => Outcome::Unknown(anyhow!("no replica has it")),
            Ok(Some(_)) => Outcome::Committed,
            Err(error) => Outcome::Unknown(error),
        }
    }
}

fn ok(reply: Reply) -> anyhow::Result<()> {
    match reply {
        Reply::Simple(_) => Ok(()),
        other => bail!("redis answered {other:?}"),
    }
}

fn value_of(reply: Reply) -> anyhow::Result<Option<Value>> {
    match reply {
        Reply::Bulk(None) => Ok(None),
        Reply::Bulk(Some(bytes)) => Value::read(&bytes).map(Some).context("a value that no client writes"),
        other => bail!("redis answered {other:?} for a value"),
    }
}
