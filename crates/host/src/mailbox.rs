//! What waits for a machine.
//!
//! Invariants: letters that come from sockets wait outside until there is room for their bytes; a sender that has a share has no more than that in the box,
//! so that however much it sends, others wait behind that share only; the host's own news never waits, and is small.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes that a letter counts for at least: its own place, and the machine's work.
pub(crate) const LETTER_BYTES_MIN: usize = 256;

/// The sending half. Cheap to clone.
#[derive(Debug)]
pub struct Mailbox<I> {
    sender: mpsc::UnboundedSender<Letter<I>>,
    room: Arc<Semaphore>,
    bytes_max: usize,
}

/// The receiving half.
#[derive(Debug)]
pub struct Inbox<I> {
    receiver: mpsc::UnboundedReceiver<Letter<I>>,
    letters: Vec<Letter<I>>,
}

#[derive(Debug)]
struct Letter<I> {
    input: I,
    /// Given back when the machine has taken the letter: that of the box, and of a share.
    _room: Option<OwnedSemaphorePermit>,
    _of_share: Option<OwnedSemaphorePermit>,
}

/// A mailbox for one of many senders, of which none is to fill it.
#[derive(Debug)]
pub struct Share<I> {
    mailbox: Mailbox<I>,
    room: Arc<Semaphore>,
    bytes_max: usize,
}

/// A mailbox in which letters of up to `bytes_max` bytes wait.
pub fn mailbox<I>(bytes_max: usize) -> (Mailbox<I>, Inbox<I>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let bytes_max = bytes_max.min(u32::MAX as usize);
    let room = Arc::new(Semaphore::new(bytes_max));
    (Mailbox { sender, room, bytes_max }, Inbox { receiver, letters: Vec::new() })
}

impl<I> Mailbox<I> {
    /// Sends the host's own news. After the machine's end it is nobody's.
    pub fn send(&self, input: I) {
        let _ = self.sender.send(Letter { input, _room: None, _of_share: None });
    }

    /// Sends what came from outside, once there is room for it. A letter that is larger than the box waits until it is empty.
    pub async fn send_sized(&self, bytes: usize, input: I) {
        let wanted = self.wanted(bytes);
        let room = self.room.clone().acquire_many_owned(wanted).await.expect("the box's room is never closed");
        let _ = self.sender.send(Letter { input, _room: Some(room), _of_share: None });
    }

    /// A share of `bytes_max` bytes for one sender.
    pub fn share(&self, bytes_max: usize) -> Share<I> {
        let bytes_max = bytes_max.min(self.bytes_max);
        Share { mailbox: self.clone(), room: Arc::new(Semaphore::new(bytes_max)), bytes_max }
    }

    /// Sends several letters that came together, if there is room for `bytes` at once: the sum of what each counts for. Tells whether it did;
    /// if not, the letters are still in `inputs`.
    pub(crate) fn try_send_all(&self, bytes: usize, inputs: &mut Vec<I>) -> bool {
        let room = self.room.clone().try_acquire_many_owned(self.wanted(bytes));
        room.map(|room| self.put_all(room, inputs)).is_ok()
    }

    /// Sends them once there is room for all.
    pub(crate) async fn send_all(&self, bytes: usize, mut inputs: Vec<I>) {
        let room = self.room.clone().acquire_many_owned(self.wanted(bytes)).await;
        self.put_all(room.expect("the box's room is never closed"), &mut inputs);
    }

    /// The last letter holds the room of all: what is taken is taken from the front.
    fn put_all(&self, room: OwnedSemaphorePermit, inputs: &mut Vec<I>) {
        let last = inputs.pop();
        for input in inputs.drain(..) {
            self.send(input);
        }
        if let Some(input) = last {
            let _ = self.sender.send(Letter { input, _room: Some(room), _of_share: None });
        }
    }

    fn wanted(&self, bytes: usize) -> u32 {
        wanted(bytes, self.bytes_max)
    }
}

/// What a letter takes of a box, or of a share of it.
fn wanted(bytes: usize, bytes_max: usize) -> u32 {
    let wanted = bytes.clamp(LETTER_BYTES_MIN.min(bytes_max), bytes_max);
    u32::try_from(wanted).expect("a box has no more than u32::MAX bytes")
}

