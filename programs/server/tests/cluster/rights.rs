//! Read rules behind several gateways: a right that is taken away at one of them is gone at all of them.

use iolite_cluster::{ClusterShape, LocalCluster, Ports};

use crate::support::local::{Folder, Local};
use crate::support::rooms::Rooms;
use crate::support::tokens::Issuer;

/// Two gateways, and two shards, so that a membership and what it opens may lie apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_removed_at_one_gateway_loses_the_room_at_another() {
    let folder = Folder::new("rights-gateways");
    let shape = ClusterShape { shards: 2, replicas: 1, gateways: 2, ports: Ports::Free, ..ClusterShape::default() };
    let made = LocalCluster::create(&folder.0.join("cluster"), &shape).expect("the folder is new");
    let issuer = Issuer::new(&folder.0.join("issuer"));
    for gateway in made.gateways() {
        let text = std::fs::read_to_string(gateway.config()).expect("it is there");
        let text = text.replace("tells_token = true\n", "") + &issuer.table();
        std::fs::write(gateway.config(), text).expect("it can be written");
    }
    let cluster = Local::made(made);
    let gateways = ["gateway-0", "gateway-1"];
    let gateways = gateways.map(|name| cluster.node(name).address.expect("gateways have addresses").to_string());
    let token_file = folder.0.join("cluster/token");
    Rooms { gateways, issuer: &issuer, token_file, folder: &folder.0 }.are_kept().await;
}
