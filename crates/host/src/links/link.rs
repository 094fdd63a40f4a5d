//! One open link: a task that writes what waits, reads what comes, and notices when the peer is gone.
//!
//! Invariants:
//! - reading never waits for writing, nor writing for reading: a peer that does not read is still heard;
//! - everything that waits is written together, and everything that was read together is handed over together;
//! - a peer of which nothing is heard is given up; one that is not listened to, because the machine has no room, is not.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::channel::Channel;
use super::delivery::{Batch, Delivery};
use super::frames::{FrameKind, Received};
use super::life::Life;
use super::outbox::Waiting;
use super::registry::Post;
use super::{LinkEvent, LinkHandler, LinkIncoming, LinkNumber};
use crate::mailbox::LETTER_BYTES_MIN;
use crate::{Codec, Stop};

/// Reads and writes before other tasks have their turn.
const ROUNDS_AT_ONCE: usize = 16;
/// How long a closing link may take to send what waits.
pub(crate) const CLOSE_LINK_WITHIN: Duration = Duration::from_secs(1);

pub(crate) struct Link<H: LinkHandler> {
    pub number: LinkNumber,
    pub handler: H,
    pub channel: Channel,
    pub decoder: H::Codec,
    pub received: Received,
    pub delivery: Delivery<H::Input>,
    pub batch: Batch<H::Input>,
    pub post: Arc<Post<H>>,
    pub writing: Writing,
    pub reading: Reading,
    pub life: Life,
}

/// What is being written.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    frames: Waiting,
    written: usize,
    flush: Flush,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Flush {
    #[default]
    Nothing,
    Due,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Open,
    /// The link is closing: whatever comes is not read.
    Over,
}

/// Why a link ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    #[error("this node stops")]
    Stopped,
    #[error("this node closed it")]
    Closed,
    #[error("the peer closed it")]
    ClosedByPeer,
    #[error("the peer said goodbye: {0}")]
    Goodbye(String),
    #[error("nothing was heard of the peer")]
    Silent,
    #[error("the peer sent what makes no sense: {0}")]
    Garbled(String),
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
}

impl<H: LinkHandler> Link<H> {
    /// Serves the link to its end.
    pub async fn run(&mut self, mut stop: Stop) -> End {
        let post = self.post.clone();
        let end = tokio::select! {
            biased;
            () = stop.wait() => End::Stopped,
            () = post.outbox.closing() => End::Closed,
            end = poll_fn(|context| self.poll(context)) => end,
        };
        match &end {
            End::Stopped => self.close("this node stops").await,
            End::Garbled(problem) => self.close(problem).await,
            End::Closed => self.close("closed").await,
            End::ClosedByPeer | End::Goodbye(_) | End::Silent | End::Broken(_) => {}
        }
        end
    }

    /// Counts what was to be sent and will not be.
    pub fn abandon(&self) {
        let begun = if self.writing.frames.bytes.is_empty() { 0 } else { self.writing.frames.messages };
        self.post.traffic.down.add(begun + self.post.outbox.abandon());
    }

    /// Hands over what was received before the end.
    pub async fn finish(&mut self, mut stop: Stop) {
        tokio::select! {
            biased;
            () = stop.wait() => {}
            () = poll_fn(|context| self.delivery.poll_empty(context)) => {}
        }
    }

    /// Sends what waits, and a goodbye unless there was one.
    async fn close(&mut self, goodbye: &str) {
        self.post.outbox.close(goodbye);
        self.reading = Reading::Over;
        let closing = async {
            while poll_fn(|context| self.poll_write(context)).await.is_ok() {}
            let _ = self.channel.shutdown().await;
        };
        let _ = tokio::time::timeout(CLOSE_LINK_WITHIN, closing).await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        match self.poll_rounds(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(end)) => Poll::Ready(end),
            Poll::Ready(Ok(())) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    /// Ready when there was still something to do.
    fn poll_rounds(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        self.poll_life(context)?;
        for _ in 0..ROUNDS_AT_ONCE {
            let wrote = self.poll_write(context)?.is_ready();
            let read = self.poll_read(context)?.is_ready();
            if !wrote && !read {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_life(&mut self, context: &mut Context<'_>) -> Result<(), End> {
        while self.life.poll_tick(context).is_ready() {
            self.post.outbox.keep_alive();
            if self.life.is_over() {
                return Err(End::Silent);
            }
        }
        Ok(())
    }

    /// Ready when something was written, or taken to be.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        let rest = &self.writing.frames.bytes[self.writing.written..];
        if !rest.is_empty() {
            let count = ready!(Pin::new(&mut self.channel).poll_write(context, rest))?;
            if count == 0 {
                return Poll::Ready(Err(End::Broken(io::ErrorKind::WriteZero.into())));
            }
            self.on_written(count);
            return Poll::Ready(Ok(()));
        }
        match self.post.outbox.poll_take(context, &mut self.writing.frames) {
            Poll::Ready(Some(())) => {
                self.writing.written = 0;
                Poll::Ready(Ok(()))
            }
            Poll::Ready(None) => {
                ready!(self.poll_flush(context))?;
                Poll::Ready(Err(End::Closed))
            }
            Poll::Pending if self.writing.flush == Flush::Due => self.poll_flush(context),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        ready!(Pin::new(&mut self.channel).poll_flush(context))?;
        self.writing.flush = Flush::Nothing;
        Poll::Ready(Ok(()))
    }

    fn on_written(&mut self, count: usize) {
        let Writing { frames, written, flush } = &mut self.writing;
        *written += count;
        *flush = Flush::Due;
        let traffic = &self.post.traffic;
        traffic.bytes_out.add(count as u64);
        if *written == frames.bytes.len() {
            traffic.messages_out.add(frames.messages);
            // Empty, and its room is kept for what comes next.
            frames.bytes.clear();
            *written = 0;
        }
    }

    /// Ready when something was read.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        if self.reading == Reading::Over {
            return Poll::Pending;
        }
        self.life.not_listening();
        ready!(self.delivery.poll_room(context));
        self.life.listening();
        let mut room = ReadBuf::new(self.received.room());
        ready!(Pin::new(&mut self.channel).poll_read(context, &mut room))?;
        let count = room.filled().len();
        if count == 0 {
            return Poll::Ready(Err(End::ClosedByPeer));
        }
        self.life.heard();
        self.received.add(count);
        self.post.traffic.bytes_in.add(count as u64);
        let taken = self.take_frames();
        self.post.traffic.messages_in.add(self.batch.inputs.len() as u64);
        self.delivery.add(&mut self.batch);
        Poll::Ready(taken)
    }

    /// Makes a batch of the frames that are whole.
    fn take_frames(&mut self) -> Result<(), End> {
        while let Some((kind, payload)) = self.received.next().map_err(|error| End::Garbled(error.to_string()))? {
            match kind {
                FrameKind::Message => {
                    let message: LinkIncoming<H> = self.decoder.decode(payload).map_err(End::Garbled)?;
                    self.batch.bytes += payload.len().max(LETTER_BYTES_MIN);
                    self.batch.inputs.extend(self.handler.input(self.number, LinkEvent::Message(message)));
                }
                FrameKind::KeepAlive => {}
                FrameKind::Goodbye => {
                    let text = String::from_utf8_lossy(payload);
                    return Err(End::Goodbye(text.chars().filter(|character| !character.is_control()).collect()));
                }
            }
        }
        Ok(())
    }
}
