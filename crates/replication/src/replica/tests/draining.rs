//! A shard that is to end, and loses replicas for good while it drains.

use iolite_machine::Machine;
use iolite_store::{ReadLimit, Refusal};
use iolite_values::{Interest, Timestamp};

use super::bench::{at, cell, close, put};
use super::ended_shard::{APART, Scene};
use super::group::{Trio, id_of, prepare};
use crate::journal::JournalRecord;
use crate::node::{Answer, Ask, Ballot, Outcome, Vote};
use crate::replica::Replica;

/// Accepted by two of three, by the slow path, and told to these.
fn commit_at_two(scene: &mut Scene, replicas: [usize; 2], millis: u64) {
    let late = put(2, 2);
    assert_eq!(scene.trio.prepare(&replicas, &late, at(millis)), [Vote::Ok; 2]);
    let (id, view) = (id_of(&late, at(millis)), scene.trio.replicas[0].view());
    for replica in replicas {
        let finalise = Ask::Finalise { id, view, ballot: Ballot::FIRST, vote: Vote::Ok, proposal: None };
        assert!(matches!(scene.trio.ask(replica, finalise), Some(Answer::Voted(_))));
    }
    for replica in replicas {
        scene.trio.ask(replica, Ask::Outcome { id, outcome: Outcome::Committed, proposal: None });
    }
}

#[test]
fn whoever_is_left_of_a_majority_drains_whichever_replica_is_lost_and_whenever() {
    for (lost, left) in [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])] {
        for loss in 0..5 {
            let mut scene = Scene::new();
            scene.trio.commit(&[0, 1, 2], &put(1, 1), at(1));
            // Far above what the one that has not seen it would close by itself.
            commit_at_two(&mut scene, [0, 2], 5_000);
            scene.choose(&[0, 1, 2], 7);
            for step in 0..5 {
                if step == loss {
                    scene.down = vec![lost];
                }
                let is_there = |replica: usize| !scene.down.contains(&replica);
                match step {
                    0 | 3 => scene.settle(),
                    // The one learns of less than the other.
                    1 if is_there(1) => scene.resolve(&[1], 9, &[(1, 1, 1)]),
                    2 if is_there(0) => scene.resolve(&[0], 9_000, &[(1, 1, 1), (2, 2, 5_000)]),
                    _ => {}
                }
            }
            for _ in 0..10 {
                scene.finish(&left, 60_000);
            }
            assert_eq!(scene.begun(), [true; 2], "{lost} is lost at {loss}: {:?}", scene.drained());
            assert!(scene.has_row(0, 2), "{lost} is lost at {loss}");
        }
    }
}

/// Two of five accepted it, which a view change would take for what a fast quorum may have accepted.
#[test]
fn what_parts_have_begun_without_is_not_decided_any_more() {
    let mut scene = Scene::of(Trio::of(5));
    let open = put(2, 2);
    assert_eq!(scene.trio.prepare(&[2, 3], &open, at(5_000)), [Vote::Ok; 2]);
    scene.down = vec![2, 3];
    // One of those that are drained does not hear that others go on.
    scene.cut = vec![(5, 1), (6, 1)];
    scene.choose(&[0, 1, 4], 7);
    scene.settle();
    scene.finish(&[0, 1, 4], 100);
    scene.settle_long();
    assert_eq!((scene.begun(), scene.has_row(0, 2)), ([true; 2], false));
    scene.down = vec![0, 4];
    let now = scene.trio.now;
    scene.trio.replicas[1].begin_view_change(now);
    scene.settle_long();
    let answers = [1, 2, 3].map(|replica| scene.trio.ask(replica, prepare(&open, at(5_000))));
    let accepted = answers.iter().filter(|answer| match answer {
        Some(Answer::Voted(voted)) => voted.vote == Vote::Ok,
        _ => false,
    });
    assert!(accepted.count() < 3, "{answers:?}");
}

/// A view that only its leader took part in decided nothing: another one may yet accept what that did not.
#[test]
fn parts_do_not_begin_from_what_is_drained_in_two_views() {
    let mut scene = Scene::new();
    let [lower, upper] = [3, 4];
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0, 1, 2], 9, &[]);
    scene.cut = vec![(1, lower), (1, upper), (2, lower), (2, upper)];
    scene.settle();
    scene.down = vec![0];
    let now = scene.trio.now;
    scene.trio.replicas[1].begin_view_change(now);
    scene.settle();
    scene.cut = vec![(2, lower), (2, upper)];
    scene.settle_long();
    assert_eq!((scene.drained(), scene.begun()), ([true; 3], [false; 2]), "one in each of two views");
    scene.cut.clear();
    scene.settle_long();
    assert_eq!(scene.begun(), [true; 2]);
}

