//! docs/protocols/client.md and tabs.md and the code name the same states, inputs, outputs and ends.

use std::collections::BTreeSet;

use iolite_client::{
    Broken, CallStatus, Connection, FollowerInput, FollowerOutput, Input, MutationStatus, Output, View,
};
use iolite_wire::message::{FromGateway, GoodbyeReason, Verdict};
use iolite_wire::tabs::{TabNotice, TabRequest};

const PAGE: &str = include_str!("../../../docs/protocols/client.md");
const TABS_PAGE: &str = include_str!("../../../docs/protocols/tabs.md");

/// The names of all variants: the match does not compile when one is missing.
macro_rules! names {
    ($kind:ident: $($variant:ident),+) => {{
        #[allow(dead_code, reason = "it only has to compile")]
        fn complete(value: &$kind) {
            match value {
                $($kind::$variant { .. } => {})+
            }
        }
        BTreeSet::from([$(stringify!($variant)),+])
    }};
}

/// The first column of the table whose first column has this title.
fn table(title: &str) -> BTreeSet<&'static str> {
    table_of(PAGE, title)
}

fn table_of(page: &'static str, title: &str) -> BTreeSet<&'static str> {
    let (_, after) = page.split_once(&format!("\n| {title} |")).expect("the page has this table");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.split('|').nth(1).expect("a cell").trim().trim_matches('`')).collect()
}

/// The variants of an enum that nobody outside can name, as its source declares them.
fn declared(source: &'static str, name: &str) -> BTreeSet<&'static str> {
    let (_, after) = source.split_once(&format!("enum {name} {{\n")).expect("the source declares it");
    let (body, _) = after.split_once("\n}").expect("it ends");
    let variants = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = variants.filter(|line| line.starts_with(char::is_uppercase));
    variants.map(|line| line.split(|letter: char| !letter.is_alphanumeric()).next().expect("a name")).collect()
}

#[test]
fn the_page_has_every_input_and_output() {
    assert_eq!(
        table("Input"),
        names!(Input: Linked, LinkLost, Frame, Persisted, StorageFull, FromTab, TabGone, Outbox, Blobs)
    );
    let outputs = names!(Output: Connect, Disconnect, Send, TokenWanted, Persist, Run, Mutation, Connection, Centre, Unavailable,
        Delivered, LogStopped, LogDiffers, LogMembers, ToTab, ReadOutbox, Adopted, ReactionFailed, Blobs, Conflicts);
    assert_eq!(table("Output"), outputs);
}

#[test]
fn the_page_has_every_message_of_a_gateway_and_every_outcome() {
    assert_eq!(
        table("Message"),
        names!(FromGateway: Welcome, SchemaWanted, Advance, Pong, Goodbye, LogWanted, LogDiffers, Stored, Renewed)
    );
    assert_eq!(table("Outcome"), names!(Verdict: Committed, Aborted, Conflict, Rejected));
    let all =
        names!(GoodbyeReason: Version, Unauthorized, Schema, Protocol, Limit, Slow, Replaced, Unavailable, OtherUser);
    let tried_again = ["Protocol", "Limit", "Slow", "Unavailable"];
    let row = PAGE.lines().find(|line| line.starts_with("| `Goodbye`")).expect("asserted above");
    for reason in all {
        assert_eq!(row.contains(&format!("`{reason}`")), !tried_again.contains(&reason), "{reason}");
    }
}

#[test]
fn the_page_has_every_end_view_and_connection() {
    assert_eq!(
        table("Status"),
        names!(MutationStatus: Pending, Confirmed, Rejected, Quarantined, Cancelled, Overruled)
    );
    assert_eq!(table("View"), names!(View: Optimistic, Durable, Confirmed, Delivered));
    assert_eq!(table("Connection"), names!(Connection: Offline, Connecting, Online, Refused));
    for broken in names!(Broken: Nothing, RemoveAtReply, KeepTakenBack, ForgetConfirmed, AppendAfterClose,
        ForgetReplayedPosition, SkipAtRejoin, AcknowledgeBeforeApplying, SendWhatReadPending, StrongReadsKept,
        RunAgainAfterSent, SendBeforeStored, StampByClock, SendAsAnotherUser, Rows)
    {
        assert!(broken == "Nothing" || PAGE.contains(&format!("`{broken}`")));
    }
}

#[test]
fn the_page_has_the_states_inside() {
    let entry = include_str!("../src/queue/entry.rs");
    let session = include_str!("../src/session.rs");
    assert_eq!(table("Stage"), declared(entry, "Stage"));
    assert_eq!(table("Run"), declared(entry, "RunState"));
    assert_eq!(table("Interest"), declared(include_str!("../src/cache/interests.rs"), "Progress"));
    assert_eq!(table("Reaction"), declared(include_str!("../src/reactive.rs"), "ReactionState"));
    assert_eq!(table("Link"), declared(session, "State"));
    assert_eq!(table("Phase"), declared(session, "Phase"));
}

#[test]
fn the_page_has_every_kind_of_stored_entry() {
    let kinds =
        include_str!("../src/storage.rs").lines().filter(|line| line.contains("const ") && line.contains("u8 = b'"));
    let letters: Vec<&str> = kinds.filter_map(|line| line.split('\'').nth(1)).collect();
    assert!(!letters.is_empty());
    for letter in letters {
        assert!(PAGE.contains(&format!("`{letter}` ")), "the page does not speak of entries of kind {letter}");
    }
}

#[test]
fn the_page_of_tabs_has_every_state_input_output_and_message() {
    let table = |title| table_of(TABS_PAGE, title);
    let joining = include_str!("../src/tabs/follower/joining.rs");
    assert_eq!(table("Link"), declared(joining, "Link"));
    assert_eq!(table("Input"), names!(FollowerInput: FromLeader, LeaderChanged, Persisted));
    let outputs = names!(FollowerOutput: Send, Persist, Run, Call, Mutation, Connection, Unavailable, ReactionFailed);
    assert_eq!(table("Output"), outputs);
    let requests = names!(TabRequest: Join, Subscribe, Unsubscribe, Announce, Ask, Cancel, Dismiss, Acknowledge,
        GoOnline, GoOffline, SetToken, Leave);
    assert_eq!(table("Request"), requests);
    assert_eq!(table("Notice"), names!(TabNotice: Welcome, Update, Ping, Goodbye));
    assert_eq!(table("Call"), names!(CallStatus: Called, Stored, Queued, Ended, ConfirmedEarlier));
}
