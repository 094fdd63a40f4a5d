//! Whoever connects to a node and means it harm, or is broken: good links go on, and the rest is bounded.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::frames::{FrameKind, header};
use super::super::hello::{HELLO_BYTES_MAX, Hello};
use super::bed::*;
use super::lifetime::greeted;
use crate::random_seed;

/// A stream of bytes from a seed, which a failure prints.
struct Noise(u64);

impl Noise {
    fn new() -> Noise {
        let seed = random_seed();
        println!("noise from the seed {seed}");
        Noise(seed)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as u8
        };
        (0..count).map(|_| next()).collect()
    }
}

async fn connected(node: &TestNode) -> TcpStream {
    TcpStream::connect(node.address).await.expect("it listens")
}

/// Sends what it can and reads to the end: whoever closes first, both sides are done then.
async fn say(mut socket: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let _ = socket.write_all(bytes).await;
    let _ = socket.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(SOON, socket.read_to_end(&mut answer)).await.expect("it is closed");
    answer
}

/// A node with a good link, and whatever `attack` does beside it.
async fn beside_a_good_link(victim: Wish, attack: impl AsyncFnOnce(&mut TestNode)) {
    let own = victim.settings.name.to_string();
    let good = match &victim.settings.security {
        super::LinkSecurity::PlainOnLoopback => plain("good"),
        super::LinkSecurity::Tls(_) => unreachable!("the attacks below need no certificate"),
    };
    let ((mut good, link), (mut victim, victims)) = linked(good, victim).await;
    attack(&mut victim).await;
    good.exchange(link, &mut victim, victims).await;
    assert_eq!(good.metric(&format!("iolite_link_reconnects_total{{peer=\"{own}\"}}")), 0);
}

#[tokio::test]
async fn noise_instead_of_a_hello_is_refused() {
    beside_a_good_link(plain("victim"), async |victim| {
        let mut noise = Noise::new();
        for round in 0..200 {
            let mut bytes = noise.bytes(round * 7);
            // Once in 33,000 times it begins as TLS does, which would be told that this port has none.
            if let [first @ (0x15 | 0x16), 0x03, ..] = &mut bytes[..] {
                *first = 0;
            }
            assert_eq!(say(connected(victim).await, &bytes).await, b"");
        }
        assert!(victim.metric("iolite_links_refused_total{side=\"accepted\",reason=\"other-protocol\"}") > 150);
        say(connected(victim).await, b"GET / HTTP/1.1\r\n\r\n").await;
    })
    .await;
}

#[tokio::test]
async fn noise_at_a_port_of_tls_is_refused() {
    let folder = Folder::new();
    let authority = folder.authority();
    let one = wish("one", super::LinkSecurity::Tls(folder.issue(&authority, "one")));
    let victim = wish("victim", super::LinkSecurity::Tls(folder.issue(&authority, "victim")));
    let ((mut one, link), (mut victim, victims)) = linked(one, victim).await;
    let mut noise = Noise::new();
    for round in 0..100 {
        // Half of it looks like a handshake at first.
        let mut bytes = noise.bytes(100 + round * 50);
        if round % 2 == 0 {
            bytes[..5].copy_from_slice(&[0x16, 3, 1, 0, 60]);
        }
        say(connected(&victim).await, &bytes).await;
    }
    one.exchange(link, &mut victim, victims).await;
}

#[tokio::test]
async fn a_hello_that_announces_more_than_one_has_is_refused_before_it_is_waited_for() {
    beside_a_good_link(plain("victim"), async |victim| {
        for bytes in [HELLO_BYTES_MAX as u32 + 1, u32::MAX] {
            let mut hello = Hello { name: name("liar"), frame_bytes_max: 1, said: vec![] }.encode().expect("short");
            hello[12..16].copy_from_slice(&bytes.to_le_bytes());
            let mut socket = connected(victim).await;
            socket.write_all(&hello).await.expect("it reads");
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).await.expect("it is told");
            assert!(String::from_utf8_lossy(&answer).contains("at most 8192"));
        }
    })
    .await;
}

