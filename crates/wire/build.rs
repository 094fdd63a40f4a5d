//! Compiles proto/: prost's types, and the shapes that let a frame be checked before anything is allocated for it.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "it runs at build time, on the builder's machine"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost_build::Config;
use protox::prost_reflect::prost_types::FileDescriptorSet;
use protox::prost_reflect::prost_types::field_descriptor_proto::Type;

type Failure = Box<dyn std::error::Error>;

/// Large and rare parts of small and frequent messages: in boxes, so that a hostile frame of empty messages takes less memory.
const RARE_FIELDS: [&str; 27] = [
    ".iolite.wire.Value.kind.blob_tree",
    ".iolite.wire.Write.name",
    ".iolite.wire.Write.operation.set_at",
    ".iolite.wire.Write.operation.put_entry",
    ".iolite.wire.Write.operation.edit",
    ".iolite.wire.Write.operation.merge",
    ".iolite.wire.RowCell.state.merged",
    ".iolite.wire.Read.name",
    ".iolite.wire.Read.part.range",
    ".iolite.wire.Read.part.query",
    ".iolite.wire.Subscription.name",
    ".iolite.wire.Subscription.range",
    ".iolite.wire.Subscription.query",
    ".iolite.wire.NodeInterest.name",
    ".iolite.wire.NodeInterest.range",
    ".iolite.wire.NodeInterest.query",
    ".iolite.wire.Snapshot.reaches",
    ".iolite.wire.RecordedEntry.id",
    ".iolite.wire.RecordedEntry.proposal",
    ".iolite.wire.UndecidedName.id",
    ".iolite.wire.FeedCommit.id",
    ".iolite.wire.SegmentCommit.id",
    ".iolite.wire.OutboxEntry.seen",
    ".iolite.wire.Hello.centre_token",
    ".iolite.wire.Advance.clock",
    ".iolite.wire.CentreToken.clock",
    ".iolite.wire.StoredMeta.centre_token",
];

fn main() -> Result<(), Failure> {
    println!("cargo::rerun-if-changed=proto");
    let mut files = Vec::new();
    find_files(Path::new("proto"), &mut files)?;
    files.sort();
    let descriptors = protox::compile(&files, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("shapes.rs"), shapes(&descriptors)?)?;
    let mut config = Config::new();
    for field in RARE_FIELDS {
        config.boxed(field);
    }
    config.compile_fds(descriptors)?;
    Ok(())
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            files.push(path);
        }
    }
    Ok(())
}

/// Which fields of which message hold which message: a table, and a constant a message for its place in it.
fn shapes(descriptors: &FileDescriptorSet) -> Result<String, Failure> {
    let messages: BTreeMap<String, _> = descriptors
        .file
        .iter()
        .flat_map(|file| &file.message_type)
        .map(|each| (each.name().to_owned(), each))
        .collect();
    let place = |type_name: &str| {
        let name = type_name.rsplit('.').next().unwrap_or("");
        messages.keys().position(|own| own == name).ok_or(format!("{type_name} is nested or imported"))
    };
    let mut constants = String::new();
    let mut table = String::from("pub(crate) static SHAPES: &[&[(u32, Shape)]] = &[\n");
    for (at, (name, message)) in messages.iter().enumerate() {
        writeln!(constants, "pub(crate) const {}: Shape = Shape({at});", constant_name(name))?;
        table.push_str("    &[");
        for field in message.field.iter().filter(|field| field.r#type() == Type::Message) {
            write!(table, "({}, Shape({})), ", field.number(), place(field.type_name())?)?;
        }
        table.push_str("],\n");
    }
    writeln!(table, "];")?;
    Ok(constants + &table)
}

fn constant_name(name: &str) -> String {
    let mut constant = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !constant.is_empty() {
            constant.push('_');
        }
        constant.push(character.to_ascii_uppercase());
    }
    constant
}
