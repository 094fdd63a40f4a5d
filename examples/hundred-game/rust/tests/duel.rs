//! The game in Rust against the game in TypeScript, on one server; and the same game on Redis.

mod players;

use std::net::TcpListener;
use std::process::Stdio;

use players::{Player, play};
use tokio::process::{Child, Command};

#[tokio::test]
async fn both_languages_play_one_game_to_its_end() {
    let server = iolite::embedded().await.expect("a server");
    let mut ada = Player::in_rust(&[server.url(), server.token(), "ada"]);
    ada.hear("Your turn:").await;
    let mut ben = Player::in_node("typescript", &[server.url(), server.token(), "ben"]);
    ben.hear("Sum: 0").await;
    play(&mut ada, &mut ben, "ben").await;
    server.stop().await.expect("it ends");
}

/// What it is compared with works, too.
#[tokio::test]
async fn the_game_on_redis_is_played_to_its_end() {
    let folder = std::env::temp_dir().join(format!("hundred-game-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [port, second] = [free_port(), free_port()];
    let _primary = redis(&folder, port, &[]);
    let _replica = redis(&folder, second, &["--replicaof", "127.0.0.1", &port.to_string()]);
    let url = format!("redis://127.0.0.1:{port}");
    let mut ada = Player::in_node("redis", &[&url, "ada"]);
    ada.hear("Your turn:").await;
    let mut ben = Player::in_node("redis", &[&url, "ben"]);
    ben.hear("Sum: 0").await;
    play(&mut ada, &mut ben, "ben").await;
    std::fs::remove_dir_all(&folder).expect("it is removed");
}

fn redis(folder: &std::path::Path, port: u16, more: &[&str]) -> Child {
    let port = port.to_string();
    let mut program = Command::new("redis-server");
    program.current_dir(folder).args(["--port", &port, "--save", "", "--appendonly", "no"]).args(more);
    let started = program.stdout(Stdio::null()).kill_on_drop(true).spawn();
    started.expect("redis-server is there: `make setup` installs it")
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|port| port.local_addr()).expect("a port").port()
}
