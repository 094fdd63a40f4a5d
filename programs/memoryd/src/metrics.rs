//! `GET /metrics`, for Prometheus, on loopback only: the numbers of `memoryd status`.
//!
//! Invariants: it changes nothing; a peer that is slow or sends nonsense costs its own connection. One connection at a time, so that a flood costs no memory.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use iolite_memory::message::{FromDaemon, MemoryStatus, ProgramStatus};

use crate::programs::Programs;

/// The bytes of a request that are read; the rest is not.
const REQUEST_BYTES_MAX: u64 = 8 << 10;
const WITHIN: Duration = Duration::from_secs(2);
/// How long the thread waits when the kernel gives it no connection.
const SHORTAGE_WAIT: Duration = Duration::from_millis(50);

/// Serves for ever, in a thread of its own. Port 0 takes a free one.
///
/// # Errors
/// When the port is taken, or there is no thread.
pub fn begin(programs: &Arc<Programs>, port: u16) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = listener.local_addr()?;
    let programs = Arc::clone(programs);
    let run = move || {
        for stream in listener.incoming() {
            match stream {
                // A peer that has gone is no loss.
                Ok(stream) => drop(answer(&stream, &programs)),
                Err(_) => std::thread::sleep(SHORTAGE_WAIT),
            }
        }
    };
    std::thread::Builder::new().name("metrics".to_owned()).spawn(run)?;
    Ok(address)
}

