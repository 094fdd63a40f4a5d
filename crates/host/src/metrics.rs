//! Counters, gauges, summaries and histograms, shown as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// All that a process measures. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// One number: a counter or a gauge.
#[derive(Clone, Debug, Default)]
pub struct Metric(Arc<AtomicU64>);

/// The distribution of the last durations.
#[derive(Clone, Debug, Default)]
pub struct Summary(Arc<Mutex<Recent>>);

/// How many durations are in which class, as somebody else counts them.
#[derive(Clone, Debug)]
pub struct Histogram {
    bounds: &'static [Duration],
    counted: Arc<Mutex<Counted>>,
}

#[derive(Debug, Default)]
struct Counted {
    /// Up to each bound and above the one before; then those above all.
    counts: Vec<u64>,
    sum: Duration,
}

#[derive(Debug, Default)]
struct Recent {
    /// The last [`RECENT_MAX`], in no order that means anything.
    durations: Vec<Duration>,
    count: u64,
    sum: Duration,
}

const RECENT_MAX: usize = 4096;

#[derive(Debug)]
struct Entry {
    name: &'static str,
    /// As they are shown, with their braces; empty without any.
    labels: String,
    help: &'static str,
    value: Kind,
}

#[derive(Debug)]
enum Kind {
    Counter(Metric),
    Gauge(Metric),
    Summary(Summary),
    Histogram(Histogram),
    /// A fact about this run, which does not change: a label and its value.
    Fact(&'static str, String),
}

impl Metrics {
    pub fn counter(&self, name: &'static str, help: &'static str) -> Metric {
        let metric = Metric::default();
        self.add(name, help, Kind::Counter(metric.clone()));
        metric
    }

    pub fn gauge(&self, name: &'static str, help: &'static str) -> Metric {
        let metric = Metric::default();
        self.add(name, help, Kind::Gauge(metric.clone()));
        metric
    }

    /// One counter of several that share a name. Asking again with equal labels gives the same one.
    pub fn counter_of(&self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)]) -> Metric {
        self.one_of(name, help, labels, Kind::Counter)
    }

    /// One gauge of several that share a name; likewise.
    pub fn gauge_of(&self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)]) -> Metric {
        self.one_of(name, help, labels, Kind::Gauge)
    }

    pub fn summary(&self, name: &'static str, help: &'static str) -> Summary {
        let summary = Summary::default();
        self.add(name, help, Kind::Summary(summary.clone()));
        summary
    }

    /// `bounds` are the classes' upper ends, in order.
    pub fn histogram(&self, name: &'static str, help: &'static str, bounds: &'static [Duration]) -> Histogram {
        let histogram = Histogram { bounds, counted: Arc::default() };
        self.add(name, help, Kind::Histogram(histogram.clone()));
        histogram
    }

    pub fn fact(&self, name: &'static str, help: &'static str, label: &'static str, value: impl Into<String>) {
        self.add(name, help, Kind::Fact(label, value.into()));
    }

    /// The text that a Prometheus server reads. What shares a name stands together.
    pub fn render(&self) -> String {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut order: Vec<&'static str> = Vec::new();
        let mut named: BTreeMap<&'static str, Vec<&Entry>> = BTreeMap::new();
        for entry in entries.iter() {
            let same = named.entry(entry.name).or_default();
            if same.is_empty() {
                order.push(entry.name);
            }
            same.push(entry);
        }
        let mut text = String::new();
        for name in order {
            render(&named[name], &mut text).expect("a string takes whatever is written to it");
        }
        text
    }

    fn add(&self, name: &'static str, help: &'static str, value: Kind) {
        let entry = Entry { name, labels: String::new(), help, value };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    fn one_of(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        kind: fn(Metric) -> Kind,
    ) -> Metric {
        let labels = shown(labels);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = entries.iter().filter(|entry| entry.name == name && entry.labels == labels);
        let known = known.find_map(|entry| match &entry.value {
            Kind::Counter(metric) | Kind::Gauge(metric) => Some(metric.clone()),
            Kind::Summary(_) | Kind::Histogram(_) | Kind::Fact(..) => None,
        });
        known.unwrap_or_else(|| {
            let metric = Metric::default();
            entries.push(Entry { name, labels, help, value: kind(metric.clone()) });
            metric
        })
    }
}

impl Metric {
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Ordering::Relaxed);
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Summary {
    pub fn observe(&self, duration: Duration) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (recent.count % RECENT_MAX as u64) as usize;
        match recent.durations.get_mut(place) {
            Some(oldest) => *oldest = duration,
            None => recent.durations.push(duration),
        }
        recent.count += 1;
        recent.sum += duration;
    }

    fn render(&self, name: &str, text: &mut String) -> std::fmt::Result {
        let recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted = recent.durations.clone();
        sorted.sort_unstable();
        for quantile in [0.5, 0.9, 0.99] {
            let place = (sorted.len() as f64 * quantile) as usize;
            if let Some(duration) = sorted.get(place) {
                writeln!(text, "{name}{{quantile=\"{quantile}\"}} {}", duration.as_secs_f64())?;
            }
        }
        writeln!(text, "{name}_sum {}", recent.sum.as_secs_f64())?;
        writeln!(text, "{name}_count {}", recent.count)
    }
}

