//! What a client keeps on its device.
