use iolite_simulation::{Broken, WorldKind, run, run_world};
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<String> = std::env::args().collect();
    let (first, last): (u64, u64) = (args[2].parse().unwrap(), args[3].parse().unwrap());
    let kind = WorldKind::from_name(&args[1]);
    let mut events = iolite_simulation::Counts::default();
    let (mut failed, mut confirmed, mut steps) = (Vec::new(), 0, 0);
    let began = std::time::Instant::now();
    for seed in first..=last {
        let own = std::time::Instant::now();
        let outcome = match kind {
            Some(kind) => run_world(seed, kind),
            None => run(seed, Broken::from_name(&args[1]).unwrap()),
        };
        events.merge(&outcome.row_events);
        confirmed += outcome.confirmed;
        steps += outcome.steps;
        let ms = own.elapsed().as_millis();
        if ms > 1500 {
            println!("seed {seed} took {ms} ms, {} steps", outcome.steps);
        }
        if let Some(violation) = outcome.violation {
            let text = violation.to_string();
            println!("seed {seed}: {}", &text.chars().take(30000).collect::<String>());
            failed.push(seed);
            if kind.is_none() {
                break;
            }
        }
    }
    println!(
        "{first}..{last}: failed {failed:?}, confirmed {confirmed}, steps {steps}, {:?}; {events}",
        began.elapsed()
    );
}