impl Histogram {
    /// The present counts: one for each bound, and one for what is above all.
    pub fn set(&self, counts: &[u64], sum: Duration) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.counts.clear();
        counted.counts.extend_from_slice(counts);
        counted.sum = sum;
    }

    fn render(&self, name: &str, text: &mut String) -> std::fmt::Result {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut below = 0;
        for (bound, count) in self.bounds.iter().zip(counted.counts.iter().chain(std::iter::repeat(&0))) {
            below += count;
            writeln!(text, "{name}_bucket{{le=\"{}\"}} {below}", bound.as_secs_f64())?;
        }
        let all: u64 = counted.counts.iter().sum();
        writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {all}")?;
        writeln!(text, "{name}_sum {}\n{name}_count {all}", counted.sum.as_secs_f64())
    }
}

fn shown(labels: &[(&'static str, &str)]) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let shown: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", shown.join(","))
}

/// Those of one name.
fn render(entries: &[&Entry], text: &mut String) -> std::fmt::Result {
    let Some(Entry { name, help, value, .. }) = entries.first() else { return Ok(()) };
    let kind = match value {
        Kind::Counter(_) => "counter",
        Kind::Gauge(_) | Kind::Fact(..) => "gauge",
        Kind::Summary(_) => "summary",
        Kind::Histogram(_) => "histogram",
    };
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
    for Entry { labels, value, .. } in entries {
        match value {
            Kind::Counter(metric) | Kind::Gauge(metric) => writeln!(text, "{name}{labels} {}", metric.get())?,
            Kind::Summary(summary) => summary.render(name, text)?,
            Kind::Histogram(histogram) => histogram.render(name, text)?,
            Kind::Fact(label, fact) => writeln!(text, "{name}{{{label}=\"{fact}\"}} 1")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_shown_with_its_help_and_type() {
        let metrics = Metrics::default();
        metrics.counter("a_total", "Things.").add(3);
        metrics.gauge("b", "Levels.").set(7);
        metrics.fact("c", "A fact.", "class", "fsync");
        let summary = metrics.summary("d_seconds", "Times.");
        (1..=100).for_each(|millis| summary.observe(Duration::from_millis(millis)));
        let text = metrics.render();
        assert!(text.contains("# HELP a_total Things.\n# TYPE a_total counter\na_total 3\n"), "{text}");
        assert!(text.contains("# TYPE b gauge\nb 7\n"), "{text}");
        assert!(text.contains("c{class=\"fsync\"} 1\n"), "{text}");
        assert!(text.contains("d_seconds{quantile=\"0.5\"} 0.051\n"), "{text}");
        assert!(text.contains("d_seconds_count 100\n"), "{text}");
    }

    #[test]
    fn a_histogram_counts_all_below_each_bound() {
        const BOUNDS: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];
        let metrics = Metrics::default();
        let histogram = metrics.histogram("e_seconds", "Times.", &BOUNDS);
        let empty = "e_seconds_bucket{le=\"0.005\"} 0\ne_seconds_bucket{le=\"1\"} 0\ne_seconds_bucket{le=\"+Inf\"} 0\n";
        assert!(metrics.render().contains(empty), "{}", metrics.render());
        histogram.set(&[3, 2, 1], Duration::from_millis(2500));
        let text = metrics.render();
        let counted = "# TYPE e_seconds histogram\ne_seconds_bucket{le=\"0.005\"} 3\ne_seconds_bucket{le=\"1\"} 5\n\
            e_seconds_bucket{le=\"+Inf\"} 6\ne_seconds_sum 2.5\ne_seconds_count 6\n";
        assert!(text.contains(counted), "{text}");
    }

    #[test]
    fn what_shares_a_name_stands_together_under_one_help() {
        let metrics = Metrics::default();
        metrics.counter_of("a_total", "Things.", &[("peer", "x"), ("reason", "say \"no\"")]).add(1);
        metrics.counter("b_total", "Others.");
        metrics.counter_of("a_total", "Things.", &[("peer", "y"), ("reason", "full")]).add(2);
        metrics.counter_of("a_total", "Things.", &[("peer", "y"), ("reason", "full")]).add(3);
        let text = metrics.render();
        let together = "# HELP a_total Things.\n# TYPE a_total counter\n\
            a_total{peer=\"x\",reason=\"say \\\"no\\\"\"} 1\na_total{peer=\"y\",reason=\"full\"} 5\n# HELP b_total";
        assert!(text.starts_with(together), "{text}");
    }
}
