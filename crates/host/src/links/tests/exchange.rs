//! Messages between nodes: whole, in order, both ways; and what cannot be sent.

use super::super::*;
use super::bed::*;

#[tokio::test]
async fn messages_go_both_ways_on_one_link_in_their_order() {
    let mut one = plain("one");
    one.handler.said = b"epoch 7".to_vec();
    let (mut one, mut other) = (one.start().await, plain("other").start().await);
    one.dial("other", &other);
    let (link, peer) = one.opened("other").await;
    assert_eq!(peer, LinkPeer { name: name("other"), said: vec![], side: LinkSide::Dialled });
    let (others, peer) = other.opened("one").await;
    assert_eq!(peer, LinkPeer { name: name("one"), said: b"epoch 7".to_vec(), side: LinkSide::Accepted });
    for number in 0..10_000_u32 {
        one.links.send_to(&name("other"), &number.to_le_bytes().to_vec());
        other.links.send_to(&name("one"), &number.to_le_bytes().to_vec());
    }
    for number in 0..10_000_u32 {
        assert_eq!(one.message(link).await, number.to_le_bytes());
        assert_eq!(other.message(others).await, number.to_le_bytes());
    }
    assert_eq!(one.metric("iolite_link_messages_sent_total{peer=\"other\"}"), 10_000);
    assert_eq!(one.metric("iolite_link_messages_received_total{peer=\"other\"}"), 10_000);
    assert!(other.metric("iolite_link_received_bytes_total{peer=\"one\"}") >= 90_000);
    assert_eq!(other.metric("iolite_links{side=\"accepted\"}"), 1);
    assert_eq!(one.metric("iolite_links{side=\"dialled\"}"), 1);
}

#[tokio::test]
async fn empty_and_large_messages_come_through_whole() {
    let mut other = plain("other");
    other.handler.frame_bytes_max = 20 << 20;
    let ((one, link), (mut other, others)) = linked(plain("one"), other).await;
    let messages: Vec<Vec<u8>> = [0, 1, 65_530, 1 << 20, 20 << 20, 3]
        .iter()
        .enumerate()
        .map(|(place, &bytes)| vec![place as u8; bytes])
        .collect();
    messages.iter().for_each(|message| one.links.send(link, message));
    for message in messages {
        assert!(other.message(others).await == message);
    }
}

#[tokio::test]
async fn a_message_larger_than_the_peer_takes_is_dropped_and_the_next_one_is_not() {
    let mut other = plain("other");
    other.handler.frame_bytes_max = 100;
    let ((one, link), (mut other, others)) = linked(plain("one"), other).await;
    one.links.send(link, &vec![1; 101]);
    one.links.send(link, &vec![2; 100]);
    assert_eq!(other.message(others).await, [2; 100]);
    assert_eq!(one.metric("iolite_link_dropped_total{peer=\"other\",reason=\"unsendable\"}"), 1);
}

#[tokio::test]
async fn a_protocol_that_says_too_much_of_itself_gets_no_link_and_is_told() {
    let mut one = plain("one");
    one.handler.said = vec![7; 4097];
    let (one, other) = (one.start().await, plain("other").start().await);
    one.dial("other", &other);
    one.until_refused("dialled", "says-too-much").await;
    other.dial("one", &one);
    one.until_refused("accepted", "says-too-much").await;
}

#[tokio::test]
async fn what_a_lost_link_still_held_is_counted_as_dropped() {
    let ((mut one, link), (other, _)) = linked(plain("one"), plain("other")).await;
    // More than the sockets hold, to a node that reads little of it before it is gone.
    (0..3000).for_each(|_| one.links.send(link, &vec![7; 10_000]));
    other.shutdown.begin();
    one.closed(link).await;
    let of = |metric: &str| one.metric(&format!("iolite_link_{metric}"));
    let sent = of("messages_sent_total{peer=\"other\"}");
    let dropped = of("dropped_total{peer=\"other\",reason=\"down\"}");
    assert!(dropped > 0, "{sent} sent");
    assert_eq!(sent + dropped + of("dropped_total{peer=\"other\",reason=\"full\"}"), 3000);
}

#[tokio::test]
async fn messages_to_nobody_are_dropped_and_counted() {
    let one = plain("one").start().await;
    one.links.send(7, &vec![1]);
    one.links.send_to(&name("stranger"), &vec![1]);
    assert_eq!(one.metric("iolite_link_dropped_total{peer=\"none\",reason=\"down\"}"), 2);
    // Nobody listens there.
    one.links.dial(&name("other"), "127.0.0.1:1");
    one.links.send_to(&name("other"), &vec![1]);
    assert_eq!(one.metric("iolite_link_dropped_total{peer=\"other\",reason=\"down\"}"), 1);
    one.until_refused("dialled", "unreachable").await;
}

#[tokio::test]
async fn a_peer_that_does_not_read_costs_its_sender_no_more_than_its_outbox_and_no_other_peer_anything() {
    let mut slow = plain("slow");
    slow.inbox_bytes_max = 10_000;
    let mut one = plain("one");
    one.settings.limits.outbox_bytes_max = 1 << 20;
    let ((mut one, link), (mut slow, slows)) = linked(one, slow).await;
    let mut quick = plain("quick").start().await;
    one.dial("quick", &quick);
    let (to_quick, _) = one.opened("quick").await;
    let (quicks, _) = quick.opened("one").await;
    // Its machine takes nothing: the mailbox fills, then both sockets, then the outbox.
    let dropped = "iolite_link_dropped_total{peer=\"slow\",reason=\"full\"}";
    let mut sent = 0_u64;
    while one.metric(dropped) < 10 {
        (0..100).for_each(|_| one.links.send(link, &vec![7; 10_000]));
        sent += 100;
        tokio::task::yield_now().await;
        assert!(sent < 100_000, "nothing is dropped");
    }
    one.exchange(to_quick, &mut quick, quicks).await;
    // It is not given up: it lives, and takes what waits once it can.
    let dropped = one.metric(dropped);
    for _ in 0..sent - dropped {
        assert_eq!(slow.message(slows).await.len(), 10_000);
    }
    one.exchange(link, &mut slow, slows).await;
}

#[tokio::test]
async fn a_machine_without_room_is_not_read_for_and_loses_nothing() {
    let mut other = plain("other");
    other.inbox_bytes_max = 2000;
    let ((one, link), (mut other, others)) = linked(plain("one"), other).await;
    (0..2000_u32).for_each(|number| one.links.send(link, &number.to_le_bytes().to_vec()));
    for number in 0..2000_u32 {
        assert_eq!(other.message(others).await, number.to_le_bytes());
    }
}

#[tokio::test]
async fn a_frame_that_is_no_message_closes_its_link_and_the_peer_is_told_why() {
    let ((mut one, link), (mut other, others)) = linked(plain("one"), plain("other")).await;
    one.links.send(link, &b"before".to_vec());
    one.links.send(link, &b"garbled".to_vec());
    one.links.send(link, &b"behind".to_vec());
    assert_eq!(other.message(others).await, b"before");
    other.closed(others).await;
    one.closed(link).await;
    // It is dialled again, and good again.
    let (link, _) = one.opened("other").await;
    let (others, _) = other.opened("one").await;
    one.exchange(link, &mut other, others).await;
}
