//! Keeping the program's threads still.
//!
//! Invariants: between [`Gate::close`] and [`Gate::open`] no thread of the program runs Java code: those that are there are suspended, and those that
//! start wait at the gate. A thread at the gate asks for the program's return, since a program that starts a thread has work to do (a shutdown hook).

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::collection::{WHILE_THREADS_REST, collect};
use crate::vm::{Jni, Object, Tools, Vm};

const LOCKED: &str = "nothing panics while it holds this lock";
/// Threads of the JVM that run no code of the program: it needs them to answer signals and attach requests, and to hand over references.
const GO_ON: &[&str] = &["Attach Listener", "Signal Dispatcher", "Reference Handler"];
/// Rounds of looking for threads that started meanwhile. Those wait at the gate, so two rounds are usual.
const ROUNDS: usize = 100;
/// How long a collection may take before the program's threads go on. A thread in a critical section of JNI stops collections.
const PROBE_WITHIN: Duration = Duration::from_secs(10);

/// At how many moments the program's threads are suspended, to find one at which no thread is in a critical section.
const MOMENTS: usize = 300;
const BETWEEN_MOMENTS: Duration = Duration::from_micros(700);

thread_local! {
    /// Whether this thread is the agent's own.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Where threads wait that start while the program is frozen.
pub struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
    /// Asks for the program's return.
    wake: fn(),
}

/// How a collection went while the program's threads are suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probed {
    /// No suspended thread is in the way of the collector, nor of this library.
    Collected,
    /// One is in a critical section of JNI: it ends that when it goes on. This library must enter none meanwhile, for it would wait for ever.
    PutOff,
    /// One kept the collector waiting. The program's threads run again.
    Waited,
    /// There is no thread to try it with.
    NoThread,
}

/// Threads that this library has suspended, as global references.
pub struct Suspended {
    threads: Vec<Object>,
}
// SAFETY: global references may be used by every attached thread.
unsafe impl Send for Suspended {}
// SAFETY: likewise.
unsafe impl Sync for Suspended {}

/// Attaches this thread to the JVM as one of the agent's own, which the gate lets through.
pub fn attach_ours(vm: Vm) -> Option<Jni> {
    IS_OURS.set(true);
    vm.attach()
}

impl Gate {
    pub const fn new(wake: fn()) -> Gate {
        Gate { is_closed: Mutex::new(false), opened: Condvar::new(), wake }
    }

    /// The first thing that a thread does.
    pub fn pass(&self) {
        if IS_OURS.get() {
            return;
        }
        let mut is_closed = self.is_closed.lock().expect(LOCKED);
        while *is_closed {
            drop(is_closed);
            (self.wake)();
            let locked = self.is_closed.lock().expect(LOCKED);
            // A call may come too early to be noticed, so it is repeated.
            let (locked, _) = self.opened.wait_timeout(locked, Duration::from_millis(100)).expect(LOCKED);
            is_closed = locked;
        }
    }

    /// Suspends the program's threads.
    ///
    /// # Errors
    /// When they do not come to rest; they all go on then.
    pub fn close(&self, jni: Jni, tools: Tools) -> Result<Suspended, String> {
        *self.is_closed.lock().expect(LOCKED) = true;
        let mut suspended = Suspended { threads: Vec::new() };
        for _ in 0..ROUNDS {
            if jni.with_frame(|| suspended.suspend_more(jni, tools)) == 0 {
                return Ok(suspended);
            }
        }
        self.open(jni, tools, suspended);
        Err("the program starts threads all the time: try again when it rests".to_owned())
    }

    /// Suspends the program's threads at a moment at which none of them is in the way of the collector.
    ///
    /// # Errors
    /// When there is no such moment. All threads go on then.
    pub fn close_at_rest(&self, vm: Vm, jni: Jni, tools: Tools) -> Result<Suspended, String> {
        for _ in 0..MOMENTS {
            let suspended = self.close(jni, tools)?;
            let probed = suspended.probe(vm, tools);
            if probed == Probed::Collected {
                return Ok(suspended);
            }
            self.open(jni, tools, suspended);
            match probed {
                // Whatever it copies or packs has an end.
                Probed::Collected | Probed::PutOff => std::thread::sleep(BETWEEN_MOMENTS),
                Probed::Waited => break,
                Probed::NoThread => return Err("no thread may be started: raise the limit".to_owned()),
            }
        }
        Err("a thread of the program keeps the collector waiting, in native code: try again later".to_owned())
    }

    /// Lets all threads go on.
    pub fn open(&self, jni: Jni, tools: Tools, suspended: Suspended) {
        suspended.resume(tools);
        for thread in suspended.threads {
            jni.delete_global(thread);
        }
        *self.is_closed.lock().expect(LOCKED) = false;
        self.opened.notify_all();
    }
}

impl Suspended {
    fn suspend_more(&mut self, jni: Jni, tools: Tools) -> usize {
        let ours = tools.current_thread();
        let threads = tools.threads().into_iter().filter(|&thread| {
            !jni.is_same(thread, ours)
                && !GO_ON.contains(&tools.thread_name(thread).as_str())
                && !self.threads.iter().any(|&known| jni.is_same(known, thread))
        });
        let threads: Vec<Object> = threads.collect();
        let codes = tools.suspend(&threads);
        let before = self.threads.len();
        let done = threads.iter().zip(codes).filter(|(_, code)| *code == 0);
        self.threads.extend(done.map(|(&thread, _)| jni.global(thread)));
        self.threads.len() - before
    }

    fn resume(&self, tools: Tools) {
        // A thread that has ended meanwhile needs nothing.
        let _ = tools.resume(&self.threads);
    }

    /// Collects garbage, with nothing taken yet. Where a suspended thread keeps the collector waiting, all threads go on, and then it ends.
    pub fn probe(&self, vm: Vm, tools: Tools) -> Probed {
        let (done, is_done) = mpsc::channel();
        let collecting = std::thread::Builder::new().name("memory-probe".to_owned()).spawn(move || {
            let collected = attach_ours(vm).is_some_and(|jni| collect(jni, tools, WHILE_THREADS_REST));
            vm.detach();
            // The other side waits for it, or has gone on without.
            let _ = done.send(collected);
        });
        let Ok(collecting) = collecting else { return Probed::NoThread };
        let outcome = is_done.recv_timeout(PROBE_WITHIN);
        if outcome.is_err() {
            self.resume(tools);
        }
        // It panics nowhere, and ends now that the program's threads go on.
        let _ = collecting.join();
        match outcome {
            Ok(true) => Probed::Collected,
            Ok(false) => Probed::PutOff,
            Err(_) => Probed::Waited,
        }
    }
}

/// The JVM's call at the start of each thread.
pub extern "C" fn on_thread_start(_: *mut c_void, _: *mut c_void, _: Object) {
    crate::session::GATE.pass();
}
