//! Every message between data centres, and an entry of an outbox.

use iolite_values::{Counter, TransactionId};
use iolite_wire::centres::{
    Ceiling, CentreName, CentreToken, Entries, FromCentre, OutboxEntry, Place, Seen, ShippedTransaction, Taken,
};

use super::session::{client, store};
use super::values::{every_effect, write};
use crate::decoders::Content;

fn entry(taken: Option<Taken>) -> OutboxEntry {
    let transaction = TransactionId { client: client(), counter: Counter(42) };
    let writes = every_effect().into_iter().map(write).collect();
    OutboxEntry::Transaction(ShippedTransaction { transaction, after: Place::new(0, 126), taken, writes })
}

/// A client of the data centre eu has seen this.
pub fn token() -> CentreToken {
    let name = |name| CentreName::new(name).expect("a name");
    let ceiling = |through, here| Ceiling { through, here };
    let own = Place::new(3, 7);
    let clock = [
        (name("asia"), ceiling(Place(u64::MAX), Place::new(2, 0))),
        (name("eu"), ceiling(own, own)),
        (name("us"), ceiling(Place::new(9, 1), Place::new(3, 6))),
    ];
    CentreToken { at: name("eu"), clock: clock.into() }
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let message = |message| Content::FromCentre(vec![message]);
    let follow = |known_store, after| FromCentre::Follow { group: "shop".into(), known_store, after };
    let taken = Taken { from: CentreName::new("eu").expect("a name"), place: Place::new(7, 0) };
    let entries = vec![(Place::new(0, 127), vec![1, 2]), (Place::new(1, 0), vec![3])];
    vec![
        (
            "centre_follow",
            "the first time, and behind a place of a known store",
            Content::FromCentre(vec![follow(None, Place::START), follow(Some(store()), Place::new(2, 3))]),
        ),
        ("centre_following", "of this store", message(FromCentre::Following { store: store(), last: Place(4097) })),
        (
            "centre_entries",
            "the last one of a page and the first one of the next",
            message(FromCentre::Entries(Entries { after: Place::new(0, 126), entries })),
        ),
        ("centre_applied", "through a place", message(FromCentre::Applied { through: Place::new(1, 0) })),
        ("centre_lost", "what is asked for was deleted", message(FromCentre::Lost)),
        ("from_centre_frame", "a frame", message(FromCentre::Applied { through: Place::new(0, 0) })),
        (
            "outbox_entry",
            "a client's own, and one that was taken from another data centre",
            Content::OutboxEntry(vec![entry(None), entry(Some(taken))]),
        ),
        ("outbox_seen", "a mark about two data centres and a client", {
            let name = |name| CentreName::new(name).expect("a name");
            let through = [(name("asia"), Place::new(0, 3)), (name("us"), Place::new(1, 0))].into();
            Content::OutboxEntry(vec![OutboxEntry::Seen(Seen {
                through,
                acknowledged: [(client(), Counter(41))].into(),
            })])
        }),
    ]
}
