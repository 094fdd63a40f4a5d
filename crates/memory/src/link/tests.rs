//! Tests of the link: what it hears, and when it counts as ended.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;
use crate::Region;
use crate::tests::lock::{daemon_of, region};

const LISTENER: &str = "link::tests::child_that_listens";

fn linking_of(region: &Region) -> Linking {
    let (_, table) = region.files();
    Linking {
        shared: Arc::clone(region.shared()),
        table: table.try_clone_to_owned().expect("descriptors are there"),
        name: "test".to_owned(),
        socket: PathBuf::new(),
        state: Arc::default(),
    }
}

#[test]
fn a_refusal_that_came_before_the_hello_is_heard() {
    let region = region(1 << 20);
    let linking = linking_of(&region);
    let (ours, mut daemon) = UnixStream::pair().expect("sockets may be made");
    let refused = FromDaemon::Refused { reason: "not you".to_owned() };
    daemon.write_all(&line_of(&refused).expect("it is short")).expect("the buffer has room");
    drop(daemon);
    linking.serve(ours);
    assert_eq!(*linking.state.link.lock().expect(LOCKED), Link::Refused { reason: "not you".to_owned() });
}

/// A daemon that says something that is no message may still make holes: only its end says that it does not.
#[test]
fn a_connection_ends_when_the_daemon_has_closed() {
    let region = region(1 << 20);
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(b"x").expect("there is room");
    region.save().expect("the disk has room");
    let linking = linking_of(&region);
    let (ours, mut daemon) = UnixStream::pair().expect("sockets may be made");
    let serving = std::thread::spawn(move || linking.serve(ours));
    daemon.write_all(b"no message\n").expect("the program is there");
    // The program ends its side, and waits for the other one.
    daemon.read_to_end(&mut Vec::new()).expect("the program says hello and no more");
    let shared = region.shared();
    let connected = shared.daemon.lock().expect(LOCKED).connected;
    assert_eq!(connected, Some(1));
    let foreign = daemon_of(&region);
    drop(foreign.claim(&foreign.candidates()));
    drop(daemon);
    serving.join().expect("the link does not panic");
    let (connected, ended) = {
        let state = shared.daemon.lock().expect(LOCKED);
        (state.connected, state.ended)
    };
    assert_eq!((connected, ended), (None, 1));
    assert!(!shared.table.entry(slot.number()).word().is_claimed(), "the claims are settled");
}

/// Only root can become another user.
#[test]
fn a_daemon_of_another_user_does_not_get_the_region() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not run: it takes root to become another user");
        return;
    }
    let folder = std::env::temp_dir().join(format!("iolite-link-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("the folder is new");
    std::os::unix::fs::chown(&folder, Some(65534), None).expect("root may");
    // Another user may not be allowed into the folders above this one, so the program is in it and is named from there.
    let program = std::env::current_exe().expect("this test is a program");
    std::fs::copy(program, folder.join("listener")).expect("it can be read");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "./listener", "--exact", LISTENER, "--ignored"]);
    let command = command.env("IOLITE_MEMORY_LISTEN", "socket").current_dir(&folder);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.expect("util-linux has setpriv");
    let stream = loop {
        if let Ok(stream) = UnixStream::connect(folder.join("socket")) {
            break stream;
        }
        assert!(child.try_wait().expect("it is our child").is_none(), "the listener ended");
        std::thread::yield_now();
    };
    let answer = checked(stream).map(|_| ()).map_err(|error| error.kind());
    drop(child.stdin.take());
    child.wait().expect("it is our child");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert_eq!(answer, Err(io::ErrorKind::PermissionDenied));
}

#[test]
#[ignore = "another process of the test above"]
fn child_that_listens() {
    let Some(path) = std::env::var_os("IOLITE_MEMORY_LISTEN") else { return };
    let _listener = UnixListener::bind(Path::new(&path)).expect("the folder is this user's");
    // The parent closes it, or is gone.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}
