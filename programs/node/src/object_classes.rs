//! The classes of objects that a process brings for its own server, and their managers.

use std::sync::Arc;

use iolite_objects::managers::AnyManager;
use iolite_objects::{AppSide, Class, ToKernel};

/// Classes, and what runs their methods.
pub struct ObjectClasses {
    pub classes: Vec<Class>,
    /// Managers of the process's own, beside those that are built in.
    pub managers: Vec<Arc<dyn AnyManager>>,
    /// Called once, when the server runs.
    pub start: Box<dyn FnOnce(ToKernel) -> Box<dyn AppSide> + Send>,
}
