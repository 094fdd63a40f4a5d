//! One client of a baseline, which is itself the coordinator of its commits.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use iolite_baseline_client::{Ended, Session as Client, Stopped};

use crate::accounting::Traffic;
use crate::transactions::system::{Interrupted, Outcome, Session};
use crate::transactions::workload::{KeyNumber, Mode, Value};

#[derive(Debug)]
pub struct BaselineSession {
    client: Client,
    /// Of each node.
    traffic: [Arc<Traffic>; 3],
}

impl BaselineSession {
    pub fn new(client: Client, traffic: [Arc<Traffic>; 3]) -> BaselineSession {
        BaselineSession { client, traffic }
    }

    async fn try_get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        let got = self.client.get(key.name().as_bytes()).await;
        self.count();
        let found = got.map_err(|stopped| match stopped {
            Stopped::Aborted => Interrupted::Aborted,
            Stopped::Unreachable(unreachable) => Interrupted::Broken(unreachable.into()),
        })?;
        let found = found.ok_or_else(|| Interrupted::Broken(anyhow!("no value at a key that was loaded")))?;
        Value::read(&found).ok_or_else(|| Interrupted::Broken(anyhow!("a value that no client writes")))
    }

    fn count(&mut self) {
        for exchange in self.client.take_exchanges() {
            let traffic = &self.traffic[exchange.node];
            traffic.carried(exchange.messages, exchange.bytes_up, exchange.bytes_down);
        }
    }
}

impl Session for BaselineSession {
    async fn load(&mut self, keys: &[KeyNumber], value: Value) -> anyhow::Result<()> {
        let pairs = keys.iter().map(|key| (key.name().into_bytes(), value.bytes().to_vec())).collect();
        Ok(self.client.load(pairs).await?)
    }

    async fn read(&mut self, keys: &[KeyNumber]) -> anyhow::Result<Vec<Option<Value>>> {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.name().into_bytes()).collect();
        let found = self.client.look(&keys).await?;
        let value = |bytes: Vec<u8>| Value::read(&bytes).context("a value that no client writes");
        found.into_iter().map(|found| found.map(value).transpose()).collect()
    }

    fn begin(&mut self, _: Mode) {
        self.client.begin();
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        self.try_get(key).await
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.client.put(key.name().as_bytes(), &value.bytes());
    }

    async fn commit(&mut self) -> Outcome {
        let ended = self.client.commit().await;
        self.count();
        match ended {
            Ended::Committed => Outcome::Committed,
            Ended::Aborted => Outcome::Aborted,
            Ended::Unknown(unreachable) => Outcome::Unknown(unreachable.into()),
        }
    }
}
