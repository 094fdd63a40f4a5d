//! The messages of programs and people to memoryd, and its answers: a JSON object a line, over a Unix socket.
//!
//! Invariant: a message is at most 4 KiB long with its end of line; what is longer, or is none, ends the connection.
//! The descriptors of region and table come with the line of `Hello`.

use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::FromAgent;
use crate::limits::MESSAGE_BYTES_MAX;
use crate::policy::{Part, Verdict};

/// The version of these messages, and of the table.
pub const MESSAGES_VERSION: u32 = 1;

/// To the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToDaemon {
    /// A program has a region. Its process is told by the kernel, not by the message.
    Hello {
        version: u32,
        name: String,
    },
    /// Take so many bytes from a program now.
    Reclaim {
        pid: u32,
        bytes_max: u64,
    },
    /// Treat a program as in the background, or not, whatever it says itself.
    Background {
        pid: u32,
    },
    Foreground {
        pid: u32,
    },
    /// List the programs.
    Status,
    /// Load the library into a JVM program. Its arrays are saved in this folder when it is frozen.
    Adopt {
        pid: u32,
        swap_folder: PathBuf,
    },
    /// Count what could be taken from a JVM program.
    Survey {
        pid: u32,
    },
    /// The library in a JVM program waits for orders.
    Jvm {
        version: u32,
    },
}

/// From the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromDaemon {
    /// The region is known now.
    Welcome { version: u32 },
    /// No, and why.
    Refused { reason: String },
    /// The memory that `Reclaim` took.
    Reclaimed { bytes: u64, objects: u64, given_back: u64, holes: u64, microseconds: u64 },
    /// The answer of the library in a JVM program.
    Agent(FromAgent),
    /// One program of the list.
    Program(ProgramStatus),
    /// The memory that the daemon watches, in the list.
    Memory(MemoryStatus),
    /// An earlier choice of the daemon, in the list.
    Choice(Choice),
    /// Done, or the end of the list.
    Done,
}

/// A program, as the daemon sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStatus {
    pub pid: u32,
    pub name: String,
    pub background: bool,
    pub objects: u64,
    pub resident_bytes: u64,
    pub reclaimable_bytes: u64,
    /// Sum since the program came.
    pub reclaimed_bytes: u64,
    /// Entries whose place is not within the region: a broken program, which hurts only itself.
    pub lies: u64,
    /// The resident bytes that were written in the last four rounds of the Clock.
    #[serde(default)]
    pub working_set_bytes: u64,
    /// Why it gave or kept its memory at the last shortage. `None` before the first.
    #[serde(default)]
    pub verdict: Option<Verdict>,
}

/// The memory that the daemon watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStatus {
    /// The machine, a control group, or a number that a person said.
    pub of: String,
    pub limit_bytes: u64,
    pub free_bytes: u64,
    /// The daemon takes when less is free.
    pub reserve_bytes: u64,
    /// Sum of the bytes that its own choices took.
    pub taken_bytes: u64,
    /// The bytes that no program could give at the last shortage.
    pub short_bytes: u64,
}

/// One choice of the daemon: a program that gave memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub pid: u32,
    pub name: String,
    pub part: Part,
    /// Free before the shortage was answered.
    pub free_bytes: u64,
    pub asked_bytes: u64,
    pub taken_bytes: u64,
    pub milliseconds_ago: u64,
}

/// Where memoryd listens: `IOLITE_MEMORYD_SOCKET`, or the user's runtime folder, or a folder of the user's in `/tmp`.
#[must_use]
pub fn socket_path() -> PathBuf {
    if let Some(path) = std::env::var_os("IOLITE_MEMORYD_SOCKET") {
        return path.into();
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(
        || PathBuf::from(format!("/tmp/iolite-memoryd-{}", rustix::process::getuid().as_raw())),
        |folder| PathBuf::from(folder).join("iolite-memoryd"),
    );
    folder.join("socket")
}

/// The line of a message.
///
/// # Errors
/// When it is too long.
pub fn line_of<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > MESSAGE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is longer than 4096 bytes: shorten it"));
    }
    Ok(line)
}

/// Whether an error of a socket says that the other side has closed it. A daemon that refuses says so first: its word may wait to be read, also
/// after a write has failed.
#[must_use]
pub fn is_closed_by_peer(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Reads one message; `None` at the end.
///
/// # Errors
/// When the line is too long or no message.
pub fn read_line<T: for<'a> Deserialize<'a>>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let most = MESSAGE_BYTES_MAX as u64;
    from.by_ref().take(most).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(message_of(&line)?)),
        Some(_) if line.len() + 1 >= MESSAGE_BYTES_MAX => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than 4096 bytes"))
        }
        Some(_) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other side ended within a message")),
    }
}

