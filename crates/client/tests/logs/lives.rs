//! Logs over time: joined, stopped, restarted, begun anew, left; and what they have to do with other tables.

use super::*;

#[test]
fn nothing_of_a_logs_tables_is_asked_of_a_gateway() {
    let mut harness = Harness::with_schema(APP);
    operations(&mut harness);
    harness.connect();
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    let _seen = watch(&mut harness, View::Confirmed);
    harness.disconnect();
    harness.take_sent();
    harness.link();
    harness.welcome(1);
    harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    let asked = [harness.take_subscribed(false), harness.take_subscribed(true)].concat();
    let of_log = [LogPages::table(), LogCheckpoint::table()];
    assert!(!asked.is_empty() && asked.iter().all(|(_, interest)| of_log.contains(&interest.table())), "{asked:?}");
}

#[test]
fn under_another_schema_a_log_is_replayed_from_its_beginning() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "count");
    let newer = APP.replacen("\"hits\":", "\"later\":", 1);
    let reopened = Harness::on_with_schema(harness.storage, &newer);
    assert_eq!(reopened.client.logs().next().map(|joined| joined.position), Some(0), "its rows are not kept");
}

#[test]
fn a_member_follows_a_few_pages_and_gives_up_those_that_it_has_replayed() {
    let (mut harness, mut server) = joined();
    for _ in 0..9 * 128 {
        let changes = server.other("count");
        harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
        if harness.sent.iter().any(|message| matches!(message, FromClient::Subscribe(_))) {
            harness.load(server.now, &server.rows());
        }
    }
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(9 * 128 + 1));
    let given_up = harness
        .take_sent()
        .into_iter()
        .any(|message| matches!(message, FromClient::Unsubscribe(ids) if !ids.is_empty()));
    assert!(given_up, "the first eight pages are not needed any more");
    // Another history has nothing of it: the log begins anew, also where it is stored.
    harness.disconnect();
    harness.pass(std::time::Duration::from_secs(11));
    harness.link_is_there();
    harness.take_sent();
    harness.welcome(2);
    let reopened = Harness::on_with_schema(harness.storage.clone(), APP);
    assert_eq!(reopened.client.logs().next().map(|joined| joined.position), Some(0));
    harness.load(100, &[]);
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(1));
}

#[test]
fn an_operation_that_the_app_does_not_know_stops_this_log_here_and_nothing_else() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "fromTheFuture");
    let told = harness.other.iter().find_map(|output| match output {
        Output::LogStopped { log, index, reason } => Some((log.clone(), *index, reason.clone())),
        _ => None,
    });
    let (log, index, reason) = told.expect("it is told");
    assert_eq!((log, index), (budget(), 1));
    assert!(reason.contains("\"fromTheFuture\""), "{reason}");
    tell_other(&mut harness, &mut server, "count");
    assert_eq!(harness.client.logs().next().map(|joined| joined.position), Some(1));
    let strong = harness.mutate("hit");
    let submit = harness.take_submits().pop().expect("the strong lane goes on");
    assert_eq!(submit.counter, strong);
}

#[test]
fn a_log_whose_first_operation_gives_up_or_is_unknown_stops_and_says_so() {
    for unknown in [false, true] {
        let mut harness = Harness::with_schema(APP);
        if !unknown {
            harness.mutator("sheet.header", |_| Err(Stop::Abort("not today")));
        }
        harness.connect();
        harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
        harness.settle();
        harness.load(100, &[]);
        let stopped = harness.client.logs().next().and_then(|joined| joined.stopped).expect("it stops");
        let wanted = if unknown { "the app has no operation \"header\"" } else { "not today" };
        assert!(stopped.contains(wanted), "{stopped}");
    }
}

#[test]
fn what_was_replayed_and_what_was_called_are_there_after_a_restart() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "count");
    let sent = harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    harness.operate(&budget(), "double");
    let before = harness.client.at();
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    operations(&mut harness);
    assert_eq!(harness.client.at(), before);
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 1));
    assert_eq!(text_of(&confirmed, "A1"), "header");
    // It was committed meanwhile: it is replayed once, and not a second time when its outcome is told.
    let (changes, outcome) = server.commit(harness.client.identity(), &submit);
    harness.connect();
    harness.advance(Advance { to: at(server.now), changes, ..Advance::default() });
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 2));
    assert!(matches!(harness.last_status(sent), MutationStatus::Confirmed { .. }));
    harness.advance(Advance { to: at(server.now), outcomes: vec![outcome], ..Advance::default() });
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 2));
    commit_one(&mut harness, &mut server);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (4, 4));
}

