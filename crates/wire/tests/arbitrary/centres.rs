//! Any message between data centres, and any entry of an outbox.

use iolite_values::{ClientId, Counter, Operation, StoreIncarnation, TransactionId, Write};
use iolite_wire::centres::{
    Ceiling, CentreName, CentreToken, Clock, Entries, FromCentre, OutboxEntry, Place, Seen, ShippedTransaction, Taken,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::values::{cell, effect, id};

fn place() -> impl Strategy<Value = Place> {
    (0u64..u64::MAX).prop_map(Place)
}

fn store() -> impl Strategy<Value = StoreIncarnation> {
    id().prop_map(StoreIncarnation)
}

fn entries() -> impl Strategy<Value = FromCentre> {
    (any::<u32>(), btree_map(1u64..1000, vec(any::<u8>(), 0..9), 1..5)).prop_map(|(after, entries)| {
        let after = u64::from(after);
        let entries = entries.into_iter().map(|(place, bytes)| (Place(after + place), bytes)).collect();
        FromCentre::Entries(Entries { after: Place(after), entries })
    })
}

pub fn from_centre() -> BoxedStrategy<FromCentre> {
    let follow = (".{0,9}", option::of(store()), place()).prop_map(|(group, known_store, after)| FromCentre::Follow {
        group,
        known_store,
        after,
    });
    prop_oneof![
        follow,
        (store(), place()).prop_map(|(store, last)| FromCentre::Following { store, last }),
        entries(),
        place().prop_map(|through| FromCentre::Applied { through }),
        Just(FromCentre::Lost),
    ]
    .boxed()
}

pub fn clock() -> impl Strategy<Value = Clock> {
    btree_map(name(), (place(), place()).prop_map(|(through, here)| Ceiling { through, here }), 0..4)
}

pub fn token() -> impl Strategy<Value = CentreToken> {
    (name(), clock()).prop_map(|(at, clock)| CentreToken { at, clock })
}

pub fn name() -> impl Strategy<Value = CentreName> {
    "[a-z][a-z0-9]{0,9}".prop_map(|name| CentreName::new(&name).expect("letters and digits"))
}

fn seen() -> impl Strategy<Value = Seen> {
    let through = btree_map(name(), place(), 0..3);
    let acknowledged = btree_map(id().prop_map(ClientId), any::<u64>().prop_map(Counter), 0..3);
    (through, acknowledged).prop_map(|(through, acknowledged)| Seen { through, acknowledged })
}

pub fn outbox_entry() -> BoxedStrategy<OutboxEntry> {
    prop_oneof![transaction().prop_map(OutboxEntry::Transaction), seen().prop_map(OutboxEntry::Seen)].boxed()
}

fn transaction() -> impl Strategy<Value = ShippedTransaction> {
    let taken = (name(), 1..u64::MAX).prop_map(|(from, place)| Taken { from, place: Place(place) });
    let write =
        (cell(), effect()).prop_map(|(cell, effect)| Write { cell, operation: Operation::Merge(effect.into()) });
    (id(), 1..u64::MAX, place(), option::of(taken), vec(write, 1..6)).prop_map(
        |(client, counter, after, taken, writes)| ShippedTransaction {
            transaction: TransactionId { client: ClientId(client), counter: Counter(counter) },
            after,
            taken,
            writes,
        },
    )
}
