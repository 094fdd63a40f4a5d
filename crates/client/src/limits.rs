//! Limits that only large data or long times reach, for each client to have its own: what tests and simulations make small.

use std::time::Duration;

use crate::Client;
use crate::cache::{Cache, Interests, Room, SUBSCRIBE_PART};
use crate::queue::Windows;
use crate::session::Session;
use crate::tabs::Parts;

/// What a client or a tab is opened with; apps leave it at its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Interests that stay subscribed although nobody needs them.
    pub idle_interests_max: usize,
    /// Memory of the rows that the cache holds, about.
    pub cache_bytes_max: usize,
    /// Bytes of the calls that are pending, or refused and not dismissed.
    pub calls_bytes_max: usize,
    /// Rows of a table that syncs that stay subscribed because kept calls have written them.
    pub followed_rows_max: usize,
    /// Interests in one `Subscribe`.
    pub subscribe_part: usize,
    /// About so many bytes of an update go into one message to a tab that follows.
    pub tab_part_bytes: usize,
    /// Strong mutations that are sent ahead of the answer to the first of them.
    pub strong_ahead: usize,
    /// Entries of a page of a log: with so many it is turned.
    pub log_page_entries: usize,
    /// Since the last ping, whatever is heard. Less than the gateway's `silence_max`.
    pub ping_after: Duration,
    /// From a ping until anything at all is heard.
    pub answer_within: Duration,
    /// If there are other gateways and something goes on: the silence after which a ping is sent.
    pub probe_after: Duration,
    /// From that ping until anything at all is heard.
    pub probe_within: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            idle_interests_max: Interests::IDLE_MAX,
            cache_bytes_max: Cache::BYTES_MAX,
            calls_bytes_max: Client::CALLS_BYTES_MAX,
            followed_rows_max: Client::FOLLOWED_MAX,
            subscribe_part: SUBSCRIBE_PART,
            tab_part_bytes: Parts::BYTES,
            strong_ahead: Windows::STRONG,
            log_page_entries: iolite_logs::PAGE_ENTRIES_MAX,
            ping_after: Session::PING_AFTER,
            answer_within: Session::ANSWER_WITHIN,
            probe_after: Session::PROBE_AFTER,
            probe_within: Session::PROBE_WITHIN,
        }
    }
}

impl Limits {
    /// How much the cache may hold.
    pub(crate) fn room(&self) -> Room {
        Room { idle_interests_max: self.idle_interests_max, bytes_max: self.cache_bytes_max }
    }
}
