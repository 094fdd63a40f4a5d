//! Every reactive data type of the papers, each in a test of its name (Zhang 2017, Table 3.1; Lebeck 2020, Figure 2.1).
//!
//! docs/protocols/operations.md says which of ours each of them is.

use iolite::table::{Counter, List, Map, Set};
use iolite::{Abort, Client, Id, Options, Table, Transaction, schema};

/// All of them under one key, which is there without being inserted.
#[derive(Table)]
#[table(live)]
struct Record {
    #[key]
    key: String,
    #[column(default = false)]
    boolean: bool,
    #[column(default = 0)]
    long: i64,
    #[column(default = "")]
    string: String,
    counter: Counter,
    id: Option<Id>,
    booleans: List<bool>,
    longs: List<i64>,
    strings: List<String>,
    long_set: Set<i64>,
    string_set: Set<String>,
    hash_table: Map<i64>,
}

/// What a transaction returns that took effect.
async fn committed<T: Send + 'static>(
    closure: impl Fn(&mut Transaction<'_>) -> Result<T, Abort> + Send + Sync + 'static,
) -> T {
    let server = iolite::embedded().await.expect("a server");
    let tables = schema().with::<Record>().build().expect("valid");
    let client: Client = server.client(tables, Options::new()).expect("in memory");
    client.online().await.expect("let in");
    let result = client.transact(closure).await.expect("committed");
    server.stop().await.expect("it ends");
    result
}

#[tokio::test]
async fn boolean() {
    let seen = committed(|tx| {
        let before = tx.at(Record::BOOLEAN, "k").get()?;
        tx.at(Record::BOOLEAN, "k").set(true)?;
        Ok((before, tx.at(Record::BOOLEAN, "k").get()?))
    });
    assert_eq!(seen.await, (false, true));
}

#[tokio::test]
async fn long() {
    let seen = committed(|tx| {
        tx.at(Record::LONG, "k").set(i64::MIN)?;
        tx.at(Record::LONG, "k").get()
    });
    assert_eq!(seen.await, i64::MIN);
}

#[tokio::test]
async fn string() {
    let seen = committed(|tx| {
        tx.at(Record::STRING, "k").set("gem")?;
        tx.at(Record::STRING, "k").get()
    });
    assert_eq!(seen.await, "gem");
}

#[tokio::test]
async fn counter() {
    let seen = committed(|tx| {
        tx.at(Record::COUNTER, "k").add(5)?;
        tx.at(Record::COUNTER, "k").set(40)?;
        tx.at(Record::COUNTER, "k").add(3)?;
        tx.at(Record::COUNTER, "k").add(-1)?;
        tx.at(Record::COUNTER, "k").get()
    });
    assert_eq!(seen.await, 42);
}

/// `GetUID` of Zhang's generator needs no record: `new_id`. `Generate` and `Value` of Lebeck's type do.
#[tokio::test]
async fn id_generator() {
    let (unique, first, second, value) = committed(|tx| {
        let unique = tx.new_id();
        let first = tx.at(Record::ID, "k").generate()?;
        let second = tx.at(Record::ID, "other").generate()?;
        Ok((unique, first, second, tx.at(Record::ID, "k").get()?))
    })
    .await;
    assert!(unique != first && first != second && unique != second);
    assert_eq!(value, Some(first));
}

#[tokio::test]
async fn boolean_list() {
    let seen = committed(|tx| {
        tx.at(Record::BOOLEANS, "k").push(false)?;
        tx.at(Record::BOOLEANS, "k").push(false)?;
        tx.at(Record::BOOLEANS, "k").set(1, true)?;
        Ok((tx.at(Record::BOOLEANS, "k").at(1)?, tx.at(Record::BOOLEANS, "k").at(2)?))
    });
    assert_eq!(seen.await, (Some(true), None));
}

#[tokio::test]
async fn long_list() {
    let seen = committed(|tx| {
        for element in [3, 1, 2, 4] {
            tx.at(Record::LONGS, "k").push(element)?;
        }
        tx.at(Record::LONGS, "k").set(0, 9)?;
        Ok((tx.at(Record::LONGS, "k").all()?, tx.at(Record::LONGS, "k").slice(1..3)?))
    });
    assert_eq!(seen.await, (vec![9, 1, 2, 4], vec![1, 2]), "in the order of the appends");
}

#[tokio::test]
async fn string_list() {
    let seen = committed(|tx| {
        tx.at(Record::STRINGS, "k").push("b")?;
        tx.at(Record::STRINGS, "k").push("a")?;
        tx.at(Record::STRINGS, "k").set(0, "c")?;
        tx.at(Record::STRINGS, "k").slice(0..9)
    });
    assert_eq!(seen.await, ["c", "a"]);
}

#[tokio::test]
async fn long_set() {
    let seen = committed(|tx| {
        for member in [30, 4, 4, -1] {
            tx.at(Record::LONG_SET, "k").insert(member)?;
        }
        tx.at(Record::LONG_SET, "k").remove(30)?;
        let contains = tx.at(Record::LONG_SET, "k").contains(4)?;
        Ok((tx.at(Record::LONG_SET, "k").at(0)?, contains, tx.at(Record::LONG_SET, "k").all()?))
    });
    assert_eq!(seen.await, (Some(-1), true, vec![-1, 4]), "in the order of numbers");
}

#[tokio::test]
async fn string_set() {
    let seen = committed(|tx| {
        for member in ["ben", "ada", "ada"] {
            tx.at(Record::STRING_SET, "k").insert(member)?;
        }
        let second = tx.at(Record::STRING_SET, "k").at(1)?;
        Ok((second, tx.at(Record::STRING_SET, "k").at(2)?))
    });
    assert_eq!(seen.await, (Some("ben".to_owned()), None), "in the order of texts");
}

#[tokio::test]
async fn hash_table() {
    let seen = committed(|tx| {
        tx.at(Record::HASH_TABLE, "k").put("a", 1)?;
        tx.at(Record::HASH_TABLE, "k").put("a", 2)?;
        tx.at(Record::HASH_TABLE, "k").put("b", 3)?;
        tx.at(Record::HASH_TABLE, "k").remove("b")?;
        Ok((tx.at(Record::HASH_TABLE, "k").get("a")?, tx.at(Record::HASH_TABLE, "k").get("b")?))
    });
    assert_eq!(seen.await, (Some(2), None));
}
