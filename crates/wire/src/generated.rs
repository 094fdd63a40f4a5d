//! What build.rs makes of proto/: prost's types, and the shapes of the messages.

/// A message of proto/: its place in [`shapes::SHAPES`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape(pub usize);

#[allow(dead_code, reason = "a constant a message, also of those that are only parts of others")]
pub(crate) mod shapes {
    //! Which fields of which message hold which message.
    use super::Shape;
    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}

#[allow(clippy::all, clippy::pedantic, missing_docs, rustdoc::all, reason = "generated")]
pub(crate) mod proto {
    //! prost's types.
    include!(concat!(env!("OUT_DIR"), "/iolite.wire.rs"));
}
