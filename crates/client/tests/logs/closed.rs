//! Logs that the client's user may not join, or not any more: nothing of them is held, and nothing that was called is told wrongly.

use iolite_client::CallError;
use iolite_wire::message::{Declination, Declined, Rejection, SubscriptionId};

use super::*;

/// A member of a log whose pages are here, and the subscriptions to them.
fn member() -> (Harness, Server, Vec<SubscriptionId>) {
    let mut harness = Harness::with_schema(APP);
    operations(&mut harness);
    harness.connect();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    harness.settle();
    let asked = harness.sent.iter().flat_map(|message| match message {
        FromClient::Subscribe(own) => own.interests.iter().map(|(name, _)| *name).collect(),
        _ => Vec::new(),
    });
    let asked = asked.collect();
    harness.load(100, &[]);
    harness.take_sent();
    (harness, Server::default(), asked)
}

/// The gateway says that the user may not have the log any more, by other rights than before.
fn deny(harness: &mut Harness, server: &mut Server, asked: &[SubscriptionId]) {
    server.now = server.now.max(100) + 1;
    let why = Declination::Denied("log \"sheet\": the rule \"join\" does not let this user".into());
    let declined = asked.iter().map(|name| Declined { subscription: *name, why: why.clone() }).collect();
    let rights = Some(Id::from_u128(server.now.into()));
    harness.advance(Advance { to: at(server.now), declined, rights, ..Advance::default() });
}

fn stopped(harness: &Harness) -> Option<String> {
    harness.client.logs().next().and_then(|joined| joined.stopped)
}

fn stored_texts(harness: &Harness) -> usize {
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    harness.storage.values().filter(|value| has(value, b"other") || has(value, b"header")).count()
}

#[test]
fn who_may_not_join_any_more_holds_nothing_of_the_log_on_the_screen_and_on_the_disk() {
    let (mut harness, mut server, asked) = member();
    let seen = [View::Optimistic, View::Confirmed, View::Delivered].map(|view| watch(&mut harness, view));
    tell_other(&mut harness, &mut server, "other");
    assert!(seen[..2].iter().all(|seen| text_of(seen, "C1") == "other"));
    assert!(stored_texts(&harness) > 0);
    deny(&mut harness, &mut server, &asked);
    for seen in &seen {
        assert_eq!(seen.borrow().last(), Some(&BTreeMap::new()));
    }
    assert_eq!(stored_texts(&harness), 0);
    assert_eq!(stopped(&harness).as_deref(), Some("denied: log \"sheet\": the rule \"join\" does not let this user"));
    let told = harness.other.iter().filter(|output| matches!(output, Output::LogStopped { .. }));
    assert_eq!(told.count(), 1, "two interests were declined, and the log stopped once");
    let called = harness.client.operate(harness.now.wall, &budget(), "count", "null");
    assert_eq!(called, Err(CallError::NotJoined { log: "sheet".into() }));
}

#[test]
fn a_log_is_joined_again_when_the_app_says_so_or_the_rights_are_others() {
    for by_the_app in [true, false] {
        let (mut harness, mut server, asked) = member();
        let seen = watch(&mut harness, View::Confirmed);
        tell_other(&mut harness, &mut server, "other");
        deny(&mut harness, &mut server, &asked);
        harness.take_sent();
        match by_the_app {
            true => drop(harness.client.join("sheet", &Value::from("budget")).expect("it may be tried")),
            false => {
                let rights = Some(Id::from_u128(7));
                harness.advance(Advance { to: harness.client.at(), rights, ..Advance::default() });
            }
        }
        harness.settle();
        harness.load(server.now, &server.rows());
        assert_eq!((stopped(&harness), text_of(&seen, "C1").as_str()), (None, "other"));
        harness.operate(&budget(), "count");
        commit_one(&mut harness, &mut server);
    }
}

#[test]
fn of_what_was_called_each_ends_as_it_is() {
    let (mut harness, mut server, asked) = member();
    let replayed = harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    let sent = [harness.operate(&budget(), "count"), harness.operate(&budget(), "count")];
    let submits = harness.take_submits();
    assert_eq!(submits.len(), 2);
    harness.disconnect();
    let unsent = harness.operate(&budget(), "double");
    harness.link();
    harness.welcome(1);
    let asked_again = harness.take_subscribed(true).into_iter().map(|(name, _)| name).chain(asked).collect::<Vec<_>>();
    deny(&mut harness, &mut server, &asked_again);
    let quarantined = |harness: &Harness, counter| matches!(harness.last_status(counter), MutationStatus::Quarantined { reason } if reason.contains("rule \"join\""));
    assert!(quarantined(&harness, unsent), "nothing of it was ever sent");
    assert!(sent.iter().all(|own| matches!(harness.last_status(*own), MutationStatus::Pending(_))), "nobody knows");
    let again = harness.take_submits();
    assert_eq!(again.len(), 2, "their ends are asked for: {again:?}");
    let to = at(server.now + 1);
    let outcome = |place: usize, verdict| Outcome { counter: sent[place], attempt: again[place].attempt, verdict };
    let denied = Verdict::Rejected(Rejection::Denied("log \"sheet\": the rule \"run\" does not let this user".into()));
    let outcomes = vec![outcome(0, Verdict::Committed(at(server.now))), outcome(1, denied)];
    harness.advance(Advance { to, outcomes, ..Advance::default() });
    let quarantined_for = |counter, why: &str| matches!(harness.last_status(counter), MutationStatus::Quarantined { reason } if reason.contains(why));
    assert!(quarantined_for(sent[0], "whether it took effect is not known"));
    assert!(quarantined_for(sent[1], "the rule \"run\" does not let this user"));
    assert!(matches!(harness.last_status(replayed), MutationStatus::Confirmed { .. }));
    harness.client.leave_log(&budget()).expect("nothing is pending");
}

#[test]
fn a_log_that_was_closed_is_tried_again_by_the_next_life_of_the_app() {
    let (mut harness, mut server, asked) = member();
    tell_other(&mut harness, &mut server, "other");
    deny(&mut harness, &mut server, &asked);
    harness.settle();
    harness.store();
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    operations(&mut harness);
    let seen = watch(&mut harness, View::Confirmed);
    harness.connect();
    harness.load(server.now, &server.rows());
    assert_eq!((stopped(&harness), text_of(&seen, "C1").as_str()), (None, "other"));
}
