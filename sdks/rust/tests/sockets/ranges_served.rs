//! The first rows of a range, answered by a server: what goes over the wire.

use iolite::table::Counter;
use iolite::{Client, Options, Table, Value, View, schema};

#[derive(Table, Clone, Debug, PartialEq)]
struct Line {
    #[key]
    room: String,
    #[key]
    at: i64,
    text: String,
    votes: Counter,
}

const TEXT_BYTES: usize = 200;
const ROOM: [&str; 3] = ["a", "b", "c"];
const LINES: i64 = 400;

fn line(room: &str, at: i64, text: String) -> Line {
    Line { room: room.into(), at, text, votes: Counter(0) }
}

/// How many rows were read in turn, and how many bytes came for all of that.
async fn read(client: &Client, prefix: &[Value], limits: &[usize], from_end: bool) -> (Vec<usize>, u64) {
    let (mut found, before) = (Vec::new(), client.traffic().bytes_down);
    for limit in limits.iter().copied() {
        let prefix = prefix.to_vec();
        let rows = client.read(View::Confirmed, move |tx| tx.some_rows("line", &prefix, limit, from_end)).await;
        found.push(rows.expect("it ran").len());
    }
    (found, client.traffic().bytes_down - before)
}

#[tokio::test]
async fn the_first_rows_of_a_range_are_what_is_fetched_of_it() {
    let server = iolite::embedded().await.expect("a server");
    let tables = || schema().with::<Line>().build().expect("valid");
    let open = || server.client(tables(), Options::new()).expect("in memory");
    let writer = open();
    writer.online().await.expect("let in");
    for room in ROOM {
        let filled = writer
            .transact(move |tx| (0..LINES).try_for_each(|at| tx.create(&line(room, at, "x".repeat(TEXT_BYTES)))))
            .await;
        filled.expect("committed");
    }
    let row = TEXT_BYTES as u64 + 60;
    for (prefix, from_end) in [(vec![], false), (vec![Value::from("b")], false), (vec![Value::from("b")], true)] {
        let reader = open();
        reader.online().await.expect("let in");
        let (found, bytes) = read(&reader, &prefix, &[10], from_end).await;
        assert_eq!(found, [10]);
        assert!(bytes < 40 * row, "{bytes} bytes came");
    }
    let reader = open();
    reader.online().await.expect("let in");
    let pages: Vec<usize> = (1..=10).map(|page| page * 10).collect();
    let (found, bytes) = read(&reader, &[Value::from("c")], &pages, false).await;
    assert_eq!(found, pages);
    assert!(bytes < 250 * row, "{bytes} bytes came for what would be 550 rows if each page was asked for anew");
}
