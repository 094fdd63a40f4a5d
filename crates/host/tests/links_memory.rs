//! What strangers and hostile nodes can make a node hold in memory: counted by an allocator, in a process that does nothing else.

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use iolite_host::{
    Codec, Inbox, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, Links, Metrics, NodeName,
    Shutdown, allow_all_open_files, mailbox,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[derive(Clone)]
struct Bytes;

impl Codec for Bytes {
    type Incoming = Vec<u8>;
    type Outgoing = Vec<u8>;

    fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
        Ok(frame.to_vec())
    }

    fn encode(&mut self, message: &Vec<u8>) -> Result<Vec<u8>, String> {
        Ok(message.clone())
    }
}

impl LinkHandler for Bytes {
    type Codec = Bytes;
    type Input = (LinkNumber, LinkEvent<Vec<u8>>);

    fn codec(&self, _peer: &LinkPeer) -> Bytes {
        Bytes
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<Vec<u8>>) -> Option<Self::Input> {
        Some((link, event))
    }

    fn frame_bytes_max(&self) -> usize {
        64 << 20
    }
}

const INBOX_BYTES_MAX: usize = 4 << 20;

async fn victim() -> (SocketAddr, Inbox<(LinkNumber, LinkEvent<Vec<u8>>)>, Shutdown) {
    let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
    let shutdown = Shutdown::new();
    let settings = LinkSettings::new(NodeName::new("victim").expect("a name"), LinkSecurity::PlainOnLoopback);
    let links = Links::new(Bytes, mailbox, settings, &Metrics::default(), shutdown.listen()).expect("no files");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(links.listen(listener).expect("loopback"));
    (address, inbox, shutdown)
}

/// The hello of docs/protocols/links.md.
fn hello(name: &str) -> Vec<u8> {
    let body = [&[name.len() as u8][..], name.as_bytes(), &[0, 0, 1, 0]].concat();
    [b"IOLITEL\n\x01\0\x01\0", &(body.len() as u32).to_le_bytes()[..], &body].concat()
}

async fn linked(address: SocketAddr, number: usize) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    socket.write_all(&hello(&format!("node-{number}"))).await.expect("it reads");
    let mut answer = [0; 16 + 1 + 6 + 4];
    socket.read_exact(&mut answer).await.expect("it answers");
    socket
}

/// The most that was held during `attack` beyond what was held before.
async fn peak(attack: impl Future<Output = ()>) -> usize {
    // What an attack before this one has left is given back first.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    attack.await;
    PEAK.load(Ordering::Relaxed) - before
}

async fn say_nothing(address: SocketAddr) {
    let mut sockets = Vec::new();
    for _ in 0..2000 {
        sockets.push(TcpStream::connect(address).await.expect("it listens"));
    }
}

/// A frame of 64 MiB each, of which a little comes.
async fn announce(address: SocketAddr, links: usize) {
    let mut sockets = Vec::new();
    for number in 0..links {
        let mut socket = linked(address, number).await;
        socket.write_all(&[0, 0, 0, 4, 1]).await.expect("it reads");
        socket.write_all(&[7; 10_000]).await.expect("it reads");
        sockets.push(socket);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
}

/// More messages than the mailbox has room for, out of which nobody takes anything.
async fn flood(address: SocketAddr, links: usize) {
    let frames = [&[0, 4, 0, 0, 1][..], &[7; 1024]].concat().repeat(1000);
    let mut sockets = Vec::new();
    for number in 0..links {
        let mut socket = linked(address, 1000 + number).await;
        // It is read until there is no room, and then no more.
        let flooding = async { while socket.write_all(&frames).await.is_ok() {} };
        let _ = tokio::time::timeout(Duration::from_millis(50), flooding).await;
        sockets.push(socket);
    }
}

/// One after another, since they share the counter.
#[tokio::test]
async fn hostile_connections_take_a_bounded_amount_of_memory() {
    allow_all_open_files();
    let (address, _inbox, _shutdown) = victim().await;
    let silent = peak(say_nothing(address)).await;
    assert!(silent < 8 << 20, "2000 connections that say nothing: {silent} bytes");
    let announcing = peak(announce(address, 100)).await;
    assert!(announcing < 100 * (200 << 10), "100 links that announce large frames: {announcing} bytes");
    let flooding = peak(flood(address, 20)).await;
    // The mailbox, and for each link what it reads and one batch that waits for room.
    let bound = 2 * INBOX_BYTES_MAX + 20 * (400 << 10);
    assert!(flooding < bound, "20 links that flood the mailbox: {flooding} bytes");
    assert!(flooding > INBOX_BYTES_MAX, "the mailbox was not full: {flooding} bytes");
}
