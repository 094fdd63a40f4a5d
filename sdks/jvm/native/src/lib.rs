//! The library that memoryd loads into a program of the JVM: it freezes the program, and lets memoryd take its large arrays.
//!
//! Invariants: the program is not changed, and is not slower while it runs. A frozen program runs no code of its own. All unsafe code
//! calls the JVM's tables of functions (`vm.rs`) or reads what they lend.
//! Source: Marvin (Lebeck 2020, chapter 4) for the mechanisms; the JVM Tool Interface; docs/memory.md, "Programs for the JVM".
#![cfg(target_os = "linux")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod arrays;
mod collection;
mod frozen;
mod header;
mod session;
mod shrink;
mod threads;
mod vm;

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use iolite_memory::agent::LoadError;

use crate::session::Setup;
use crate::vm::Vm;

static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// The JVM calls this when memoryd has asked it to load the library. The options are the daemon's socket and the folder of swap files, with an end
/// of line between. The answer is 0, or the code of a [`LoadError`].
///
/// # Safety
/// Only a JVM calls it, with its own table and a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnAttach(vm: *mut c_void, options: *const c_char, _: *mut c_void) -> i32 {
    // SAFETY: both are the JVM's own, as the caller says.
    let (vm, options) = unsafe { (Vm::of(vm), CStr::from_ptr(options)) };
    if IS_LOADED.swap(true, Ordering::AcqRel) {
        return 0;
    }
    match start(vm, &options.to_string_lossy()) {
        Ok(()) => 0,
        Err(error) => {
            IS_LOADED.store(false, Ordering::Release);
            error.code()
        }
    }
}

fn start(vm: Vm, options: &str) -> Result<(), LoadError> {
    let (socket, swap_folder) = options.split_once('\n').ok_or(LoadError::Options)?;
    let setup = Setup { socket: PathBuf::from(socket), swap_folder: PathBuf::from(swap_folder) };
    let jni = vm.jni().ok_or(LoadError::Version)?;
    // Release 19 has the first virtual threads, which are not suspended with the thread that carries them. On 25 a walk of the heap leaves an identity
    // hash in each object that it meets, so that `header.rs` could not tell any more which arrays had one.
    if jni.version() >> 16 >= 19 {
        return Err(LoadError::Version);
    }
    let tools = vm.tools().ok_or(LoadError::Version)?;
    let ready = if !tools.may_suspend() {
        Err(LoadError::Capabilities)
    } else if !jni.with_frame(|| header::self_test(jni, tools)) {
        Err(LoadError::SelfTest)
    } else if !tools.on_thread_start(threads::on_thread_start) {
        Err(LoadError::Capabilities)
    } else {
        let session = std::thread::Builder::new().name("memory-session".to_owned());
        session.spawn(move || session::run(vm, tools, &setup)).map(|_| ()).map_err(|_| LoadError::Thread)
    };
    if ready.is_err() {
        tools.dispose();
    }
    ready
}
