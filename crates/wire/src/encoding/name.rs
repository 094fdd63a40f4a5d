//! Names of proposals and transactions in messages that have many of them.
//!
//! A client has 16 bytes, most of a name. So a message numbers the clients that it tells, and says one again by its number: a client's
//! second transaction in a list takes 2 bytes for it. Nothing of this is carried to another message, since messages may be lost.

use std::collections::BTreeMap;

use iolite_values::{Attempt, ClientId, Counter, Id, Timestamp, TransactionId};

use crate::DecodeError;
use crate::generated::proto;
use crate::node::ProposalId;
use crate::session::{attempt, earlier_attempts};

use super::{Reader, Writer};

/// The clients that the message has told, with their numbers from 1.
#[derive(Debug, Default)]
pub(super) struct ToldClients {
    /// Most names that follow each other are of different clients, or all are of one: this one needs no search.
    last: Option<(ClientId, u32)>,
    numbers: BTreeMap<ClientId, u32>,
}

impl ToldClients {
    /// Its number, if it was told. Otherwise it is told by this.
    fn number(&mut self, client: ClientId) -> Option<u32> {
        if let Some((last, number)) = self.last
            && last == client
        {
            return Some(number);
        }
        let next = u32::try_from(self.numbers.len() + 1).expect("a message has fewer parts than that");
        let number = *self.numbers.entry(client).or_insert(next);
        self.last = Some((client, number));
        (number != next).then_some(number)
    }
}

impl Writer {
    pub(crate) fn listed(&mut self, id: ProposalId) -> proto::ListedName {
        let at = self.timestamp(id.at);
        let TransactionId { client, counter } = id.transaction;
        let told = self.clients.number(client);
        let bits = if told.is_some() { 0 } else { client.0.as_u128() };
        proto::ListedName {
            at_near: at.near,
            at: at.full,
            client: told.unwrap_or(0),
            client_high: (bits >> 64) as u64,
            client_low: bits as u64,
            counter: counter.0,
            earlier_attempts: earlier_attempts(id.attempt),
        }
    }

    pub(crate) fn all_listed(&mut self, ids: &[ProposalId]) -> Vec<proto::ListedName> {
        ids.iter().map(|id| self.listed(*id)).collect()
    }

    /// The name of a transaction, whatever its attempt.
    pub(super) fn listed_transaction(&mut self, at: Timestamp, transaction: TransactionId) -> proto::ListedName {
        self.listed(ProposalId { at, transaction, attempt: Attempt(1) })
    }
}

impl Reader {
    pub(crate) fn listed(&mut self, name: &proto::ListedName) -> Result<ProposalId, DecodeError> {
        let at = self.timestamp(name.at_near, name.at)?;
        let told = u128::from(name.client_high) << 64 | u128::from(name.client_low);
        let client = match name.client {
            0 => {
                let client = ClientId(Id::from_u128(told));
                self.clients.push(client);
                client
            }
            _ if told != 0 => return Err(DecodeError::malformed("a client is told, or was told before")),
            number => {
                let client = self.clients.get(number as usize - 1);
                *client.ok_or(DecodeError::malformed("a client's number was never told"))?
            }
        };
        let transaction = TransactionId { client, counter: Counter(name.counter) };
        Ok(ProposalId { at, transaction, attempt: attempt(name.earlier_attempts) })
    }

    /// A list is nearly all of a frame that is made to take memory: so everything has its size at once.
    pub(crate) fn all_listed(&mut self, names: Vec<proto::ListedName>) -> Result<Vec<ProposalId>, DecodeError> {
        let mut ids = Vec::with_capacity(names.len());
        self.clients.reserve_exact(names.len());
        for name in &names {
            ids.push(self.listed(name)?);
        }
        Ok(ids)
    }

    pub(super) fn listed_transaction(
        &mut self,
        name: &proto::ListedName,
    ) -> Result<(Timestamp, TransactionId), DecodeError> {
        let id = self.listed(name)?;
        if id.attempt != Attempt(1) {
            return Err(DecodeError::malformed("the name of a transaction has no attempt"));
        }
        Ok((id.at, id.transaction))
    }
}
