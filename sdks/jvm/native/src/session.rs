//! The connection to memoryd: it says when the program freezes and when it goes on.
//!
//! Invariant: a program is frozen only while the memoryd that froze it is connected. When the connection ends, the program thaws by itself.

use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use iolite_memory::agent::{FromAgent, ToAgent};
use iolite_memory::message::{FromDaemon, MESSAGES_VERSION, ToDaemon, line_of, read_line};

use crate::frozen::{Frozen, Means};
use crate::threads::{Gate, attach_ours};
use crate::vm::{Tools, Vm};

const LOCKED: &str = "nothing panics while it holds this lock";
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// The gate of this process: it has one JVM.
pub static GATE: Gate = Gate::new(wake);
static CONNECTION: Mutex<Option<UnixStream>> = Mutex::new(None);

/// The options that the library was loaded with.
pub struct Setup {
    pub socket: PathBuf,
    pub swap_folder: PathBuf,
}

struct Session<'a> {
    means: Means<'a>,
    setup: &'a Setup,
    frozen: Option<Frozen>,
}

/// Ends the connection, and with it the frozen state: the session's thread does the rest.
fn wake() {
    if let Some(stream) = &*CONNECTION.lock().expect(LOCKED) {
        // If it is closed already, the session is on its way.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// Connects again and again, for as long as the program runs.
pub fn run(vm: Vm, tools: Tools, setup: &Setup) {
    let Some(jni) = attach_ours(vm) else { return };
    let means = Means { vm, jni, tools, gate: &GATE };
    let mut session = Session { means, setup, frozen: None };
    loop {
        if let Ok(stream) = UnixStream::connect(&setup.socket).and_then(checked) {
            // However it ended: the program goes on without.
            let _ = session.serve(&stream);
            *CONNECTION.lock().expect(LOCKED) = None;
        }
        let mut has_said = false;
        while let Err(reason) = means.thaw(&mut session.frozen) {
            if !has_said {
                eprintln!("memoryd's agent: the program stays frozen until its memory can be read: {reason}");
                has_said = true;
            }
            std::thread::sleep(AGAIN_AFTER);
        }
        std::thread::sleep(AGAIN_AFTER);
    }
}

/// A daemon of another user must not freeze this program.
fn checked(stream: UnixStream) -> io::Result<UnixStream> {
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    if peer.uid == rustix::process::getuid() { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

impl Session<'_> {
    fn serve(&mut self, mut stream: &UnixStream) -> io::Result<()> {
        *CONNECTION.lock().expect(LOCKED) = Some(stream.try_clone()?);
        stream.write_all(&line_of(&ToDaemon::Jvm { version: MESSAGES_VERSION })?)?;
        let mut lines = BufReader::new(stream);
        let Some(FromDaemon::Welcome { .. }) = read_line(&mut lines)? else { return Ok(()) };
        while let Some(order) = read_line::<ToAgent>(&mut lines)? {
            let answer = self.obey(&order).unwrap_or_else(|reason| FromAgent::Failed { reason });
            stream.write_all(&line_of(&answer)?)?;
        }
        Ok(())
    }

    fn obey(&mut self, order: &ToAgent) -> Result<FromAgent, String> {
        match (order, &self.frozen) {
            (ToAgent::Freeze, Some(frozen)) => Ok(frozen.answer.clone()),
            (ToAgent::Freeze, None) => {
                let frozen = self.means.freeze(&self.setup.socket, &self.setup.swap_folder)?;
                Ok(self.frozen.insert(frozen).answer.clone())
            }
            (ToAgent::Thaw, _) => self.means.thaw(&mut self.frozen),
            (ToAgent::Survey, Some(_)) => Err("the program is frozen: survey it in the foreground".to_owned()),
            (ToAgent::Survey, None) => self.means.survey().map(FromAgent::Surveyed),
        }
    }
}
