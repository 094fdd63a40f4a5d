//! The name of a client to its gateway: a store of an older version has given its id away, and takes another one.

#[path = "harness/mod.rs"]
mod harness;

use std::collections::BTreeMap;

use harness::{Harness, at, config, hits};
use iolite_client::{Client, Config, Output};
use iolite_values::{ClientId, DeviceSecret, Id, Operation};
use iolite_wire::client_storage::StoredMeta;
use iolite_wire::message::{FromClient, Verdict};

const OLD: ClientId = ClientId(Id::from_u128(77));
const NEXT: ClientId = ClientId(Id::from_u128(78));

type Storage = BTreeMap<Vec<u8>, Vec<u8>>;

fn meta(storage: &Storage) -> (Vec<u8>, StoredMeta) {
    let mut found = storage.iter().filter(|(key, _)| key[0] == b'm');
    let (key, value) = found.next().expect("a client stores what it is");
    (key.clone(), StoredMeta::decode(value).expect("its own"))
}

/// A client with one confirmed mutation, and one that waits if `pending`, as an older version stored it.
fn of_an_older_version(pending: bool) -> Harness {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let first = harness.mutate("hit");
    harness.decide(first, 1, 20, Vec::new(), Verdict::Committed(at(20)));
    if pending {
        harness.disconnect();
        harness.mutate("hit");
    }
    let mut storage = harness.storage.clone();
    let (key, own) = meta(&storage);
    let older = StoredMeta { secret: None, others_know_client: true, ..own };
    storage.insert(key, older.encode().expect("small"));
    let entries: Vec<_> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut again = Harness::on(storage);
    let config = Config { fresh_client: NEXT, fresh_secret: DeviceSecret([8; 16]), ..config("ann") };
    again.client = Client::open(config, entries, again.now).expect("older storage is read");
    again.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    again
}

fn said_hello_as(harness: &mut Harness) -> Option<ClientId> {
    harness.take_sent().into_iter().find_map(|message| match message {
        FromClient::Hello(hello) => Some(hello.client),
        _ => None,
    })
}

#[test]
fn a_store_of_an_older_version_takes_another_id_when_nothing_depends_on_the_one_that_its_rows_gave_away() {
    let mut harness = of_an_older_version(false);
    harness.link();
    assert_eq!(said_hello_as(&mut harness), Some(OLD), "outcomes are acknowledged under the old id");
    harness.connect();
    harness.pass(std::time::Duration::from_secs(1));
    assert!(harness.other.contains(&Output::Disconnect), "its session ends");
    let (_, stored) = meta(&harness.storage);
    let expected = (NEXT, Some(DeviceSecret([8; 16])), false);
    assert_eq!((stored.client, stored.secret, stored.others_know_client), expected);
    harness.pass(std::time::Duration::ZERO);
    harness.link_is_there();
    assert_eq!(said_hello_as(&mut harness), Some(NEXT));
    let mut reopened = harness.reopened();
    reopened.link();
    assert_eq!(said_hello_as(&mut reopened), Some(NEXT), "once");
}

#[test]
fn what_is_pending_ends_under_the_id_that_it_was_called_under() {
    let mut harness = of_an_older_version(true);
    harness.connect();
    harness.pass(std::time::Duration::from_secs(1));
    let submit = harness.take_submits().remove(0);
    assert_eq!(harness.client.identity(), OLD);
    harness.decide(submit.counter, submit.attempt.0, 30, Vec::new(), Verdict::Committed(at(30)));
    assert_eq!(harness.client.identity(), OLD, "its end is not acknowledged yet");
    harness.pass(std::time::Duration::from_secs(1));
    assert!(harness.take_sent().iter().any(|message| matches!(message, FromClient::Acknowledge(_))));
    assert_eq!(harness.client.identity(), OLD, "the acknowledgement may be lost with the link");
    harness.pass(std::time::Duration::from_secs(20));
    assert_eq!(harness.client.identity(), OLD, "nobody answered");
    assert!(harness.answer_pings() > 0);
    harness.pass(std::time::Duration::ZERO);
    assert_eq!(harness.client.identity(), NEXT);
}
