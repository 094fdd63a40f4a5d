//! Links between processes: a connection to each node that is sent to, and a thread that reads each that was accepted.
//!
//! Invariant: messages to one node arrive in the order in which they were sent.

use std::io::{BufReader, BufWriter, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::thread;

use anyhow::{Context, Result};
use iolite_emulator::{Message, NodeId};

use super::{Input, frames};

/// Listens on a free port of loopback; all that comes goes into `inputs`.
pub fn listen(inputs: Sender<Input>) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port of loopback can be opened")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let inputs = inputs.clone();
            match stream {
                Ok(stream) => _ = thread::spawn(move || read_all(stream, &inputs)),
                Err(error) => _ = inputs.send(Input::Broken(error.to_string())),
            }
        }
    });
    Ok(port)
}

fn read_all(stream: TcpStream, inputs: &Sender<Input>) {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    loop {
        let input = match frames::read(&mut stream) {
            Ok(Some(message)) => Input::Message(message),
            // The other process has ended, which is for its parent to judge.
            Ok(None) => return,
            Err(error) => Input::Broken(error.to_string()),
        };
        let is_broken = matches!(input, Input::Broken(_));
        // Nobody takes it when this process is about to end.
        if inputs.send(input).is_err() || is_broken {
            return;
        }
    }
}

#[derive(Debug)]
pub struct Links {
    ports: Vec<u16>,
    links: Vec<Option<Sender<Message>>>,
}

impl Links {
    /// Links to nodes by the ports that they listen on.
    pub fn new(ports: &[u16]) -> Links {
        Links { ports: ports.to_vec(), links: vec![None; ports.len()] }
    }

    pub fn send(&mut self, to: NodeId, message: Message) -> Result<()> {
        let place = to.0 as usize;
        if self.links[place].is_none() {
            self.links[place] = Some(connect(self.ports[place])?);
        }
        let link = self.links[place].as_ref().expect("it was connected");
        link.send(message).ok().context("a node has gone: see what its process said")
    }
}

fn connect(port: u16) -> Result<Sender<Message>> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("a node cannot be reached")?;
    stream.set_nodelay(true)?;
    let (link, messages) = mpsc::channel::<Message>();
    thread::spawn(move || {
        let mut stream = BufWriter::with_capacity(1 << 16, stream);
        for message in messages {
            if frames::write(&mut stream, &message).is_err() {
                // The sender learns it by its next message.
                return;
            }
        }
        _ = stream.flush();
    });
    Ok(link)
}
