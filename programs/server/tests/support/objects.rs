//! Objects over real sockets: clusters that serve them, a way to a gateway that can be changed, and raw sessions of attackers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use iolite_cluster::{ClusterShape, LocalCluster, Ports, free_ports};
use iolite_values::{DeviceRight, Id, NodeId, NodeLife, ObjectEpoch, ObjectName};
use iolite_wire::objects::{
    Begin, CallMode, Component, Declared, DeviceHello, DeviceWelcome, FromDevice, OBJECTS_PROTOCOL_VERSION,
    OfferedClass, Rpc, RpcId, ToDevice,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::folder::PATIENCE;
use super::local::Local;

impl Local {
    /// One shard, whose gateways serve objects. `more` is in the file of each gateway too.
    pub fn with_objects(folder: &Path, replicas: u64, gateways: u16, more: &str) -> Local {
        Local::made(Local::create_with_objects(folder, replicas, gateways, more))
    }

    /// The same before it is started.
    pub fn create_with_objects(folder: &Path, replicas: u64, gateways: u16, more: &str) -> LocalCluster {
        let shape = ClusterShape { replicas, gateways, ports: Ports::Free, ..ClusterShape::default() };
        let cluster = LocalCluster::create(folder, &shape).expect("the folder is new");
        let ports = free_ports(&[[127, 0, 0, 1].into()], gateways.into()).expect("some are free");
        for (number, port) in ports.iter().enumerate() {
            let file = folder.join(format!("gateway-{number}/node.toml"));
            let text = std::fs::read_to_string(&file).expect("it was made");
            let text = format!("{text}\n[objects]\nlisten = \"127.0.0.1:{port}\"\n{more}");
            std::fs::write(&file, text).expect("it can be written");
        }
        cluster
    }

    pub fn objects_url(&self, gateway: usize) -> String {
        self.sync_url(gateway).replace("/sync", "/objects")
    }

    /// Where clients reach a gateway.
    pub fn gateway_address(&self, gateway: usize) -> SocketAddr {
        let address = self.cluster.gateways().nth(gateway).and_then(|gateway| gateway.address);
        address.expect("gateways have addresses")
    }
}

/// An address whose connections go to a gateway, and to another one from some time on, as those of a load balancer do.
pub struct Way {
    pub address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
}

impl Way {
    pub async fn to(target: SocketAddr) -> Way {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let (address, to) = (listener.local_addr().expect("it is bound"), Arc::new(Mutex::new(target)));
        let current = to.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let target = *current.lock().expect("nobody panics");
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(target).await {
                        // Both ends see when the other one goes.
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Way { address, to }
    }

    /// New connections go there.
    pub fn turn_to(&self, target: SocketAddr) {
        *self.to.lock().expect("nobody panics") = target;
    }

    pub fn sync_url(&self) -> String {
        format!("ws://{}/sync", self.address)
    }
}

/// A session of `/objects` without a kernel, for what no kernel does.
pub struct RawObjects {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl RawObjects {
    pub async fn connect(url: &str) -> RawObjects {
        let (socket, _) = tokio_tungstenite::connect_async(url).await.expect("the server listens");
        RawObjects { socket }
    }

    /// One that was let in as a device of a user, or as part of the service, and how it was welcomed.
    pub async fn enter(url: &str, hello: DeviceHello) -> (RawObjects, DeviceWelcome) {
        let mut session = RawObjects::connect(url).await;
        session.say(&FromDevice::Hello(hello)).await;
        match session.hear().await {
            Some(ToDevice::Welcome(welcome)) => (session, welcome),
            other => panic!("{other:?} in the place of a welcome"),
        }
    }

    pub async fn say(&mut self, message: &FromDevice) {
        self.send(message.encode().expect("it is in the limits")).await;
    }

    pub async fn send(&mut self, frame: Vec<u8>) {
        // The server may have closed already: what it said is read next.
        let _ = self.socket.send(Message::Binary(frame.into())).await;
    }

    /// The next message; `None` at the end.
    pub async fn hear(&mut self) -> Option<ToDevice> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the server says something");
            match next? {
                Ok(Message::Binary(frame)) => return Some(ToDevice::decode(&frame).expect("a message")),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The word with which the server sends this session away.
    pub async fn goodbye(&mut self) -> String {
        loop {
            match self.hear().await {
                Some(ToDevice::Goodbye(goodbye)) => {
                    assert_eq!(self.hear().await, None, "nothing follows a goodbye");
                    return goodbye.message;
                }
                Some(_) => {}
                None => panic!("it was closed without a word"),
            }
        }
    }
}

/// The hello of a device that runs no class.
pub fn device(token: &str, device: u128) -> DeviceHello {
    DeviceHello {
        oldest_version: OBJECTS_PROTOCOL_VERSION,
        newest_version: OBJECTS_PROTOCOL_VERSION,
        token: token.to_owned(),
        device: Id::from_u128(device),
        life: NodeLife(0),
        serves: false,
        classes: Vec::new(),
        connection: 1,
    }
}

/// The hello of a part of the service that runs this class.
pub fn serving(token: &str, number: u128, class: &str) -> DeviceHello {
    let classes = vec![OfferedClass { name: class.to_owned(), declared: declared(DeviceRight::Call) }];
    DeviceHello { serves: true, classes, ..device(token, number) }
}

pub fn declared(devices: DeviceRight) -> Declared {
    Declared { version: 1, managers: String::new(), devices }
}

pub fn begin(class: &str, id: &str, devices: DeviceRight) -> Begin {
    Begin { object: object(class, id), declared: declared(devices) }
}

pub fn object(class: &str, id: &str) -> ObjectName {
    ObjectName::new(class, id).expect("a short name")
}

/// A call of an object that is at a node.
pub fn call(number: u64, to: NodeId, object: &ObjectName, method: &str) -> FromDevice {
    let rpc = Rpc {
        id: RpcId { kernel: Id::from_u128(0xa77ac4), counter: number, path: Vec::new() },
        object: object.clone(),
        epoch: ObjectEpoch(1),
        version: 1,
        method: method.to_owned(),
        mode: CallMode::Write,
        chain: Vec::new(),
        time_left: Duration::from_secs(20),
        caller: String::new(),
        arguments: vec![0x80],
        from: None,
        component: Component::Method,
        claim: DeviceRight::Call,
        by_device: false,
    };
    FromDevice::Call { number, to, rpc }
}
