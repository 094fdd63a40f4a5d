//! How many messages go through one link, and what each costs. To be run by hand:
//! `cargo test --release -p iolite-host -- --ignored --nocapture --test-threads 1 throughput`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// The machine in a thread of its own, as in a server: what sending costs it, and what comes through then.
async fn measure_apart(what: &str, one: Wish, other: Wish) {
    let ((one, link), (mut other, others)) = linked(one, other).await;
    let message = vec![7; 100];
    let count = 3_000_000_u64;
    let received = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let sending = tokio::spawn({
        let (received, message) = (received.clone(), message.clone());
        async move {
            let (mut sent, mut spent) = (0, Duration::ZERO);
            while sent < count {
                let burst = (received.load(Ordering::Relaxed) + 100_000).min(count).saturating_sub(sent).min(64);
                let begun = Instant::now();
                (0..burst).for_each(|_| one.links.send(link, &message));
                spent += begun.elapsed();
                sent += burst;
                tokio::task::yield_now().await;
            }
            (one, spent)
        }
    });
    while received.load(Ordering::Relaxed) < count {
        assert!(other.inbox.wait().await);
        let come = other.inbox.take().filter(|(from, _)| *from == others).count();
        received.fetch_add(come as u64, Ordering::Relaxed);
    }
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    let (_one, spent) = sending.await.expect("it did not panic");
    let each = spent.as_nanos() as f64 / count as f64;
    println!("{what}, 100 bytes, on all cores: {rate:.0} messages/s, {each:.0} ns for the sender each");
}

/// How much later than its delay a message comes.
async fn measure_delay(delay: Duration) {
    let mut other = plain("other");
    other.settings.delay = delay;
    let ((one, link), (mut other, others)) = linked(plain("one"), other).await;
    let mut late = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        one.links.send(link, &vec![7; 100]);
        other.message(others).await;
        late.push(begun.elapsed().saturating_sub(delay));
    }
    late.sort_unstable();
    println!("delay {delay:?}: {:?} later at the median, {:?} at the 99th percentile", late[100], late[198]);
}

#[tokio::test]
#[ignore = "measures"]
async fn throughput_and_delays() {
    for micros in [500, 5_000, 25_000] {
        measure_delay(Duration::from_micros(micros)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn throughput_of_one_link_on_all_cores() {
    let folder = Folder::new();
    let authority = folder.authority();
    measure_apart("plain", plain("one"), plain("other")).await;
    let one = wish("one", LinkSecurity::Tls(folder.issue(&authority, "one")));
    let other = wish("other", LinkSecurity::Tls(folder.issue(&authority, "other")));
    measure_apart("TLS", one, other).await;
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
