//! The game in Rust against the game in TypeScript, on one server.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use iolite::Embedded;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

struct Player {
    _process: Child,
    moves: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Player {
    fn start(mut program: Command, server: &Embedded, name: &str) -> Player {
        program.args([server.url(), server.token(), name]).kill_on_drop(true);
        let mut process = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let moves = process.stdin.take().expect("it is piped");
        let says = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Player { _process: process, moves, says, said: Vec::new() }
    }

    fn in_rust(server: &Embedded, name: &str) -> Player {
        Player::start(Command::new(env!("CARGO_BIN_EXE_hundred-game")), server, name)
    }

    fn in_typescript(server: &Embedded, name: &str) -> Player {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../typescript/dist/game.js");
        assert!(program.exists(), "{} is not there: run `make build` first", program.display());
        let mut node = Command::new("node");
        node.arg(program);
        Player::start(node, server, name)
    }

    async fn add(&mut self, number: &str) {
        self.moves.write_all(format!("{number}\n").as_bytes()).await.expect("it listens");
    }

    /// Waits until it says this.
    async fn hear(&mut self, wanted: &str) {
        let heard = tokio::time::timeout(Duration::from_secs(30), async {
            loop {
                let line = self.says.next_line().await.expect("it can be read").expect("it is still there");
                self.said.push(line.clone());
                if line == wanted {
                    return;
                }
            }
        });
        assert!(heard.await.is_ok(), "it does not say {wanted:?}, but {:?}", self.said);
    }
}

#[tokio::test]
async fn both_play_one_game_to_its_end() {
    let server = iolite::embedded().await.expect("a server");
    let mut ada = Player::in_rust(&server, "ada");
    ada.hear("Your turn:").await;
    let mut ben = Player::in_typescript(&server, "ben");
    ben.hear("Sum: 0").await;
    for round in 0..5 {
        ada.add("10").await;
        ben.hear("Your turn:").await;
        if round == 2 {
            // Neither twice in a row, nor more than is allowed.
            ada.add("10").await;
            ben.add("11").await;
            ben.hear("not now, or not that much").await;
        }
        ben.add("10").await;
        let sum = format!("Sum: {}", 20 * (round + 1));
        ada.hear(&sum).await;
        ben.hear(&sum).await;
    }
    ada.hear("ben won!").await;
    ben.hear("ben won!").await;
    server.stop().await.expect("it ends");
}
