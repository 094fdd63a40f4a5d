//! The one client core: cache, queue, rebase, reactive transactions, views, session.
//!
//! Sources: Diamond's LibDiamond (Zhang 2017, chapter 3) and Hercules' views (Lebeck 2020, chapter 3).
//!
//! The same core runs natively and in browsers. A host feeds [`Client`] with what happens on the link and the disk, runs the app's closures
//! when it is asked to, and carries out the rest of the outputs. SDKs give it the shape of their language.
//!
//! It never reaches the engine, the replicated store, the gateway or the native host: `xtask tidy` asserts that.

mod cache;
mod client;
mod interface;
mod limits;
mod live;
mod peek;
mod query;
mod queue;
mod reactive;
mod reason;
mod session;
mod storage;
mod tabs;
mod text;
mod transaction;
mod view;

pub use client::{CallError, Client, ConflictError, JoinedLog, LeaveError, LogError, LogMember, TokenSource};
pub use interface::{
    BlobInput, BlobOutput, Broken, Centre, Config, Input, MutationStatus, Output, Pending, PendingMutation, Refused,
};
pub use iolite_blobs::{DownloadNumber, UploadNumber};
pub use iolite_rowsync::{
    Base, Broken as BrokenRows, Cells, Choice, Conflict, Keep, ResolveError, RowVersion, row_version,
};
pub use limits::Limits;
pub use live::{LIVE, live_arguments};
pub use peek::{DifferenceError, Lack, NotHeld, Part, Peek, PeekError};
pub use query::{Alternative, Plan, Question, QuestionError};
pub use queue::{LogCall, Mutation, MutationKind};
pub use reactive::{ReactionId, ReactionTurn};
pub use session::{Connection, Gateway};
pub use storage::{OpenError, StorageChange};
pub use tabs::{CallAgain, CallStatus, Follower, FollowerConfig, FollowerInput, FollowerOutput, OUTBOX, TabId, Ticket};
pub use text::{EditError, NoEdit, Splice};
pub use transaction::{Closed, Content, Run, RunError, RunOf, Transaction};
pub use view::{Difference, Reader, View};
