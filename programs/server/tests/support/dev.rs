//! A process of `iolite dev`, killed when it is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use super::folder::{Folder, PATIENCE};

use super::folder::PROGRAM;

pub struct Dev {
    child: Child,
    data: PathBuf,
    port: u16,
    token: String,
}

impl Dev {
    pub fn start(data: &Path) -> Dev {
        Dev::start_with(data, &[])
    }

    pub fn start_with(data: &Path, more: &[&str]) -> Dev {
        let (child, port, token) = start(data, free_port(), more);
        Dev { child, data: data.to_owned(), port, token }
    }

    /// One that writes to a pipe which is closed at its other end, on a port that was free a moment ago.
    pub fn start_unread(data: &Path) -> Dev {
        let port = free_port();
        let mut child = command(data, port, &[]).stdout(Stdio::piped()).spawn().expect("the program can be run");
        drop(child.stdout.take());
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "it does not listen");
            assert_eq!(child.try_wait().expect("it can be asked"), None, "it has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        Dev { child, data: data.to_owned(), port, token: String::new() }
    }

    /// `/readyz` answers that sessions are served.
    pub fn wait_until_ready(&self) {
        let begun = Instant::now();
        while !self.get("/readyz", "").starts_with("HTTP/1.1 200") {
            assert!(begun.elapsed() < PATIENCE, "it does not get ready");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// As a shell starts it that lets a process have so many files and sockets.
    pub fn start_with_files_max(data: &Path, files_max: u32, more: &[&str]) -> Dev {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit -n {files_max} && exec \"$0\" \"$@\"")).arg(PROGRAM);
        let (child, port, token) = wait_for(shell.args(["dev", "--port", "0", "--data"]).arg(data).args(more));
        Dev { child, data: data.to_owned(), port, token }
    }

    /// As a shell starts it that lets no file grow over so many blocks of 512 bytes: to the program as good as a full disk.
    /// What it says of errors goes to the file `errors`.
    pub fn start_with_file_blocks_max(data: &Path, blocks_max: u32, errors: &Path) -> Dev {
        let mut shell = Command::new("sh");
        // A signal tells the limit too, and ends who does not ignore it.
        shell.arg("-c").arg(format!("trap '' XFSZ && ulimit -f {blocks_max} && exec \"$0\" \"$@\"")).arg(PROGRAM);
        shell.stderr(std::fs::File::create(errors).expect("it can be written"));
        let port = free_port().to_string();
        let (child, port, token) = wait_for(shell.args(["dev", "--port", &port, "--data"]).arg(data));
        Dev { child, data: data.to_owned(), port, token }
    }

    /// A server whose words about errors go to the file `errors`.
    pub fn start_with_errors(data: &Path, more: &[&str], errors: &Path) -> Dev {
        let mut command = command(data, free_port(), more);
        let (child, port, token) = wait_for(command.stderr(std::fs::File::create(errors).expect("it can be written")));
        Dev { child, data: data.to_owned(), port, token }
    }

    /// How it ended by itself.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }

    /// Bytes of memory that the process has at this moment.
    pub fn resident_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
    }

    /// Files and sockets that the process has open at this moment.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn token(&self) -> String {
        self.token.clone()
    }

    pub fn sync_url(&self) -> String {
        format!("ws://127.0.0.1:{}/sync", self.port)
    }

    /// SIGKILL: it has no time for anything.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
    }

    /// SIGTERM, and its end.
    pub fn terminate(&mut self) -> ExitStatus {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(killed.expect("there is a kill command").success());
        self.child.wait().expect("it ends")
    }

    /// On the same port and data.
    pub fn restart(&mut self) {
        let (child, port, token) = start(&self.data, self.port, &[]);
        (self.child, self.port, self.token) = (child, port, token);
    }

    /// The whole answer to a request with these further headers.
    pub fn get(&self, path: &str, headers: &str) -> String {
        self.get_as(&format!("127.0.0.1:{}", self.port), path, headers)
    }

    pub fn get_as(&self, host: &str, path: &str, headers: &str) -> String {
        self.ask("GET", host, path, headers)
    }

    /// The answer to a `POST` of nothing.
    pub fn post(&self, path: &str) -> String {
        self.ask("POST", &format!("127.0.0.1:{}", self.port), path, "Content-Length: 0\r\n")
    }

    fn ask(&self, method: &str, host: &str, path: &str, headers: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        write!(socket, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")
            .expect("it reads");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// One that is still free after the process was down.
fn free_port() -> u16 {
    iolite_cluster::free_ports(&[Ipv4Addr::LOCALHOST.into()], 1).expect("one is free")[0]
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have been stopped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server that does not start, and returns what it says.
pub fn fails(arguments: &[&str], data: &Path) -> String {
    let output = Command::new(PROGRAM).arg("dev").args(arguments).arg("--data").arg(data).output();
    let output = output.expect("the program can be run");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn command(data: &Path, port: u16, more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["dev", "--port", &port.to_string(), "--data"]).arg(data).args(more);
    command
}

fn start(data: &Path, port: u16, more: &[&str]) -> (Child, u16, String) {
    wait_for(&mut command(data, port, more))
}

/// Starts it and waits until it says where it is.
fn wait_for(command: &mut Command) -> (Child, u16, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program can be run");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut last_word = || {
        let line = lines.next().expect("it says where it is").expect("it is text");
        line.split_whitespace().next_back().unwrap_or_default().to_owned()
    };
    let (address, second) = (last_word(), last_word());
    // With tokens the second line names their issuer, and the third one has the operator's token.
    let token = if second.ends_with('"') { last_word() } else { second };
    let port = address.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
    (child, port.unwrap_or_else(|| panic!("{address:?} names no port")), token)
}
