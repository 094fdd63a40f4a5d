//! The pages speak of every setting and error that there is, and of the numbers that the code uses.

use iolite_postgres::{Broken, OpenError, PostgresSettings, Retention, SchemaName, limits};
use iolite_store::{ATTEMPTS_MAX, size};
use iolite_values::{CoordinatorId, Operation};

const PAGE: &str = include_str!("../../../docs/protocols/postgres.md");
const LIMITS: &str = include_str!("../../../docs/limits.md");

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

fn assert_names(names: &[&str]) {
    for name in names {
        assert!(PAGE.contains(&format!("`{name}`")), "the page does not speak of `{name}`");
    }
}

#[test]
fn the_page_speaks_of_every_error_broken_rule_and_operation_that_shares_a_row() {
    assert_names(&names!(
        OpenError: Unreachable, TimedOut, Denied, NoDatabase, NotTrusted, Rights, ReadOnly, Database, Server, UnknownVersion, Malformed
    ));
    let broken = names!(Broken: Nothing, SkipReadValidation, LastCommitterWins, NoCompletionRecords, SkipDrain, IgnoreHighest, SkipLocks);
    assert_names(&broken[1..]);
    let operations = names!(
        Operation: Create, Delete, Put, Assign, Add, PutTotal, Insert, Remove, Append, SetAt, PutEntry, RemoveEntry,
            Edit, Merge
    );
    // The rest have their rows alone: the life of a row, and scalars.
    assert_names(&operations[3..]);
}

#[test]
fn the_page_gives_the_numbers_of_the_code() {
    let Retention { age, operations_max: _, collect_every } = Retention::default();
    let settings = PostgresSettings::new(tokio_postgres::Config::new(), CoordinatorId::default());
    let numbers = [
        format!("more than {} locks", limits::LOCKS_MAX),
        format!("{} that decide, {} that read", settings.commit_connections, settings.read_connections),
        format!("up to {} connections", settings.commit_connections + settings.read_connections + 2),
        "more than 4,096 bytes".into(),
        "pieces of 4,096 commits or 4 MiB".into(),
        format!("version {}.", limits::TABLES_VERSION),
        format!("more than {} commits", limits::FOLD_AFTER),
        format!("every {} s", collect_every.as_secs()),
        format!("older than {} s", age.as_secs()),
        format!("ended by the database after {} s", limits::IDLE_TRANSACTION_MAX.as_secs()),
        format!("does not answer for {} s", limits::ANSWER_WITHIN_MAX.as_secs()),
        format!("up to {} s", limits::RECONNECT_AFTER_MAX.as_secs()),
    ];
    for number in numbers {
        assert!(PAGE.contains(&number), "{number}");
    }
    assert_eq!((limits::SHARED_GROWTH_BYTES_MAX, limits::STRETCH_COMMITS_MAX), (4096, 4096));
    assert_eq!(limits::STRETCH_BYTES_MAX, 4 << 20);
}

#[test]
fn the_page_of_all_limits_gives_them_too() {
    let Retention { age, operations_max, collect_every: _ } = Retention::default();
    let rows = [
        ("store::ROW_BYTES_MAX", size::ROW_BYTES_MAX.to_string()),
        ("store::RECORD_BYTES_MAX", size::RECORD_BYTES_MAX.to_string()),
        ("store::ATTEMPTS_MAX", ATTEMPTS_MAX.to_string()),
        ("postgres::LOCKS_MAX", limits::LOCKS_MAX.to_string()),
        ("postgres::SHARED_GROWTH_BYTES_MAX", limits::SHARED_GROWTH_BYTES_MAX.to_string()),
        ("postgres::STRETCH_COMMITS_MAX", limits::STRETCH_COMMITS_MAX.to_string()),
        ("postgres::STRETCH_BYTES_MAX", limits::STRETCH_BYTES_MAX.to_string()),
        ("postgres::Retention::age", format!("{age:?}")),
        ("postgres::Retention::operations_max", operations_max.to_string()),
        ("postgres::CLOCK_LEAD_MAX", format!("{:?}", limits::CLOCK_LEAD_MAX)),
        ("postgres::FLOOR_LEAD_MAX", format!("{:?}", limits::FLOOR_LEAD_MAX)),
        ("postgres::IDLE_TRANSACTION_MAX", format!("{:?}", limits::IDLE_TRANSACTION_MAX)),
        ("postgres::ANSWER_WITHIN_MAX", format!("{:?}", limits::ANSWER_WITHIN_MAX)),
        ("postgres::RECONNECT_AFTER_MAX", format!("{:?}", limits::RECONNECT_AFTER_MAX)),
        ("postgres::SchemaName::LENGTH_MAX", SchemaName::LENGTH_MAX.to_string()),
    ];
    for (name, value) in rows {
        let row = format!("| `{name}` | {value} |");
        assert_eq!(LIMITS.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}