/// The message of a line without its end.
///
/// # Errors
/// When it is none.
pub fn message_of<T: for<'a> Deserialize<'a>>(line: &[u8]) -> io::Result<T> {
    serde_json::from_slice(line)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("that is no message: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_on_their_page() {
        let page = include_str!("../../../docs/protocols/memory.md");
        let program = ProgramStatus {
            pid: 7,
            name: "thumbnails".to_owned(),
            background: true,
            objects: 3,
            resident_bytes: 8192,
            reclaimable_bytes: 4096,
            reclaimed_bytes: 0,
            lies: 0,
            working_set_bytes: 4096,
            verdict: Some(Verdict::Gives { bytes: 4096 }),
        };
        let memory = MemoryStatus {
            of: "a limit of 1000000 bytes".to_owned(),
            limit_bytes: 1_000_000,
            free_bytes: 40_000,
            reserve_bytes: 50_000,
            taken_bytes: 4096,
            short_bytes: 0,
        };
        let choice = Choice {
            pid: 7,
            name: "thumbnails".to_owned(),
            part: Part::Cold,
            free_bytes: 40_000,
            asked_bytes: 4000,
            taken_bytes: 4096,
            milliseconds_ago: 9,
        };
        let to = [
            ToDaemon::Hello { version: 1, name: "thumbnails".to_owned() },
            ToDaemon::Reclaim { pid: 7, bytes_max: 4096 },
            ToDaemon::Background { pid: 7 },
            ToDaemon::Foreground { pid: 7 },
            ToDaemon::Status,
            ToDaemon::Adopt { pid: 7, swap_folder: "/var/tmp".into() },
            ToDaemon::Survey { pid: 7 },
            ToDaemon::Jvm { version: 1 },
        ];
        let from = [
            FromDaemon::Welcome { version: 1 },
            FromDaemon::Refused { reason: "the table and the region do not fit together".to_owned() },
            FromDaemon::Reclaimed { bytes: 4096, objects: 1, given_back: 0, holes: 1, microseconds: 9 },
            FromDaemon::Agent(FromAgent::Thawed { arrays: 2, lost: 0, microseconds: 9 }),
            FromDaemon::Program(program),
            FromDaemon::Memory(memory),
            FromDaemon::Choice(choice),
            FromDaemon::Done,
        ];
        let lines = to.iter().map(line_of).chain(from.iter().map(line_of));
        for line in lines {
            let line = String::from_utf8(line.expect("it is short")).expect("JSON is text");
            assert!(page.contains(&line), "docs/protocols/memory.md lacks {line}");
        }
        for message in to {
            let line = line_of(&message).expect("it is short");
            assert_eq!(read_line(&mut line.as_slice()).expect("it is a message"), Some(message));
        }
    }

    #[test]
    fn a_message_has_a_length() {
        let name = |bytes: usize| ToDaemon::Hello { version: 1, name: "x".repeat(bytes) };
        let fits = MESSAGE_BYTES_MAX - line_of(&name(0)).expect("it is short").len();
        let line = line_of(&name(fits)).expect("it just fits");
        assert_eq!(line.len(), MESSAGE_BYTES_MAX);
        assert_eq!(read_line(&mut line.as_slice()).expect("it just fits"), Some(name(fits)));
        assert!(line_of(&name(fits + 1)).is_err());
        let mut long = vec![b' '; MESSAGE_BYTES_MAX];
        long.extend(line);
        let error = read_line::<ToDaemon>(&mut long.as_slice()).expect_err("it is too long");
        assert!(error.to_string().contains("longer than 4096"), "{error}");
    }

    #[test]
    fn what_is_no_message_is_refused_with_a_word() {
        for line in ["\n", "{}\n", "{\"reclaim\":{\"pid\":-1,\"bytes_max\":0}}\n", "\u{0}\n", "{\"fly\":{}}\n"] {
            let error = read_line::<ToDaemon>(&mut line.as_bytes()).expect_err(line);
            assert!(error.to_string().contains("no message"), "{error}");
        }
        let error = read_line::<ToDaemon>(&mut "\"sta".as_bytes()).expect_err("it is cut");
        assert!(error.to_string().contains("ended within a message"), "{error}");
        assert_eq!(read_line::<ToDaemon>(&mut "".as_bytes()).expect("that is an end"), None);
    }
}