#[test]
fn a_log_that_stands_still_holds_up_no_acknowledgement_and_its_call_is_known_to_be_committed_after_a_restart() {
    let (mut harness, mut server) = joined();
    tell_other(&mut harness, &mut server, "fromTheFuture");
    harness.operate(&budget(), "count");
    assert!(harness.take_submits().is_empty(), "nothing of it is followed here any more, so nothing is appended");
    // Another one, whose entry is committed before the log stops.
    let (mut harness, mut server) = joined();
    let sent = harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    let behind = [server.other("fromTheFuture"), server.append_behind(&harness, &submit)].concat();
    let outcome = server.outcome_of(&harness, &submit);
    harness.advance(Advance { to: at(server.now), changes: behind, outcomes: vec![outcome], ..Advance::default() });
    assert!(matches!(harness.last_status(sent), MutationStatus::Pending(_)));
    let strong = harness.mutate("hit");
    harness.take_submits();
    harness.decide(strong, 1, server.now + 1, Vec::new(), Verdict::Committed(at(server.now + 1)));
    harness.pass(std::time::Duration::from_secs(1));
    let told: Vec<Counter> = harness.take_sent().into_iter().filter_map(acknowledged).collect();
    assert_eq!(told.last(), Some(&strong), "{told:?}");
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    operations(&mut harness);
    harness.mutator("sheet.fromTheFuture", |tx| put(tx, "D1", "it is here"));
    harness.connect();
    assert!(harness.take_submits().is_empty(), "it is committed, so it is not sent again");
    let optimistic = watch(&mut harness, View::Optimistic);
    assert_eq!((times_of(&optimistic), text_of(&optimistic, "D1")), (1, "".to_owned()));
    harness.load(server.now + 1, &server.rows());
    assert_eq!((times_of(&optimistic), text_of(&optimistic, "D1")), (1, "it is here".to_owned()));
    assert!(matches!(harness.last_status(sent), MutationStatus::Confirmed { .. }));
    assert_eq!(harness.client.pending().count(), 0);
}

fn acknowledged(message: FromClient) -> Option<Counter> {
    match message {
        FromClient::Acknowledge(through) => Some(through),
        FromClient::Submit(submit) => submit.acknowledged,
        _ => None,
    }
}

#[test]
fn a_log_is_left_when_none_of_its_calls_is_pending_and_nothing_of_it_is_kept() {
    let (mut harness, mut server) = joined();
    let confirmed = watch(&mut harness, View::Confirmed);
    harness.operate(&budget(), "count");
    let error = harness.client.leave_log(&budget()).expect_err("a call is pending");
    assert!(error.to_string().contains("1 operations of the log are pending"), "{error}");
    commit_one(&mut harness, &mut server);
    assert_eq!(times_of(&confirmed), 1);
    harness.client.leave_log(&budget()).expect("nothing is pending");
    harness.settle();
    let fails =
        |output: &Output| matches!(output, Output::ReactionFailed { message, .. } if message.contains("join the log"));
    assert!(harness.other.iter().any(fails), "who reads it is told");
    assert_eq!(harness.client.logs().count(), 0);
    let kept: Vec<u8> = harness.storage.keys().filter_map(|key| key.first().copied()).collect();
    assert!(!kept.iter().any(|kind| b"lr".contains(kind)), "{:?}", String::from_utf8_lossy(&kept));
    let given_up = harness.take_sent().into_iter().any(|message| matches!(message, FromClient::Unsubscribe(_)));
    assert!(given_up, "its pages are not followed any more");
    // It can be joined again, and is replayed from its beginning.
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    harness.settle();
    harness.load(server.now, &server.rows());
    let again = watch(&mut harness, View::Confirmed);
    assert_eq!((times_of(&again), text_of(&again, "A1")), (1, "header".to_owned()));
}