impl<I> Share<I> {
    /// Sends what came from outside, once there is room for it in the share and in the box. A letter that is larger than the share waits until nothing
    /// else of it is in the box.
    pub async fn send_sized(&self, bytes: usize, input: I) {
        let own = self.room.clone().acquire_many_owned(wanted(bytes, self.bytes_max)).await;
        let own = own.expect("a share's room is never closed");
        let room = self.mailbox.room.clone().acquire_many_owned(self.mailbox.wanted(bytes)).await;
        let room = room.expect("the box's room is never closed");
        let _ = self.mailbox.sender.send(Letter { input, _room: Some(room), _of_share: Some(own) });
    }
}

impl<I> Clone for Mailbox<I> {
    fn clone(&self) -> Mailbox<I> {
        Mailbox { sender: self.sender.clone(), room: self.room.clone(), bytes_max: self.bytes_max }
    }
}

impl<I> Inbox<I> {
    /// Letters that are handed over at once, so that a deadline is not overrun by far.
    const AT_ONCE: usize = 256;

    /// Waits for the next letters; false when nobody can send any more. Nothing is lost when the wait is given up.
    pub async fn wait(&mut self) -> bool {
        self.receiver.recv_many(&mut self.letters, Inbox::<I>::AT_ONCE).await > 0
    }

    /// The letters that have come, oldest first.
    pub fn take(&mut self) -> impl Iterator<Item = I> {
        self.letters.drain(..).map(|letter| letter.input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn letters_from_outside_wait_for_room_and_news_does_not() {
        let (mailbox, mut inbox) = mailbox(1000);
        mailbox.send_sized(600, 1).await;
        let second = tokio::spawn({
            let mailbox = mailbox.clone();
            async move { mailbox.send_sized(600, 2).await }
        });
        tokio::task::yield_now().await;
        mailbox.send(3);
        assert!(inbox.wait().await);
        assert_eq!(inbox.take().collect::<Vec<_>>(), [1, 3]);
        second.await.expect("it did not panic");
        assert!(inbox.wait().await);
        assert_eq!(inbox.take().collect::<Vec<_>>(), [2]);
    }

    #[tokio::test]
    async fn letters_that_came_together_take_their_room_together_and_give_it_back_with_the_last() {
        let (mailbox, mut inbox) = mailbox(1000);
        let mut batch: Vec<u32> = (1..=300).collect();
        assert!(mailbox.try_send_all(600, &mut batch) && batch.is_empty());
        let mut next = vec![301, 302];
        assert!(!mailbox.try_send_all(600, &mut next));
        assert_eq!(next, [301, 302]);
        let later = tokio::spawn({
            let mailbox = mailbox.clone();
            async move { mailbox.send_all(600, next).await }
        });
        assert!(inbox.wait().await);
        assert_eq!(inbox.take().collect::<Vec<_>>(), (1..=256).collect::<Vec<_>>());
        tokio::task::yield_now().await;
        assert!(!later.is_finished(), "the room is taken until the last letter is");
        assert!(inbox.wait().await);
        assert_eq!(inbox.take().collect::<Vec<_>>(), (257..=300).collect::<Vec<_>>());
        later.await.expect("it did not panic");
        assert!(inbox.wait().await);
        assert_eq!(inbox.take().collect::<Vec<_>>(), [301, 302]);
    }

    #[tokio::test]
    async fn who_has_filled_its_share_waits_and_nobody_else_does() {
        let (mailbox, mut inbox) = mailbox(10_000);
        let (greedy, modest) = (mailbox.share(1000), mailbox.share(1000));
        greedy.send_sized(600, 1).await;
        let more = tokio::spawn(async move {
            greedy.send_sized(600, 2).await;
            greedy.send_sized(50_000, 3).await;
        });
        tokio::task::yield_now().await;
        modest.send_sized(600, 4).await;
        let mut taken = Vec::new();
        while taken.len() < 4 {
            assert!(inbox.wait().await);
            taken.extend(inbox.take());
        }
        assert_eq!(taken, [1, 4, 2, 3]);
        more.await.expect("it did not panic");
    }

    #[tokio::test]
    async fn a_letter_larger_than_the_box_comes_through() {
        let (mailbox, mut inbox) = mailbox(10);
        mailbox.send_sized(1_000_000, 1).await;
        assert!(inbox.wait().await);
        assert_eq!(inbox.take().next(), Some(1));
    }
}
