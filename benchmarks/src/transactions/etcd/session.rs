//! One client of etcd.
//!
//! Invariant: the revision of every key that was read is compared by the commit.

use anyhow::{Context, bail};

use super::grpc::Channel;
use super::messages::{Compare, PutRequest, RangeRequest, RangeResponse, Request, RequestOp, TxnRequest, TxnResponse};
use crate::transactions::system::{Interrupted, Outcome, Session};
use crate::transactions::workload::{KeyNumber, Mode, Value};

#[derive(Debug)]
pub struct EtcdSession {
    channel: Channel,
    mode: Mode,
    /// Of the first read; all others are at it.
    revision: Option<i64>,
    compares: Vec<Compare>,
    puts: Vec<RequestOp>,
}

const TXN: &str = "etcdserverpb.KV/Txn";
const RANGE: &str = "etcdserverpb.KV/Range";

impl EtcdSession {
    pub fn new(channel: Channel) -> EtcdSession {
        EtcdSession { channel, mode: Mode::ReadOnly, revision: None, compares: Vec::new(), puts: Vec::new() }
    }

    async fn try_get(&mut self, key: String) -> anyhow::Result<Value> {
        let request = RangeRequest {
            key: key.into_bytes(),
            revision: self.revision.unwrap_or(0),
            serializable: self.revision.is_some(),
        };
        let answer: RangeResponse = self.channel.call(RANGE, &request).await?;
        let header = answer.header.context("an answer without a header")?;
        self.revision.get_or_insert(header.revision);
        let found = answer.kvs.into_iter().next().context("no value at a key that was loaded")?;
        self.compares.push(Compare::last_modified(found.key, found.mod_revision));
        Value::read(&found.value).context("a value that no client writes")
    }

    async fn transact(&mut self, request: &TxnRequest) -> anyhow::Result<TxnResponse> {
        self.channel.call(TXN, request).await
    }
}

impl Session for EtcdSession {
    async fn load(&mut self, keys: &[KeyNumber], value: Value) -> anyhow::Result<()> {
        let success = keys.iter().map(|key| put(*key, value)).collect();
        let answer = self.transact(&TxnRequest { compare: Vec::new(), success }).await?;
        if !answer.succeeded {
            bail!("a transaction without a comparison failed");
        }
        Ok(())
    }

    async fn read(&mut self, keys: &[KeyNumber]) -> anyhow::Result<Vec<Option<Value>>> {
        let range = |key: &KeyNumber| {
            Request::Range(RangeRequest { key: key.name().into_bytes(), revision: 0, serializable: false }).into()
        };
        let success = keys.iter().map(range).collect();
        let answer = self.transact(&TxnRequest { compare: Vec::new(), success }).await?;
        let value = |response: super::messages::ResponseOp| {
            let Some(found) = response.range.and_then(|range| range.kvs.into_iter().next()) else { return Ok(None) };
            Value::read(&found.value).map(Some).context("a value that no client writes")
        };
        answer.responses.into_iter().map(value).collect()
    }

    fn begin(&mut self, mode: Mode) {
        self.mode = mode;
        self.revision = None;
        self.compares.clear();
        self.puts.clear();
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        self.try_get(key.name()).await.map_err(Interrupted::Broken)
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.puts.push(put(key, value));
    }

    async fn commit(&mut self) -> Outcome {
        match self.mode {
            // All of it was read at one revision, which is a snapshot by itself.
            Mode::ReadOnly => return Outcome::Committed,
            Mode::ReadWrite => {}
        }
        let (compare, success) = (std::mem::take(&mut self.compares), std::mem::take(&mut self.puts));
        match self.transact(&TxnRequest { compare, success }).await {
            Ok(TxnResponse { succeeded: true, .. }) => Outcome::Committed,
            Ok(TxnResponse { succeeded: false, .. }) => Outcome::Aborted,
            Err(error) => Outcome::Unknown(error),
        }
    }
}

fn put(key: KeyNumber, value: Value) -> RequestOp {
    Request::Put(PutRequest { key: key.name().into_bytes(), value: value.bytes().to_vec() }).into()
}
