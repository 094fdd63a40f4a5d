//! Links that are slower than they are, for measurements.

use std::time::{Duration, Instant};

use super::bed::*;

fn delayed(own: &str, delay: Duration) -> Wish {
    let mut wish = plain(own);
    wish.settings.delay = delay;
    wish
}

#[tokio::test]
async fn every_message_comes_no_earlier_than_its_delay_and_in_order() {
    let delay = Duration::from_millis(30);
    let ((one, link), (mut other, others)) = linked(plain("one"), delayed("other", delay)).await;
    let begun = Instant::now();
    let sending = tokio::spawn(async move {
        let mut sent = Vec::new();
        for number in 0..200_u32 {
            sent.push(begun.elapsed());
            one.links.send(link, &number.to_le_bytes().to_vec());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (one, sent)
    });
    let mut came = Vec::new();
    for number in 0..200_u32 {
        assert_eq!(other.message(others).await, number.to_le_bytes());
        came.push(begun.elapsed());
    }
    let (_one, sent) = sending.await.expect("it did not panic");
    for (sent, came) in sent.into_iter().zip(came) {
        assert!(came >= sent + delay, "sent at {sent:?}, came at {came:?}");
    }
}

#[tokio::test]
async fn a_delay_holds_up_no_throughput() {
    let delay = Duration::from_millis(100);
    let ((one, link), (mut other, others)) = linked(plain("one"), delayed("other", delay)).await;
    let begun = Instant::now();
    let messages = 100_000_u32;
    let sending = tokio::spawn(async move {
        for number in 0..messages {
            one.links.send(link, &number.to_le_bytes().to_vec());
            if number % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        one
    });
    for number in 0..messages {
        assert_eq!(other.message(others).await, number.to_le_bytes());
    }
    // One after another they would take hours.
    assert!(begun.elapsed() >= delay && begun.elapsed() < SOON);
    sending.await.expect("it did not panic");
}

#[tokio::test]
async fn what_was_received_before_a_link_ended_still_comes_and_then_its_end() {
    let ((one, link), (mut other, others)) = linked(plain("one"), delayed("other", Duration::from_millis(200))).await;
    one.links.send(link, &b"last".to_vec());
    one.links.hang_up(&name("other"));
    assert_eq!(other.message(others).await, b"last");
    other.closed(others).await;
}

#[test]
fn what_waits_for_its_time_is_bounded() {
    use std::task::{Context, Waker};

    use super::super::delivery::{Batch, Delivery, HELD_BYTES_MAX};

    let (mailbox, _inbox) = crate::mailbox::<u8>(1000);
    let mut delivery = Delivery::new(mailbox, Duration::from_secs(3600));
    let context = &mut Context::from_waker(Waker::noop());
    let mut batches = 0;
    while delivery.poll_room(context).is_ready() {
        delivery.add(&mut Batch { inputs: vec![1], bytes: 1 << 20 });
        batches += 1;
    }
    assert_eq!(batches << 20, HELD_BYTES_MAX);
}
