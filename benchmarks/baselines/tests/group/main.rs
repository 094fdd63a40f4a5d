//! Real groups of three processes for each shard, and clients that are the coordinators of their commits.

mod bed;

use std::time::{Duration, Instant};

use bed::{Bed, CONTROLS, Place};
use iolite_baseline_client::{Control, Ended, Session, ShardNumber, Stopped};

/// What one client did to its counter.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    committed: u64,
    unknown: u64,
}

const ACCOUNTS: u64 = 6;
const CLIENTS: u64 = 4;
const BALANCE: u64 = 1000;

fn account(number: u64) -> Vec<u8> {
    format!("account {number}").into_bytes()
}

fn counter(client: u64) -> Vec<u8> {
    format!("counter {client}").into_bytes()
}

fn number(value: Option<Vec<u8>>) -> u64 {
    u64::from_be_bytes(value.expect("it was loaded").try_into().expect("it is a number"))
}

/// Moves one from an account to another one, and counts that.
async fn transfer(session: &mut Session, client: u64, from: &[u8], to: &[u8]) -> Result<Ended, Stopped> {
    session.begin();
    let balance = number(session.get(from).await?);
    session.put(from, &(balance - 1).to_be_bytes());
    let balance = number(session.get(to).await?);
    session.put(to, &(balance + 1).to_be_bytes());
    let count = number(session.get(&counter(client)).await?);
    session.put(&counter(client), &(count + 1).to_be_bytes());
    Ok(session.commit().await)
}

async fn run(mut session: Session, client: u64, until: Instant) -> Done {
    let mut done = Done::default();
    let mut turn = client;
    // On a busy machine others may be faster all the time. Once they have ended, it gets on.
    while Instant::now() < until || done.committed == 0 {
        turn += 1;
        let (from, to) = (account(turn % ACCOUNTS), account((turn + 1 + client) % ACCOUNTS));
        if from == to {
            continue;
        }
        match transfer(&mut session, client, &from, &to).await {
            Ok(Ended::Committed) => done.committed += 1,
            Ok(Ended::Unknown(_)) => done.unknown += 1,
            Ok(Ended::Aborted) | Err(Stopped::Aborted | Stopped::Unreachable(_)) => {}
        }
    }
    done
}

/// Runs transfers while something happens, and checks that nothing was lost.
async fn nothing_is_lost(bed: &mut Bed, time: Duration, meanwhile: impl AsyncFnOnce(&mut Bed)) {
    let mut session = bed.session();
    let accounts = (0..ACCOUNTS).map(|number| (account(number), BALANCE.to_be_bytes().to_vec()));
    let counters = (0..CLIENTS).map(|client| (counter(client), 0u64.to_be_bytes().to_vec()));
    session.load(accounts.chain(counters).collect()).await.expect("a leader is found");
    let until = Instant::now() + time;
    let clients = (0..CLIENTS).map(|client| tokio::spawn(run(bed.session(), client, until))).collect::<Vec<_>>();
    meanwhile(bed).await;
    let mut all = Vec::new();
    for client in clients {
        all.push(client.await.expect("it does not panic"));
    }
    bed.kill_all();
    bed.start_all();
    let mut session = bed.session();
    let accounts: Vec<Vec<u8>> = (0..ACCOUNTS).map(account).collect();
    let balances = session.look(&accounts).await.expect("a leader is found");
    assert_eq!(balances.into_iter().map(number).sum::<u64>(), ACCOUNTS * BALANCE, "{all:?}");
    let counters: Vec<Vec<u8>> = (0..CLIENTS).map(counter).collect();
    let counts = session.look(&counters).await.expect("a leader is found");
    for (Done { committed, unknown }, count) in all.into_iter().zip(counts.into_iter().map(number)) {
        assert!(committed > 0, "every client gets on");
        assert!((committed..=committed + unknown).contains(&count), "{committed} and {unknown} unknown, not {count}");
    }
}

#[tokio::test]
async fn transactions_on_two_shards_are_all_there_after_every_node_was_killed() {
    for control in CONTROLS {
        let mut bed = Bed::start(2, control);
        nothing_is_lost(&mut bed, Duration::from_secs(2), async |_: &mut Bed| {}).await;
    }
}

#[tokio::test]
async fn a_group_whose_leader_is_killed_goes_on_and_has_lost_nothing() {
    for control in CONTROLS {
        let mut bed = Bed::start(1, control);
        let kill_the_leader = async |bed: &mut Bed| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            // The first leader of a new group is the one that makes it.
            bed.kill(Place { shard: ShardNumber(0), node: 0 });
        };
        nothing_is_lost(&mut bed, Duration::from_secs(5), kill_the_leader).await;
    }
}

/// Pairs of keys of which each is at another shard.
fn pairs(bed: &Bed, count: usize) -> Vec<[Vec<u8>; 2]> {
    let cluster = bed.cluster();
    let key = |number: usize, shard: u32| {
        let names = (0..).map(|letter: u32| format!("key {number} {letter}").into_bytes());
        names.into_iter().find(|name| cluster.shard_of(name) == ShardNumber(shard)).expect("there is always one")
    };
    (0..count).map(|number| [key(number, 0), key(number, 1)]).collect()
}

#[tokio::test]
async fn what_one_shard_never_prepared_is_undone_at_the_other() {
    for control in CONTROLS {
        let mut bed = Bed::start(2, control);
        let [[first, second]] = pairs(&bed, 1).try_into().expect("one was asked for");
        let mut session = bed.session();
        let loaded = [(first.clone(), b"old".to_vec()), (second.clone(), b"old".to_vec())];
        session.load(loaded.into()).await.expect("a leader is found");
        (0..3).for_each(|node| bed.kill(Place { shard: ShardNumber(1), node }));
        session.begin();
        session.put(&first, b"new");
        session.put(&second, b"new");
        let ended = tokio::time::timeout(Duration::from_millis(500), session.commit()).await;
        assert!(ended.is_err(), "it has no outcome while a shard is away: {ended:?}");
        drop(session);
        bed.start_all();
        let found = bed.session().look(&[first, second]).await.expect("what stands in the way is settled");
        assert_eq!(found, [Some(b"old".to_vec()), Some(b"old".to_vec())]);
    }
}

#[tokio::test]
async fn a_client_that_is_gone_within_its_commit_leaves_all_of_it_or_nothing() {
    let bed = Bed::start(2, Control::Optimistic);
    let pairs = pairs(&bed, 40);
    let mut session = bed.session();
    let loaded = pairs.iter().flatten().map(|key| (key.clone(), b"old".to_vec()));
    session.load(loaded.collect()).await.expect("a leader is found");
    for (turn, pair) in (0..).zip(&pairs) {
        let mut session = bed.session();
        session.begin();
        for key in pair {
            session.get(key).await.expect("nobody is in the way");
            session.put(key, b"new");
        }
        let _ = tokio::time::timeout(Duration::from_micros(150 * turn), session.commit()).await;
    }
    let mut whole = 0;
    for pair in &pairs {
        let found = session.look(pair).await.expect("what stands in the way is settled");
        assert_eq!(found[0], found[1], "all or nothing");
        whole += usize::from(found[0].as_deref() == Some(b"new"));
    }
    assert!(whole > 0, "some came that far");
}
