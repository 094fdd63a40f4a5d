//! A shard that ends, and the two that go on with its rows.

use iolite_machine::Machine;
use iolite_store::{ConfigurationFault, Refusal};
use iolite_values::{Operation, RowKey, Timestamp, Value};

use super::bench::{add, at, blind, cell, close, put, read, write};
use super::ended_shard::{APART, Scene, group, place, row_of, split};
use super::group::{id_of, prepare};
use crate::broken::Broken;
use crate::completions::completions_table;
use crate::configuration::configuration_cell;
use crate::journal::{CheckpointChunk, JournalRecord, SnapshotPart};
use crate::node::{
    Answer, Ask, Ballot, Effect, Epoch, Group, Objection, Outcome, Proposal, ReplicaId, ShardId, Split, Vote,
};
use crate::replica::{RecoverError, Replica, ReplicaSettings, STATE_CHUNK_BYTES_MAX};
use crate::{Extent, split_write};

#[test]
fn a_shard_that_ends_lets_nothing_new_in_and_finishes_what_is_open() {
    let mut scene = Scene::new();
    let open = put(1, 1);
    assert_eq!(scene.trio.prepare(&[0, 1, 2], &open, at(6)), [Vote::Ok; 3]);
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0, 1, 2], 5, &[]);
    assert_eq!(scene.drained(), [false; 3], "something is open");
    for new in [put(2, 2), put(3, 8)] {
        let Some(Answer::Voted(voted)) = scene.trio.ask(0, prepare(&new, at(8))) else { panic!("it is a vote") };
        assert!(matches!((voted.vote, voted.objection), (Vote::No, Some(Objection::Busy { .. }))));
    }
    assert_eq!(scene.trio.prepare(&[0], &open, at(6)), [Vote::Ok], "it said so before");
    let outcome = Ask::Outcome { id: id_of(&open, at(6)), outcome: Outcome::Committed, proposal: None };
    for replica in 0..3 {
        scene.trio.ask(replica, outcome.clone());
    }
    assert_eq!(scene.drained(), [false; 3], "not all that committed is below the complete point");
    scene.resolve(&[0, 1, 2], 9, &[(1, 1, 6)]);
    assert_eq!(scene.drained(), [true; 3]);
}

#[test]
fn the_parts_begin_with_their_rows_when_a_majority_is_drained() {
    let mut scene = Scene::new();
    for (counter, row) in [(1, 1), (2, 8)] {
        scene.trio.commit(&[0, 1, 2], &put(counter, row), at(counter));
    }
    scene.end(&[0, 1, 2], 7);
    scene.cut = APART.to_vec();
    scene.resolve(&[0], 9, &[(1, 1, 1), (2, 8, 2)]);
    scene.settle();
    assert_eq!((scene.drained(), scene.begun()), ([true, false, false], [false; 2]));
    assert_eq!(scene.ask(0, Ask::Open), None, "it has nothing to say yet");
    scene.resolve(&[1], 9, &[(1, 1, 1), (2, 8, 2)]);
    scene.settle();
    assert_eq!((scene.drained(), scene.begun()), ([true, true, false], [true; 2]));
    assert_eq!([1, 8].map(|row| scene.has_row(0, row)), [true, false]);
    assert_eq!([1, 8].map(|row| scene.has_row(1, row)), [false, true]);
    // What the two have closed, nothing comes below.
    let again = scene.ask(1, prepare(&add(3, 8), at(9)));
    assert!(matches!(again, Some(Answer::Voted(voted)) if voted.vote == Vote::No));
    let later = scene.ask(1, prepare(&put(3, 8), at(5_000)));
    assert!(matches!(later, Some(Answer::Voted(voted)) if voted.vote == Vote::Ok));
    // The completion records of this client are in the upper part.
    let known = scene.ask(1, prepare(&put(1, 8), at(5_001)));
    assert!(
        matches!(known, Some(Answer::Voted(voted)) if matches!(voted.objection, Some(Objection::Completed(_)))),
        "a transaction takes effect once"
    );
}

