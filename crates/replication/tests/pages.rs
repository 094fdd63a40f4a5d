//! The pages of docs/protocols speak of every input and state that the machines have, and of the numbers that they use.

use iolite_replication::node::{Answer, Ask, Objection, Peer};
use iolite_replication::{Broken, CoordinatorInput, CoordinatorOutput, ReplicaInput, ReplicaOutput};

const REPLICA: &str = include_str!("../../../docs/protocols/replica.md");
const IR: &str = include_str!("../../../docs/protocols/ir.md");
const COORDINATOR: &str = include_str!("../../../docs/protocols/coordinator.md");
const FEED: &str = include_str!("../../../docs/protocols/feed.md");

/// The names of all variants: the match does not compile when one is missing.
macro_rules! names {
    ($kind:ident: $($variant:ident),+) => {{
        #[allow(dead_code, reason = "it only has to compile")]
        fn complete(value: &$kind) {
            match value {
                $($kind::$variant { .. } => {})+
            }
        }
        [$(stringify!($variant)),+]
    }};
}

fn assert_names(page: &str, names: &[&str]) {
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "the page does not speak of `{name}`");
    }
}

#[test]
fn the_replicas_page_speaks_of_every_input_output_and_answer() {
    assert_names(
        REPLICA,
        &names!(Ask: Open, Begin, Prepare, Finalise, Poll, Outcome, Close, Resolved, ReadAt, Changes, Validate, Acknowledge, Report, Configured),
    );
    assert_names(REPLICA, &names!(ReplicaInput: FromCoordinator, FromPeer));
    assert_names(REPLICA, &names!(ReplicaOutput: Persist, Reply, ToPeer));
    assert_names(REPLICA, &names!(Objection: Retry, Busy, Conflict, Completed, Forgotten, Refused));
    assert_names(
        IR,
        &names!(Peer: Fetch, Segment, FetchedTooOld, FetchState, StateChunk, StartViewChange, DoViewChange, StartView, Configured, Begun, Drained),
    );
    assert_names(
        REPLICA,
        &names!(Broken: Nothing, SkipReadValidation, LetRowsIn, SecondCommitterWins, NoCompletionRecords, PublishPastResolved, AcceptBelowWrites, ValidateAsFigure9, FinaliseWithoutView, AcceptAboveReaders, FastAsPublished, MergeAsFigure5, AnswerForTransaction, ValidateWithoutPrepared, BeginFromFewer, LeaveUnsealed, EndUndrained, AcceptWhileEnding, TakePartBehind)
            [1..],
    );
}

#[test]
fn the_coordinators_page_speaks_of_every_input_and_answer() {
    assert_names(COORDINATOR, &names!(CoordinatorInput: Request, GiveUp, Hold, FromReplica, Configured, Ended));
    assert_names(COORDINATOR, &names!(CoordinatorOutput: Event, ToReplica, Superseded));
    assert_names(COORDINATOR, &names!(Objection: Retry, Busy, Conflict, Completed, Forgotten, Refused));
    assert_names(
        COORDINATOR,
        &names!(Answer: Opened, Begun, Voted, Unknown, TooOld, Closed, Stirred, Read, Changes, Behind, Valid, Acknowledged, Refused, WrongStore, WrongEpoch, Ended, Superseded, Reported),
    );
}

#[test]
fn the_pages_give_the_numbers_of_the_code() {
    use iolite_replication::{CoordinatorSettings, Retention, ShardMap, limits};
    let settings = CoordinatorSettings::new(Default::default(), Default::default(), ShardMap::alone());
    let millis = |time: std::time::Duration| format!("{} ms", time.as_millis());
    let seconds = |time: std::time::Duration| format!("{} s", time.as_secs());
    assert!(COORDINATOR.contains(&millis(settings.resend_after)));
    assert!(COORDINATOR.contains(&seconds(settings.resend_after_max)));
    assert!(FEED.contains(&millis(settings.idle_close_after)));
    assert!(FEED.contains(&millis(limits::IDLE_CLOSE_BEHIND)));
    assert!(FEED.contains("4,096 writes") && limits::CLOSED_WRITES_MAX == 4_096);
    assert!(REPLICA.contains(&format!("{} ahead", seconds(limits::CLOCK_LEAD_MAX))));
    assert!(COORDINATOR.contains(&format!("{} ahead", millis(limits::CLOCK_WINDOW))));
    assert!(REPLICA.contains(&seconds(Retention::default().age)));
    assert!(REPLICA.contains("65,536") && limits::ATTEMPTS_MAX == 65_536);
    assert!(REPLICA.contains("64 commits a message") && limits::COLLECTED_EACH_TIME == 64);
}

