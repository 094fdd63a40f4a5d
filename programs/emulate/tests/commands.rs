//! The program as its users run it: commands, exit codes, and what is said of bad input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn emulate(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iolite-emulate")).args(words).output().expect("the program starts")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn warned(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder of this test, empty at first.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("emulate").join(test);
    // It is not there the first time.
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for tests is there");
    folder
}

/// A workload of some seconds.
fn workload(folder: &Path) -> String {
    let path = folder.join("short.toml");
    let text = "name = \"short\"\nabout = \"short\"\nputs_per_second = 40\ngets_per_second = 40\nsize = \"4 KiB\"\nobjects = 200\n\
                duration = \"3 s\"\nwarm_up = 10\n";
    fs::write(&path, text).expect("the folder is there");
    path.to_string_lossy().into_owned()
}

#[test]
fn one_command_tells_the_latencies_of_each_design() {
    let workload = workload(&folder("one_command"));
    for design in ["chain", "haystack"] {
        let run = || emulate(&["run", design, "--workload", &workload]);
        let output = run();
        let text = printed(&output);
        assert!(output.status.success(), "{text}{}", warned(&output));
        for said in ["virtual   puts", "virtual   gets", "busiest is disk", "the judge finds it"] {
            assert!(text.contains(said), "`{said}` is not in\n{text}");
        }
        assert_eq!(text, printed(&run()));
    }
}

