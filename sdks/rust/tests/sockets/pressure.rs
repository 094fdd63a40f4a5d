//! A session that does not read costs the others nothing, and the server little.

use iolite_values::{CellState, ColumnId, Operation, Value};
use iolite_wire::message::{Advance, FromGateway};

use crate::notes::{open, schema};
use crate::raw_session::RawSession;

const WRITES: usize = 200;
const BODY_BYTES: usize = 192 << 10;

fn body(number: usize) -> String {
    format!("{number} {}", "x".repeat(BODY_BYTES))
}

/// The last body that an advance tells.
fn last_body(advance: &Advance) -> Option<Value> {
    let column = ColumnId::of("body");
    let changed = advance.changes.iter().rev().find(|write| write.cell.column == column);
    let told = advance.snapshots.iter().flat_map(|snapshot| &snapshot.rows).find_map(|row| row.row.cell(column));
    match (told, changed.map(|write| &write.operation)) {
        (Some(CellState::Register(value)), _) | (_, Some(Operation::Assign(value))) => Some(value.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn a_slow_reader_gets_the_latest_state_and_not_everything_in_between() {
    let server = iolite::embedded().await.expect("a server");
    let writer = open(&server);
    writer.mutate("add", &("n", "a note")).expect("called").confirmed().await.expect("confirmed");
    let mut slow = RawSession::connect(server.url()).await;
    slow.hello(server.token(), schema().hash()).await;
    assert!(matches!(slow.hear().await, Some(FromGateway::Welcome(_))));
    slow.subscribe_to_all("notes").await;
    assert!(matches!(slow.hear().await, Some(FromGateway::Advance(_))));
    for number in 0..WRITES {
        let handle = writer.mutate("write", &("n", body(number))).expect("called");
        handle.confirmed().await.expect("the writer does not notice");
    }
    let last = Value::from(body(WRITES - 1));
    loop {
        let message = slow.hear().await.expect("the session goes on");
        if let FromGateway::Advance(advance) = message
            && last_body(&advance).as_ref() == Some(&last)
        {
            break;
        }
    }
    assert!(slow.bytes_received < WRITES * BODY_BYTES * 3 / 4, "{} bytes", slow.bytes_received);
}