#[test]
fn what_was_settled_last_reaches_those_that_were_not_told_of_it() {
    let mut scene = Scene::new();
    scene.trio.commit(&[0, 1], &put(1, 1), at(1));
    scene.end(&[0, 1, 2], 7);
    scene.resolve(&[0], 9, &[(1, 1, 1)]);
    assert_eq!(scene.drained(), [true, false, false]);
    scene.settle();
    assert_eq!((scene.drained(), scene.trio.complete()), ([true; 3], [at(9); 3]));
}

#[test]
fn who_has_left_its_view_does_not_say_that_it_is_drained() {
    let mut scene = Scene::new();
    let [lower, upper] = [3, 4];
    scene.end(&[0, 1, 2], 7);
    scene.cut = [0, 1, 2].into_iter().flat_map(|from| [(from, lower), (from, upper)]).collect();
    scene.resolve(&[0, 1, 2], 9, &[]);
    scene.settle();
    let now = scene.trio.now;
    scene.trio.replicas.iter_mut().for_each(|replica| replica.begin_view_change(now));
    scene.cut = APART.to_vec();
    scene.settle_long();
    assert_eq!(scene.begun(), [false; 2]);
    scene.cut.clear();
    scene.settle_long();
    assert_eq!(scene.begun(), [true; 2]);
}

#[test]
fn a_part_asks_another_one_for_the_rows_when_the_first_is_gone() {
    let mut scene = Scene::new();
    let [lower, upper] = [3, 4];
    scene.end(&[0, 1, 2], 7);
    // They hear of two, and what they ask the first is lost.
    scene.cut = vec![(1, lower), (1, upper), (lower, 0), (upper, 0)];
    scene.resolve(&[0, 1, 2], 9, &[]);
    scene.settle();
    scene.down = vec![0];
    scene.settle_long();
    assert_eq!(scene.begun(), [true; 2]);
}

#[test]
fn a_last_view_after_another_one_closes_no_further() {
    let mut scene = Scene::new();
    // One closes by itself what nobody else does, and is away when the last view begins.
    scene.trio.ask(2, close(at(5_000), Timestamp::ZERO));
    scene.down = vec![2];
    scene.end(&[0, 1], 7);
    let barrier = scene.trio.replicas[0].closes_to();
    assert_eq!(barrier, scene.trio.replicas[1].closes_to());
    assert!(barrier < at(5_000));
    scene.down = vec![0];
    let now = scene.trio.now;
    scene.trio.replicas[1].begin_view_change(now);
    scene.settle_long();
    for replica in [1, 2] {
        let answer = scene.trio.ask(replica, close(at(9_000), Timestamp::ZERO));
        let Some(Answer::Closed(Ok(closed))) = answer else { panic!("it is an answer: {answer:?}") };
        assert_eq!((closed.through, closed.barrier), (barrier, barrier), "of {replica}");
    }
}

fn are_in_last_views(scene: &Scene) -> bool {
    scene.trio.replicas.iter().all(|replica| replica.takes_part() && replica.last_view_split().is_some())
}

/// Leaders merge without its records, until it leads itself.
#[test]
fn so_does_one_whose_records_always_come_too_late() {
    let mut scene = Scene::of(Trio::of(5));
    scene.late = Some(4);
    scene.prepare_split(&[0, 1, 2, 3], 7);
    scene.choose(&[4], 7);
    scene.settle_long();
    assert!(are_in_last_views(&scene));
}

#[test]
fn who_was_in_a_last_view_alone_leaves_the_next_one_that_is_none() {
    let mut scene = Scene::new();
    scene.cut = vec![(1, 0), (1, 2)];
    scene.prepare_split(&[0, 2], 7);
    scene.choose(&[1], 7);
    let now = scene.trio.now;
    scene.trio.replicas[0].begin_view_change(now);
    scene.settle();
    let alone = |scene: &Scene| scene.trio.replicas.iter().filter(|own| own.last_view_split().is_some()).count();
    assert_eq!(alone(&scene), 1, "it leads this one, and nobody hears of it");
    scene.settle_long();
    assert_eq!(alone(&scene), 0, "the others have gone on without it");
    scene.cut.clear();
    scene.settle_long();
    assert!(are_in_last_views(&scene));
}

#[test]
fn one_that_knows_how_the_shard_ends_leads_the_others_into_a_last_view() {
    for (size, knowing) in [(3, 0), (3, 1), (3, 2), (5, 0), (5, 1), (5, 4)] {
        let mut scene = Scene::of(Trio::of(size));
        let all: Vec<usize> = (0..size as usize).collect();
        let others: Vec<usize> = all.iter().copied().filter(|replica| *replica != knowing).collect();
        scene.prepare_split(&others, 7);
        scene.choose(&[knowing], 7);
        // Long enough for a view that the leader began without knowing it.
        scene.settle_long();
        assert!(are_in_last_views(&scene), "{knowing} of {size}");
        scene.finish(&all, 100);
        scene.settle_long();
        assert_eq!(scene.begun(), [true; 2], "{knowing} of {size}");
    }
}

