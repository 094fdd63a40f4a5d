//! What waits to be sent on one link: whole frames, one after another, as they will be written.
//!
//! Invariants:
//! - whoever sends never waits: what does not fit is dropped, and the answer says so;
//! - what waits is bounded in bytes: the limit, and one frame that began below it;
//! - a message is encoded only once it is sure to be sent on this link or none, so a codec may remember what it said.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use super::frames::{FrameKind, GOODBYE_BYTES_MAX, HEADER_BYTES, header};
use crate::Codec;

/// A buffer that many messages have made larger than this is made small again behind them.
const KEPT_BYTES: usize = 1 << 20;

/// Shared by those who send and the link's task.
#[derive(Debug)]
pub(crate) struct Outbox<C> {
    queue: Mutex<Queue<C>>,
    bytes_max: usize,
    /// What the peer takes.
    frame_bytes_max: usize,
    /// Told once, also while the link's task waits for its peer.
    closing: Notify,
}

#[derive(Debug)]
struct Queue<C> {
    codec: C,
    waiting: Waiting,
    /// Bytes that the link's task has taken, perhaps not written yet.
    taken: usize,
    state: State,
    /// The link's task, when it has nothing to write.
    waker: Option<Waker>,
}

/// Frames, and how many of them are messages.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub bytes: Vec<u8>,
    pub messages: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing is taken any more.
    Closed,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Queued,
    /// Too much waits already.
    Full,
    /// The link is closed.
    Closed,
    /// It cannot be a frame, and why.
    Unsendable(String),
}

impl<C: Codec> Outbox<C> {
    pub fn new(codec: C, bytes_max: usize, frame_bytes_max: usize) -> Outbox<C> {
        let queue = Queue { codec, waiting: Waiting::default(), taken: 0, state: State::Open, waker: None };
        Outbox { queue: Mutex::new(queue), bytes_max, frame_bytes_max, closing: Notify::new() }
    }

    pub fn send(&self, message: &C::Outgoing) -> Sent {
        let mut queue = self.lock();
        if queue.state == State::Closed {
            return Sent::Closed;
        }
        if queue.waiting.bytes.len() + queue.taken >= self.bytes_max {
            return Sent::Full;
        }
        match queue.append(message, self.frame_bytes_max) {
            Ok(()) => {}
            Err(problem) => return Sent::Unsendable(problem),
        }
        let waker = queue.waker.take();
        drop(queue);
        waker.into_iter().for_each(Waker::wake);
        Sent::Queued
    }

    /// Closes the link behind what waits, with a sentence for the people of the other side.
    pub fn close(&self, goodbye: &str) {
        let mut queue = self.lock();
        if queue.state == State::Open {
            queue.state = State::Closed;
            queue.append_goodbye(goodbye);
        }
        drop(queue);
        self.closing.notify_one();
    }

    /// Returns once the link is to be closed. For the link's task alone.
    pub async fn closing(&self) {
        self.closing.notified().await;
    }

