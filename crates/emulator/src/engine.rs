//! The engine: messages, the graphs of modules that they run through, triggers, and the node that runs them.
//!
//! Source: Perkins 2015, section 4.3.

mod deployment;
mod kinds;
mod message;
mod node;
mod outputs;
mod program;

pub use deployment::{Deployment, NodeId};
pub use kinds::{Kind, Kinds};
pub use message::{Answer, Asked, Content, Key, Message, OperationId, Refusal, Version, Volume, scattered};
pub use node::{Node, NodeInput, NodeOutput, reply};
pub use outputs::{DiskOrder, Outputs};
pub use program::{End, Handler, Program, StateTrigger, Step, Target, TimeTrigger};
