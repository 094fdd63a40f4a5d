//! Requests to a running JVM over its attach socket, as the JDK's own tools make them.
//!
//! Invariant: a process gets the signal that opens the socket only if it is a JVM of this user that handles the signal: any other process would end.
//! Source: `attachListener_posix.cpp` of OpenJDK 17.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// The bytes of one argument of a request: HotSpot's own limit.
pub const ARGUMENT_BYTES_MAX: usize = 1024;
/// How long a JVM may take to open its socket. A busy one takes a second.
const SOCKET_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The bit of SIGQUIT in the masks of `/proc`.
const SIGQUIT_BIT: u64 = 1 << 2;

/// Why a JVM does not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    #[error("there is no process {pid}: see `ps`")]
    NoProcess { pid: u32 },
    #[error("process {pid} is of another user: run memoryd as that user")]
    OtherUser { pid: u32 },
    #[error("process {pid} is no JVM (it has no libjvm.so): only programs of OpenJDK can be adopted")]
    NoJvm { pid: u32 },
    #[error(
        "process {pid} listens to nobody: start it without -Xrs and -XX:+DisableAttachMechanism, outside of a container"
    )]
    Deaf { pid: u32 },
    #[error("`{what}` has more than {most} bytes: choose a shorter path")]
    TooLong { what: String, most: usize },
    #[error("the JVM refused: {0}")]
    Refused(String),
    #[error("the JVM's attach socket failed: try again ({0})")]
    Io(#[from] io::Error),
}

/// Asks a JVM for one thing: an operation with up to three arguments. The answer is what it prints.
///
/// # Errors
/// When there is no such JVM of this user, or it refuses.
pub fn command(pid: u32, request: &[&str]) -> Result<String, AttachError> {
    let mut bytes = b"1\0".to_vec();
    for index in 0..request.len().max(4) {
        let argument = request.get(index).copied().unwrap_or("");
        if argument.len() > ARGUMENT_BYTES_MAX || argument.contains('\0') {
            return Err(AttachError::TooLong { what: argument.to_owned(), most: ARGUMENT_BYTES_MAX });
        }
        bytes.extend_from_slice(argument.as_bytes());
        bytes.push(0);
    }
    let mut stream = connect(pid)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(&bytes)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (code, said) = answer.split_once('\n').unwrap_or((&answer, ""));
    if code == "0" { Ok(said.to_owned()) } else { Err(AttachError::Refused(said.trim().to_owned())) }
}

fn connect(pid: u32) -> Result<UnixStream, AttachError> {
    check(pid)?;
    let socket = PathBuf::from(format!("/proc/{pid}/root/tmp/.java_pid{pid}"));
    if let Some(stream) = connected(&socket, pid) {
        return Ok(stream);
    }
    let _wish = Wish::make(pid)?;
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(AttachError::NoProcess { pid })?;
    rustix::process::kill_process(process, Signal::QUIT).map_err(io::Error::from)?;
    let begun = Instant::now();
    while begun.elapsed() < SOCKET_WITHIN {
        if let Some(stream) = connected(&socket, pid) {
            return Ok(stream);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Err(AttachError::Deaf { pid })
}

/// Whether the process may be asked, and would live through it.
fn check(pid: u32) -> Result<(), AttachError> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let owner = std::fs::metadata(&folder).map_err(|_| AttachError::NoProcess { pid })?;
    if owner.uid() != rustix::process::getuid().as_raw() {
        return Err(AttachError::OtherUser { pid });
    }
    let maps = std::fs::read_to_string(folder.join("maps")).map_err(|_| AttachError::NoProcess { pid })?;
    if !maps.lines().any(|line| line.ends_with("/libjvm.so")) {
        return Err(AttachError::NoJvm { pid });
    }
    let status = std::fs::read_to_string(folder.join("status")).map_err(|_| AttachError::NoProcess { pid })?;
    if handles_sigquit(&status) { Ok(()) } else { Err(AttachError::Deaf { pid }) }
}

/// Whether a process handles SIGQUIT, by its `/proc/PID/status`.
fn handles_sigquit(status: &str) -> bool {
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGQUIT_BIT != 0)
}

/// The connection, if the socket is really that process's.
fn connected(socket: &Path, pid: u32) -> Option<UnixStream> {
    let stream = UnixStream::connect(socket).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    if u32::try_from(peer.pid.as_raw_nonzero().get()) == Ok(pid) {
        return Some(stream);
    }
    // Somebody else listens under this name.
    let _ = stream.shutdown(Shutdown::Both);
    None
}

/// The file that tells a JVM that the signal asks for its socket, gone when this is dropped.
struct Wish {
    path: PathBuf,
}

impl Wish {
    fn make(pid: u32) -> io::Result<Wish> {
        let make = |path: PathBuf| {
            let made = std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
            made.map(|_| Wish { path })
        };
        make(PathBuf::from(format!("/proc/{pid}/cwd/.attach_pid{pid}")))
            .or_else(|_| make(PathBuf::from(format!("/proc/{pid}/root/tmp/.attach_pid{pid}"))))
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        // The JVM may have ended, and its folder with it.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process handles no SIGQUIT, and would end.
    #[test]
    fn a_process_that_is_no_jvm_gets_no_signal() {
        let error = command(std::process::id(), &["jcmd", "VM.version"]).expect_err("it has no JVM");
        assert!(matches!(error, AttachError::NoJvm { .. }), "{error}");
        assert!(!handles_sigquit("Name:\tx\nSigCgt:\t0000000000000001\n"));
        assert!(handles_sigquit("Name:\tx\nSigCgt:\t0000000180005ccd\n"));
        assert!(!handles_sigquit("Name:\tx\n"));
    }

    #[test]
    fn a_process_that_is_not_there_is_told() {
        let error = command(u32::MAX, &["load"]).expect_err("numbers end before that");
        assert!(matches!(error, AttachError::NoProcess { .. }), "{error}");
    }

    #[test]
    fn an_argument_has_a_length() {
        let long = "x".repeat(ARGUMENT_BYTES_MAX + 1);
        let error = command(std::process::id(), &["load", &long]).expect_err("it is too long");
        assert!(matches!(error, AttachError::TooLong { .. }), "{error}");
        let fits = &long[1..];
        let error = command(std::process::id(), &["load", fits]).expect_err("it has no JVM");
        assert!(matches!(error, AttachError::NoJvm { .. }), "{error}");
    }
}
