//! Both directions of a message socket in one task, so that neither waits for the other and no thread stands between.
//!
//! Invariant: messages leave in the order of [`Duplex::push`]; giving up [`Duplex::event`] loses nothing.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Sink, Stream};

/// A socket of messages `M`, and what waits to be sent on it.
#[derive(Debug)]
pub struct Duplex<S, M> {
    socket: S,
    waiting: VecDeque<M>,
    taken: usize,
    flush: Flush,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    Nothing,
    Due,
}

/// What happened on a socket.
#[derive(Debug)]
pub enum DuplexEvent<M, E> {
    Received(M),
    /// Everything that was pushed has been handed to the operating system.
    Flushed,
    /// The other side closed it, or it broke.
    Ended(Option<E>),
}

impl<S, M, E> Duplex<S, M>
where
    S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
{
    pub fn new(socket: S) -> Duplex<S, M> {
        Duplex { socket, waiting: VecDeque::new(), taken: 0, flush: Flush::Nothing }
    }

    pub fn push(&mut self, message: M) {
        self.waiting.push_back(message);
    }

    /// Messages that the socket has not taken.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many messages the socket took since this was last asked.
    pub fn take_taken(&mut self) -> usize {
        std::mem::take(&mut self.taken)
    }

    /// Sends what it can, and waits for the next event.
    pub async fn event(&mut self) -> DuplexEvent<M, E> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<DuplexEvent<M, E>> {
        match self.poll_sending(context) {
            Poll::Ready(Ok(())) => return Poll::Ready(DuplexEvent::Flushed),
            Poll::Ready(Err(error)) => return Poll::Ready(DuplexEvent::Ended(Some(error))),
            Poll::Pending => {}
        }
        Poll::Ready(match ready!(Pin::new(&mut self.socket).poll_next(context)) {
            Some(Ok(message)) => DuplexEvent::Received(message),
            Some(Err(error)) => DuplexEvent::Ended(Some(error)),
            None => DuplexEvent::Ended(None),
        })
    }

    /// Ready when something was sent and nothing is left to send.
    fn poll_sending(&mut self, context: &mut Context<'_>) -> Poll<Result<(), E>> {
        while !self.waiting.is_empty() {
            ready!(Pin::new(&mut self.socket).poll_ready(context))?;
            if let Some(message) = self.waiting.pop_front() {
                Pin::new(&mut self.socket).start_send(message)?;
                self.taken += 1;
                self.flush = Flush::Due;
            }
        }
        match self.flush {
            Flush::Nothing => Poll::Pending,
            Flush::Due => {
                ready!(Pin::new(&mut self.socket).poll_flush(context))?;
                self.flush = Flush::Nothing;
                Poll::Ready(Ok(()))
            }
        }
    }
}
