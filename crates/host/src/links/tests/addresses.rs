//! A name with several addresses, of which some lead nowhere.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use super::super::*;
use super::bed::*;
use crate::Authority;

/// A port whose host does not answer: nobody accepts, and its queue is full, so that the system drops who else wants to connect.
struct Unreachable {
    address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl Unreachable {
    async fn new() -> Unreachable {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let listener = socket.listen(0).expect("it is bound");
        let address = listener.local_addr().expect("bound");
        let mut queue = Vec::new();
        while let Ok(connected) = timeout(Duration::from_millis(100), TcpStream::connect(address)).await {
            queue.push(connected.expect("there is room in the queue"));
        }
        Unreachable { address, _listener: listener, _queue: queue }
    }
}

/// Whether one comes to the other by these addresses within the time that a dialler gives a try.
async fn reaches(one: &TestNode, addresses: &[SocketAddr]) -> bool {
    let (shared, other) = (&one.links.shared, name("other"));
    let try_once = dialler::connect_to_any(shared, &other, addresses.to_vec());
    timeout(shared.limits.hello_within, try_once).await.is_ok_and(|agreed| agreed.is_ok())
}

#[tokio::test]
async fn an_address_that_does_not_answer_does_not_keep_from_the_next_one() {
    let (one, other) = (plain("one").start().await, plain("other").start().await);
    let (nowhere, nowhere_too) = (Unreachable::new().await, Unreachable::new().await);
    assert!(reaches(&one, &[nowhere.address, nowhere_too.address, other.address]).await);
}

#[tokio::test]
async fn an_address_that_accepts_and_says_nothing_leaves_time_for_the_next_one() {
    let (one, other) = (plain("one").start().await, plain("other").start().await);
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let silent = silent.local_addr().map(|address| (address, silent)).expect("bound");
    assert!(reaches(&one, &[silent.0, other.address]).await);
}

#[tokio::test]
async fn addresses_that_refuse_are_passed_at_once() {
    let (one, other) = (plain("one").start().await, plain("other").start().await);
    let closed = TcpListener::bind("127.0.0.1:0").await.and_then(|listener| listener.local_addr()).expect("bound");
    let begun = Instant::now();
    assert!(reaches(&one, &[closed, closed, closed, closed, closed, closed, closed, closed, other.address]).await);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(!reaches(&one, &[closed]).await);
}

#[tokio::test]
async fn an_address_that_refuses_does_not_hide_that_another_has_a_certificate_of_another_authority() {
    let folder = Folder::new();
    let tls = |authority: &Authority, own: &str| wish(own, LinkSecurity::Tls(folder.issue(authority, own)));
    let one = tls(&folder.authority(), "one").start().await;
    let elsewhere = Authority::create(&folder.0.join("elsewhere")).expect("a writable folder");
    let stranger = tls(&elsewhere, "other").start().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.and_then(|listener| listener.local_addr()).expect("bound");
    for addresses in [[stranger.address, closed], [closed, stranger.address]] {
        let tried = dialler::connect_to_any(&one.links.shared, &name("other"), addresses.to_vec()).await;
        assert!(matches!(tried, Err(refused::Refused::OtherAuthority(_))));
    }
}
