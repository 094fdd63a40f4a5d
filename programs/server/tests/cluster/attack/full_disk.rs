//! A replica whose disk is full stops and says so, the others go on, and it comes back when there is room.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::witness::Witness;
use crate::support::local::{Folder, Local, PROGRAM};

/// Files of so many blocks of 512 bytes, which stands for a full disk.
const BLOCKS_MAX: u32 = 96;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_whose_disk_is_full_stops_alone_and_comes_back_when_there_is_room() {
    let folder = Folder::new("attack-full");
    let mut cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    cluster.kill(&["store-1"]);
    let mut shell = Command::new("sh");
    // A signal tells the limit too, and ends who does not ignore it.
    shell.arg("-c").arg(format!("trap '' XFSZ && ulimit -f {BLOCKS_MAX} && exec \"$0\" \"$@\"")).arg(PROGRAM);
    cluster.start_one_by("store-1", shell);
    let has_ended = Arc::new(AtomicBool::new(false));
    let load = {
        let has_ended = has_ended.clone();
        tokio::spawn(async move {
            while !has_ended.load(Ordering::Relaxed) {
                witness.works().await;
            }
            witness
        })
    };
    let (mut cluster, ended) = tokio::task::spawn_blocking(move || {
        let ended = cluster.wait_for_end("store-1");
        (cluster, ended)
    })
    .await
    .expect("it did not panic");
    assert!(!ended.success());
    let said = std::fs::read_to_string(cluster.node("store-1").log()).expect("it is there");
    assert!(said.contains("cannot write") && said.contains("restart the process"), "{said}");
    has_ended.store(true, Ordering::Relaxed);
    let mut witness = load.await.expect("the others go on");
    witness.finds_all(&cluster).await;
    cluster.start_all();
    // Now it is needed.
    cluster.kill(&["store-2"]);
    for _ in 0..20 {
        witness.works().await;
    }
    witness.finds_all(&cluster).await;
}
