//! `iolite bench rights`: a tiny run of each part finds nothing wrong, and has the cells and ratios that the results page needs. Nothing is timed here.

use serde_json::Value;

use crate::views::{bench, cells, report};

fn ratio(report: &Value, name: &str) -> f64 {
    report["ratios"][name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"))
}

fn run(parts: &str) -> Value {
    let small =
        ["--seconds", "1", "--durability", "memory", "--room-members", "3", "--followers", "4,30", "--writers", "3"];
    report(&[&["rights", "--parts", parts, "--keys", "100", "--warm-up", "0"][..], &small].concat())
}

#[test]
fn members_see_changes_and_memberships_by_rules_and_without() {
    let report = run("room");
    let all: Vec<_> = cells(&report).iter().map(|cell| (cell["of"].as_str(), cell["guard"].as_str())).collect();
    let of = |of, guard| (Some(of), Some(guard));
    let told = [of("grant", "rules"), of("revocation", "rules")];
    let seen = ["propagate", "fanout"].map(|name| [of(name, "rules"), of(name, "open")]);
    assert_eq!(all, [&seen[0][..], &told, &seen[1]].concat(), "{report}");
    for name in ["propagate: p50 with rules of open", "fanout: op/s with rules of open", "grant: p50 of propagate"] {
        assert!(ratio(&report, name) > 0.0, "{name}: {report}");
    }
}

#[test]
fn one_change_is_measured_beside_few_users_and_many() {
    let report = run("users");
    let all: Vec<_> = cells(&report).iter().map(|cell| (cell["users"].as_u64(), cell["members"].as_u64())).collect();
    assert_eq!(all, [(4, 4), (30, 20), (30, 5)].map(|(users, members)| (Some(users), Some(members))), "{report}");
}

#[test]
fn one_who_is_put_out_commits_nothing_until_they_are_in_again() {
    let report = run("revoke,counter");
    let history = cells(&report).iter().find(|cell| cell["of"] == "history").expect("it was read");
    assert_eq!((&history["removals"], &history["while_out"]), (&10.into(), &0.into()), "{report}");
    assert!(history["spoken"].as_u64() > Some(0), "{report}");
    assert!(ratio(&report, "counter: op/s with a check of without") > 0.0, "{report}");
}

#[test]
fn a_membership_in_another_shard_takes_more_messages() {
    let report = run("followed");
    assert!(ratio(&report, "followed: messages a commit with rules of open") > 1.0, "{report}");
}

#[test]
fn the_twitter_clone_loses_nothing_with_rules() {
    let report = run("retwis");
    let all: Vec<_> = cells(&report).iter().map(|cell| (cell["level"].as_str(), cell["guard"].as_str())).collect();
    let of = |level, guard| (Some(level), Some(guard));
    assert_eq!(all, [of("rc", "rules"), of("rc", "open"), of("ss", "rules"), of("ss", "open")], "{report}");
}

#[test]
fn options_of_rights_that_do_not_fit_are_refused_with_what_would() {
    for (arguments, words) in [
        (&["rights", "--parts", "rooms"][..], "room"),
        (&["rights", "--revoke", "--parts", "room"], "--parts revoke,counter"),
        (&["rights", "--room-members", "251"], "1..=250"),
        (&["rights", "--writers", "1"], "2..=200"),
        (&["rights", "--target", "http://127.0.0.1:1"], "--target"),
        (&["rights", "--sessions", "3"], "--sessions"),
        (&["fanout", "--revoke"], "--revoke"),
    ] {
        let (good, _, said) = bench(arguments);
        assert!(!good && said.contains(words), "{arguments:?}: {said}");
    }
}