    /// Exchanges what waits for an empty buffer, once something does; `None` when nothing will any more. Everything taken before has been
    /// written.
    pub fn poll_take(&self, context: &mut Context<'_>, buffer: &mut Waiting) -> Poll<Option<()>> {
        let mut queue = self.lock();
        queue.taken = 0;
        if queue.waiting.bytes.is_empty() {
            if queue.state == State::Closed {
                return Poll::Ready(None);
            }
            queue.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        buffer.bytes.clear();
        if buffer.bytes.capacity() > KEPT_BYTES && queue.waiting.bytes.len() < KEPT_BYTES {
            buffer.bytes.shrink_to(0);
        }
        buffer.messages = 0;
        std::mem::swap(&mut queue.waiting, buffer);
        queue.taken = buffer.bytes.len();
        Poll::Ready(Some(()))
    }

    /// Ends it: tells how many messages it still held, which are lost.
    pub fn abandon(&self) -> u64 {
        let mut queue = self.lock();
        queue.state = State::Closed;
        std::mem::take(&mut queue.waiting).messages
    }

    /// Adds a sign of life, unless something waits that is one.
    pub fn keep_alive(&self) {
        let mut queue = self.lock();
        if queue.waiting.bytes.is_empty() && queue.state == State::Open {
            queue.waiting.bytes.extend_from_slice(&header(FrameKind::KeepAlive, 0));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Codec> Queue<C> {
    fn append(&mut self, message: &C::Outgoing, frame_bytes_max: usize) -> Result<(), String> {
        let bytes = &mut self.waiting.bytes;
        let start = bytes.len();
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        let encoded = self.codec.encode_into(message, bytes);
        let payload = bytes.len() - start - HEADER_BYTES;
        let length = u32::try_from(payload).ok().filter(|_| payload <= frame_bytes_max);
        let header = match (encoded, length) {
            (Ok(()), Some(length)) => header(FrameKind::Message, length),
            (Ok(()), None) => {
                bytes.truncate(start);
                return Err(format!("a message of {payload} bytes, and the peer takes at most {frame_bytes_max}"));
            }
            (Err(problem), _) => {
                bytes.truncate(start);
                return Err(problem);
            }
        };
        bytes[start..start + HEADER_BYTES].copy_from_slice(&header);
        self.waiting.messages += 1;
        Ok(())
    }

    fn append_goodbye(&mut self, goodbye: &str) {
        let payload: String = goodbye.chars().take(GOODBYE_BYTES_MAX / 4).collect();
        let length = u32::try_from(payload.len()).expect("it was cut");
        self.waiting.bytes.extend_from_slice(&header(FrameKind::Goodbye, length));
        self.waiting.bytes.extend_from_slice(payload.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes;

    impl Codec for Bytes {
        type Incoming = Vec<u8>;
        type Outgoing = Vec<u8>;

        fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
            Ok(frame.to_vec())
        }

        fn encode(&mut self, message: &Vec<u8>) -> Result<Vec<u8>, String> {
            match message.first() {
                Some(0) => Err("it begins with zero".into()),
                Some(_) | None => Ok(message.clone()),
            }
        }
    }

    fn take(outbox: &Outbox<Bytes>) -> Poll<Option<Vec<u8>>> {
        let mut waiting = Waiting::default();
        let taken = outbox.poll_take(&mut Context::from_waker(Waker::noop()), &mut waiting);
        taken.map(|some| some.map(|()| waiting.bytes))
    }

    #[test]
    fn what_waits_for_a_link_is_bounded_and_the_rest_is_dropped() {
        let outbox = Outbox::new(Bytes, 30, 20);
        let sent: Vec<Sent> = (0..4).map(|_| outbox.send(&vec![7; 10])).collect();
        assert_eq!(sent, [Sent::Queued, Sent::Queued, Sent::Full, Sent::Full]);
        let frame = [&[10, 0, 0, 0, 1][..], &[7; 10]].concat();
        assert_eq!(take(&outbox), Poll::Ready(Some([frame.clone(), frame].concat())));
        assert_eq!(outbox.send(&vec![7; 10]), Sent::Full, "what was taken counts until more is taken");
        assert_eq!(take(&outbox), Poll::Pending);
        assert_eq!(outbox.send(&vec![7; 10]), Sent::Queued);
    }

    #[test]
    fn a_message_that_cannot_be_sent_leaves_nothing_behind() {
        let outbox = Outbox::new(Bytes, 1000, 20);
        assert_eq!(outbox.send(&vec![0]), Sent::Unsendable("it begins with zero".into()));
        assert!(matches!(outbox.send(&vec![1; 21]), Sent::Unsendable(_)));
        assert_eq!(take(&outbox), Poll::Pending);
        assert_eq!(outbox.send(&vec![1; 20]), Sent::Queued);
    }

    #[test]
    fn a_closed_link_sends_what_waits_and_a_goodbye_and_takes_no_more() {
        let outbox = Outbox::new(Bytes, 1000, 20);
        assert_eq!(outbox.send(&vec![1]), Sent::Queued);
        outbox.close("bye");
        outbox.close("again");
        outbox.keep_alive();
        assert_eq!(outbox.send(&vec![1]), Sent::Closed);
        assert_eq!(take(&outbox), Poll::Ready(Some(b"\x01\0\0\0\x01\x01\x03\0\0\0\x03bye".to_vec())));
        assert_eq!(take(&outbox), Poll::Ready(None));
    }

    #[test]
    fn what_an_abandoned_link_held_is_told_and_nothing_comes_to_it() {
        let outbox = Outbox::new(Bytes, 1000, 20);
        outbox.keep_alive();
        (0..3).for_each(|_| assert_eq!(outbox.send(&vec![1]), Sent::Queued));
        assert_eq!(outbox.abandon(), 3);
        assert_eq!(outbox.abandon(), 0);
        assert_eq!(outbox.send(&vec![1]), Sent::Closed);
    }

    #[test]
    fn a_sign_of_life_is_sent_only_where_nothing_else_waits() {
        let outbox = Outbox::new(Bytes, 1000, 20);
        outbox.keep_alive();
        outbox.keep_alive();
        assert_eq!(take(&outbox), Poll::Ready(Some(vec![0, 0, 0, 0, 2])));
        assert_eq!(outbox.send(&vec![]), Sent::Queued);
        outbox.keep_alive();
        assert_eq!(take(&outbox), Poll::Ready(Some(vec![0, 0, 0, 0, 1])));
    }
}
