//! Nodes that all dial each other while links are cut at random, on several threads: what comes on a link comes whole, once and in order.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::*;
use super::bed::*;
use crate::random_seed;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What a node has seen of each link: the number that its next message has.
#[derive(Default)]
struct Seen {
    open: BTreeMap<LinkNumber, u64>,
    messages: u64,
    links: u64,
}

impl Seen {
    fn note(&mut self, (link, event): Event) {
        match event {
            LinkEvent::Opened(_) => {
                assert_eq!(self.open.insert(link, 0), None, "a link opens once");
                self.links += 1;
            }
            LinkEvent::Message(message) => {
                let expected = self.open.get_mut(&link).expect("messages come between the opening and the closing");
                let number = u64::from_le_bytes(*message.first_chunk().expect("8 bytes and more"));
                assert_eq!(number, *expected, "nothing is missing, doubled or out of order");
                *expected += 1;
                self.messages += 1;
            }
            LinkEvent::Closed => assert!(self.open.remove(&link).is_some(), "a link closes once"),
        }
    }
}

/// Sends numbered messages on every open link, and closes one now and then.
async fn live(mut node: TestNode, until: tokio::time::Instant) -> (TestNode, Seen) {
    let (mut seen, mut sent) = (Seen::default(), BTreeMap::<LinkNumber, u64>::new());
    while tokio::time::Instant::now() < until {
        let _ = tokio::time::timeout(Duration::from_millis(2), node.inbox.wait()).await;
        node.inbox.take().for_each(|event| seen.note(event));
        sent.retain(|link, _| seen.open.contains_key(link));
        for link in seen.open.keys() {
            let next = sent.entry(*link).or_default();
            for _ in 0..20 {
                let mut message = next.to_le_bytes().to_vec();
                message.resize(8 + (random_seed() % 3000) as usize, 7);
                node.links.send(*link, &message);
                *next += 1;
            }
        }
        if random_seed().is_multiple_of(20)
            && let Some(link) = seen.open.keys().next()
        {
            node.links.close(*link, "the weather is bad");
        }
    }
    (node, seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn links_that_are_cut_at_random_come_back_and_garble_nothing() {
    let folder = Folder::new();
    let authority = folder.authority();
    let mut nodes = Vec::new();
    for own in NAMES {
        nodes.push(wish(own, LinkSecurity::Tls(folder.issue(&authority, own))).start().await);
    }
    for (one, own) in nodes.iter().zip(NAMES) {
        for (other, others) in nodes.iter().zip(NAMES).filter(|(_, others)| *others != own) {
            one.dial(others, other);
        }
    }
    let until = tokio::time::Instant::now() + Duration::from_secs(3);
    let living: Vec<_> = nodes.into_iter().map(|node| tokio::spawn(live(node, until))).collect();
    for living in living {
        let (node, seen) = living.await.expect("it did not panic");
        assert!(seen.messages > 100 && seen.links > 4, "{} messages on {} links", seen.messages, seen.links);
        for name in NAMES {
            let of = |metric: &str| {
                node.metric(&format!("iolite_link_dropped_total{{peer=\"{name}\",reason=\"{metric}\"}}"))
            };
            assert_eq!((of("full"), of("unsendable")), (0, 0));
        }
    }
}
