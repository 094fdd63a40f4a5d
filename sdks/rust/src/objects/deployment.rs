//! Words of an app to the managers of an object: where it is to go, and when its copies and transactions begin and end.
//!
//! Most managers do their work by themselves. The line above the class names them:
//!
//! ```
//! use iolite::objects::sapphire;
//!
//! #[sapphire(name = "Draft", managers = [AtLeastOnceRPC { within: secs(5) }, ExplicitMigration])]
//! #[derive(Default)]
//! struct Draft {
//!     text: String,
//! }
//! ```

use iolite_values::NodeId;

use super::call_error::CallError;
use super::class::Object;
use super::reference::Ref;

/// The object moves when its app says so.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitMigration;

impl ExplicitMigration {
    /// Has an object go to a node that runs its class. Returns when it is there; calls that come meanwhile wait.
    ///
    /// Cancel safe: the object moves all the same.
    ///
    /// # Errors
    /// [`CallError`]: it stays where it is, or, if `ran` is unknown, it may have gone.
    pub async fn move_to<T: Object>(object: &Ref<T>, node: NodeId) -> Result<(), CallError> {
        say(object, "ExplicitMigration", &node.to_string()).await
    }
}

/// A node works on its own copy of the object.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitCaching;

impl ExplicitCaching {
    /// Has this node's copy be the object's state as it is now. What was not pushed is lost.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn pull<T: Object>(object: &Ref<T>) -> Result<(), CallError> {
        say(object, "ExplicitCaching", "pull").await
    }

    /// Has the object be as this node's copy is.
    ///
    /// # Errors
    /// [`CallError`]: `Conflict`, if another node has pushed since the last pull. The copy stays as it is.
    pub async fn push<T: Object>(object: &Ref<T>) -> Result<(), CallError> {
        say(object, "ExplicitCaching", "push").await
    }
}

/// Several calls of one node as one, under a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockingTransactions;

/// Several calls of one node as one, without a lock: of two that conflict one commits.
#[derive(Clone, Copy, Debug)]
pub struct OptimisticTransactions;

/// The words of an app to transactions. Their calls are those that this node makes from `begin` to the end.
macro_rules! transactions {
    ($manager:ident) => {
        impl $manager {
            /// Begins a transaction of this node. It has one at a time for each object.
            ///
            /// # Errors
            /// [`CallError`]: none has begun.
            pub async fn begin<T: Object>(object: &Ref<T>) -> Result<(), CallError> {
                say(object, stringify!($manager), "begin").await
            }

            /// Ends the transaction, and has the object be as it left it.
            ///
            /// # Errors
            /// [`CallError`]: `Conflict`, if that cannot be: nothing of it is left.
            pub async fn commit<T: Object>(object: &Ref<T>) -> Result<(), CallError> {
                say(object, stringify!($manager), "commit").await
            }

            /// Ends the transaction, of which nothing is left.
            ///
            /// # Errors
            /// [`CallError`].
            pub async fn abort<T: Object>(object: &Ref<T>) -> Result<(), CallError> {
                say(object, stringify!($manager), "abort").await
            }
        }
    };
}

transactions!(LockingTransactions);
transactions!(OptimisticTransactions);

async fn say<T: Object>(object: &Ref<T>, manager: &str, word: &str) -> Result<(), CallError> {
    Ref::manage(object, manager, word.as_bytes().to_vec()).await.map(drop)
}
