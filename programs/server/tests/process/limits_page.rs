//! docs/limits.md has the limits of hosts and SDKs as they are declared. Nobody outside can name these constants, so their text is compared.

const PAGE: &str = include_str!("../../../../docs/limits.md");

#[test]
fn the_page_has_the_values_of_hosts_and_sdks() {
    let server = include_str!("../../../node/src/server.rs");
    let blobs = include_str!("../../../node/src/blob_host.rs");
    let sweeper = include_str!("../../../node/src/blobs/sweeper.rs");
    let commands = include_str!("../../../node/src/blobs/commands.rs");
    let check = include_str!("../../../node/src/blobs/check.rs");
    let etcd = include_str!("../../../node/src/directory/etcd.rs");
    let shape = include_str!("../../../cluster/src/shape.rs");
    let centre = include_str!("../../../node/src/config/centre.rs");
    let certificate = include_str!("../../src/certificate.rs");
    let connections = include_str!("../../../../crates/host/src/connections.rs");
    let operate = include_str!("../../../../crates/host/src/commands.rs");
    let session = include_str!("../../../../crates/host/src/session.rs");
    let storage = include_str!("../../../../sdks/rust/src/storage.rs");
    let values = include_str!("../../../../sdks/bindings/wasm/src/value.rs");
    let checks = include_str!("../../../../sdks/typescript/client/src/arguments/checks.ts");
    let limits = [
        ("node::INBOX_BYTES_MAX", "67108864", "pub(crate) const INBOX_BYTES_MAX: usize = 64 << 20;", server),
        ("node::checkpoint_bytes_min", "67108864", "checkpoint_bytes_min: 64 << 20,", server),
        ("node::ANSWERS_WITHIN_MAX", "2s", "const ANSWERS_WITHIN_MAX: Duration = Duration::from_secs(2);", etcd),
        ("node::ANSWER_BYTES_MAX", "4194304", "const ANSWER_BYTES_MAX: usize = 4 << 20;", etcd),
        ("node::STORE_QUESTIONS_MAX", "64", "pub(crate) const STORE_QUESTIONS_MAX: usize = 64;", blobs),
        (
            "node::SWEEP_EACH",
            "24h",
            "pub(crate) const SWEEP_EACH: Duration = Duration::from_secs(24 * 60 * 60);",
            sweeper,
        ),
        ("node::SWEEP_SOON", "1h", "pub(crate) const SWEEP_SOON: Duration = Duration::from_secs(60 * 60);", sweeper),
        ("node::CENTRES_MAX", "7", "pub const CENTRES_MAX: usize = 7;", centre),
        ("node::SWEEPS_MAX", "2", "pub(crate) const SWEEPS_MAX: usize = 2;", sweeper),
        (
            "node::GRACE_OF_COMMAND_MAX",
            "7d",
            "const GRACE_OF_COMMAND_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);",
            commands,
        ),
        ("node::CHECKS_OPEN_MAX", "16", "pub(crate) const CHECKS_OPEN_MAX: usize = 16;", check),
        ("cluster::NODES_MAX", "64", "const NODES_MAX: u64 = 64;", shape),
        ("server::DAYS_MAX", "3650", "const DAYS_MAX: u64 = 3650;", certificate),
        ("host::CONNECTIONS_MAX", "10000", "const CONNECTIONS_MAX: usize = 10_000;", connections),
        (
            "host::REQUEST_WITHIN_MAX",
            "10s",
            "const REQUEST_WITHIN_MAX: Duration = Duration::from_secs(10);",
            connections,
        ),
        ("host::WRITE_WITHIN_MAX", "30s", "const WRITE_WITHIN_MAX: Duration = Duration::from_secs(30);", connections),
        ("host::REQUEST_BYTES_MAX", "65536", "const REQUEST_BYTES_MAX: usize = 64 << 10;", connections),
        ("host::COMMAND_BYTES_MAX", "4194304", "const COMMAND_BYTES_MAX: usize = 4 << 20;", operate),
        ("host::COMMAND_WITHIN_MAX", "30s", "const COMMAND_WITHIN_MAX: Duration = Duration::from_secs(30);", operate),
        ("host::SESSION_INBOX_BYTES_MAX", "131072", "const SESSION_INBOX_BYTES_MAX: usize = 128 << 10;", session),
        ("host::FRAMES_AHEAD", "64", "const FRAMES_AHEAD: usize = 64;", session),
        ("host::CLOSE_WITHIN", "1s", "const CLOSE_WITHIN: Duration = Duration::from_secs(1);", session),
        ("rust::CHECKPOINT_BYTES_MIN", "4194304", "const CHECKPOINT_BYTES_MIN: usize = 4 << 20;", storage),
        ("wasm::SAFE_MAX", "9007199254740991", "const SAFE_MAX: i64 = (1 << 53) - 1;", values),
        ("typescript::INDEX_MAX", "4294967295", "const INDEX_MAX = 2 ** 32 - 1;", checks),
    ];
    for (name, value, declared, source) in limits {
        assert!(source.contains(declared), "{name} is declared otherwise now: correct the page too");
        assert!(PAGE.contains(&format!("\n| `{name}` | {value} |")), "the page lacks {name} with {value}");
    }
}
