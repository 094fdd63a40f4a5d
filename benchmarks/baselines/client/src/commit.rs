//! The end of a transaction: two-phase commit, of which the client is the coordinator, and what becomes of one whose coordinator is gone.
//!
//! Invariants:
//! - what every shard has prepared is committed, whoever finds it out, so the client may be told before any shard is;
//! - the coordinator aborts by itself only what a shard has refused, to which it sent one request, and so never will prepare; in all other
//!   cases the shards are asked, and those that have not prepared it by then never will.
//!
//! Source: Gray and Lamport, "Consensus on transaction commit" 3, for the ending without a coordinator; TAPIR 5.2.3.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::ShardNumber;
use crate::messages::{Ask, Outcome, Prepare, Refused, Settlement, Tell, TransactionId, Validate};
use crate::session::{Ended, Session};
use crate::wire::Unreachable;

/// What the answers to the first phase say.
#[derive(Clone, Debug, PartialEq)]
enum Votes {
    AllPrepared,
    Refused(Vec<Refused>),
    Unsure,
}

/// What the shards settled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Committed,
    Aborted,
}

/// How long it is tried to settle a transaction.
const SETTLES_WITHIN: Duration = Duration::from_secs(8);

impl Session {
    /// A transaction that wrote nothing: each shard says whether what it read is still so, or still locked.
    pub(crate) async fn validate(&mut self) -> Ended {
        let transaction = self.current.id;
        let reads = self.current.reads_of(|key| self.wire.cluster().shard_of(key));
        let ask = |(shard, reads)| (shard, Ask::Validate(Validate { transaction, reads }));
        let answers = self.wire.ask_all(reads.into_iter().map(ask).collect()).await;
        match votes(answers) {
            Votes::AllPrepared => Ended::Committed,
            Votes::Refused(refusals) => {
                self.settle_blockers(refusals).await;
                Ended::Aborted
            }
            // It wrote nothing, so there is nothing to be in doubt of.
            Votes::Unsure => Ended::Aborted,
        }
    }

    pub(crate) async fn two_phases(&mut self) -> Ended {
        let prepares = self.prepares();
        let (transaction, participants) = (self.current.id, prepares.iter().map(|(shard, _)| shard.0).collect());
        let participants: Vec<u32> = participants;
        let answers = self.wire.ask_all(prepares).await;
        match votes(answers) {
            Votes::AllPrepared => {
                self.tell_all(&participants, &Ask::Commit(transaction));
                Ended::Committed
            }
            Votes::Refused(refusals) => {
                self.tell_all(&participants, &Ask::Abort(transaction));
                self.settle_blockers(refusals).await;
                Ended::Aborted
            }
            Votes::Unsure => match self.settle(transaction, &participants).await {
                Ok(Settled::Committed) => Ended::Committed,
                Ok(Settled::Aborted) => Ended::Aborted,
                Err(unreachable) => Ended::Unknown(unreachable),
            },
        }
    }

    /// Finds out what is to become of a transaction, and tells its shards.
    pub(crate) async fn settle(
        &mut self,
        transaction: TransactionId,
        participants: &[u32],
    ) -> Result<Settled, Unreachable> {
        let mut settled = Settled::Committed;
        for shard in participants {
            match self.outcome_at(ShardNumber(*shard), transaction).await? {
                Outcome::Prepared => {}
                Outcome::Committed => break,
                Outcome::Aborted => {
                    settled = Settled::Aborted;
                    break;
                }
            }
        }
        let ask = match settled {
            Settled::Committed => Ask::Commit(transaction),
            Settled::Aborted => Ask::Abort(transaction),
        };
        self.tell_all(participants, &ask);
        Ok(settled)
    }

    async fn outcome_at(&mut self, shard: ShardNumber, transaction: TransactionId) -> Result<Outcome, Unreachable> {
        let deadline = Instant::now() + SETTLES_WITHIN;
        while Instant::now() < deadline {
            if let Tell::Settled(Settlement { outcome }) = self.wire.ask_again(shard, Ask::Settle(transaction)).await? {
                return Outcome::try_from(outcome).map_err(|_| Unreachable { shard });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(Unreachable { shard })
    }

    async fn settle_blockers(&mut self, refusals: Vec<Refused>) {
        for blocker in refusals.into_iter().filter_map(|refused| refused.blocker) {
            // If it cannot be settled now, whoever meets it next tries again.
            let _ = self.settle(blocker.transaction, &blocker.participants).await;
        }
    }

    fn prepares(&self) -> Vec<(ShardNumber, Ask)> {
        let shard_of = |key: &[u8]| self.wire.cluster().shard_of(key);
        let (mut reads, mut writes) = (self.current.reads_of(shard_of), self.current.writes_of(shard_of));
        let shards: BTreeSet<ShardNumber> = reads.keys().chain(writes.keys()).copied().collect();
        let participants: Vec<u32> = shards.iter().map(|shard| shard.0).collect();
        let prepare = |shard: ShardNumber| {
            let prepare = Prepare {
                transaction: self.current.id,
                age: self.current.age,
                reads: reads.remove(&shard).unwrap_or_default(),
                writes: writes.remove(&shard).unwrap_or_default(),
                participants: participants.clone(),
            };
            (shard, Ask::Prepare(prepare))
        };
        shards.into_iter().map(prepare).collect()
    }

    fn tell_all(&mut self, shards: &[u32], ask: &Ask) {
        shards.iter().for_each(|shard| self.wire.send(ShardNumber(*shard), ask.clone()));
    }
}

fn votes(answers: Vec<Result<Tell, Unreachable>>) -> Votes {
    let mut refusals = Vec::new();
    let mut unsure = false;
    for answer in answers {
        match answer {
            Ok(Tell::Done(())) => {}
            Ok(Tell::Refused(refused)) => refusals.push(refused),
            Ok(Tell::Value(_) | Tell::Values(_) | Tell::Settled(_) | Tell::Moved(_) | Tell::Unsure(()))
            | Err(Unreachable { .. }) => unsure = true,
        }
    }
    match (refusals.is_empty(), unsure) {
        (false, _) => Votes::Refused(refusals),
        (true, true) => Votes::Unsure,
        (true, false) => Votes::AllPrepared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: Result<Tell, Unreachable> = Err(Unreachable { shard: ShardNumber(1) });

    fn refused() -> Result<Tell, Unreachable> {
        Ok(Tell::Refused(Refused { blocker: None }))
    }

    #[test]
    fn only_what_every_shard_has_prepared_is_committed() {
        let prepared = || Ok(Tell::Done(()));
        assert_eq!(votes(vec![prepared(), prepared()]), Votes::AllPrepared);
        assert_eq!(votes(vec![prepared(), LOST]), Votes::Unsure);
        assert_eq!(votes(vec![Ok(Tell::Unsure(())), prepared()]), Votes::Unsure);
    }

    #[test]
    fn one_refusal_aborts_whatever_the_others_say() {
        let none = Refused { blocker: None };
        assert_eq!(votes(vec![LOST, refused()]), Votes::Refused(vec![none.clone()]));
        assert_eq!(votes(vec![refused(), Ok(Tell::Done(()))]), Votes::Refused(vec![none]));
    }
}
