//! docs/protocols/objects.md says every message of `/objects`.

use iolite_values::ObjectName;
use iolite_wire::objects::{FromDevice, ToDevice, TrackAnswer};

const PAGE: &str = include_str!("../../../docs/protocols/objects.md");

/// A message that is new has to be named here, and so on the page.
fn from_device(message: &FromDevice) -> &'static str {
    match message {
        FromDevice::Hello(_) => "Hello",
        FromDevice::Call { .. } => "Call",
        FromDevice::Answer { .. } => "Answer",
        FromDevice::Find { .. } => "Find",
        FromDevice::Begin { .. } => "Begin",
        FromDevice::Create { .. } => "Create",
        FromDevice::Held { .. } => "Held",
        FromDevice::Move { .. } => "Move",
        FromDevice::Keep { .. } => "Keep",
        FromDevice::Missing { .. } => "Missing",
        FromDevice::Ping { .. } => "Ping",
        FromDevice::Part { .. } => "Part",
        FromDevice::Token(_) => "Token",
    }
}

fn to_device(message: &ToDevice) -> &'static str {
    match message {
        ToDevice::Welcome(_) => "Welcome",
        ToDevice::Run { .. } => "Run",
        ToDevice::Answer { .. } => "Answer",
        ToDevice::Told { .. } => "Told",
        ToDevice::Hold { .. } => "Hold",
        ToDevice::Serve { .. } => "Serve",
        ToDevice::Drop { .. } => "Drop",
        ToDevice::Goodbye(_) => "Goodbye",
        ToDevice::Pong { .. } => "Pong",
        ToDevice::Part { .. } => "Part",
        ToDevice::Renewed(_) => "Renewed",
    }
}

/// The messages in the first cells of a table's rows.
fn rows(heading: &str) -> Vec<&'static str> {
    let (_, table) = PAGE.split_once(heading).expect("the table is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
    rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn the_page_names_every_message() {
    let named = [
        "Hello", "Call", "Answer", "Find", "Begin", "Create", "Held", "Move", "Keep", "Missing", "Ping", "Part",
        "Token",
    ];
    assert_eq!(rows("| From a device | What it says |"), named);
    let named = ["Welcome", "Run", "Answer", "Told", "Hold", "Serve", "Drop", "Goodbye", "Pong", "Part", "Renewed"];
    assert_eq!(rows("| From a server | What it says |"), named);
}

/// The lists above are whole: the compiler knows every message.
#[test]
fn the_lists_are_whole() {
    let find = FromDevice::Find { number: 1, object: ObjectName::new("A", "1").expect("a name") };
    assert_eq!(from_device(&find), "Find");
    let told = ToDevice::Told { number: 1, answer: TrackAnswer::Unknown };
    assert_eq!(to_device(&told), "Told");
}
