//! Runs seeds and prints the report: `cargo run --release -p iolite-simulation --example seeds 1 300 [BROKEN]`.
use iolite_simulation::{Broken, Report};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(1u64);
    let broken = arguments.get(2).and_then(|name| Broken::from_name(name)).unwrap_or_default();
    std::panic::set_hook(Box::new(|_| {}));
    let report = Report::of(number(0)..=number(1), broken, |outcome| {
        if let Some(violation) = &outcome.violation {
            eprintln!("seed {}: {violation}", outcome.seed);
        }
    });
    println!("{}", serde_json::to_string_pretty(&report).unwrap());
    println!("{:?}", report.failures());
}