#[test]
fn whoever_asks_the_shard_that_ended_is_told_where_its_rows_are() {
    let mut scene = Scene::new();
    scene.end(&[0, 1, 2], 7);
    scene.cut = APART.to_vec();
    scene.resolve(&[0, 1], 9, &[]);
    assert!(matches!(scene.trio.ask(0, close(at(9), at(9))), Some(Answer::Closed(_))), "nobody goes on yet");
    scene.settle();
    let expected = Answer::Ended(split(&scene.trio));
    assert_eq!(scene.trio.ask(0, close(at(9), at(9))), Some(expected));
    assert!(matches!(scene.trio.ask(2, close(at(9), at(9))), Some(Answer::Closed(_))), "it is not drained");
}

#[test]
fn nobody_is_told_before_both_parts_can_answer() {
    let mut scene = Scene::new();
    scene.down = vec![4];
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0, 1], 9, &[]);
    scene.settle();
    assert_eq!(scene.begun(), [true, false]);
    assert!(
        matches!(scene.trio.ask(0, close(at(9), at(9))), Some(Answer::Closed(_))),
        "the upper part answers nothing"
    );
    scene.down.clear();
    scene.settle();
    assert!(matches!(scene.trio.ask(0, close(at(9), at(9))), Some(Answer::Ended(_))));
}

/// The last one drains by what the others answer; the first, which was the furthest, is not needed.
#[test]
fn the_parts_begin_though_a_drained_replica_is_lost() {
    let mut scene = Scene::new();
    scene.trio.commit(&[0, 1, 2], &put(1, 1), at(1));
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0], 20, &[(1, 1, 1)]);
    scene.settle();
    scene.down = vec![0];
    scene.resolve(&[1, 2], 9, &[(1, 1, 1)]);
    scene.settle_long();
    assert_eq!((scene.begun(), scene.has_row(0, 1)), ([true; 2], true));
}

#[test]
fn who_is_drained_closes_and_validates_nothing_further_after_a_restart_either() {
    let mut scene = Scene::new();
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0], 7, &[]);
    let barrier = scene.trio.replicas[0].drained_at().unwrap();
    for _ in 0..2 {
        let Some(Answer::Closed(Ok(closed))) = scene.trio.ask(0, close(at(9_000), at(7))) else { panic!("an answer") };
        assert!(closed.through <= barrier && closed.barrier <= barrier, "{closed:?}");
        assert_eq!(scene.trio.ask(0, Ask::Validate { snapshot: at(9), reads: [read(1)].into() }), None);
        let settings = scene.trio.replicas[0].settings.clone();
        let recovered = Replica::recover(settings, [[0u8; 0]; 0], &scene.trio.records[0]).unwrap();
        assert_eq!(recovered.drained_at(), Some(barrier));
        scene.trio.replicas[0] = recovered;
    }
}

#[test]
fn who_is_drained_accepts_nothing_that_others_finalise() {
    let mut scene = Scene::new();
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0], 9, &[]);
    let late = put(1, 1);
    let id = id_of(&late, at(12));
    let proposal = Proposal {
        id,
        participants: [ShardId(0)].into(),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        level: late.level,
        effect: Effect::Commit([].into()),
        is_home: true,
    };
    let view = scene.trio.replicas[0].view();
    let finalise =
        |vote| Ask::Finalise { id, view, ballot: Ballot::FIRST, vote, proposal: Some(proposal.clone().into()) };
    let Some(Answer::Voted(voted)) = scene.trio.ask(0, finalise(Vote::Ok)) else { panic!("it answers") };
    assert_eq!((voted.vote, voted.finalised), (Vote::No, None));
    let Some(Answer::Voted(voted)) = scene.trio.ask(0, finalise(Vote::No)) else { panic!("it answers") };
    assert_eq!((voted.vote, voted.finalised), (Vote::No, Some(Ballot::FIRST)), "so that others drain");
}

