//! The native host: it gives machines time, sockets, a disk and a way to end. It knows no protocol.
//!
//! Source: Iolite's own. Data goes one way: input, machine, outputs, host, world.
//!
//! Invariants:
//! - a machine is driven by one task, and sees all inputs that have arrived before its outputs are taken;
//! - what waits for a machine or for a socket is bounded in bytes;
//! - a journal's records are durable before anyone is told so.

mod app_files;
mod certificates;
mod clock;
mod commands;
mod connections;
mod delay_proxy;
mod duplex;
mod durable_files;
mod event_loop;
mod guests;
mod journal_thread;
mod links;
mod machine_journal;
mod mailbox;
mod metrics;
mod open_files;
mod origin;
mod pid_file;
mod randomness;
mod secret_file;
mod session;
mod shutdown;
mod site;
mod standard_streams;

pub use app_files::{AppFiles, Hosts};
pub use certificates::{Authority, AuthorityError, TlsFiles, TlsFilesError};
pub use clock::{Clock, monotonic_nanos};
pub use commands::Commands;
pub use delay_proxy::DelayProxy;
pub use duplex::{Duplex, DuplexEvent};
pub use durable_files::{Readers, make_folder_durably, sync_folder_of, write_durably};
pub use event_loop::{Performer, drive};
pub use guests::{GUEST_ADDRESSES_MAX, GUESTS_MAX, Guests, Issued};
pub use journal_thread::{JournalNews, JournalThread, JournalWriter};
pub use links::{
    LinkEvent, LinkHandler, LinkLimits, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, LinkSide, Links, LinksError,
    NodeName, NodeNameError,
};
pub use machine_journal::MachineJournal;
pub use mailbox::{Inbox, Mailbox, mailbox};
pub use metrics::{Histogram, Metric, Metrics, Summary};
pub use open_files::allow_all_open_files;
pub use origin::is_loopback_host;
pub use origin::{NotAnOrigin, Origins};
pub use pid_file::{PidFile, PidFileError};
pub use randomness::{random_id, random_seed};
pub use secret_file::{SecretError, read_or_create_secret};
pub use session::{Codec, Endpoint, SessionEvent, SessionHandler, SessionNumber};
pub use shutdown::{Shutdown, Stop, stop_on_signals};
pub use site::{BindError, Probes, Site, bind};
pub use standard_streams::{explained, print, warn};
