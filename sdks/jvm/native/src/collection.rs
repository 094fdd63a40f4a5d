//! A collection that has happened.
//!
//! Invariant: when it says so, an array that nobody held before the call is gone. A JVM puts a collection off while a thread is in a critical section of
//! JNI, and does not say so. An array of our own shows whether it did.

use std::time::Duration;

use crate::vm::{Jni, Tools};

/// How often a collection is tried while the program's threads run: a critical section of the JDK's native code is short.
pub const WHILE_THREADS_RUN: u32 = 400;
/// The same, while they are suspended. What puts it off then does so until they go on.
pub const WHILE_THREADS_REST: u32 = 3;
const BETWEEN: Duration = Duration::from_millis(3);
const BYTE: usize = 1;

/// Collects until an array of our own is gone that nobody holds, so many times at most. Returns whether that came about.
pub fn collect(jni: Jni, tools: Tools, tries: u32) -> bool {
    let Some(array) = jni.new_array(BYTE, 4096) else { return false };
    let weak = jni.weak(array);
    jni.delete_local(array);
    if weak.is_null() {
        return false;
    }
    let is_gone = (0..tries).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(BETWEEN);
        }
        tools.collect();
        let left = jni.local(weak);
        jni.delete_local(left);
        left.is_null()
    });
    jni.delete_weak(weak);
    is_gone
}
