//! Records of a replica's journal, and chunks of its checkpoints.
