//! Every limit of a gateway: what one session may take of memory and work. docs/limits.md lists them with the tests that meet them.

use std::time::Duration;

use iolite_store::ReadLimit;
use iolite_wire::limits as wire;

/// From the opening of a connection to its welcome. A client that cannot say who it is in this time holds a connection for nothing.
pub const GREETING_TIME_MAX: Duration = Duration::from_secs(10);

/// Without any message of the client, not even a ping. A hidden page may send only once a minute.
pub const SILENCE_MAX: Duration = Duration::from_secs(150);

/// How long a session may stay behind because its socket takes nothing.
pub const SLOW_TIME_MAX: Duration = Duration::from_secs(30);

/// How seldom a session may ask to be told of changes.
pub const BATCH_PERIOD_MAX: Duration = Duration::from_secs(10);

/// How often untouched sessions are told that what they hold is still true, while others commit.
pub const IDLE_ADVANCE_PERIOD: Duration = Duration::from_secs(1);

/// How many of these periods pass between advances while nobody commits and only time moves the resolved timestamp.
pub const QUIET_PERIODS: u32 = 5;

/// Bytes sent and not yet taken by the socket, past which a session gets no more and is caught up later with the latest state.
pub const UNDRAINED_BYTES_MAX: usize = 4 << 20;

/// A session that was behind is caught up when no more than this is left undrained.
pub const CATCH_UP_UNDRAINED_BYTES: usize = 1 << 20;

/// Changes larger than this are replaced by snapshots when a session catches up or resumes.
pub const CATCH_UP_CHANGES_BYTES_MAX: usize = 1 << 20;

/// Bytes of the commits by which a session is told what it missed. They are read whole, with what it does not ask for and what later ones make good for, and past
/// this they are not read any further: it gets snapshots.
pub const CATCH_UP_COMMITS_BYTES_MAX: usize = 4 << 20;

/// One part of an advance: the next row or change begins a new part. (A larger single row is a part of its own.)
pub const ADVANCE_PART_BYTES: usize = 256 << 10;

/// Interests that a session is subscribed to. As many as one `Subscribe` can name, so that whoever resumes can hold all in one.
pub const INTERESTS_MAX: usize = wire::SUBSCRIPTIONS.most;

/// Bytes of a range's bound.
pub const RANGE_BOUND_BYTES_MAX: usize = wire::RANGE_BOUND.most;

/// Bytes of all queries that a session is subscribed to.
pub const QUERIES_BYTES_MAX: usize = 1 << 20;

/// Rows of which it has to be known whether they came into queries, and that are read at one time. The feed waits for them.
pub const ROWS_OPEN_MAX: usize = 64;

/// Bytes of the commits that wait behind those for which rows are read. Past it nobody waits any longer: the sessions whose queries need these rows are sent
/// away, to have them read when they are back, and the feed goes on for all others.
pub const FEED_WAITING_BYTES_MAX: usize = 32 << 20;

/// Rows that were read for a session and are not sent yet, so also the rows that answer one `Subscribe`.
pub const ANSWER_ROWS_MAX: usize = 100_000;

/// Bytes of these rows.
pub const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Interests of a session that are read at one time, each up to its share of these rows and bytes. What is larger is read again, one at a time.
pub const READS_OPEN_MAX: usize = 64;

/// Bytes of one row that is sent whole. With what the buffer adds to it, it has to fit a frame.
pub const ROW_BYTES_MAX: usize = 2 << 20;

/// Changes kept while a session's new interests are read, as far as later ones do not make them good for. Past it the `Subscribe` that keeps most is read again,
/// as of then, and there is room for twice as much. As many are held back while its client's own outcomes are read; past that, what it missed is read.
pub const LOAD_BUFFER_BYTES: usize = 1 << 20;

/// Past this, what is not read is declined for now: it is written faster than it is read.
pub const LOAD_BUFFER_BYTES_MAX: usize = 8 << 20;

/// Bytes of blobs that a user may store, by whole chunks.
pub const BLOB_BYTES_USER_MAX: u64 = 1 << 30;

/// Bytes of blobs that an anonymous user may store, likewise.
pub const BLOB_BYTES_ANONYMOUS_MAX: u64 = 16 << 20;

/// Leases that are over whose revocations are under way. The next one waits.
pub const REVOCATIONS_OPEN_MAX: usize = 64;

/// Rows of a user that a set of rights has.
pub const SET_KEYS_MAX: usize = 4096;

/// Rows that are read at a time to judge one mutation.
pub const JUDGE_READS_OPEN_MAX: usize = 64;

/// Mutations of a client that wait for the store or whose outcomes wait for the feed.
pub const SUBMITS_OPEN_MAX: usize = wire::SUBMITS_OPEN.most;

/// Bytes of these.
pub const SUBMITS_OPEN_BYTES_MAX: usize = wire::SUBMITS_OPEN_BYTES.most;

