//! A store that is not there, or begins anew.

use iolite_machine::{Machine, Now};
use iolite_store::{Event, ReadLimit, ReadReply, Reply, Request, RequestId};
use iolite_values::{ClientId, Counter, Interest, Timestamp};

use super::world::*;
use crate::limits::OPEN_ASKS_MAX;
use crate::tables::{all_buckets, all_servers};
use crate::{Ask, AskId, Input, News, Output, Settings, Told, Tracking};

fn said(tracking: &mut Tracking, input: Input) -> Vec<Output> {
    tracking.handle(Now::default(), input);
    tracking.validate();
    std::iter::from_fn(|| tracking.poll()).collect()
}

fn told(id: u64, told: Told) -> Output {
    Output::News(News::Told(AskId(id), told))
}

fn ready() -> Input {
    Input::Store(Event::Ready { store: STORE, resolved: Timestamp::from_u64(7) })
}

/// A read of these rows.
fn rows(request: u64, interest: Interest) -> Output {
    let at = Timestamp::from_u64(7);
    Output::Request(RequestId(request), Request::ReadAt { interest, at, limit: ReadLimit::NONE })
}

fn tracking() -> Tracking {
    Tracking::new(Settings { client: ClientId::default(), has_leases: true })
}

#[test]
fn asks_are_answered_honestly_when_the_store_begins_anew() {
    let mut own = tracking();
    assert_eq!(said(&mut own, Input::Ask(AskId(1), Ask::Find(object("a")))), [told(1, Told::Unavailable)]);
    let begun = said(&mut own, ready());
    assert!(
        matches!(&begun[..], [Output::News(News::Ready(STORE)), Output::Request(..), Output::Request(..)]),
        "{begun:?}"
    );
    for (id, ask) in [(1, Ask::Find(object("a"))), (2, Ask::Find(object("b"))), (3, begin("c", node(1, 1)))] {
        assert!(matches!(&said(&mut own, Input::Ask(AskId(id), ask))[..], [Output::Request(..)]));
    }
    // The rows of two are read: one is confirmed now, and one is changed.
    let row = ReadReply { at: Timestamp::from_u64(7), rows: Vec::new(), is_cut: false };
    for request in [4, 5].map(RequestId) {
        let reply = Input::Store(Event::Reply(request, Reply::ReadAt(Ok(row.clone()))));
        let asked = said(&mut own, reply);
        assert!(matches!(&asked[..], [Output::Request(_, Request::Validate { .. } | Request::Commit { .. })]));
    }
    let last = [
        Output::GiveUp(RequestId(3)),
        told(1, Told::Unavailable),
        told(2, Told::Unavailable),
        told(3, Told::InDoubt),
        Output::News(News::Ready(STORE)),
        rows(8, all_servers()),
        rows(9, all_buckets()),
        // An attempt that is still under way comes too late from here on.
        Output::Request(RequestId(10), Request::Acknowledge { client: ClientId::default(), through: Counter(2) }),
    ];
    assert_eq!(said(&mut own, ready()), last);
    let late = Input::Store(Event::Reply(RequestId(3), Reply::ReadAt(Ok(row))));
    assert_eq!(said(&mut own, late), []);
}

#[test]
fn so_many_asks_are_open_and_the_next_one_is_told_to_come_again() {
    let mut own = tracking();
    said(&mut own, ready());
    let ask = |id: usize| Input::Ask(AskId(id as u64), Ask::Find(object("a")));
    for id in 0..OPEN_ASKS_MAX {
        assert!(matches!(&said(&mut own, ask(id))[..], [Output::Request(..)]));
    }
    assert_eq!(said(&mut own, ask(OPEN_ASKS_MAX)), [told(OPEN_ASKS_MAX as u64, Told::Busy)]);
}