#[tokio::test]
async fn noise_behind_a_hello_closes_that_link_only() {
    beside_a_good_link(plain("victim"), async |victim| {
        let mut noise = Noise::new();
        for round in 0..100 {
            let socket = greeted(victim, "noisy").await;
            let (link, _) = victim.opened("noisy").await;
            // A kind that is none, so that the first frame is not one by chance.
            let mut bytes = noise.bytes(5 + round * 100);
            bytes[4] |= 0x80;
            say(socket, &bytes).await;
            victim.closed(link).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_frame_that_announces_more_than_a_frame_has_closes_its_link_at_once() {
    beside_a_good_link(plain("victim"), async |victim| {
        for bytes in [(1 << 20) + 1, u32::MAX] {
            let mut socket = greeted(victim, "liar").await;
            let (link, _) = victim.opened("liar").await;
            socket.write_all(&header(FrameKind::Message, bytes)).await.expect("it reads");
            victim.closed(link).await;
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).await.expect("it is told");
            assert!(String::from_utf8_lossy(&answer).contains("at most 1048576"));
        }
    })
    .await;
}

#[tokio::test]
async fn who_says_hello_a_byte_at_a_time_is_cut_off_in_time() {
    let mut victim = plain("victim");
    victim.settings.limits.hello_within = Duration::from_millis(300);
    beside_a_good_link(victim, async |victim| {
        let hello = Hello { name: name("slow"), frame_bytes_max: 1, said: vec![7; 4000] }.encode().expect("short");
        let attackers: Vec<_> = (0..50)
            .map(|_| {
                let (address, hello) = (victim.address, hello.clone());
                tokio::spawn(async move {
                    let mut socket = TcpStream::connect(address).await.expect("it listens");
                    for byte in hello {
                        if socket.write_all(&[byte]).await.is_err() {
                            return;
                        }
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    panic!("it was not cut off");
                })
            })
            .collect();
        for attacker in attackers {
            attacker.await.expect("it was cut off");
        }
        assert_eq!(victim.metric("iolite_links_refused_total{side=\"accepted\",reason=\"slow\"}"), 50);
    })
    .await;
}

#[tokio::test]
async fn connections_that_end_at_any_byte_of_a_hello_are_nothing_special() {
    beside_a_good_link(plain("victim"), async |victim| {
        let hello =
            Hello { name: name("broken"), frame_bytes_max: 1, said: b"epoch".to_vec() }.encode().expect("short");
        for end in 0..hello.len() {
            let mut socket = connected(victim).await;
            socket.write_all(&hello[..end]).await.expect("it reads");
            // Half of them without a word: a reset.
            if end % 2 == 0 {
                socket.set_zero_linger().expect("it is open");
            }
        }
        let ended = "iolite_links_refused_total{side=\"accepted\",reason=\"ended\"}";
        victim.until_metric(ended, hello.len() as u64).await;
    })
    .await;
}

#[tokio::test]
async fn thousands_that_connect_and_say_nothing_keep_no_node_out() {
    crate::allow_all_open_files();
    let mut victim = plain("victim");
    victim.settings.limits.handshakes_max = 100;
    beside_a_good_link(victim, async |victim| {
        let mut sockets = Vec::new();
        for number in 0..3000 {
            sockets.push(connected(victim).await);
            if number % 1000 == 999 {
                let own = format!("node-{number}");
                greeted(victim, &own).await;
                let (link, _) = victim.opened(&own).await;
                victim.closed(link).await;
            }
        }
        let full = "iolite_links_refused_total{side=\"accepted\",reason=\"full\"}";
        victim.until_metric(full, 3000 - 100).await;
        let mut byte = [0];
        assert_eq!(sockets[0].read(&mut byte).await.expect("it is closed in order"), 0);
    })
    .await;
}

#[tokio::test]
async fn so_many_links_are_open_and_the_next_node_is_told_so() {
    let mut victim = plain("victim");
    victim.settings.limits.links_max = 4;
    beside_a_good_link(victim, async |victim| {
        let (mut sockets, mut links) = (Vec::new(), Vec::new());
        for own in ["a", "b", "c"] {
            sockets.push(greeted(victim, own).await);
            links.push(victim.opened(own).await.0);
        }
        let hello = Hello { name: name("d"), frame_bytes_max: 1, said: vec![] }.encode().expect("short");
        let answer = say(connected(victim).await, &hello).await;
        assert!(answer.starts_with(b"IOLITEX\n"));
        assert!(String::from_utf8_lossy(&answer).contains("as many links are open as may be"));
        victim.until_refused("accepted", "full").await;
        // Once one has ended there is room.
        sockets.remove(0);
        victim.closed(links[0]).await;
        sockets.push(greeted(victim, "d").await);
        let (link, _) = victim.opened("d").await;
        for (socket, link) in sockets.into_iter().zip([links[1], links[2], link]) {
            drop(socket);
            victim.closed(link).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_of_a_later_version_only_is_refused_and_told_which_ones_there_are() {
    beside_a_good_link(plain("victim"), async |victim| {
        let mut hello = Hello { name: name("later"), frame_bytes_max: 1, said: vec![] }.encode().expect("short");
        hello[8..12].copy_from_slice(&[2, 0, 3, 0]);
        let answer = say(connected(victim).await, &hello).await;
        assert_eq!(answer[..12], *b"IOLITEX\n\x01\0\x01\0");
        assert!(String::from_utf8_lossy(&answer).contains("versions 2 to 3 of links, and this node 1 to 1"));
        victim.until_refused("accepted", "version").await;
        // One that speaks this version too is welcome, whatever else it speaks.
        hello[8..12].copy_from_slice(&[1, 0, 9, 0]);
        assert!(say(connected(victim).await, &hello).await.starts_with(b"IOLITEL\n"));
        let (link, _) = victim.opened("later").await;
        victim.closed(link).await;
    })
    .await;
}

#[tokio::test]
async fn a_refused_node_that_has_sent_more_already_can_still_read_why() {
    beside_a_good_link(plain("victim"), async |victim| {
        let mut bytes = Hello { name: name("victim"), frame_bytes_max: 1, said: vec![] }.encode().expect("short");
        bytes.resize(50_000, 7);
        let mut socket = connected(victim).await;
        socket.write_all(&bytes).await.expect("it reads");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.expect("it is closed in order, and not reset");
        assert!(String::from_utf8_lossy(&answer).contains("both nodes are called victim"));
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_sends_and_never_reads_takes_no_more_than_its_outbox() {
    let mut victim = plain("victim");
    victim.settings.limits.outbox_bytes_max = 100_000;
    beside_a_good_link(victim, async |victim| {
        let mut socket = greeted(victim, "deaf").await;
        let (link, _) = victim.opened("deaf").await;
        let full = "iolite_link_dropped_total{peer=\"deaf\",reason=\"full\"}";
        while victim.metric(full) < 1000 {
            (0..1000).for_each(|_| victim.links.send(link, &vec![7; 1000]));
            tokio::task::yield_now().await;
        }
        // Nor does that keep what it sends from being read.
        let frame = [&header(FrameKind::Message, 2)[..], b"hi"].concat();
        socket.write_all(&frame).await.expect("it reads");
        assert_eq!(victim.message(link).await, b"hi");
        drop(socket);
        victim.closed(link).await;
    })
    .await;
}
