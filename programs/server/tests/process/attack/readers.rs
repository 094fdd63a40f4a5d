//! A session that takes everything at once is never behind, however much larger its messages are in memory than on the wire.

use iolite_values::{Cell, ClientId, ColumnId, Id, Operation, RowKey, TableId, Value, Write};
use iolite_wire::message::{FromClient, FromGateway, Hello, Verdict};

use super::contents::{enter, outcome, submit};
use super::witness::{Witness, schema};
use crate::support::dev::{Dev, Folder};
use crate::support::raw_session::{RawSession, hello};

const TABLE: &str = "marks";

/// A row whose key is so long that its cell has a number on the wire, and so takes a hundredth of what it takes in memory.
fn row(number: usize) -> RowKey {
    RowKey::new(&[Value::from(format!("{number:0900}"))]).expect("short enough")
}

fn create(number: usize) -> Write {
    Write { cell: Cell::row(TableId::of(TABLE), row(number)), operation: Operation::Create }
}

fn put(number: usize, value: i64) -> Write {
    let cell = Cell { table: TableId::of(TABLE), row: row(number), column: ColumnId::of("seen") };
    Write { cell, operation: Operation::Put(Value::Int(value)) }
}

#[tokio::test]
async fn who_takes_everything_at_once_is_told_everything() {
    let folder = Folder::new("attack-readers");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let mut writer = enter(&server).await;
    let mut reader = RawSession::connect(&server.sync_url()).await;
    let of_reader = Hello { client: ClientId(Id::from_u128(43)), ..hello(&server.token(), schema().hash()) };
    reader.say(&FromClient::Hello(of_reader)).await;
    assert!(matches!(reader.hear().await, Some(FromGateway::Welcome(_))));
    writer.say(&FromClient::Submit(submit(1, (0..400).map(create).collect()))).await;
    assert!(matches!(outcome(&mut writer).await.verdict, Verdict::Committed(_)));
    reader.subscribe_to_all(TABLE).await;
    for value in 1..=30 {
        let writes = (0..400).map(|number| put(number, value as i64)).collect();
        writer.say(&FromClient::Submit(submit(1 + value, writes))).await;
        assert!(matches!(outcome(&mut writer).await.verdict, Verdict::Committed(_)));
        loop {
            let Some(FromGateway::Advance(advance)) = reader.hear().await else { panic!("it is sent away at {value}") };
            if advance.changes.last() == Some(&put(399, value as i64)) {
                break;
            }
        }
    }
    witness.works().await;
}
