//! A real etcd of one member, which is stopped and started again, and ends when it is dropped.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iolite_cluster::free_ports;

use crate::support::folder::PATIENCE;

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub struct Etcd {
    folder: PathBuf,
    ports: [u16; 2],
    protection: Vec<String>,
    process: Option<Child>,
}

impl Etcd {
    /// Without certificates.
    pub fn start(folder: &Path) -> Etcd {
        Etcd::start_with(folder, Vec::new())
    }

    /// With these arguments, by which it speaks TLS, if there are any.
    pub fn start_with(folder: &Path, protection: Vec<String>) -> Etcd {
        let ports = free_ports(&[HOST], 2).expect("some are free");
        let ports = [ports[0], ports[1]];
        let mut etcd = Etcd { folder: folder.to_owned(), ports, protection, process: None };
        std::fs::create_dir_all(folder).expect("a temporary folder");
        etcd.start_again();
        etcd
    }

    pub fn endpoint(&self) -> String {
        let scheme = if self.protection.is_empty() { "http" } else { "https" };
        format!("{scheme}://{HOST}:{}", self.ports[0])
    }

    pub fn start_again(&mut self) {
        let own = self.endpoint();
        let peer = format!("http://{HOST}:{}", self.ports[1]);
        let log = std::fs::File::options().create(true).append(true).open(self.log()).expect("its own");
        let mut command = Command::new("etcd");
        command.args(["--name", "only", "--data-dir"]).arg(self.folder.join("data"));
        command.args(["--listen-client-urls", &own, "--advertise-client-urls", &own, "--listen-peer-urls", &peer]);
        command.args(["--initial-advertise-peer-urls", &peer, "--initial-cluster", &format!("only={peer}")]);
        command.args(&self.protection).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.process = Some(command.spawn().expect("etcd is installed: scripts/setup"));
        let begun = Instant::now();
        // A port that speaks TLS is there when it leads, as far as one can see without a certificate.
        while !self.is_ready() {
            assert!(begun.elapsed() < PATIENCE, "etcd does not start:\n{}", self.last_words());
            // Its ports were free while it was stopped: another test may have taken one for a while.
            if self.process.as_mut().expect("it was started").try_wait().expect("its own").is_some() {
                self.process = Some(command.spawn().expect("it could be run before"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The end of its log.
    fn last_words(&self) -> String {
        let log = std::fs::read(self.log()).expect("its own");
        String::from_utf8_lossy(&log[log.len().saturating_sub(4000)..]).into_owned()
    }

    fn is_ready(&self) -> bool {
        if !self.protection.is_empty() {
            return TcpStream::connect(self.address()).is_ok();
        }
        self.try_to_ask("GET /health", "").is_some_and(|answer| answer.contains("true"))
    }

    /// As if the power had gone.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it was killed");
        }
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(HOST, self.ports[0])
    }

    /// Asks its JSON gateway.
    pub fn ask(&self, method: &str, body: &str) -> String {
        self.try_to_ask(&format!("POST /v3/{method}"), body).expect("it answers")
    }

    fn try_to_ask(&self, what: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address()).ok()?;
        let bytes = body.len();
        let head = format!("{what} HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.stop();
    }
}
