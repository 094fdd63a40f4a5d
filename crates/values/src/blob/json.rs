//! Blobs in JSON, for arguments of calls: `{"$blob": "00ff"}` for one that lies in its cell, and `{"$blob": {..}}` for the root of a tree.
//!
//! Invariant: what a blob becomes, reads back as that blob with the same leases.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::{Blob, BlobDigest, BlobError, ChunkId, ChunkName, Chunks, Cutting, LeaseName, Tree};
use crate::Id;
use crate::json::{bytes, hexadecimal};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobJson {
    #[serde(rename = "$blob")]
    content: Content,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Content {
    Inline(String),
    Tree(TreeJson),
}

/// Ids of chunks are written as ids.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeJson {
    cutting: u8,
    depth: u8,
    digest: String,
    leases: Vec<Id>,
    length: u64,
    root: Vec<(u8, Id)>,
}

impl Blob {
    /// Whether JSON without white space holds a blob. Text that looks like one has its quotes escaped.
    pub fn is_in_json(json: &str) -> bool {
        json.contains(r#""$blob":"#)
    }

    pub(crate) fn to_json(&self) -> Json {
        serde_json::to_value(self).expect("strings and numbers are JSON")
    }

    /// `None`: it is no blob.
    pub(crate) fn from_json(json: &Json) -> Option<Blob> {
        Blob::deserialize(json).ok()
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let content = match &self.chunks {
            Chunks::Inline(bytes) => Content::Inline(hexadecimal(bytes)),
            Chunks::Tree(tree) => Content::Tree(TreeJson {
                cutting: tree.cutting.number(),
                depth: tree.depth,
                digest: self.digest.to_string(),
                leases: tree.leases.iter().map(|lease| lease.0).collect(),
                length: self.length,
                root: tree.root.iter().map(|name| (name.lease, Id::from_bytes(name.id.0))).collect(),
            }),
        };
        BlobJson { content }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blob, D::Error> {
        match BlobJson::deserialize(deserializer)?.content {
            Content::Inline(content) => {
                let content = bytes(&content).ok_or_else(|| D::Error::custom("a blob is hexadecimal digits"))?;
                Blob::inline(content).map_err(D::Error::custom)
            }
            Content::Tree(tree) => {
                let digest = bytes(&tree.digest).and_then(|digest| digest.try_into().ok());
                let digest = digest.ok_or_else(|| D::Error::custom("a digest is 64 hexadecimal digits"))?;
                tree.read(BlobDigest::from_bytes(digest)).map_err(D::Error::custom)
            }
        }
    }
}

impl TreeJson {
    fn read(self, digest: BlobDigest) -> Result<Blob, BlobError> {
        let cutting = Cutting::from_number(self.cutting).ok_or(BlobError::UnknownCutting { number: self.cutting })?;
        let leases = self.leases.into_iter().map(LeaseName).collect();
        let name = |(lease, id): (u8, Id)| ChunkName { lease, id: ChunkId::from_bytes(id.to_bytes()) };
        let tree = Tree::new(cutting, self.depth, leases, self.root.into_iter().map(name).collect())?;
        Blob::tree(self.length, digest, tree)
    }
}
