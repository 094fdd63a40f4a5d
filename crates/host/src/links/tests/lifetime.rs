//! Links that end, and those that follow them.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::frames::{FrameKind, header};
use super::super::hello::Hello;
use super::super::*;
use super::bed::*;

/// Peers that say nothing are given up soon.
fn impatient(own: &str) -> Wish {
    let mut wish = plain(own);
    wish.settings.limits.keep_alive_after = Duration::from_millis(20);
    wish.settings.limits.silence_max = Duration::from_millis(200);
    wish
}

#[tokio::test]
async fn a_peer_that_comes_back_is_linked_again() {
    let ((mut one, link), (other, _)) = linked(plain("one"), plain("other")).await;
    let address = other.address;
    other.shutdown.begin();
    other.listening.await.expect("it ends");
    one.closed(link).await;
    drop((other.links, other.inbox));
    one.until_refused("dialled", "unreachable").await;
    let listener = TcpListener::bind(address).await.expect("it is free again");
    let mut other = plain("other").start_on(listener);
    let (again, _) = one.opened("other").await;
    assert!(again > link);
    let (others, _) = other.opened("one").await;
    one.exchange(again, &mut other, others).await;
    assert_eq!(one.metric("iolite_link_reconnects_total{peer=\"other\"}"), 1);
}

#[tokio::test]
async fn a_peer_with_another_address_is_looked_for_there() {
    let ((mut one, link), (mut other, others)) = linked(plain("one"), plain("other")).await;
    let mut moved = plain("other").start().await;
    one.dial("other", &moved);
    one.closed(link).await;
    other.closed(others).await;
    let (link, _) = one.opened("other").await;
    let (others, _) = moved.opened("one").await;
    one.exchange(link, &mut moved, others).await;
    // The same address again changes nothing.
    one.dial("other", &moved);
    one.exchange(link, &mut moved, others).await;
}

#[tokio::test]
async fn a_peer_that_is_not_wanted_any_more_is_hung_up_and_not_dialled_again() {
    let ((mut one, link), (mut other, others)) = linked(plain("one"), plain("other")).await;
    one.links.hang_up(&name("other"));
    one.closed(link).await;
    other.closed(others).await;
    one.links.send_to(&name("other"), &vec![1]);
    assert_eq!(one.metric("iolite_link_dropped_total{peer=\"none\",reason=\"down\"}"), 1);
    one.dial("other", &other);
    let (link, _) = one.opened("other").await;
    let (others, _) = other.opened("one").await;
    one.exchange(link, &mut other, others).await;
}

#[tokio::test]
async fn what_waits_is_sent_before_a_link_is_closed() {
    let ((mut one, link), (mut other, others)) = linked(plain("one"), plain("other")).await;
    (0..1000_u32).for_each(|number| one.links.send(link, &number.to_le_bytes().to_vec()));
    one.links.close(link, "enough");
    one.links.send(link, &vec![1]);
    for number in 0..1000_u32 {
        assert_eq!(other.message(others).await, number.to_le_bytes());
    }
    other.closed(others).await;
    one.closed(link).await;
}

