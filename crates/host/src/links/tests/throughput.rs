//! How many messages go through one link, and what each costs. To be run by hand:
//! `cargo test --release -p iolite-host -- --ignored --nocapture --test-threads 1 throughput`.

use std::time::Instant;

use super::super::*;
use futures_util::FutureExt;

use super::bed::*;

/// Time that this process has had of its processors.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Both ends in one thread, so on one core: encoding, two sockets, decoding, and taking messages out of the mailbox.
async fn measure(what: &str, one: Wish, other: Wish, bytes: usize) {
    let ((one, link), (mut other, others)) = linked(one, other).await;
    let message = vec![7; bytes];
    let count = if bytes > 1000 { 200_000 } else { 3_000_000_u64 };
    let (begun, processor) = (Instant::now(), processor_seconds());
    let (mut sent, mut received) = (0, 0);
    while received < count {
        // As a machine does: what came is handled, and as much goes out.
        let burst = (received + 20_000).min(count).saturating_sub(sent).min(64);
        (0..burst).for_each(|_| one.links.send(link, &message));
        sent += burst;
        if burst == 0 {
            assert!(other.inbox.wait().await);
        } else {
            tokio::task::yield_now().await;
            other.inbox.wait().now_or_never();
        }
        for (from, event) in other.inbox.take() {
            assert!(from == others && matches!(event, LinkEvent::Message(came) if came == message));
            received += 1;
        }
    }
    let (seconds, processor) = (begun.elapsed().as_secs_f64(), processor_seconds() - processor);
    let rate = count as f64 / seconds;
    println!("{what}, {bytes} bytes: {rate:.0} messages/s, {:.0} ns of processor each", processor * 1e9 / count as f64);
}

/// One message at a time, there and back: nothing can be written together.
async fn measure_alone(what: &str, one: Wish, other: Wish) {
    let ((mut one, link), (mut other, others)) = linked(one, other).await;
    let message = vec![7; 100];
    let count = 100_000;
    let (begun, processor) = (Instant::now(), processor_seconds());
    for _ in 0..count {
        one.links.send(link, &message);
        other.message(others).await;
        other.links.send(others, &message);
        one.message(link).await;
    }
    let (seconds, processor) = (begun.elapsed().as_secs_f64(), processor_seconds() - processor);
    let (trip, each) = (seconds * 1e6 / f64::from(count), processor * 1e9 / f64::from(2 * count));
    println!("{what}, 100 bytes, alone: {trip:.1} us there and back, {each:.0} ns of processor a message");
}

#[tokio::test]
#[ignore = "measures"]
async fn throughput_of_one_link_without_tls() {
    for bytes in [16, 100, 1000, 16_000] {
        measure("plain", plain("one"), plain("other"), bytes).await;
    }
    measure_alone("plain", plain("one"), plain("other")).await;
}

#[tokio::test]
#[ignore = "measures"]
async fn throughput_of_one_link_with_tls() {
    let folder = Folder::new();
    let authority = folder.authority();
    let one = || wish("one", LinkSecurity::Tls(folder.issue(&authority, "one")));
    let other = || wish("other", LinkSecurity::Tls(folder.issue(&authority, "other")));
    for bytes in [16, 100, 1000, 16_000] {
        measure("TLS", one(), other(), bytes).await;
    }
    measure_alone("TLS", one(), other()).await;
}