/// Outcomes of its client's mutations that are read for a session at one time. Those behind them are told when they are submitted again.
pub const OWN_OUTCOMES_MAX: usize = 1024;

/// How long a client may owe that it has applied a commit. Then others wait for it no longer.
pub const DELIVERED_WITHIN: Duration = Duration::from_secs(2);

/// Blocks of pages in front of a log's checkpoint that are kept, for members that were away for a while: 4,096 entries.
pub const LOG_BLOCKS_KEPT: u64 = 4;
/// Clients that follow one log. Each of them is told of the others, and an operation waits for all of them.
pub const LOG_MEMBERS_MAX: usize = wire::LOG_MEMBERS.most;

/// How long it waits for an advance that goes out anyway to tell that a member of a log has come or gone.
pub const LOG_MEMBERS_TOLD_WITHIN: Duration = Duration::from_millis(100);

/// From when the store is given a mutation until its session is told that the outcome is not known, and to ask again, here or elsewhere.
pub const OUTCOME_WITHIN: Duration = Duration::from_secs(10);

/// Operations of one transaction.
pub const TRANSACTION_WRITES_MAX: usize = 10_000;

/// Reads of one transaction.
pub const TRANSACTION_READS_MAX: usize = 10_000;

/// Bytes of one transaction.
pub const TRANSACTION_BYTES_MAX: usize = 1 << 20;

/// Bytes of a schema's JSON.
pub const SCHEMA_BYTES_MAX: usize = wire::SCHEMA.most;

/// Bytes of a token.
pub const TOKEN_BYTES_MAX: usize = wire::TOKEN.most;

/// Tokens that a session is sent in a minute: an SDK renews at four fifths of a token's life, and not more often than once a second.
pub const RENEWALS_MAX: usize = 120;

/// Bytes of what is said to people in a goodbye or a rejection. Longer text is cut.
pub const REASON_BYTES_MAX: usize = wire::REASON.most;

/// The limits that only large data or long times reach, for each gateway to have its own: what tests and simulations make small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// [`SILENCE_MAX`].
    pub silence_max: Duration,
    /// [`SLOW_TIME_MAX`].
    pub slow_time_max: Duration,
    /// [`UNDRAINED_BYTES_MAX`].
    pub undrained_bytes_max: usize,
    /// [`CATCH_UP_UNDRAINED_BYTES`]. Below `undrained_bytes_max`.
    pub catch_up_undrained_bytes: usize,
    /// [`CATCH_UP_CHANGES_BYTES_MAX`].
    pub catch_up_changes_bytes_max: usize,
    /// [`CATCH_UP_COMMITS_BYTES_MAX`].
    pub catch_up_commits_bytes_max: usize,
    /// [`ADVANCE_PART_BYTES`].
    pub advance_part_bytes: usize,
    /// [`LOAD_BUFFER_BYTES`]. Above 0.
    pub load_buffer_bytes: usize,
    /// [`LOAD_BUFFER_BYTES_MAX`].
    pub load_buffer_bytes_max: usize,
    /// [`FEED_WAITING_BYTES_MAX`].
    pub feed_waiting_bytes_max: usize,
    /// [`READS_OPEN_MAX`].
    pub reads_open_max: usize,
    /// [`BLOB_BYTES_USER_MAX`].
    pub blob_bytes_user_max: u64,
    /// [`BLOB_BYTES_ANONYMOUS_MAX`].
    pub blob_bytes_anonymous_max: u64,
    /// [`LOG_BLOCKS_KEPT`].
    pub log_blocks_kept: u64,
    /// What each of these reads at first: together they are not more than a session may be sent.
    pub read_share: ReadLimit,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            silence_max: SILENCE_MAX,
            slow_time_max: SLOW_TIME_MAX,
            undrained_bytes_max: UNDRAINED_BYTES_MAX,
            catch_up_undrained_bytes: CATCH_UP_UNDRAINED_BYTES,
            catch_up_changes_bytes_max: CATCH_UP_CHANGES_BYTES_MAX,
            catch_up_commits_bytes_max: CATCH_UP_COMMITS_BYTES_MAX,
            advance_part_bytes: ADVANCE_PART_BYTES,
            load_buffer_bytes: LOAD_BUFFER_BYTES,
            load_buffer_bytes_max: LOAD_BUFFER_BYTES_MAX,
            feed_waiting_bytes_max: FEED_WAITING_BYTES_MAX,
            reads_open_max: READS_OPEN_MAX,
            blob_bytes_user_max: BLOB_BYTES_USER_MAX,
            blob_bytes_anonymous_max: BLOB_BYTES_ANONYMOUS_MAX,
            log_blocks_kept: LOG_BLOCKS_KEPT,
            read_share: ReadLimit {
                rows: ANSWER_ROWS_MAX / READS_OPEN_MAX,
                bytes: ANSWER_BYTES_MAX / READS_OPEN_MAX,
                ..ReadLimit::NONE
            },
        }
    }
}