#[test]
fn a_part_that_restarts_is_silent_before_it_begins_and_goes_on_after() {
    let mut scene = Scene::new();
    scene.trio.commit(&[0, 1, 2], &put(1, 1), at(1));
    scene.end(&[0, 1, 2], 7);
    scene.cut = APART.to_vec();
    for (drained, begun) in [(0, false), (1, true)] {
        scene.resolve(&[drained], 9, &[(1, 1, 1)]);
        scene.settle();
        let settings = scene.parts[0].settings.clone();
        let recovered = Replica::recover(settings.clone(), [[0u8; 0]; 0], &scene.records[0]).unwrap();
        if !scene.records[0].is_empty() {
            let other = ReplicaSettings { origin: None, ..settings.clone() };
            let refused = Replica::recover(other, [[0u8; 0]; 0], &scene.records[0]);
            assert_eq!(refused.map(|_| ()), Err(RecoverError::OtherOrigin));
        }
        scene.parts[0] = recovered;
        assert_eq!((scene.begun()[0], scene.has_row(0, 1)), (begun, begun));
        scene.parts[0].begin_checkpoint();
        let chunks: Vec<_> = std::iter::from_fn(|| scene.parts[0].next_chunk(1)).collect();
        scene.parts[0] = Replica::recover(settings, &chunks, [[0u8; 0]; 0]).unwrap();
        assert_eq!((scene.begun()[0], scene.has_row(0, 1)), (begun, begun));
    }
}

#[test]
fn a_part_that_begins_before_all_is_finished_lacks_something() {
    let committed = |broken| {
        let mut scene = Scene::new();
        scene.trio.replicas.iter_mut().for_each(|replica| replica.settings.broken = broken);
        let open = put(1, 1);
        scene.trio.prepare(&[0, 1, 2], &open, at(6));
        scene.end(&[0, 1, 2], 7);
        scene.resolve(&[0, 1, 2], 5, &[]);
        scene.settle();
        let outcome = Ask::Outcome { id: id_of(&open, at(6)), outcome: Outcome::Committed, proposal: None };
        for replica in 0..3 {
            scene.trio.ask(replica, outcome.clone());
        }
        scene.resolve(&[0, 1, 2], 9, &[(1, 1, 6)]);
        scene.settle();
        (scene.begun(), scene.has_row(0, 1))
    };
    assert_eq!(committed(Broken::Nothing), ([true; 2], true));
    assert_eq!(committed(Broken::EndUndrained), ([true; 2], false));
}

#[test]
fn a_split_that_is_not_of_this_group_is_a_conflict() {
    let mut scene = Scene::new();
    let other = Group::new(ShardId(0), Epoch(1), &[0, 1, 9].map(ReplicaId)).unwrap();
    let other = Split::new(other, (cell(5).table, cell(5).row), group(1, 3), group(2, 4)).unwrap();
    assert_eq!(scene.trio.prepare(&[0], &blind(1, vec![split_write(&other)]), at(5)), [Vote::No]);
    let own = split(&scene.trio);
    assert_eq!(scene.trio.prepare(&[1], &blind(1, vec![split_write(&own)]), at(5)), [Vote::Ok]);
}

#[test]
fn a_place_that_is_not_between_rows_of_the_shard_is_refused() {
    let mut scene = Scene::new();
    for replica in &mut scene.trio.replicas {
        replica.settings.extent = Extent { from: place(3), until: Some(place(7)) };
    }
    let group_of = scene.trio.replicas[0].group().clone();
    let mut objection = |row: i64, millis| {
        let at_row = (cell(row).table, cell(row).row);
        let split = Split::new(group_of.clone(), at_row, group(1, 3), group(2, 4)).unwrap();
        scene.trio.objection(0, &blind(row as u64 + 1, vec![split_write(&split)]), at(millis))
    };
    let outside = Some(Objection::Refused(Refusal::Configuration(ConfigurationFault::Outside)));
    for (row, millis) in [(2, 5), (3, 6), (7, 7), (8, 8)] {
        assert_eq!(objection(row, millis), outside, "at {row}");
    }
    // The client's own records are elsewhere.
    let elsewhere = Objection::Refused(Refusal::OtherShard { table: completions_table() });
    assert_eq!(objection(4, 9), Some(elsewhere));
}

