//! A store asks for a sync when something waits for it, and only then.

use iolite_machine::WallTime;
use iolite_replication::node::{
    Ask, Boot, Effect, Epoch, Group, Life, MessageId, Outcome, Proposal, ProposalId, ShardId, Term, View,
};
use iolite_replication::{Broken, Extent, ReplicaSettings, Retention};
use iolite_values::{Attempt, ClientId, CoordinatorId, Counter, Id, Level, StoreIncarnation, TransactionId};

use super::*;

const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(2));
const MICROS: u64 = 1_700_000_000_000_000;

struct Bench {
    store: Store,
    asked: u64,
    appended: u64,
}

/// What a store asked of its journal, and how much it said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    appended: u64,
    syncs: u64,
    said: u64,
}

impl Bench {
    /// One of a group of three.
    fn new() -> Bench {
        let members = [0, 1, 2].map(ReplicaId);
        let group = Group::new(ShardId::default(), Epoch::default(), &members).expect("an odd group");
        let replica = Replica::new(ReplicaSettings {
            id: members[0],
            group,
            extent: Extent::everything(),
            origin: None,
            store: STORE,
            boot: Boot(1),
            retention: Retention { operations_max: 1000, ..Retention::default() },
            broken: Broken::Nothing,
        });
        Bench { store: Store::new(replica, u64::MAX), asked: 0, appended: 0 }
    }

    fn ask(&mut self, ask: Ask) -> Done {
        self.asked += 1;
        let message = ToReplica {
            from: CoordinatorId::default(),
            term: Term(1),
            id: MessageId { life: Life(1), number: self.asked },
            store: Some(STORE),
            shard: ShardId::default(),
            view: View::default(),
            ask,
        };
        self.give(StoreInput::FromCoordinator(message))
    }

    fn synced(&mut self) -> Done {
        let through = PersistId(self.appended);
        self.give(StoreInput::Journal(JournalInput::Synced { through, bytes_since_checkpoint: 0 }))
    }

    fn give(&mut self, input: StoreInput) -> Done {
        let now = Now { instant: Instant::from_nanos(self.asked), wall: WallTime::from_micros(MICROS) };
        self.store.handle(now, input);
        let mut done = Done::default();
        while let Some(output) = self.store.poll() {
            match output {
                StoreOutput::Journal(JournalOutput::Append(_)) => done.appended += 1,
                StoreOutput::Journal(JournalOutput::Sync) => done.syncs += 1,
                StoreOutput::ToCoordinator(_) => done.said += 1,
                other => panic!("{other:?}"),
            }
        }
        self.appended += done.appended;
        done
    }
}

#[test]
fn a_vote_waits_for_its_sync_and_an_outcome_for_any_that_comes() {
    let mut bench = Bench::new();
    bench.ask(Ask::Begin);
    assert_eq!(bench.synced(), Done { said: 1, ..Done::default() });
    let at = Timestamp::new(MICROS, CoordinatorId::default());
    let client = ClientId(Id::from_u128(3));
    let transaction = TransactionId { client, counter: Counter(1) };
    let id = ProposalId { at, transaction, attempt: Attempt(1) };
    let proposal = Proposal {
        id,
        participants: [ShardId::default()].into(),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        level: Level::Strict,
        effect: Effect::Commit([].into()),
        is_home: true,
    };
    let voted = bench.ask(Ask::Prepare { proposal: proposal.into(), after: None });
    assert!(voted.appended > 0 && (voted.syncs, voted.said) == (1, 0), "{voted:?}");
    assert_eq!(bench.synced(), Done { said: 1, ..Done::default() });
    let ended = bench.ask(Ask::Outcome { id, outcome: Outcome::Committed, proposal: None });
    assert_eq!(ended, Done { appended: 1, ..Done::default() }, "nobody waits for it");
    // What rests on it does: here the answer to one who begins.
    assert_eq!(bench.ask(Ask::Begin).syncs, 1);
}
