//! Read rules in front of PostgreSQL: they hold behind two gateways, and rules whose sets would read whole tables are refused.

use super::gateway::{Gateway, NodeFile};
use super::server::{Server, USER};
use crate::support::folder::Folder;
use crate::support::rooms::{Rooms, guides_rooms};
use crate::support::tokens::Issuer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_removed_at_one_gateway_of_a_database_loses_the_room_at_another() {
    let server = Server::start();
    let folder = Folder::new("postgres-rights");
    let issuer = Issuer::new(&folder.0.join("issuer"));
    let postgres = format!("address = \"host={} user={USER} dbname=postgres\"\n", server.folder().display());
    let postgres = postgres + &issuer.table();
    let mut processes = [0, 1].map(|number| NodeFile::write(&folder.0, number, &postgres).start(&[]));
    processes.iter_mut().for_each(Gateway::wait_until_ready);
    let gateways = processes.each_ref().map(Gateway::address);
    let rooms = Rooms { gateways, issuer: &issuer, token_file: folder.0.join("token"), folder: &folder.0 };
    for command in ["plan", "apply"] {
        let (done, said) = rooms.deploy(0, command, &guides_rooms());
        assert!(!done, "{said}");
        for table in ["rooms", "members", "messages"] {
            let problem = format!(
                r#"table "{table}", rule "read": table "members" has no key that begins with the column that names the user: this store has no indexes, so put that column first in the key"#
            );
            assert!(said.contains(&problem), "{said}");
        }
    }
    rooms.are_kept().await;
}