#[test]
fn a_shard_is_split_where_a_table_begins_too() {
    let mut scene = Scene::new();
    let parent = scene.trio.replicas[0].group().clone();
    let split = Split::new(parent, (cell(5).table, RowKey::bound(&[])), group(1, 3), group(2, 4)).unwrap();
    assert_eq!(scene.trio.objection(0, &blind(1, vec![split_write(&split)]), at(5)), None);
}

#[test]
fn a_part_whose_journal_ends_anywhere_begins_with_all_of_its_rows() {
    let mut scene = Scene::new();
    // More than a chunk of rows.
    let large = Value::bytes(vec![7; STATE_CHUNK_BYTES_MAX / 2]);
    let rows = [1, 2, 3, 4];
    let put_large = |row: i64| blind(row as u64, vec![write(row, Operation::Put(large.clone()))]);
    for row in rows {
        scene.trio.commit(&[0, 1, 2], &put_large(row), at(row as u64));
    }
    scene.end(&[0, 1, 2], 7);
    let mut ids: Vec<_> = rows.iter().map(|row| id_of(&put_large(*row), at(*row as u64))).collect();
    ids.push(id_of(&put(99, 0), at(7)));
    scene.trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(9), &ids);
    scene.settle();
    assert_eq!(scene.begun(), [true; 2]);
    let records = scene.records[0].clone();
    let decoded: Vec<_> = records.iter().map(|record| JournalRecord::decode(record).unwrap()).collect();
    let is_chunk = |record: &&JournalRecord| matches!(record, JournalRecord::Snapshot(_));
    assert!(decoded.iter().filter(is_chunk).count() > 2, "in chunks");
    let begins = decoded.iter().position(|record| matches!(record, JournalRecord::Master(_))).unwrap();
    for kept in 0..=records.len() {
        scene.records[0] = records[..kept].to_vec();
        let settings = scene.parts[0].settings.clone();
        scene.parts[0] = Replica::recover(settings, [[0u8; 0]; 0], &scene.records[0]).unwrap();
        scene.parts[0].validate();
        assert_eq!(scene.begun()[0], kept > begins, "with {kept} records");
        // Those of the shard that ended tell until they hear that it has begun: it did not say so.
        scene.restart_trio();
        scene.settle();
        assert_eq!((scene.begun()[0], rows.map(|row| scene.has_row(0, row))), (true, [true; 4]), "with {kept} records");
        let settings = scene.parts[0].settings.clone();
        let recovered = Replica::recover(settings, [[0u8; 0]; 0], &scene.records[0]).unwrap();
        assert!(recovered.takes_part(), "with {kept} records, and those after them");
    }
}

#[test]
fn each_part_is_sent_its_own_rows_and_clients_only() {
    let mut scene = Scene::new();
    let rows = [1, 2, 5, 8, 9];
    for row in rows {
        scene.trio.commit(&[0, 1, 2], &put(row as u64, row), at(row as u64));
    }
    scene.end(&[0, 1, 2], 7);
    let commits = rows.map(|row| (row as u64, row, row as u64));
    scene.resolve(&[0, 1, 2], 9, &commits);
    scene.settle();
    assert_eq!(scene.begun(), [true; 2]);
    let mut sent: [Vec<i64>; 2] = Default::default();
    let mut clients = [0, 0];
    for (part, records) in scene.records.iter().enumerate() {
        for record in records {
            let JournalRecord::Snapshot(SnapshotPart { chunk, .. }) = JournalRecord::decode(record).unwrap() else {
                continue;
            };
            match CheckpointChunk::decode(&chunk).unwrap() {
                CheckpointChunk::Rows(own) => sent[part].extend(own.iter().filter_map(|row| row_of(&row.key))),
                CheckpointChunk::Commits(own) => {
                    let writes = own.iter().flat_map(|commit| commit.writes.iter().flatten());
                    sent[part].extend(writes.filter_map(|write| row_of(&write.cell.row)));
                    assert_eq!(own.len(), rows.len() + 1, "that they were commits, both know");
                }
                CheckpointChunk::Clients(own) => clients[part] += own.len(),
                CheckpointChunk::Meta(_) | CheckpointChunk::Records(_) => {}
            }
        }
    }
    for own in &mut sent {
        own.sort_unstable();
        own.dedup();
    }
    assert_eq!(sent, [vec![1, 2], vec![0, 5, 8, 9]], "0 is the row of the shard that ended");
    assert_eq!(clients, [0, 1], "the only client's place is in the upper part");
}

