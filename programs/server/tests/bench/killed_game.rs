//! The 100 game on real processes while a gateway, a replica and a player's process are killed with SIGKILL in turn.
//!
//! The rules and the judgement are the benchmark's (`benchmarks/src/game/kills.rs`), which measures pauses: here nothing is timed.

use std::process::Command;

/// The second gateway has all players when it is killed: they left the first one.
const VICTIMS: &str = "gateway,gateway,replica,client,client,client-cut-off";

#[test]
fn rounds_go_on_while_a_gateway_a_replica_and_a_client_are_killed_in_turn_and_none_is_lost_or_doubled() {
    let arguments = ["bench", "game", "--kill", VICTIMS, "--seconds", "2", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_iolite")).args(arguments).output().expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    println!("{report}");
    for nothing in ["lost", "doubled", "violations"] {
        assert_eq!(report[nothing], 0, "{report}");
    }
    let kills = report["kills"].as_array().expect("a list");
    let victims: Vec<_> = kills.iter().map(|kill| kill["victim"].as_str().expect("a name")).collect();
    let all = ["gateway-0", "gateway-1", "store-0", "ada", "ben", "ada and all gateways"];
    assert_eq!(victims, all, "{report}");
    assert!(kills.iter().all(|kill| kill["rounds"].as_u64() > Some(5)), "{report}");
}
