//! Managers of an app's own: who runs a call, where an object lives, and what happens when a machine ends.
//!
//! A class names its managers in the line above it. A name alone is a manager that is built in, which every host knows. A manager of an app's own has its path,
//! and is given to each host that has the class or calls its objects:
//!
//! ```
//! use std::sync::Arc;
//!
//! use iolite::objects::managers::{
//!     Answer, CallFailure, InstanceManager, Kind, Kit, Later, Manager, NotRun, Rpc, Settings, Slot,
//! };
//! use iolite::objects::{Host, sapphire};
//!
//! /// Refuses long arguments, before a method has them.
//! #[derive(Debug)]
//! struct Brief;
//!
//! impl Manager for Brief {
//!     const KIND: Kind = Kind { name: "Brief", slot: Slot::Serial, facts: &[], settings: &[("bytes", 1_000)] };
//!
//!     fn instance(&self, settings: &Settings) -> Option<Arc<dyn InstanceManager>> {
//!         Some(Arc::new(Reader { bytes: settings.get("bytes") }))
//!     }
//! }
//!
//! /// The part of it that is beside each object.
//! struct Reader {
//!     bytes: u64,
//! }
//!
//! impl InstanceManager for Reader {
//!     fn on_rpc(self: Arc<Self>, kit: Kit, call: Rpc) -> Later<Answer> {
//!         Box::pin(async move {
//!             if call.arguments.len() as u64 > self.bytes {
//!                 return Answer::Failed(CallFailure::NotRun(NotRun::TooLarge("say less".into())));
//!             }
//!             kit.next(call).await
//!         })
//!     }
//! }
//!
//! #[sapphire(name = "Note", managers = self::Brief { bytes: 20 })]
//! #[derive(Default)]
//! struct Note {
//!     text: String,
//! }
//!
//! #[sapphire::methods]
//! impl Note {
//!     fn write(&mut self, text: String) {
//!         self.text = text;
//!     }
//! }
//!
//! # #[tokio::main(flavor = "multi_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Host::embedded().class::<Note>().manager(Brief).start().await?;
//! let host = Host::connect(server.url(), server.token()).manager(Brief).start().await?;
//! let note = host.create("door", Note::default()).await?;
//! note.write("back at noon".into()).await?;
//! assert!(note.write("back when the moon is full and the tide is low".into()).await.is_err());
//! # Ok(())
//! # }
//! ```
//!
//! The compiler looks at the line above a class. Names and settings that there are not are errors, and so are managers that do not fit together:
//!
//! ```compile_fail,E0080
//! use iolite::objects::sapphire;
//!
//! // KeepInPlace and ExplicitMigration both do placement: take one of them
//! #[sapphire(name = "Draft", managers = [KeepInPlace, ExplicitMigration])]
//! struct Draft {}
//! ```
//!
//! # The two parts
//! A manager has up to two parts. Its [`Proxy`] is at each node that calls the object, and its [`InstanceManager`] is beside the object. A call goes through the
//! proxies of all managers, in the order of their [`Slot`]s, and is sent to the object. There it goes through the instance managers, in the same order, and runs.
//! A part passes a call on by [`Kit::next`], or answers it itself. The two parts talk by [`Kit::ask_owner`] and [`Kit::ask_proxy`], past all other managers.
//!
//! A part lives as long as its node has use for it: a proxy while the node calls the object, an instance manager while the object is at the node. An object that
//! moves has a new one at its new node. What a part remembers is its own, behind a lock that it never holds across an `.await`.
//!
//! # Waiting, and being given up
//! The parts run inside of the kernel. They wait for the means of their [`Kit`] and for nothing else: no clock, socket or thread, and no future of a runtime.
//! A task that waits for anything else is never run again. Work that takes long blocks the host.
//!
//! A proxy's task is dropped where it waits when the time of its call is over. An instance manager's task runs to its end, also when its caller has gone. If the
//! object goes meanwhile, each means says so by its error. A means that was asked happens, also when the task that asked it is dropped. [`Kit::spawn`] does work
//! that has to be done to its end.
//!
//! # Errors
//! An answer says whether the method ran. [`NotRun`] is for calls that a manager has refused. [`CallFailure::InDoubt`] is for those that it has passed on, and
//! of which it has heard nothing.
//!
//! # Limits
//! Hosts in TypeScript have no managers but those that are built in. They cannot have or call objects with others, and say so.

pub use iolite_machine::Instant;
pub use iolite_objects::Later;
pub use iolite_objects::managers::{
    AnyManager, BUILT_IN, Fact, InstanceManager, Kind, Kit, Manager, ManagersProblem, Message, MessageResult, Misfit,
    Proxy, Settings, Slot, Turn, message, misfit,
};
pub use iolite_values::{DeviceRight, NodeId, NodeName, ObjectEpoch, ObjectName};
pub use iolite_wire::objects::{Answer, CallFailure, CallMode, NotRun, Placed, Rpc, RpcId};
