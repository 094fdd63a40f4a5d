//! The classes of objects that a process brings for its own server.

use iolite_objects::{AppSide, Class, ToKernel};

/// Classes, and what runs their methods.
pub struct ObjectClasses {
    pub classes: Vec<Class>,
    /// Called once, when the server runs.
    pub start: Box<dyn FnOnce(ToKernel) -> Box<dyn AppSide> + Send>,
}
