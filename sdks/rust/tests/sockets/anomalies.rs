//! What the closure of one transaction reads while another commits in the midst of a run, at each level; and the page that names all anomalies.
//!
//! Those that are judged when a transaction commits: crates/gateway/src/tests/isolation.rs.

use std::collections::BTreeSet;
use std::sync::mpsc;

use iolite::{Client, Options, Result, Schema, Transaction};

const PAGE: &str = include_str!("../../../../docs/protocols/operations.md");
const TESTS: [&str; 2] =
    [include_str!("../../../../crates/gateway/src/tests/isolation.rs"), include_str!("anomalies.rs")];

const TABLES: [&str; 3] = ["strict", "snapshot", "committed"];

fn schema() -> Schema {
    let json = r#"{"tables": {
        "strict": {"columns": {"id": {"type": "int"}, "n": {"type": "int", "default": 0}}, "key": ["id"], "live": true},
        "snapshot": {"columns": {"id": {"type": "int"}, "n": {"type": "int", "default": 0}}, "key": ["id"], "live": true, "isolation": "snapshot"},
        "committed": {"columns": {"id": {"type": "int"}, "n": {"type": "int", "default": 0}}, "key": ["id"], "live": true, "isolation": "read-committed"}
    }}"#;
    Schema::from_json(json).expect("a valid schema")
}

type Look = fn(&mut Transaction<'_>, &str) -> Result<i64>;

fn number_of<const ROW: i64>(tx: &mut Transaction<'_>, table: &str) -> Result<i64> {
    tx.row(table, ROW)?.map_or(Ok(0), |row| row.get("n"))
}

fn rows(tx: &mut Transaction<'_>, table: &str) -> Result<i64> {
    Ok(i64::try_from(tx.rows(table, &[])?.len()).expect("few"))
}

/// A transaction that looks twice, and in its first run waits in between until another one has put a 5 into rows 1 and 2. What each of its whole runs
/// saw, and at last what the one saw that took effect. What it looks at first is on its device already; the rest is if `all_held`.
async fn runs(table: &'static str, [first, second]: [Look; 2], all_held: bool) -> Vec<[i64; 2]> {
    let server = iolite::embedded().await.expect("a server");
    let (url, token) = (server.url().to_owned(), server.token().to_owned());
    let open = |url: &str, token: &str| Client::connect(url, token, schema(), Options::new().compare_runs(false));
    let other = open(&url, &token).expect("in memory");
    let (looked, mut has_looked) = tokio::sync::mpsc::unbounded_channel();
    let (committed, has_committed) = mpsc::channel();
    // On a thread of its own, as its closure stops its client.
    let own = async move {
        let client = open(&url, &token).expect("in memory");
        let held = move |tx: &mut Transaction<'_>| {
            first(tx, table)?;
            if all_held { second(tx, table).map(drop) } else { Ok(()) }
        };
        client.pin(held).next().await.expect("it is held");
        let (run, runs) = mpsc::channel();
        let mut is_first = true;
        let done = client.transact(move |tx| {
            let before = first(tx, table)?;
            if std::mem::take(&mut is_first) {
                looked.send(()).expect("the test waits");
                has_committed.recv().expect("the other one commits");
            }
            let after = second(tx, table)?;
            run.send([before, after]).expect("the test goes on");
            tx.set(table, 9, "n", 1)?;
            Ok([before, after])
        });
        let effective = done.await.expect("it commits in the end");
        runs.try_iter().chain([effective]).collect()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let own = tokio::task::spawn_blocking(move || runtime.block_on(own));
    has_looked.recv().await.expect("it looks");
    let both = move |tx: &mut Transaction<'_>| [1, 2].into_iter().try_for_each(|row| tx.set(table, row, "n", 5));
    other.online().await.expect("let in");
    other.transact(both).await.expect("committed");
    committed.send(()).expect("it waits");
    own.await.expect("it did not panic")
}

/// No run sees both states. The strict transaction takes effect with the later one, as the earlier is not true any more when it would commit.
async fn happens_at_no_level(looks: [Look; 2], later: i64) {
    for table in TABLES {
        let runs = runs(table, looks, true).await;
        assert_eq!(runs[0], [0, 0], "{table}");
        assert!(runs.iter().all(|run| [[0, 0], [later; 2]].contains(run)), "{table}: {runs:?}");
        assert!(table != "strict" || runs.last() == Some(&[later; 2]), "{runs:?}");
    }
}

#[tokio::test]
async fn non_repeatable_read_happens_at_no_level() {
    happens_at_no_level([number_of::<1>; 2], 5).await;
}

#[tokio::test]
async fn read_skew_happens_at_no_level() {
    happens_at_no_level([number_of::<1>, number_of::<2>], 5).await;
}

#[tokio::test]
async fn phantom_read_happens_at_no_level() {
    happens_at_no_level([rows; 2], 2).await;
}

/// The run that lacked it was stopped, so it does not count.
#[tokio::test]
async fn what_is_fetched_in_the_midst_of_a_run_is_of_no_other_snapshot() {
    for table in TABLES {
        let runs = runs(table, [number_of::<1>, number_of::<2>], false).await;
        assert!(runs.iter().all(|run| *run == [5, 5]), "{table}: {runs:?}");
    }
}

/// A test is called after its anomaly and the levels at which that happens.
#[test]
fn every_anomaly_of_the_page_has_its_test_and_every_test_its_row() {
    let (_, table) = PAGE.split_once("\n| Anomaly |").expect("the page has this table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let named = rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let levels = match cells[2..5] {
            ["no", "no", "no"] => "at_no_level",
            ["no", "no", "yes"] => "at_read_committed_only",
            ["no", "yes", "yes"] => "below_strict_serializability",
            _ => panic!("no test can be called so: {row}"),
        };
        let name = format!("{}_happens_{levels}", cells[0].to_lowercase().replace([' ', '-'], "_"));
        assert_eq!(cells[5], format!("`{name}`"));
        name
    });
    let functions =
        TESTS.iter().flat_map(|file| file.lines()).filter_map(|line| line.split_once("fn ")?.1.split_once('('));
    let tests = functions.map(|(name, _)| name.to_owned()).filter(|name| name.contains("_happens_"));
    assert_eq!(named.collect::<BTreeSet<_>>(), tests.collect());
}