#[test]
fn the_page_of_all_limits_gives_them_too() {
    use iolite_replication::{Retention, limits};
    let page = include_str!("../../../docs/limits.md");
    let Retention { age, operations_max } = Retention::default();
    let rows = [
        ("CHUNK_BYTES_MAX", limits::CHUNK_BYTES_MAX.to_string()),
        ("CLOSED_WRITES_MAX", limits::CLOSED_WRITES_MAX.to_string()),
        ("COLLECTED_EACH_TIME", limits::COLLECTED_EACH_TIME.to_string()),
        ("CHANGES_LOOKS_MAX", limits::CHANGES_LOOKS_MAX.to_string()),
        ("INDEXES_MAX", limits::INDEXES_MAX.to_string()),
        ("READ_ROWS_MAX", limits::READ_ROWS_MAX.to_string()),
        ("READ_LOOKS_MAX", limits::READ_LOOKS_MAX.to_string()),
        ("READ_BYTES_MAX", limits::READ_BYTES_MAX.to_string()),
        ("TURN_LOOKS_MAX", limits::TURN_LOOKS_MAX.to_string()),
        ("VALIDATION_LOOKS_MAX", limits::VALIDATION_LOOKS_MAX.to_string()),
        ("WAITING_BYTES_MAX", limits::WAITING_BYTES_MAX.to_string()),
        ("ANSWER_BYTES_MAX", limits::ANSWER_BYTES_MAX.to_string()),
        ("STATE_CHUNK_BYTES_MAX", limits::STATE_CHUNK_BYTES_MAX.to_string()),
        ("STATE_HELD_FOR", format!("{:?}", limits::STATE_HELD_FOR)),
        ("COPIES_MAX", limits::COPIES_MAX.to_string()),
        ("COPY_HELD_FOR", format!("{:?}", limits::COPY_HELD_FOR)),
        ("COPY_HISTORY_MAX", limits::COPY_HISTORY_MAX.to_string()),
        ("STATE_TRIES_MAX", limits::STATE_TRIES_MAX.to_string()),
        ("FETCH_AGAIN_AFTER", format!("{:?}", limits::FETCH_AGAIN_AFTER)),
        ("DRAINED_AGAIN_AFTER", format!("{:?}", limits::DRAINED_AGAIN_AFTER)),
        ("PART_BYTES_MAX", limits::PART_BYTES_MAX.to_string()),
        ("VIEW_CHANGE_AGAIN_AFTER", format!("{:?}", limits::VIEW_CHANGE_AGAIN_AFTER)),
        ("VIEW_CHANGE_LASTS_MAX", format!("{:?}", limits::VIEW_CHANGE_LASTS_MAX)),
        ("VIEW_CHANGE_PATIENCE", format!("{:?}", limits::VIEW_CHANGE_PATIENCE)),
        ("TAKEN_OVER_EACH_ROUND", limits::TAKEN_OVER_EACH_ROUND.to_string()),
        ("VALIDATIONS_MAX", limits::VALIDATIONS_MAX.to_string()),
        ("DIVIDED_BALLOTS", limits::DIVIDED_BALLOTS.to_string()),
        ("Retention::age", format!("{age:?}")),
        ("Retention::operations_max", operations_max.to_string()),
        ("CLOCK_LEAD_MAX", format!("{:?}", limits::CLOCK_LEAD_MAX)),
        ("CLOCK_WINDOW", format!("{:?}", limits::CLOCK_WINDOW)),
        ("DECIDED_LEAD_MAX", format!("{:?}", limits::DECIDED_LEAD_MAX)),
        ("VIEWS_AHEAD_MAX", limits::VIEWS_AHEAD_MAX.to_string()),
        ("TERMS_AHEAD_MAX", limits::TERMS_AHEAD_MAX.to_string()),
        ("PROPOSAL_LEAD_MAX", format!("{:?}", limits::PROPOSAL_LEAD_MAX)),
        ("CEILING_AHEAD", format!("{:?}", limits::CEILING_AHEAD)),
        ("IDLE_CLOSE_BEHIND", format!("{:?}", limits::IDLE_CLOSE_BEHIND)),
    ];
    for (name, value) in rows {
        let row = format!("| `replication::{name}` | {value} |");
        assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}
