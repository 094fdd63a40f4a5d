//! The journal from outside: what it promises, on the memory disk and on real files.

mod damage;
mod failing_disk;
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests the disk of the operating system")]
mod native_disk;
mod page;
mod recovery;
mod scene;