#[tokio::test]
async fn a_link_to_a_peer_that_takes_nothing_closes_in_time() {
    let mut one = plain("one").start().await;
    let mut deaf = greeted(&one, "deaf").await;
    let (link, _) = one.opened("deaf").await;
    // It lives, so that it is not given up for its silence.
    let living = tokio::spawn(async move {
        while deaf.write_all(&header(FrameKind::KeepAlive, 0)).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    // More than the sockets hold, so that its goodbye never gets away.
    (0..20_000).for_each(|_| one.links.send(link, &vec![7; 1000]));
    tokio::time::sleep(Duration::from_millis(100)).await;
    one.links.close(link, "enough");
    one.closed(link).await;
    living.await.expect("its connection broke");
}

#[tokio::test]
async fn a_peer_that_is_not_listened_to_is_not_taken_for_silent() {
    let mut other = impatient("other");
    other.inbox_bytes_max = 5000;
    let ((mut one, link), (mut other, others)) = linked(impatient("one"), other).await;
    (0..20_000_u32).for_each(|number| one.links.send(link, &number.to_le_bytes().to_vec()));
    // Its machine is busy for longer than the peer may be silent.
    tokio::time::sleep(Duration::from_secs(1)).await;
    for number in 0..20_000_u32 {
        assert_eq!(other.message(others).await, number.to_le_bytes());
    }
    one.exchange(link, &mut other, others).await;
}

#[tokio::test]
async fn a_newer_link_of_a_peer_replaces_its_older_one() {
    let mut one = plain("one").start().await;
    let mut first = greeted(&one, "twice").await;
    let (older, _) = one.opened("twice").await;
    let _second = greeted(&one, "twice").await;
    let (newer, _) = one.opened("twice").await;
    one.closed(older).await;
    let mut rest = Vec::new();
    first.read_to_end(&mut rest).await.expect("it is closed in order");
    assert!(String::from_utf8_lossy(&rest).contains("a newer link replaces this one"));
    assert_eq!(one.links.shared.registry.by_name(&name("twice")).map(|(link, _)| link), Some(newer));
}

#[tokio::test]
async fn a_quiet_link_stays_open() {
    let ((mut one, link), (mut other, others)) = linked(impatient("one"), impatient("other")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    one.exchange(link, &mut other, others).await;
    assert_eq!((link, others), (1, 1));
}

#[tokio::test]
async fn a_peer_that_is_silent_is_given_up() {
    let mut one = impatient("one").start().await;
    // It takes everything and says nothing, as one whose machine is gone, or that is stopped.
    let _silent = greeted(&one, "silent").await;
    let (link, _) = one.opened("silent").await;
    one.closed(link).await;
}

#[tokio::test]
async fn a_peer_that_falls_silent_is_given_up_and_dialled_again() {
    let mut one = impatient("one").start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    one.links.dial(&name("silent"), listener.local_addr().expect("bound").to_string());
    let mut sockets = Vec::new();
    for _ in 0..3 {
        let (mut socket, _) = listener.accept().await.expect("it is dialled");
        let hello = Hello { name: name("silent"), frame_bytes_max: 1000, said: vec![] };
        socket.write_all(&hello.encode().expect("short")).await.expect("it reads");
        sockets.push(socket);
        let (link, _) = one.opened("silent").await;
        one.closed(link).await;
    }
}

#[tokio::test]
async fn a_listener_that_never_answers_is_given_up_in_time() {
    let mut one = plain("one");
    one.settings.limits.hello_within = Duration::from_millis(50);
    let one = one.start().await;
    let deaf = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    one.links.dial(&name("deaf"), deaf.local_addr().expect("bound").to_string());
    one.until_metric("iolite_links_refused_total{side=\"dialled\",reason=\"slow\"}", 3).await;
}

#[tokio::test]
async fn a_node_that_stops_closes_its_links_and_says_so() {
    let mut one = plain("one").start().await;
    let mut peer = greeted(&one, "peer").await;
    one.opened("peer").await;
    one.shutdown.begin();
    tokio::time::timeout(SOON, one.listening).await.expect("in time").expect("without panic");
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).await.expect("it is closed in order");
    assert!(String::from_utf8_lossy(&rest).ends_with("this node stops"));
}

#[tokio::test]
async fn pauses_between_tries_grow_to_a_limit_and_differ() {
    let one = plain("one");
    let (first, last) = (one.settings.limits.retry_first, one.settings.limits.retry_last);
    assert!(first < last);
    let node = one.start().await;
    let (_address, receiver) = watch::channel(String::new());
    let mut dialler = dialler::Dialler::new(node.links.shared.clone(), name("other"), receiver);
    let pauses: Vec<Duration> = (0..50).map(|_| dialler.next_pause()).collect();
    assert!(first / 2 <= pauses[0] && pauses[0] <= first);
    assert!(pauses[9..].iter().all(|pause| last / 2 <= *pause && *pause <= last), "{pauses:?}");
    assert!(pauses[9..].windows(2).any(|pair| pair[0] != pair[1]));
}

/// A peer that has said hello and been answered, and does nothing more by itself.
pub async fn greeted(node: &TestNode, own: &str) -> TcpStream {
    let mut socket = TcpStream::connect(node.address).await.expect("it listens");
    let hello = Hello { name: name(own), frame_bytes_max: 1000, said: vec![] };
    socket.write_all(&hello.encode().expect("short")).await.expect("it reads");
    let mut answer = vec![0; 16 + 1 + node.links.shared.terms.name.as_str().len() + 4];
    socket.read_exact(&mut answer).await.expect("it answers");
    assert!(answer.starts_with(b"IOLITEL\n"));
    socket
}