#[test]
fn who_restarts_in_a_last_view_is_in_it_still() {
    let mut scene = Scene::new();
    scene.choose(&[0, 1, 2], 7);
    for has_begun in [false, true] {
        if has_begun {
            scene.trio.settle();
        }
        for replica in &scene.trio.replicas.clone() {
            let settings = replica.settings.clone();
            let id = settings.id.0 as usize;
            let from_records = Replica::recover(settings.clone(), [[0u8; 0]; 0], &scene.trio.records[id]).unwrap();
            let mut writer = from_records.clone();
            writer.begin_checkpoint();
            let chunks: Vec<_> = std::iter::from_fn(|| writer.next_chunk(1)).collect();
            let from_checkpoint = Replica::recover(settings, &chunks, [[0u8; 0]; 0]).unwrap();
            for recovered in [from_records, from_checkpoint] {
                assert_eq!(recovered.division_split(), replica.division_split());
                assert_eq!(recovered.last_view_split().is_some(), has_begun);
                assert_eq!((recovered.closes_to(), recovered.closed()), (replica.closes_to(), replica.closed()));
            }
        }
    }
}

#[test]
fn who_crashes_when_it_has_learnt_of_the_split_leaves_its_view_by_itself() {
    let mut scene = Scene::new();
    scene.choose(&[0, 1, 2], 7);
    let decoded = |record: &Vec<u8>| JournalRecord::decode(record).unwrap();
    let records = &scene.trio.records[0];
    let written = records.iter().position(|record| matches!(decoded(record), JournalRecord::Split(_))).unwrap() + 1;
    let from_a_commit = records[..written].to_vec();
    let mut from_elsewhere = from_a_commit.clone();
    from_elsewhere.retain(|record| !matches!(decoded(record), JournalRecord::Entry(_)));
    for records in [from_a_commit, from_elsewhere] {
        let settings = scene.trio.replicas[0].settings.clone();
        let mut recovered = Replica::recover(settings, [[0u8; 0]; 0], &records).unwrap();
        assert!(recovered.takes_part());
        assert!(recovered.deadline().is_some_and(|deadline| deadline <= scene.trio.now.instant));
        recovered.on_deadline(scene.trio.now);
        assert_eq!((recovered.takes_part(), recovered.view().number), (false, 1));
    }
}

#[test]
fn a_replica_alone_drains_with_all_that_it_decided() {
    let mut scene = Scene::of(Trio::of(1));
    scene.trio.prepare(&[0], &put(1, 1), at(1));
    scene.trio.prepare(&[0], &put(2, 8), at(5_000));
    scene.choose(&[0], 5_001);
    scene.finish(&[0], 9_000);
    scene.settle_long();
    assert_eq!((scene.begun(), scene.has_row(0, 1), scene.has_row(1, 8)), ([true; 2], true, true));
    assert!(scene.parts.iter().all(|part| part.complete() >= at(5_001)));
}

/// Or a gateway that opens the store begins its feed there, and what the parts commit is below.
#[test]
fn a_replica_alone_that_is_drained_is_complete_as_far_as_it_closed_and_no_further() {
    let mut scene = Scene::of(Trio::of(1));
    scene.cut = vec![(0, 1), (0, 2)];
    scene.trio.prepare(&[0], &put(1, 1), at(1));
    scene.choose(&[0], 7);
    scene.finish(&[0], 9_000);
    scene.settle_long();
    let drained = scene.trio.replicas[0].drained_at().expect("nothing is open");
    assert!(drained < at(9_000), "{drained:?}");
    let Some(Answer::Closed(Ok(closed))) = scene.trio.ask(0, close(at(9_500), drained)) else { panic!("an answer") };
    assert_eq!((closed.through, closed.barrier, closed.complete), (drained, drained, drained));
    let Some(Answer::Opened(opened)) = scene.trio.ask(0, Ask::Open) else { panic!("an answer") };
    assert_eq!((opened.complete, scene.trio.replicas[0].complete()), (drained, drained));
    let beyond =
        Ask::ReadAt { interest: Interest::Cell(cell(1)), at: at(9_000), limit: ReadLimit::NONE, looks: usize::MAX };
    let refusal = Refusal::NotResolved { asked: at(9_000), resolved: drained };
    assert_eq!(scene.trio.ask(0, beyond), Some(Answer::Refused(refusal)));
}
