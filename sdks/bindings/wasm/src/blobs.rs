//! Blobs in chunks: cut in the page, read in the page, and carried by the core between the device and `/blobs`.

use std::ops::Range;

use iolite_blobs::{Builder, Chunk, Finished, Walk};
use iolite_client::{BlobInput, DownloadNumber, Input, UploadNumber};
use iolite_values::{Blob, ChunkId, Id};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::blob::{blob_of_text, made};
use crate::core::Core;
use crate::failure::Failure;

/// Cuts a stream into chunks. Store what [`BlobBuilder::pop`] returns before more is pushed.
#[wasm_bindgen]
pub struct BlobBuilder {
    builder: Option<Builder>,
    finished: Option<Finished>,
}

#[wasm_bindgen]
impl BlobBuilder {
    #[wasm_bindgen(constructor)]
    pub fn new() -> BlobBuilder {
        BlobBuilder { builder: Some(Builder::new()), finished: None }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Code `call`: more than 64 GiB, or the stream has ended.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), JsValue> {
        let builder = self.builder.as_mut().ok_or_else(|| failure("the stream has ended"))?;
        Ok(builder.push(bytes).map_err(|error| failure(&error.to_string()))?)
    }

    /// The next chunk to be stored: its id and its content. `undefined`: there is none now.
    pub fn pop(&mut self) -> Option<Array> {
        let of_builder = self.builder.as_mut().and_then(Builder::pop);
        let Chunk { id, content } = of_builder.or_else(|| self.finished.as_mut().and_then(Finished::pop))?;
        Some(Array::of2(&chunk_to_js(id), &Uint8Array::from(&content[..])))
    }

    /// Ends the stream, and gives the blob. Its last chunks are still to be stored.
    ///
    /// # Errors
    /// Code `call`: it had ended.
    pub fn finish(&mut self) -> Result<JsValue, JsValue> {
        let builder = self.builder.take().ok_or_else(|| failure("the stream has ended"))?;
        let finished = builder.finish().map_err(|error| failure(&error.to_string()))?;
        let blob = made(&finished.blob).ok_or_else(|| failure("nobody said how blobs are made"))?;
        self.finished = Some(finished);
        Ok(blob)
    }
}

impl Default for BlobBuilder {
    fn default() -> BlobBuilder {
        BlobBuilder::new()
    }
}

/// The chunks of a part of a blob, in the order of the content.
#[wasm_bindgen]
pub struct BlobWalk {
    walk: Walk,
    bytes: Range<u64>,
}

#[wasm_bindgen]
impl BlobWalk {
    /// Through these bytes of a blob, which is a text.
    ///
    /// # Errors
    /// Code `call`: the text is none of a blob.
    #[wasm_bindgen(constructor)]
    pub fn new(blob: &str, from: f64, to: f64) -> Result<BlobWalk, JsValue> {
        let blob = read_blob(blob)?;
        let bytes = from as u64..(to as u64).min(blob.length());
        Ok(BlobWalk { walk: Walk::of_range(&blob, bytes.clone()), bytes })
    }

    /// The next chunk: its id, whether it is a node, and which bytes of it are in the part. A node is [entered](BlobWalk::enter) before the next
    /// chunk is asked for, or passed over. `undefined`: there is none.
    pub fn next(&mut self) -> Option<Array> {
        let met = self.walk.next()?;
        let begins = met.place.index * 65_536;
        let within = |at: u64| JsValue::from_f64(at.saturating_sub(begins).min(65_536) as f64);
        let (from, to) = (within(self.bytes.start), within(self.bytes.end));
        Some(Array::of4(&chunk_to_js(met.name.id), &JsValue::from_bool(met.is_node()), &from, &to))
    }

    /// Goes into the node that was met last.
    ///
    /// # Errors
    /// Code `failed`: this is not its content.
    pub fn enter(&mut self, content: &[u8]) -> Result<(), JsValue> {
        Ok(self.walk.enter(content).map_err(|error| Failure::of_transaction(error.to_string()))?)
    }
}

