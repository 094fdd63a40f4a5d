//! A player's program, started as a shell would, and talked to by its lines.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub struct Player {
    _process: Child,
    moves: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Player {
    pub fn start(mut program: Command, arguments: &[&str]) -> Player {
        let program = program.args(arguments).kill_on_drop(true);
        let mut process = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let moves = process.stdin.take().expect("it is piped");
        let says = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Player { _process: process, moves, says, said: Vec::new() }
    }

    pub fn in_rust(arguments: &[&str]) -> Player {
        Player::start(Command::new(env!("CARGO_BIN_EXE_hundred-game")), arguments)
    }

    /// A program of a folder beside this crate.
    pub fn in_node(folder: &str, arguments: &[&str]) -> Player {
        let program: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", folder, "dist/game.js"].iter().collect();
        assert!(program.exists(), "{} is not there: run `make build` first", program.display());
        let mut node = Command::new("node");
        node.arg(program);
        Player::start(node, arguments)
    }

    pub async fn add(&mut self, number: &str) {
        self.moves.write_all(format!("{number}\n").as_bytes()).await.expect("it listens");
    }

    /// Waits until it says this.
    pub async fn hear(&mut self, wanted: &str) {
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

/// Plays to the end: the first adds 10, then the second, until the sum is 100.
pub async fn play(first: &mut Player, second: &mut Player, second_name: &str) {
    for round in 0..5 {
        first.add("10").await;
        second.hear("Your turn:").await;
        if round == 2 {
            // Neither twice in a row, nor more than is allowed.
            first.add("10").await;
            first.hear("not now, or not that much").await;
            second.add("11").await;
            second.hear("not now, or not that much").await;
        }
        second.add("10").await;
        let sum = format!("Sum: {}", 20 * (round + 1));
        first.hear(&sum).await;
        second.hear(&sum).await;
    }
    let won = format!("{second_name} won!");
    first.hear(&won).await;
    second.hear(&won).await;
}