#[test]
fn a_part_of_one_begins_once_and_above_what_was_closed() {
    let mut scene = Scene::new();
    scene.trio.commit(&[0, 1, 2], &put(1, 1), at(1));
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0, 1, 2], 9, &[(1, 1, 1)]);
    let told: Vec<_> = scene.trio.replicas.iter().map(|replica| replica.drained_at().unwrap()).collect();
    scene.settle();
    let begun = scene.records[0].iter().filter_map(|record| match JournalRecord::decode(record) {
        Ok(JournalRecord::Master(part)) => Some((part.barrier, part.terms.len())),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<_>>(), [(told.into_iter().max().unwrap(), 1)]);
}

#[test]
fn a_part_that_has_begun_or_has_its_rows_has_them_after_a_checkpoint_too() {
    let mut scene = Scene::new();
    scene.trio.replicas.iter_mut().for_each(|replica| replica.terms.clear());
    scene.trio.commit(&[0, 1, 2], &put(1, 1), at(1));
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0, 1, 2], 9, &[(1, 1, 1)]);
    scene.settle();
    let decoded = scene.records[0].iter().map(|record| JournalRecord::decode(record).unwrap());
    let begins = decoded.into_iter().position(|record| matches!(record, JournalRecord::Master(_))).unwrap();
    for (kept, takes_part) in [(begins, false), (begins + 1, true)] {
        let settings = scene.parts[0].settings.clone();
        let mut part = Replica::recover(settings.clone(), [[0u8; 0]; 0], &scene.records[0][..kept]).unwrap();
        part.begin_checkpoint();
        let chunks: Vec<_> = std::iter::from_fn(|| part.next_chunk(1)).collect();
        let recovered = Replica::recover(settings, &chunks, [[0u8; 0]; 0]).unwrap();
        recovered.validate();
        assert_eq!((recovered.takes_part(), recovered.complete() >= at(9)), (takes_part, true));
    }
}

/// What a shard says of itself lies outside of its rows, perhaps; here in the upper part.
#[test]
fn a_part_has_what_it_says_of_itself_after_a_checkpoint_that_began_before_its_rows_came() {
    let mut scene = Scene::new();
    scene.parts[0].begin_checkpoint();
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0, 1, 2], 9, &[]);
    scene.settle();
    let own = Split::new(group(1, 3), (cell(2).table, cell(2).row), group(3, 5), group(4, 6)).unwrap();
    let (ends, at) = (blind(98, vec![split_write(&own)]), at(5_000));
    assert!(matches!(scene.ask(0, prepare(&ends, at)), Some(Answer::Voted(voted)) if voted.vote == Vote::Ok));
    scene.ask(0, Ask::Outcome { id: id_of(&ends, at), outcome: Outcome::Committed, proposal: None });
    let chunks: Vec<_> = std::iter::from_fn(|| scene.parts[0].next_chunk(1)).collect();
    let recovered = Replica::recover(scene.parts[0].settings.clone(), &chunks, &scene.records[0]).unwrap();
    recovered.validate();
    let cell = configuration_cell(ShardId(1));
    assert!(recovered.versions().row(cell.table, &cell.row).is_some());
}
