//! For tests: a read of a punched page traps instead of reading zeros.
//!
//! Source: Linux' userfaultfd, pages that are missing, answered by SIGBUS. Without privileges the kernel refuses it where
//! `vm.unprivileged_userfaultfd` is 0.
#![allow(unsafe_code, reason = "userfaultfd is set up by ioctls that rustix has no functions for")]

use std::io;
use std::os::fd::OwnedFd;

use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::mm::{UserfaultfdFlags, userfaultfd};

use super::data::Data;

const API: u64 = 0xaa;
const FEATURE_SIGBUS: u64 = 1 << 7;
const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
const MODE_MISSING: u64 = 1;

#[repr(C)]
struct ApiRequest {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct RegisterRequest {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

const API_CALL: rustix::ioctl::Opcode = opcode::read_write::<ApiRequest>(0xaa, 0x3f);
const REGISTER_CALL: rustix::ioctl::Opcode = opcode::read_write::<RegisterRequest>(0xaa, 0x00);

/// Lets every read of a missing page of the region end in SIGBUS for as long as the descriptor is open.
pub fn set(data: &Data) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is used for the two calls below only.
    let file = unsafe { userfaultfd(UserfaultfdFlags::CLOEXEC)? };
    let mut request = ApiRequest { api: API, features: FEATURE_SIGBUS | FEATURE_MISSING_SHMEM, ioctls: 0 };
    // SAFETY: number and structure are those of linux/userfaultfd.h, UFFDIO_API.
    unsafe { ioctl(&file, Updater::<API_CALL, ApiRequest>::new(&mut request))? };
    let (start, bytes) = data.range();
    let mut request = RegisterRequest { start, bytes, mode: MODE_MISSING, ioctls: 0 };
    // SAFETY: number and structure are those of linux/userfaultfd.h, UFFDIO_REGISTER; the range is the region's own mapping.
    unsafe { ioctl(&file, Updater::<REGISTER_CALL, RegisterRequest>::new(&mut request))? };
    data.set_trap();
    Ok(file)
}
