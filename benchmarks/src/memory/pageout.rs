//! The kernel's own way: pages of another process are written to swap, by `process_madvise(MADV_PAGEOUT)`.
#![allow(unsafe_code, reason = "the call has no safe binding: neither the standard library nor rustix has it")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Writes a range of another process's memory to swap. It takes root, or rights over that process.
pub fn page_out(pid: u32, address: u64, bytes: u64) -> anyhow::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput);
    let process = pidfd_open(pid.map_err(io::Error::from)?, PidfdFlags::empty())?;
    // Parts: one call takes at most 2 GiB, and may stop early.
    let (mut at, mut left) = (address, bytes);
    while left > 0 {
        let done = advise(&process, at, left)?;
        if done == 0 {
            break;
        }
        at += done;
        left = left.saturating_sub(done);
    }
    Ok(())
}

fn advise(process: &OwnedFd, address: u64, bytes: u64) -> anyhow::Result<u64> {
    let range = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(usize::try_from(address)?),
        iov_len: usize::try_from(bytes)?,
    };
    let one_range: usize = 1;
    let no_flags: libc::c_uint = 0;
    // SAFETY: the kernel reads one `iovec` from a valid address. The range is of the other process: nothing of this one's memory is changed.
    let done = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_raw_fd(),
            &raw const range,
            one_range,
            libc::MADV_PAGEOUT,
            no_flags,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error().into());
    }
    Ok(u64::try_from(done)?)
}