fn answer(mut stream: &TcpStream, programs: &Programs) -> io::Result<()> {
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    let mut request = BufReader::new(stream).take(REQUEST_BYTES_MAX).lines();
    let first = request.next().transpose()?.unwrap_or_default();
    // What follows is read to its end: else the peer may lose the answer.
    for line in request {
        if line?.is_empty() {
            break;
        }
    }
    let is_asked = matches!(first.split(' ').collect::<Vec<_>>()[..], ["GET", "/metrics", _]);
    let (status, body) =
        if is_asked { ("200 OK", render(&programs.list())) } else { ("404 Not Found", "GET /metrics\n".to_owned()) };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

type OfProgram = (&'static str, &'static str, &'static str, fn(&ProgramStatus) -> u64);
type OfMemory = (&'static str, &'static str, &'static str, fn(&MemoryStatus) -> u64);

const OF_PROGRAM: [OfProgram; 6] = [
    ("iolite_memory_background", "gauge", "1 while the program rests", |program| u64::from(program.background)),
    ("iolite_memory_resident_bytes", "gauge", "Bytes of its objects in memory", |program| program.resident_bytes),
    ("iolite_memory_reclaimable_bytes", "gauge", "Bytes that may be taken now", |program| program.reclaimable_bytes),
    ("iolite_memory_working_set_bytes", "gauge", "Bytes in memory that were written lately", |program| {
        program.working_set_bytes
    }),
    ("iolite_memory_reclaimed_bytes_total", "counter", "Bytes that were taken from it", |program| {
        program.reclaimed_bytes
    }),
    ("iolite_memory_broken_entries", "gauge", "Entries whose place is not within the region", |program| program.lies),
];

const OF_MEMORY: [OfMemory; 5] = [
    ("iolite_memory_limit_bytes", "gauge", "The memory that is watched", |memory| memory.limit_bytes),
    ("iolite_memory_free_bytes", "gauge", "What is free of it", |memory| memory.free_bytes),
    ("iolite_memory_reserve_bytes", "gauge", "Memory is taken when less is free", |memory| memory.reserve_bytes),
    ("iolite_memory_taken_bytes_total", "counter", "Bytes that memoryd took by itself", |memory| memory.taken_bytes),
    ("iolite_memory_short_bytes", "gauge", "Bytes that no program could give at the last shortage", |memory| {
        memory.short_bytes
    }),
];

/// The text for Prometheus, of what `status` answers.
fn render(answers: &[FromDaemon]) -> String {
    let programs: Vec<&ProgramStatus> = answers
        .iter()
        .filter_map(|answer| if let FromDaemon::Program(program) = answer { Some(program) } else { None })
        .collect();
    let memory =
        answers.iter().find_map(|answer| if let FromDaemon::Memory(memory) = answer { Some(memory) } else { None });
    let mut text = String::new();
    let mut line = |written: std::fmt::Arguments<'_>| text.write_fmt(written).expect("a text takes everything");
    line(format_args!(
        "# HELP iolite_memory_programs Regions that memoryd knows\n# TYPE iolite_memory_programs gauge\niolite_memory_programs {}\n",
        programs.len()
    ));
    for (name, kind, help, value) in OF_MEMORY {
        let Some(memory) = memory else { break };
        line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {}\n", value(memory)));
    }
    for (name, kind, help, value) in OF_PROGRAM {
        line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for (number, program) in (0..).zip(&programs) {
            let (pid, its, value) = (program.pid, escaped(&program.name), value(program));
            // A process may have two regions of one name.
            line(format_args!("{name}{{pid=\"{pid}\",name=\"{its}\",region=\"{number}\"}} {value}\n"));
        }
    }
    text
}

/// A name as a label's value: the program chose it.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers, and closes");
        answer
    }

    #[test]
    fn the_numbers_of_status_are_served_on_loopback() {
        let programs = Arc::new(Programs::default());
        let (region, _slot) = crate::programs::tests::region();
        programs.add(1, crate::programs::tests::program_of(&region)).expect("there is room");
        let address = begin(&programs, 0).expect("a port is free");
        assert!(address.ip().is_loopback());
        let said = ask(address, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        for line in [
            "iolite_memory_programs 1",
            "# TYPE iolite_memory_reclaimed_bytes_total counter",
            "iolite_memory_background{pid=\"1\",name=\"test\",region=\"0\"} 1",
        ] {
            assert!(said.lines().any(|found| found == line), "{line}: {said}");
        }
        for request in ["GET / HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"] {
            assert!(ask(address, request).starts_with("HTTP/1.1 404 "), "{request}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(6000));
        assert!(ask(address, &long).starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn a_request_has_a_length() {
        let address = begin(&Arc::default(), 0).expect("a port is free");
        let most = usize::try_from(REQUEST_BYTES_MAX).expect("it is small");
        let mut endless = TcpStream::connect(address).expect("it listens");
        // It has no end of line. The peer does not wait for one, nor keep what comes.
        endless.write_all(&vec![b'x'; most]).expect("it reads");
        let mut answer = [0; 12];
        endless.read_exact(&mut answer).expect("it answers");
        assert_eq!(&answer, b"HTTP/1.1 404");
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").contains("iolite_memory_programs 0"));
    }

    #[test]
    fn a_name_that_a_program_chose_ends_no_label() {
        assert_eq!(escaped("a \"b\"\\\n"), "a \\\"b\\\"\\\\\\n");
    }

    #[test]
    fn what_is_watched_has_its_numbers_and_the_page_names_all() {
        let memory = MemoryStatus {
            of: "all".to_owned(),
            limit_bytes: 9,
            free_bytes: 8,
            reserve_bytes: 7,
            taken_bytes: 6,
            short_bytes: 5,
        };
        let said = render(&[FromDaemon::Memory(memory)]);
        for line in ["iolite_memory_limit_bytes 9", "iolite_memory_free_bytes 8", "iolite_memory_taken_bytes_total 6"] {
            assert!(said.lines().any(|found| found == line), "{line}: {said}");
        }
        let page = include_str!("../../../docs/memory.md");
        for name in OF_MEMORY.map(|(name, ..)| name).into_iter().chain(OF_PROGRAM.map(|(name, ..)| name)) {
            assert!(page.contains(&format!("`{name}`")), "docs/memory.md lacks {name}");
        }
    }
}
