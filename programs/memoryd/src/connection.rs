//! One connection: a program with a region, or a person with commands.
//!
//! Invariant: whatever comes over it ends at worst this connection.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Duration;

use iolite_memory::Foreign;
use iolite_memory::agent::FromAgent;
use iolite_memory::descriptors::receive_line;
use iolite_memory::message::{FromDaemon, MESSAGES_VERSION, ToDaemon, line_of, message_of, read_line};

use crate::jvms::Jvm;
use crate::programs::{Program, Programs};

/// How long a peer may take for a message that it has to send now.
const MESSAGE_WITHIN: Duration = Duration::from_secs(5);

const OTHER_VERSION: &str = "the program speaks another version: use the same version of Iolite on both sides";

/// Serves a connection to its end. Programs that are adopted call at the socket.
pub fn serve(programs: &Programs, number: u64, stream: &UnixStream, socket: &Path) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if peer.uid != rustix::process::getuid() {
        return refuse(stream, "memoryd serves the programs of its own user only: start one as that user");
    }
    let pid = u32::try_from(peer.pid.as_raw_nonzero().get()).expect("process numbers are positive");
    stream.set_read_timeout(Some(MESSAGE_WITHIN))?;
    loop {
        let (line, files) = match receive_line(stream) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(()),
            Err(error) => return refuse(stream, &error.to_string()),
        };
        let message = match message_of(&line) {
            Ok(message) => message,
            Err(error) => return refuse(stream, &error.to_string()),
        };
        let answers = match message {
            ToDaemon::Hello { version, .. } | ToDaemon::Jvm { version } if version != MESSAGES_VERSION => {
                return refuse(stream, OTHER_VERSION);
            }
            ToDaemon::Jvm { .. } => return serve_jvm(programs, number, stream, pid),
            ToDaemon::Hello { name, .. } => {
                let Ok([data, table]) = <[_; 2]>::try_from(files) else {
                    return refuse(stream, "a hello brings two descriptors, those of a region and of its table");
                };
                return match Foreign::open(data, table) {
                    Ok(foreign) => serve_program(programs, number, stream, Program::new(pid, name, foreign)),
                    Err(error) => refuse(stream, &error.to_string()),
                };
            }
            ToDaemon::Reclaim { pid, bytes_max } => vec![programs.reclaim(pid, bytes_max)],
            ToDaemon::Background { pid } => vec![programs.say_background(pid, true)],
            ToDaemon::Foreground { pid } => vec![programs.say_background(pid, false)],
            ToDaemon::Adopt { pid, swap_folder } => vec![programs.jvms.adopt(pid, socket, &swap_folder)],
            ToDaemon::Survey { pid } => vec![programs.jvms.survey(pid)],
            ToDaemon::Status => programs.list(),
        };
        for answer in answers {
            say(stream, &answer)?;
        }
    }
}

/// A program says nothing after its hello: its end is all that the daemon waits for.
fn serve_program(programs: &Programs, number: u64, stream: &UnixStream, program: Program) -> io::Result<()> {
    let program = match programs.add(number, program) {
        Ok(program) => program,
        Err(reason) => return refuse(stream, &reason),
    };
    let ended = say(stream, &FromDaemon::Welcome { version: MESSAGES_VERSION }).and_then(|()| {
        stream.set_read_timeout(None)?;
        receive_line(stream)
    });
    // A claim may be on its way to the region: the socket is closed after it, since its end tells the program that there is none.
    let turn = program.turn();
    programs.remove(number);
    drop(turn);
    match ended {
        Ok(Some(_)) => refuse(stream, "a program says nothing after its hello"),
        Ok(None) => Ok(()),
        Err(error) => refuse(stream, &error.to_string()),
    }
}

/// The library in a JVM program answers orders, which other connections send.
fn serve_jvm(programs: &Programs, number: u64, stream: &UnixStream, pid: u32) -> io::Result<()> {
    let (jvm, answers) = Jvm::new(pid, stream)?;
    // An order may follow as soon as the program is known, and the welcome comes before it.
    say(stream, &FromDaemon::Welcome { version: MESSAGES_VERSION })?;
    stream.set_read_timeout(None)?;
    if let Err(reason) = programs.jvms.add(number, jvm) {
        return refuse(stream, &reason);
    }
    let ended = pass_answers(stream, &answers);
    programs.jvms.remove(number);
    ended
}

fn pass_answers(stream: &UnixStream, answers: &Sender<FromAgent>) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    while let Some(answer) = read_line::<FromAgent>(&mut lines)? {
        // The order's thread may have given up.
        let _ = answers.send(answer);
    }
    Ok(())
}

/// Says no, and why.
pub fn refuse(stream: &UnixStream, reason: &str) -> io::Result<()> {
    say(stream, &FromDaemon::Refused { reason: reason.to_owned() })
}

fn say(mut stream: &UnixStream, message: &FromDaemon) -> io::Result<()> {
    stream.write_all(&line_of(message)?)
}