#[test]
fn an_own_operation_is_delivered_when_it_is_replayed_here_and_the_gateway_says_so() {
    let (mut harness, mut server) = joined();
    let delivered = |harness: &Harness| {
        let told = harness.other.iter().filter_map(|output| match output {
            Output::Delivered(counter) => Some(*counter),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let first = harness.operate(&budget(), "count");
    commit_one(&mut harness, &mut server);
    assert_eq!(delivered(&harness), []);
    harness.advance(Advance { to: at(server.now), delivered: Some(at(server.now)), ..Advance::default() });
    assert_eq!(delivered(&harness), [first]);
    // Told with the entry itself, as nobody else follows it.
    let second = harness.operate(&budget(), "count");
    let submit = harness.take_submits().pop().expect("it is submitted");
    let (changes, outcome) = server.commit(harness.client.identity(), &submit);
    let (to, outcomes) = (at(server.now), vec![outcome]);
    harness.advance(Advance { to, changes, outcomes, delivered: Some(to), ..Advance::default() });
    assert_eq!(delivered(&harness), [first, second]);
    // What others did is said to be applied once it is replayed.
    let changes = server.other("count");
    harness.take_sent();
    harness.advance(Advance { to: at(server.now), changes, is_owed: true, ..Advance::default() });
    let applied = harness.take_sent().into_iter().any(|message| message == FromClient::Applied(at(server.now)));
    assert!(applied && harness.client.logs().next().is_some_and(|joined| joined.position == 4));
}

#[test]
fn in_another_history_a_log_is_replayed_from_its_beginning_and_own_calls_are_sent_again() {
    let (mut harness, mut server) = joined();
    let [optimistic, confirmed] = [View::Optimistic, View::Confirmed].map(|view| watch(&mut harness, view));
    tell_other(&mut harness, &mut server, "count");
    tell_other(&mut harness, &mut server, "other");
    let counter = harness.operate(&budget(), "count");
    harness.disconnect();
    harness.pass(std::time::Duration::from_secs(11));
    harness.link_is_there();
    harness.take_sent();
    harness.welcome(2);
    let mut server = Server::default();
    harness.load(100, &[]);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (1, 0), "nothing of the old one is left");
    assert_eq!((text_of(&confirmed, "A1"), text_of(&confirmed, "C1")), ("header".to_owned(), String::new()));
    assert_eq!(commit_one(&mut harness, &mut server), counter);
    assert_eq!((times_of(&optimistic), times_of(&confirmed)), (1, 1));
}

#[test]
fn logs_and_other_tables_do_not_mix() {
    let (mut harness, _) = joined();
    let reason = |harness: &mut Harness, counter| match harness.last_status(counter).clone() {
        MutationStatus::Cancelled { reason } => reason,
        other => panic!("{other:?}"),
    };
    let refused = [
        ("outside", "\"hits\""),
        ("elsewhere", "\"cells\""),
        ("writeElsewhere", "\"marks\""),
        ("writeStrong", "\"notes\""),
    ];
    for (operation, word) in refused {
        let counter = harness.operate(&budget(), operation);
        let told = reason(&mut harness, counter);
        assert!(told.contains("reads and writes the rows of its own log") && told.contains(word), "{told}");
    }
    for name in ["strong", "peeping"] {
        let counter = harness.mutate(name);
        let told = reason(&mut harness, counter);
        assert!(told.contains("make it an operation of the log"), "{told}");
    }
    let error = Rc::new(RefCell::new(Vec::new()));
    let log = error.clone();
    harness.react(View::Optimistic, move |tx| {
        let told = |result: Result<(), iolite_client::RunError>| log.borrow_mut().push(result.unwrap_err().to_string());
        told(tx.range(cells(), &KeyRange::all(), None, false).map(drop));
        let plan = KeyRange::prefix(&[Value::from("plan")]).expect("short");
        told(tx.range(cells(), &plan, None, false).map(drop));
        Ok(())
    });
    let told = error.borrow().clone();
    assert!(told.len() >= 2 && told.iter().all(|told| told.contains("join the log before you read it")), "{told:?}");
}

#[test]
fn who_cannot_be_joined_is_named() {
    let mut harness = Harness::with_schema(APP);
    let join = |harness: &mut Harness, name: &str, value: Value| harness.client.join(name, &value);
    assert_eq!(join(&mut harness, "chart", Value::from("a")), Err(LogError::Unknown { name: "chart".into() }));
    assert!(matches!(join(&mut harness, "sheet", Value::Int(1)), Err(LogError::Instance { .. })));
    assert!(matches!(join(&mut harness, "sheet", Value::from("x".repeat(1020).as_str())), Err(LogError::Key(_))));
    for number in 0..iolite_client::Client::LOGS_MAX {
        join(&mut harness, "sheet", Value::from(format!("{number}").as_str())).expect("there is room");
    }
    assert_eq!(join(&mut harness, "sheet", Value::from("more")), Err(LogError::TooMany { limit: 64 }));
    assert!(join(&mut harness, "sheet", Value::from("0")).is_ok(), "it is joined already");
    let unjoined = LogId::new("sheet", &Value::from("more")).expect("short");
    let error = harness.client.operate(harness.now.wall, &unjoined, "count", "{}").expect_err("it is not joined");
    assert!(error.to_string().contains("join it before"), "{error}");
    let large = "x".repeat(iolite_client::Client::OPERATION_BYTES_MAX);
    let zero = LogId::new("sheet", &Value::from("0")).expect("short");
    let error = harness.client.operate(harness.now.wall, &zero, "count", &large).expect_err("it is too large");
    assert!(error.to_string().contains("an operation's name and arguments"), "{error}");
}
