//! A large blob in a row, from one client to another: whole, with one byte changed, and over a link that is cut.
//!
//! The writer, the reader and the server are processes of their own. Both clients keep their storage in a folder, behind a link of their own.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::member::{Content, FromMember, ToMember};
use super::peak::Peak;
use super::wire::{Carried, Direction, Wire};
use crate::accounting::Pid;
use crate::arguments::{AppWorkload, Arguments, Durability};
use crate::cells::Cells;
use crate::cluster::ClusterDirectory;
use crate::part::PartProcess;
use crate::server::Server;

/// The aims of one changed byte, and of memory.
const CHANGED_BYTES_AIM: f64 = 200.0 * 1024.0;
const MEMORY_MIB_AIM: f64 = 64.0;
const SMALL_BYTES: u64 = 1 << 20;
/// Until nothing is on its way that belongs to what was done.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);

pub fn run(arguments: &Arguments, bytes: u64) -> anyhow::Result<ExitCode> {
    let cuts = arguments.rows.cuts;
    let settings = json!({"bytes": bytes, "cuts": cuts, "durability": arguments.durability.name()});
    let mut cells = Cells::new(&super::name(AppWorkload::Blob), settings);
    let server = Server::of(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let whole = Content { id: "whole".into(), seed: 1, bytes, changed: None };
    let mut pair = Pair::start(&runtime, &server, arguments.durability)?;
    // What every process takes for its first blob, however long that is.
    pair.put_and_read(
        &Content { id: "first, small".into(), seed: 3, bytes: bytes.min(SMALL_BYTES), changed: None },
        &mut cells,
    )?;
    pair.put_and_read(&whole, &mut cells)?;
    pair.change(&Content { changed: Some(bytes / 2), ..whole }, &mut cells)?;
    pair.end()?;
    if cuts > 0 {
        let mut pair = Pair::start(&runtime, &server, arguments.durability)?;
        let every = bytes / u64::from(cuts + 1);
        pair.writer.wire.cut(Direction::Up, every, cuts);
        pair.reader.wire.cut(Direction::Down, every, cuts);
        pair.put_and_read(&Content { id: "cut".into(), seed: 2, bytes, changed: None }, &mut cells)?;
        for (name, cut) in [("writer", &pair.writer), ("reader", &pair.reader)] {
            let made = cut.wire.carried().cuts;
            if made != cuts {
                cells.fault(format!("the link of the {name} was cut {made} times of {cuts}"));
            }
        }
        pair.end()?;
    }
    cells.print(arguments.json)
}

/// A client, and its link.
struct Member {
    process: PartProcess,
    wire: Wire,
}

/// The member that writes and the one that reads.
struct Pair {
    writer: Member,
    reader: Member,
    server: Option<Pid>,
    _folder: ClusterDirectory,
}

/// Something that was done, and what it took.
struct Did {
    seconds: f64,
    bytes_up: u64,
    digest: String,
    is_equal: bool,
}

impl Member {
    fn start(wire: Wire, token: &str, folder: &Path) -> anyhow::Result<Member> {
        let address = wire.to(token);
        let folder = folder.to_str().context("a path that can be said")?;
        let words =
            ["bench-part", "rows-member", "--url", &address.url, "--token", &address.token, "--directory", folder];
        let mut process = PartProcess::start(&words)?;
        match process.hear()? {
            FromMember::Ready => Ok(Member { process, wire }),
            other @ FromMember::Done { .. } => bail!("a member said {other:?} before it was ready"),
        }
    }

    fn does(&mut self, word: &ToMember) -> anyhow::Result<Did> {
        self.process.tell(word)?;
        match self.process.hear()? {
            FromMember::Done { seconds, bytes_up, digest, is_equal } => Ok(Did { seconds, bytes_up, digest, is_equal }),
            FromMember::Ready => bail!("a member is ready twice"),
        }
    }
}

impl Pair {
    fn start(runtime: &tokio::runtime::Runtime, server: &Server, durability: Durability) -> anyhow::Result<Pair> {
        let folder = ClusterDirectory::new(durability)?;
        let near = server.near_address();
        let member = |name: &str| {
            let wire = runtime.block_on(Wire::start(server.clients_socket(), Duration::ZERO))?;
            Member::start(wire, &near.token, &folder.folder(name, None)?)
        };
        let (writer, reader) = (member("writer")?, member("reader")?);
        Ok(Pair { writer, reader, server: server.pid(), _folder: folder })
    }

    fn end(mut self) -> anyhow::Result<()> {
        for member in [&mut self.writer, &mut self.reader] {
            member.process.tell(&ToMember::End)?;
        }
        self.writer.process.end()?;
        self.reader.process.end()
    }

    fn carried(&self) -> (Carried, Carried) {
        (self.writer.wire.carried(), self.reader.wire.carried())
    }

    fn put_and_read(&mut self, content: &Content, cells: &mut Cells) -> anyhow::Result<()> {
        let memory = Memory::of(self);
        let before = self.carried();
        let put = self.writer.does(&ToMember::Put(content.clone()))?;
        let sent = self.writer.does(&ToMember::Add)?;
        let word = ToMember::Read { content: content.clone(), digest: sent.digest };
        let read = self.reader.does(&word)?;
        std::thread::sleep(SETTLES_WITHIN);
        if !read.is_equal {
            cells.fault(format!("{}: the reader has other bytes", content.id));
        }
        let (mut cell, _, down) = self.cell(&content.id, before, &memory, cells);
        cell.insert("writer_gave".to_owned(), json!(sent.bytes_up));
        let times = [("put_seconds", put.seconds), ("send_seconds", sent.seconds), ("read_seconds", read.seconds)];
        cell.extend(times.map(|(name, seconds)| (name.to_owned(), json!(seconds))));
        cells.push(Value::Object(cell));
        cells.ratio(&format!("{}: sent of its length", content.id), sent.bytes_up as f64, content.bytes as f64);
        cells.ratio(&format!("{}: received of its length", content.id), down as f64, content.bytes as f64);
        Ok(())
    }

    fn change(&mut self, content: &Content, cells: &mut Cells) -> anyhow::Result<()> {
        let memory = Memory::of(self);
        let before = self.carried();
        let changed = self.writer.does(&ToMember::Change(content.clone()))?;
        let word = ToMember::Read { content: content.clone(), digest: changed.digest };
        let read = self.reader.does(&word)?;
        std::thread::sleep(SETTLES_WITHIN);
        if !read.is_equal {
            cells.fault("one byte changed: the reader has other bytes".to_owned());
        }
        let of = "one byte changed";
        let (mut cell, up, down) = self.cell(of, before, &memory, cells);
        let times = [("send_seconds", changed.seconds), ("read_seconds", read.seconds)];
        cell.extend(times.map(|(name, seconds)| (name.to_owned(), json!(seconds))));
        cells.push(Value::Object(cell));
        cells.ratio("one byte changed: writer's frames of 200 KiB", up as f64, CHANGED_BYTES_AIM);
        cells.ratio("one byte changed: reader's frames of 200 KiB", down as f64, CHANGED_BYTES_AIM);
        Ok(())
    }

    /// A cell; the bytes of the writer's frames and those of the reader's, in both directions.
    fn cell(
        &self,
        of: &str,
        before: (Carried, Carried),
        memory: &Memory,
        cells: &mut Cells,
    ) -> (serde_json::Map<String, Value>, u64, u64) {
        let now = self.carried();
        let bytes = |now: Carried, before: Carried| {
            (now.up.frame_bytes - before.up.frame_bytes, now.down.frame_bytes - before.down.frame_bytes)
        };
        let (writer, reader) = (bytes(now.0, before.0), bytes(now.1, before.1));
        let mut cell = serde_json::Map::from_iter([("of".to_owned(), json!(of))]);
        let counts =
            [("writer_up", writer.0), ("writer_down", writer.1), ("reader_up", reader.0), ("reader_down", reader.1)];
        cell.extend(counts.map(|(name, bytes)| (name.to_owned(), json!(bytes))));
        for (name, growth) in memory.growth() {
            cell.insert(format!("{name}_grew_mib"), json!(growth));
            cells.ratio(&format!("{of}: growth of the {name} of 64 MiB"), growth, MEMORY_MIB_AIM);
        }
        (cell, writer.0 + writer.1, reader.0 + reader.1)
    }
}

/// The memory of all processes from now on.
struct Memory(Vec<(&'static str, Peak)>);

impl Memory {
    fn of(pair: &Pair) -> Memory {
        let all = [
            ("writer", Some(pair.writer.process.pid())),
            ("server", pair.server),
            ("reader", Some(pair.reader.process.pid())),
        ];
        Memory(all.into_iter().filter_map(|(name, pid)| Some((name, Peak::of(pid?)))).collect())
    }

    fn growth(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().map(|(name, peak)| (*name, peak.growth_mib()))
    }
}