#[test]
fn programs_read_json() {
    let workload = workload(&folder("json"));
    let output = emulate(&["run", "chain", "--workload", &workload, "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("this is JSON");
    assert!(told["cells"][0]["report"]["puts"]["p50_ms"].as_f64().is_some_and(|p50| p50 > 1.0), "{told}");
    assert_eq!(told["cells"][0]["holds"], true);
    assert_eq!(told["ratios"], serde_json::json!([]));
}

#[test]
fn a_rule_that_is_taken_out_is_found_and_a_sound_design_is_not() {
    let output = emulate(&["run", "chain", "--broken", "reply-at-head"]);
    assert!(output.status.success() && printed(&output).contains("the judge found, with seed"), "{}", printed(&output));
    let output = emulate(&["run", "chain", "--seeds", "1..2"]);
    assert!(output.status.success() && printed(&output).contains("found nothing in 2 seeds"), "{}", printed(&output));
}

#[test]
fn a_design_of_ones_own_starts_from_a_copy_which_is_not_overwritten() {
    let folder = folder("new");
    let new = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iolite-emulate"));
        command.args(["new", "mine"]).current_dir(&folder).output().expect("the program starts")
    };
    assert!(new().status.success());
    assert!(!new().status.success());
    let path = folder.join("mine.toml").to_string_lossy().into_owned();
    let output = emulate(&["check", &path]);
    assert!(printed(&output).contains("mine is sound, and promises: linearizable"), "{}", warned(&output));
    let text = fs::read_to_string(&path).expect("it was written");
    fs::write(&path, text.replace(", full = \"refuse\"", "").replace("\"ring\", ok", "\"rang\", ok"))
        .expect("it is there");
    let output = emulate(&["check", &path]);
    assert!(!output.status.success());
    let told = warned(&output);
    assert_eq!(told.lines().filter(|line| line.starts_with(&format!("{path}:"))).count(), 3, "{told}");
}

#[test]
fn bad_words_are_told_with_what_there_is() {
    let wrong: [(&[&str], &str); 8] = [
        (&["run", "sift"], "there is no design `sift`: name one of chain, haystack"),
        (&["run", "gone.toml"], "design gone.toml cannot be read"),
        (&["run", "chain", "--workload", "odd"], "there is no workload `odd`"),
        (&["run", "chain", "--hardware", "odd"], "there is no hardware `odd`"),
        (&["run", "chain", "--broken", "odd"], "has no rule `odd` that can be taken out: name one of reply-at-head"),
        (&["run", "chain", "--roles", "shop=3"], "no role `shop`"),
        (
            &["run", "chain", "--stop", "store-9@1s"],
            "there is no node `store-9`: name one of store-1, store-2, store-3",
        ),
        (&["run", "chain", "--clock", "real", "--stop", "store-1@1s"], "--stop is for virtual time only"),
    ];
    for (words, said) in wrong {
        let output = emulate(words);
        assert!(!output.status.success() && warned(&output).contains(said), "{words:?}: {}", warned(&output));
    }
}

#[test]
fn the_cheapest_design_is_named_with_its_size_cost_and_limit() {
    let workload = workload(&folder("cheapest"));
    let words = [
        "cheapest",
        "--workload",
        &workload,
        "--designs",
        "chain,haystack",
        "--servers",
        "6",
        "--disks",
        "2",
        "--seeds",
        "1",
    ];
    let output = emulate(&[&words[..], &["--slo", "get p90 < 60 ms", "--prices", "2015"]].concat());
    let text = printed(&output);
    assert!(output.status.success(), "{text}{}", warned(&output));
    for said in [
        "The cheapest is chain on hdd-7200: 3 servers of 1 disk, 7680 USD.",
        "promises: linearizable",
        "and 2 without",
        "% busy",
    ] {
        assert!(text.contains(said), "`{said}` is not in\n{text}");
    }
    let output = emulate(&[&words[..], &["--slo", "get p90 < 60 ms", "--json"]].concat());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("this is JSON");
    assert_eq!(told["cells"][0]["design"], "chain");
    assert!(told["cells"][1]["met"]["cost"].as_f64() > told["cells"][0]["met"]["cost"].as_f64(), "{told}");
}

#[test]
fn the_best_two_are_run_in_real_time_as_well() {
    let folder = folder("confirm");
    let workload = workload(&folder);
    let text = fs::read_to_string(&workload).expect("it was written");
    fs::write(&workload, text.replace("\"3 s\"", "\"500 ms\"")).expect("it is there");
    let slo = ["--slo", "get p50 < 20 s", "--designs", "chain,voldemort,haystack", "--servers", "5", "--disks", "1"];
    let words = [&["cheapest", "--confirm", "--seeds", "1", "--workload", &workload], &slo[..]].concat();
    let output = emulate(&words);
    let text = printed(&output);
    assert!(output.status.success(), "{text}{}", warned(&output));
    let confirmed: Vec<&str> = text.lines().filter(|line| line.contains(" in real time ")).collect();
    assert_eq!(confirmed.len(), 2, "{text}");
    assert!(confirmed.iter().all(|line| line.contains("in real time meets the SLO: get p50 < 20.0 s: ")), "{text}");
}

#[test]
fn an_slo_that_nothing_meets_ends_with_what_comes_closest() {
    let workload = workload(&folder("nothing"));
    let words =
        ["cheapest", "--workload", &workload, "--designs", "chain", "--servers", "4", "--disks", "1", "--seeds", "1"];
    let output = emulate(&[&words[..], &["--slo", "put p50 < 1 ms"]].concat());
    let text = printed(&output);
    assert!(!output.status.success());
    for said in
        ["None of these designs meets the SLO", "closest 4 servers of 1 disk; put p50 < 1 ms: ", "disk 0 of store-"]
    {
        assert!(text.contains(said), "`{said}` is not in\n{text}");
    }
}

#[test]
fn designs_are_compared_under_each_workload_on_the_size_of_its_own() {
    let workload = workload(&folder("compare"));
    let words = [
        "compare",
        "--workload",
        &workload,
        "--designs",
        "voldemort,swift",
        "--slo",
        "get p90 < 60 ms",
        "--servers",
        "6",
    ];
    let output =
        emulate(&[&words[..], &["--size", "smallest-for-its-own", "--set", "write_quorum=3,read_quorum=1"]].concat());
    let text = printed(&output);
    assert!(output.status.success(), "{text}{}", warned(&output));
    for said in [
        "voldemort ",
        "swift ",
        "3 servers of 1 disk;",
        "3 servers of 1 disk and 1 without;",
        "from 1 on the SLO is met",
    ] {
        assert!(text.contains(said), "`{said}` is not in\n{text}");
    }
}

#[test]
fn bad_words_of_searches_are_told() {
    let wrong: [(&[&str], &str); 9] = [
        (&["cheapest", "--slo", "get p90"], "is no bound of an SLO"),
        (&["cheapest", "--slo", "get p0 < 1 s"], "above 0 and at most 100"),
        (&["cheapest", "--workload", "few-keys"], "has no SLO: give one"),
        (&["cheapest", "--prices", "1999"], "there is no file of prices `1999`: name one of 2015, 2025"),
        (&["cheapest", "--designs", "sift"], "there is no design `sift`"),
        (&["cheapest", "--hardware", "tape"], "there is no hardware `tape`"),
        (&["cheapest", "--set", "odd=3"], "none of these designs has a global parameter `odd`"),
        (&["cheapest", "--designs", "voldemort", "--set", "write_quorum=4"], "4 of 3 replicas cannot answer"),
        (&["compare", "--servers", "0"], "1 to 1000 servers"),
    ];
    for (words, said) in wrong {
        let output = emulate(words);
        assert!(!output.status.success() && warned(&output).contains(said), "{words:?}: {}", warned(&output));
    }
}
