//! The task of `/blobs`: carries frames between the core and a gateway, and chunks between the core and the device.
//!
//! Invariant: orders are carried out one after the other, so a chunk is kept before a fetch is said to have ended.

use std::sync::{Arc, Weak};

use iolite_client::{BlobInput, BlobOutput, Gateway, Input};
use tokio::sync::Notify;

use crate::chunks::{Chunks, Keep};
use crate::link::{Link, LinkEvent};
use crate::shared::Shared;

/// Runs until the client is dropped.
pub(crate) async fn run(client: Weak<Shared>, urls: Vec<String>, chunks: Chunks, wake: Arc<Notify>) {
    let urls: Vec<String> = urls.iter().map(|url| beside(url, "blobs")).collect();
    let mut link = Link::None;
    loop {
        let Some(shared) = client.upgrade() else { break };
        let orders = shared.take_blob_orders();
        let mut inputs = Vec::new();
        for order in orders {
            obey(order, &mut link, &urls, &chunks, &shared, &mut inputs).await;
        }
        if !inputs.is_empty() {
            shared.happened(inputs);
            continue;
        }
        drop(shared);
        let mut events = Vec::new();
        tokio::select! {
            biased;
            () = wake.notified() => {}
            event = link.event() => link.on_event(event, &mut events),
        }
        if let Some(shared) = client.upgrade()
            && !events.is_empty()
        {
            shared.happened(events.into_iter().map(|event| heard(event, &shared)));
        }
    }
    link.close().await;
}

/// The address of `/blobs` or `/objects` beside that of `/sync`.
pub(crate) fn beside(url: &str, path: &str) -> String {
    let folder = url.rsplit_once('/').map_or(url, |(folder, _)| folder);
    format!("{folder}/{path}")
}

fn heard(event: LinkEvent, shared: &Shared) -> Input {
    Input::Blobs(match event {
        LinkEvent::Linked => BlobInput::Linked,
        LinkEvent::Lost(_) => BlobInput::LinkLost,
        LinkEvent::Frame(frame) => {
            shared.blob_traffic.received(frame.len());
            BlobInput::Frame(frame)
        }
    })
}

async fn obey(
    order: BlobOutput,
    link: &mut Link,
    urls: &[String],
    chunks: &Chunks,
    shared: &Shared,
    inputs: &mut Vec<Input>,
) {
    match order {
        BlobOutput::Connect(Gateway(place)) => link.connect(urls[usize::from(place)].clone()),
        BlobOutput::Disconnect => link.drop_it(),
        BlobOutput::Send(frame) => {
            if link.is_open() {
                shared.blob_traffic.sent(frame.len());
                link.send(frame);
            }
        }
        BlobOutput::Load { upload, chunk } => {
            let content = chunks.load(chunk).await;
            inputs.push(Input::Blobs(BlobInput::Loaded { upload, chunk, content }));
        }
        BlobOutput::Look { download, chunk } => {
            let content = chunks.load(chunk).await;
            inputs.push(Input::Blobs(BlobInput::Looked { download, chunk, content }));
        }
        BlobOutput::Keep { chunk, content } => {
            // Who reads it finds that it is not there, and says so.
            if let Err(error) = chunks.keep(chunk, content, Keep::AsItGoes).await {
                tracing::warn!(%chunk, %error, "a chunk cannot be kept on this device");
            }
        }
        BlobOutput::Fetched { download, result } => shared.fetched(download, result),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn blobs_are_beside_the_sessions() {
        assert_eq!(super::beside("ws://127.0.0.1:7777/sync", "blobs"), "ws://127.0.0.1:7777/blobs");
        assert_eq!(super::beside("wss://example.org/app/sync", "objects"), "wss://example.org/app/objects");
    }
}
