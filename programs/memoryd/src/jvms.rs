//! Programs of the JVM that were adopted: each has the library of `sdks/jvm/native` in it, which obeys over a connection of its own.
//!
//! Invariant: a program whose answer does not come loses its connection, and so thaws by itself.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use iolite_memory::agent::{FromAgent, LoadError, ToAgent};
use iolite_memory::attach;
use iolite_memory::message::{FromDaemon, line_of};

use crate::programs::PROGRAMS_MAX;

const LOCKED: &str = "nothing panics while it holds this lock";
/// How long a program may take to freeze or thaw: it may have gigabytes, on a slow disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
/// How long the library may take to say hello, once it is loaded.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// The library's file, beside the daemon's own.
const LIBRARY: &str = "libiolite_memory_agent.so";

/// All adopted programs, by the number of their connection.
#[derive(Debug, Default)]
pub struct Jvms {
    known: Mutex<BTreeMap<u64, Arc<Jvm>>>,
    came: Condvar,
}

/// An adopted program.
#[derive(Debug)]
pub struct Jvm {
    pub pid: u32,
    is_frozen: AtomicBool,
    stream: UnixStream,
    /// Where answers arrive; held for as long as an order is on its way.
    answers: Mutex<Receiver<FromAgent>>,
}

impl Jvm {
    /// A program, and where its connection puts the answers that come.
    pub fn new(pid: u32, stream: &UnixStream) -> io::Result<(Jvm, Sender<FromAgent>)> {
        let (sender, answers) = channel();
        let stream = stream.try_clone()?;
        Ok((Jvm { pid, is_frozen: AtomicBool::new(false), stream, answers: Mutex::new(answers) }, sender))
    }

    pub fn is_frozen(&self) -> bool {
        self.is_frozen.load(Ordering::Relaxed)
    }

    fn order(&self, order: ToAgent) -> FromDaemon {
        let answers = self.answers.lock().expect(LOCKED);
        let pid = self.pid;
        let ended = || refused(format!("process {pid} ended, or went on by itself: see `memoryd status`"));
        let Ok(line) = line_of(&order) else { return ended() };
        if (&self.stream).write_all(&line).is_err() {
            return ended();
        }
        match answers.recv_timeout(ANSWER_WITHIN) {
            Ok(FromAgent::Failed { reason }) => refused(format!("process {pid}: {reason}")),
            Ok(answer) => {
                match answer {
                    FromAgent::Frozen { .. } => self.is_frozen.store(true, Ordering::Relaxed),
                    FromAgent::Thawed { .. } => self.is_frozen.store(false, Ordering::Relaxed),
                    FromAgent::Surveyed(_) | FromAgent::Failed { .. } => {}
                }
                FromDaemon::Agent(answer)
            }
            Err(RecvTimeoutError::Disconnected) => ended(),
            Err(RecvTimeoutError::Timeout) => {
                // If it is closed already, the program has gone.
                let _ = self.stream.shutdown(Shutdown::Both);
                refused(format!("process {pid} did not answer within {} s: it goes on", ANSWER_WITHIN.as_secs()))
            }
        }
    }
}

impl Jvms {
    /// Adds a program.
    ///
    /// # Errors
    /// When there are too many, or it is there already.
    pub fn add(&self, number: u64, jvm: Jvm) -> Result<Arc<Jvm>, String> {
        let mut known = self.known.lock().expect(LOCKED);
        if known.len() == PROGRAMS_MAX {
            return Err(format!("memoryd has adopted {PROGRAMS_MAX} programs already: end one"));
        }
        if known.values().any(|other| other.pid == jvm.pid) {
            return Err("this process is adopted already: it has one connection".to_owned());
        }
        let jvm = Arc::new(jvm);
        known.insert(number, Arc::clone(&jvm));
        self.came.notify_all();
        Ok(jvm)
    }

    pub fn remove(&self, number: u64) {
        self.known.lock().expect(LOCKED).remove(&number);
    }

    pub fn of_pid(&self, pid: u32) -> Option<Arc<Jvm>> {
        self.known.lock().expect(LOCKED).values().find(|jvm| jvm.pid == pid).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Jvm>> {
        self.known.lock().expect(LOCKED).values().cloned().collect()
    }

    /// Freezes a program, or thaws it.
    pub fn say_background(&self, pid: u32, is_background: bool) -> Option<FromDaemon> {
        let order = if is_background { ToAgent::Freeze } else { ToAgent::Thaw };
        self.of_pid(pid).map(|jvm| jvm.order(order))
    }

    pub fn survey(&self, pid: u32) -> FromDaemon {
        match self.of_pid(pid) {
            Some(jvm) => jvm.order(ToAgent::Survey),
            None => refused(format!("process {pid} is not adopted: use `memoryd adopt {pid}` first")),
        }
    }

    /// Loads the library into a running program, and waits for its hello.
    pub fn adopt(&self, pid: u32, socket: &Path, swap_folder: &Path) -> FromDaemon {
        if self.of_pid(pid).is_some() {
            return FromDaemon::Done;
        }
        if let Err(reason) = load(pid, socket, swap_folder) {
            return refused(reason);
        }
        let known = self.known.lock().expect(LOCKED);
        let is_missing = |known: &mut BTreeMap<u64, Arc<Jvm>>| known.values().all(|jvm| jvm.pid != pid);
        let (_known, waited) = self.came.wait_timeout_while(known, HELLO_WITHIN, is_missing).expect(LOCKED);
        if waited.timed_out() {
            return refused(format!(
                "process {pid} has the library, but did not call: another memoryd may have adopted it"
            ));
        }
        FromDaemon::Done
    }
}

fn load(pid: u32, socket: &Path, swap_folder: &Path) -> Result<(), String> {
    let library = library()
        .ok_or_else(|| format!("{LIBRARY} is missing: put it beside memoryd, or name it with IOLITE_MEMORY_AGENT"))?;
    let text = |path: &Path| match path.to_str() {
        Some(text) if path.is_absolute() && !text.contains('\n') => Ok(text.to_owned()),
        _ => Err(format!("{} is not absolute, or no plain text: choose another path", path.display())),
    };
    if !swap_folder.is_dir() {
        return Err(format!("{} is no folder: name another with --swap-in", swap_folder.display()));
    }
    let options = format!("{}\n{}", text(socket)?, text(swap_folder)?);
    let said =
        attach::command(pid, &["load", &text(&library)?, "true", &options]).map_err(|error| error.to_string())?;
    let said = said.trim();
    let code = said.strip_prefix("return code: ").unwrap_or(said).parse::<i32>();
    match code {
        Ok(0) => Ok(()),
        Ok(code) => {
            Err(LoadError::of_code(code).map_or_else(|| format!("the JVM says {code}"), |error| error.to_string()))
        }
        Err(_) => Err(format!("the JVM did not load {}: {said}", library.display())),
    }
}

/// The library's file: named by the environment, or beside this program (for tests: beside what Cargo has built).
fn library() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("IOLITE_MEMORY_AGENT") {
        return Some(path.into());
    }
    let path = std::env::current_exe().ok()?.parent()?.join(LIBRARY);
    path.is_file().then_some(path)
}

fn refused(reason: String) -> FromDaemon {
    FromDaemon::Refused { reason }
}
