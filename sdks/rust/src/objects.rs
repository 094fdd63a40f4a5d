//! Objects that run anywhere: a class says where its objects live and what devices may do with them, and callers need not know where an object is.
//!
//! ```
//! use iolite::objects::{CallError, Context, Host, Ref, sapphire};
//! use serde::{Deserialize, Serialize};
//!
//! #[sapphire(name = "User")]
//! #[derive(Default)]
//! struct User {
//!     told: Vec<String>,
//! }
//!
//! #[sapphire::methods]
//! impl User {
//!     #[read]
//!     fn told(&self) -> Vec<String> {
//!         self.told.clone()
//!     }
//!
//!     fn notify(&mut self, list: String) {
//!         self.told.push(list);
//!     }
//! }
//!
//! #[sapphire(name = "TodoList")]
//! #[derive(Default)]
//! struct TodoList {
//!     items: Vec<String>,
//!     shared_with: Vec<Ref<User>>,
//! }
//!
//! #[derive(Debug, Serialize, Deserialize)]
//! struct Full;
//!
//! #[sapphire::methods]
//! impl TodoList {
//!     #[read]
//!     fn items(&self) -> Vec<String> {
//!         self.items.clone()
//!     }
//!
//!     fn share(&mut self, user: Ref<User>) {
//!         self.shared_with.push(user);
//!     }
//!
//!     fn add(&mut self, text: String) -> Result<(), Full> {
//!         if self.items.len() == 100 {
//!             return Err(Full);
//!         }
//!         self.items.push(text);
//!         Ok(())
//!     }
//!
//!     async fn tell_all(&mut self, cx: &Context) -> Result<(), CallError> {
//!         for user in &self.shared_with {
//!             user.notify(cx.id()).await?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "multi_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A server inside of the process, which runs both classes.
//! let server = Host::embedded().class::<User>().class::<TodoList>().start().await?;
//! // A program that dials it, and calls.
//! let host = Host::connect(server.url(), server.token()).start().await?;
//!
//! let ann: Ref<User> = host.create("ann", User::default()).await?;
//! let list: Ref<TodoList> = host.get("home", TodoList::default).await?;
//! list.add("milk".into()).await.expect("the list is not full");
//! list.share(ann.clone()).await?;
//! list.tell_all().await?;
//! assert_eq!(list.items().await?, ["milk"]);
//! assert_eq!(ann.told().await?, ["home"]);
//! # host.stop().await?;
//! # server.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Source: Zhang 2017, chapter 2 (Sapphire). docs/protocols/objects.md walks through it.

mod builder;
mod call_error;
mod cbor;
mod class;
mod context;
mod create_error;
pub mod deployment;
#[doc(hidden)]
pub mod generated;
mod host;
mod host_error;
mod host_task;
pub mod managers;
mod node;
mod reference;
mod runner;
mod tokens;

pub use builder::HostBuilder;
pub use call_error::{CallError, NoError, NotRun, Ran, RpcId};
pub use class::{Methods, Object};
pub use context::Context;
pub use create_error::CreateError;
pub use host::Host;
pub use host_error::HostError;
pub use iolite_derive::sapphire;
pub use iolite_values::{DeviceRight, NodeId, ObjectName, ObjectNameError};
pub use reference::Ref;

/// The second half of the macro [`sapphire`](macro@sapphire).
pub mod sapphire {
    pub use iolite_derive::methods;
}
