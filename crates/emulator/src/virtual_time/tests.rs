//! Whole runs in virtual time: the same from the same seed, sound designs are found sound, and broken ones broken.

use super::{Roughness, run};
use crate::design::BROKEN;
use crate::engine::{Answer, Asked, Refusal};
use crate::judge::{Verdict, hunt, judge};
use crate::plan::{Plan, PlanError, PlanFiles};
use crate::quantity::Span;
use crate::report::Report;
use crate::testing::{files, plan};

const DESIGNS: [&str; 2] = ["chain", "haystack"];

/// Workload 2 of the paper with fewer objects and a shorter run.
fn short(design: &str, seed: u64) -> Plan {
    let mut plan = plan(design, "paper-4.5-2", seed);
    plan.workload.objects = 500;
    plan.workload.duration = Span::from_secs(5);
    plan.workload.warm_up = 0;
    plan
}

#[test]
fn a_seed_gives_one_run_and_another_seed_another() {
    for design in DESIGNS {
        let [one, same, other] =
            [1, 1, 2].map(|seed| run(&short(design, seed), &Roughness::default()).expect("it starts"));
        assert_eq!(one, same);
        assert_ne!(one.digest, other.digest);
    }
}

#[test]
fn all_operations_are_answered_and_a_put_of_a_chain_takes_three_disks_in_turn() {
    let [chain, haystack] = DESIGNS.map(|design| {
        let plan = short(design, 1);
        let ran = run(&plan, &Roughness::default()).expect("it starts");
        let report = Report::of_virtual(&plan, &ran);
        assert!(report.failures.is_empty(), "{report:?}");
        assert_eq!(report.puts.count + report.gets.count, ran.history.len() as u64);
        assert!(
            ran.history.iter().all(|one| one.asked == Asked::Put || one.read.is_some_and(|read| read.length == 4096))
        );
        assert!((0.01..0.9).contains(&report.busiest[0].share), "{report:?}");
        report
    });
    // A seek and half a rotation on average: 12 ms or so, the disks being nearly idle.
    assert!((5.0..20.0).contains(&chain.gets.p50_ms), "{chain:?}");
    assert!(chain.puts.p50_ms > 2.5 * chain.gets.p50_ms, "{chain:?}");
    // Three disks at once take as long as the slowest of them.
    assert!(haystack.puts.p50_ms < 2.0 * haystack.gets.p50_ms, "{haystack:?}");
}

#[test]
fn sound_designs_pass_with_messages_that_are_late() {
    for design in DESIGNS {
        assert_eq!(hunt(&files(design, None, "few-keys", 0), 1..=25), Ok(None), "{design}");
    }
}

#[test]
#[ignore = "minutes: `make soak` runs it"]
fn soak_sound_designs_pass_two_thousand_seeds() {
    for design in DESIGNS {
        assert_eq!(hunt(&files(design, None, "few-keys", 0), 1..=2_000), Ok(None), "{design}");
    }
}

#[test]
fn each_rule_that_is_taken_out_is_found_within_60_seeds() {
    for broken in BROKEN {
        let files = files(broken.design, Some(broken.rule), "few-keys", 0);
        let found = hunt(&files, 1..=60).expect("it starts");
        let found = found.unwrap_or_else(|| panic!("{} without {} is not found", broken.design, broken.rule));
        assert!(found.what.starts_with("object "), "{found:?}");
    }
}

#[test]
fn with_a_node_stopped_operations_end_in_time_and_no_answer_is_wrong() {
    for design in DESIGNS {
        let mut plan = short(design, 3);
        plan.workload.timeout = Span::from_secs(1);
        let node = plan.deployment.named("store-2").expect("there is one");
        let stops = vec![(node, Span::from_secs(2))];
        let ran = run(&plan, &Roughness { stops, ..Roughness::default() }).expect("it starts");
        let failed = ran.history.iter().filter(|one| one.answer == Answer::Refused(Refusal::TimedOut)).count();
        assert!(failed > 50, "{failed} of {}", ran.history.len());
        assert!(ran.history.iter().all(|one| one.end.since(one.start) <= plan.workload.timeout));
        let verdict = judge(plan.design.promise, &ran.history, |key| plan.before(key));
        assert!(matches!(verdict, Verdict::Holds { .. }), "{verdict:?}");
    }
}

#[test]
fn a_put_that_finds_no_room_is_refused_and_what_was_there_stays() {
    for design in DESIGNS {
        // The logs are filled to three quarters.
        let log_bytes = if design == "chain" { "400 KB" } else { "90 KB" };
        let mut files = files(design, None, "paper-4.5-2", 1);
        let text = &mut files.design.text;
        *text = text.replace("fsync = true", &format!("fsync = true, log_bytes = \"{log_bytes}\""));
        let text = &mut files.workload.text;
        *text = text.replace("20000", "500").replace("400 GB", "2100 KB").replace("60 s", "6 s");
        let plan = Plan::read(&files).unwrap_or_else(|error| panic!("{error}"));
        let ran = run(&plan, &Roughness::default()).expect("it starts");
        let full = ran.history.iter().filter(|one| one.answer == Answer::Refused(Refusal::Full)).count();
        assert!(full > 0, "{design}: {:?}", Report::of_virtual(&plan, &ran));
        let verdict = judge(plan.design.promise, &ran.history, |key| plan.before(key));
        assert!(matches!(verdict, Verdict::Holds { .. }), "{verdict:?}");
    }
}

#[test]
fn what_does_not_go_together_is_told() {
    let error = |change: &dyn Fn(&mut PlanFiles)| {
        let mut files = files("chain", None, "few-keys", 1);
        change(&mut files);
        Plan::read(&files).and_then(|plan| plan.nodes().map(drop)).expect_err("this does not go together").to_string()
    };
    let role = |name: &str, count| {
        let name = name.to_owned();
        move |files: &mut PlanFiles| _ = files.roles.insert(name.clone(), count)
    };
    assert!(error(&role("shop", 3)).contains("no role `shop`") && error(&role("shop", 3)).contains("takes store"));
    assert!(error(&role("store", 2)).contains("3 replicas do not fit on 2 nodes"));
    assert!(error(&role("store", 1_001)).contains("from 1 to 1000"));
    assert!(error(&|files| files.disks = Some(65)).contains("from 1 to 64"));
    let small = |files: &mut PlanFiles| files.workload.text = files.workload.text.replace("1 GB", "40 TB");
    assert!(error(&small).contains("the data do not fit: the store refused object"), "{}", error(&small));
    let greedy = |files: &mut PlanFiles| {
        files.design.text = files.design.text.replace("fsync = true", "fsync = true, log_bytes = \"600 GB\"");
    };
    let told = error(&greedy);
    assert!(told.contains("store-1: disk 0 has") && told.contains("log-store 572205 MiB"), "{told}");
    let all = |files: &mut PlanFiles| {
        files.design.text.push_str("\n[role.store.on.odd]\nstart = \"done\"\n");
        files.workload.text.push_str("\nodd = 1\n");
    };
    let PlanError::Files(problems) = Plan::read(&{
        let mut files = files("chain", None, "few-keys", 1);
        all(&mut files);
        files
    })
    .expect_err("two files are wrong") else {
        panic!("files are wrong")
    };
    assert_eq!(problems.len(), 2, "{problems:?}");
}
