//! The first word of an object: whether somebody may know the object by more than its bytes.
//!
//! Invariant: an array with an identity hash or a lock is never taken, since the one that comes back is another object. A word of an unknown form
//! counts as such a one.
//! Source: `markWord.hpp` of OpenJDK 17: 01 in the lowest bits is an object without a lock, bits 3 to 6 are its age, and the hash lies above.

use crate::collection;
use crate::vm::{Jni, Tools};

const AGE: usize = 0b1111 << 3;
const UNLOCKED: usize = 1;

/// Whether the object has neither a hash nor a lock.
pub fn is_plain(word: usize) -> bool {
    word & !AGE == UNLOCKED
}

/// Looks at arrays of its own: a plain one must look plain, and one with a hash must not. A collection must free the one that nobody holds, and must
/// keep the other. On a JVM that fails this, nothing of a program may be taken.
pub fn self_test(jni: Jni, tools: Tools) -> bool {
    const BYTE: usize = 1;
    let look = |array| jni.with_bytes(array, 1, |_, word| word);
    let Some(held) = jni.new_array(BYTE, 4096) else { return false };
    let weak = jni.weak(held);
    if weak.is_null() {
        return false;
    }
    let was_plain = look(held).is_some_and(is_plain);
    let hash = jni.identity_hash(held);
    let is_hashed = hash.is_some() && look(held).is_some_and(|word| !is_plain(word));
    let has_collected = collection::collect(jni, tools, collection::WHILE_THREADS_RUN);
    let is_proof = has_collected && jni.is_same(jni.local(weak), held);
    jni.delete_weak(weak);
    was_plain && is_hashed && is_proof
}
