//! A process of `iolite serve` in front of a database, killed when it is dropped.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;

use super::server::{Server, USER};
use crate::support::folder::{PATIENCE, PROGRAM};

/// What the database says to whoever may do everything.
pub fn psql(server: &Server, text: &str) -> String {
    let mut psql = Command::new("psql");
    psql.arg("--host").arg(server.folder()).args(["--port", &server.port().to_string(), "--username", USER]);
    psql.args(["--dbname", "postgres", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"]);
    let output = psql.args(["--command", text]).output().expect("scripts/setup installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The file of such a gateway; what is of the database is the caller's.
pub struct NodeFile {
    folder: PathBuf,
    port: u16,
}

pub struct Gateway {
    file: NodeFile,
    child: Child,
}

impl NodeFile {
    /// `postgres` is the text of the table of that name. All gateways of a folder have the same token.
    pub fn write(folder: &Path, number: u16, postgres: &str) -> NodeFile {
        let port = iolite_cluster::free_ports(&["127.0.0.1".parse().expect("an address")], 1).expect("one is free")[0];
        let own = folder.join(format!("gateway-{number}"));
        std::fs::create_dir_all(&own).expect("a temporary folder");
        std::fs::write(folder.join("token"), "the token of tests").expect("a temporary folder");
        let text = format!(
            "[gateway]\nnumber = {number}\nlisten = \"127.0.0.1:{port}\"\ntoken = \"../token\"\nschemas = \"grow\"\n\n[postgres]\n{postgres}\n"
        );
        std::fs::write(own.join("node.toml"), text).expect("its own folder");
        NodeFile { folder: own, port }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg("--config").arg(self.folder.join("node.toml"));
        command
    }

    pub fn start(self, variables: &[(&str, &str)]) -> Gateway {
        let log = std::fs::File::create(self.folder.join("log")).expect("its own folder");
        let mut command = self.command();
        command.envs(variables.iter().copied()).stdout(std::process::Stdio::null()).stderr(log);
        let child = command.spawn().expect("the program can be run");
        Gateway { file: self, child }
    }

    /// What it says when it ends by itself.
    pub fn fails(self) -> String {
        let output = self.command().output().expect("the program can be run");
        assert!(!output.status.success(), "it did not fail");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Gateway {
    /// As in `127.0.0.1:7800`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.file.port)
    }

    pub fn sync_url(&self) -> String {
        format!("ws://127.0.0.1:{}/sync", self.file.port)
    }

    pub fn token(&self) -> String {
        "the token of tests".into()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.file.folder.join("log")).expect("it is there")
    }

    /// The answer to a request by HTTP; none when it does not listen.
    pub fn get(&self, path: &str) -> Option<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.file.port)).ok()?;
        write!(socket, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Waits until the answer to a request is as it should be.
    pub fn wait_for(&mut self, path: &str, is_right: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            match self.get(path) {
                Some(answer) if is_right(&answer) => return answer,
                answer => assert!(begun.elapsed() < PATIENCE, "{path} is {answer:?}; it says {}", self.log()),
            }
            assert_eq!(self.child.try_wait().expect("it can be asked"), None, "it has ended: {}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    pub fn wait_until_ready(&mut self) {
        self.wait_for("/readyz", |answer| answer.starts_with("HTTP/1.1 200"));
    }

    /// SIGKILL, and the same again.
    pub fn kill_and_start_again(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
        self.child = self.file.command().stdout(std::process::Stdio::null()).spawn().expect("the program can be run");
        self.wait_until_ready();
    }

    /// SIGTERM; it has to end well.
    pub fn terminate(mut self) {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(sent.expect("there is a kill command").success());
        assert!(self.child.wait().expect("it ends").success(), "{}", self.log());
    }

    /// Waits until it has ended by itself, and returns what it said.
    pub fn wait_for_end(mut self) -> String {
        assert!(!self.child.wait().expect("it ends").success());
        self.log()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