/// Whether a content is that of a chunk.
#[wasm_bindgen(js_name = isChunk)]
pub fn is_chunk(id: &str, content: &[u8]) -> bool {
    chunk_from_js(id).is_ok_and(|id| ChunkId::of(content) == id)
}

#[wasm_bindgen]
impl Core {
    /// The link to `/blobs` that was asked for is there.
    #[wasm_bindgen(js_name = blobsLinked)]
    pub fn blobs_linked(&mut self, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::Blobs(BlobInput::Linked))
    }

    /// The link to `/blobs` is gone, or could not be made.
    #[wasm_bindgen(js_name = blobsLost)]
    pub fn blobs_lost(&mut self, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::Blobs(BlobInput::LinkLost))
    }

    /// A frame came on it.
    #[wasm_bindgen(js_name = blobsFrame)]
    pub fn blobs_frame(&mut self, bytes: Vec<u8>, monotonic_ms: f64, wall_ms: f64) -> Result<(), JsValue> {
        self.lead(monotonic_ms, wall_ms, Input::Blobs(BlobInput::Frame(bytes)))
    }

    /// A chunk that an upload asked for. `undefined`: the device does not have it.
    #[wasm_bindgen(js_name = chunkLoaded)]
    pub fn chunk_loaded(
        &mut self,
        upload: f64,
        chunk: &str,
        content: Option<Vec<u8>>,
        monotonic_ms: f64,
        wall_ms: f64,
    ) -> Result<(), JsValue> {
        let (upload, chunk) = (UploadNumber(upload as u64), chunk_from_js(chunk)?);
        self.lead(monotonic_ms, wall_ms, Input::Blobs(BlobInput::Loaded { upload, chunk, content }))
    }

    /// A chunk that a download looked for. `undefined`: the device does not have it.
    #[wasm_bindgen(js_name = chunkLooked)]
    pub fn chunk_looked(
        &mut self,
        download: u16,
        chunk: &str,
        content: Option<Vec<u8>>,
        monotonic_ms: f64,
        wall_ms: f64,
    ) -> Result<(), JsValue> {
        let (download, chunk) = (DownloadNumber(download), chunk_from_js(chunk)?);
        self.lead(monotonic_ms, wall_ms, Input::Blobs(BlobInput::Looked { download, chunk, content }))
    }

    /// Begins to fetch these bytes of the blob of a cell, and gives the number of the fetch.
    ///
    /// # Errors
    /// Code `call`.
    #[wasm_bindgen(js_name = fetchBlob)]
    pub fn fetch_blob(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        blob: &str,
        from: f64,
        to: f64,
    ) -> Result<u16, JsValue> {
        let blob = read_blob(blob)?;
        let layout = self.layouts.get(table as usize).ok_or_else(|| failure("there is no such table"))?;
        let (cell, _) = layout.cell(key, column)?;
        Ok(self.role.client()?.fetch(&cell, &blob, from as u64..to as u64).0)
    }

    /// Gives up a fetch.
    #[wasm_bindgen(js_name = stopFetching)]
    pub fn stop_fetching(&mut self, download: u16) -> Result<(), JsValue> {
        self.role.client()?.stop_fetching(DownloadNumber(download));
        Ok(())
    }

    /// Why calls with blobs are not sent at the moment.
    #[wasm_bindgen(js_name = blobsWait)]
    pub fn blobs_wait(&mut self) -> Result<Option<String>, JsValue> {
        Ok(self.role.client()?.blobs_wait())
    }
}

fn read_blob(text: &str) -> Result<Blob, Failure> {
    blob_of_text(text).ok_or_else(|| failure("this is no blob"))
}

/// An id of a chunk is a text for JavaScript.
pub(crate) fn chunk_to_js(id: ChunkId) -> JsValue {
    JsValue::from_str(&Id::from_bytes(id.to_bytes()).to_string())
}

fn chunk_from_js(text: &str) -> Result<ChunkId, Failure> {
    let id: Id = text.parse().map_err(|_| failure("this names no chunk"))?;
    Ok(ChunkId::from_bytes(id.to_bytes()))
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure::of_transaction(message)
}
