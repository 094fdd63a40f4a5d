//! A plot of single transactions over time, as SVG.
//!
//! Source: SwiftCloud (Zawirski 2013), Figure 10. Latencies are on a logarithmic scale here, so that those of hits are seen.

use std::fmt::Write;
use std::time::Instant;

use super::scatter::{Away, Point};
use super::waiting::Waited;

struct Plot {
    text: String,
    /// The time of the last call.
    seconds: f64,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 30.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = HEIGHT - 40.0;
/// The lowest and the highest latency, as powers of ten of a millisecond.
const LOW: i32 = -2;
const HIGH: i32 = 4;

const HIT: &str = "#1f77b4";
const UPDATE: &str = "#2ca02c";
const MISS: &str = "#d62728";

/// Draws all points. The time in which the data centre was away is grey.
pub fn svg(points: &[Point], away: Away) -> String {
    let seconds = points.iter().map(|point| point.second(away)).fold(1.0, f64::max);
    let mut plot = Plot { text: String::new(), seconds };
    let start = format!("viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\"");
    plot.line(&format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {start}>"));
    plot.away(away);
    plot.axes();
    for point in points {
        let (x, y) = (plot.x(point.second(away)), y(point.ms().max(f64::MIN_POSITIVE).log10()));
        plot.line(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.5\" fill=\"{}\"/>", colour(point)));
    }
    plot.line("</svg>");
    plot.text
}

impl Plot {
    fn line(&mut self, line: &str) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn x(&self, second: f64) -> f64 {
        LEFT + second / self.seconds * (RIGHT - LEFT)
    }

    fn away(&mut self, away: Away) {
        let at = |moment: Instant| self.x(moment.saturating_duration_since(away.begun).as_secs_f64());
        let (from, width, height) = (at(away.from), at(away.to) - at(away.from), BOTTOM - TOP);
        let size = format!("width=\"{width:.1}\" height=\"{height}\"");
        self.line(&format!("<rect x=\"{from:.1}\" y=\"{TOP}\" {size} fill=\"#ddd\"/>"));
    }

    fn axes(&mut self) {
        for power in LOW..=HIGH {
            let y = y(f64::from(power));
            self.line(&format!("<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#eee\"/>"));
            self.line(&format!("<text x=\"4\" y=\"{:.1}\">{} ms</text>", y + 4.0, 10_f64.powi(power)));
        }
        for second in (0..=self.seconds as u32).step_by(10) {
            let x = self.x(f64::from(second));
            self.line(&format!("<text x=\"{x:.1}\" y=\"{}\">{second} s</text>", BOTTOM + 18.0));
        }
        let kinds = [("found on the device", HIT), ("update", UPDATE), ("fetched", MISS)];
        for (x, (name, colour)) in [LEFT, LEFT + 180.0, LEFT + 280.0].into_iter().zip(kinds) {
            self.line(&format!("<text x=\"{x}\" y=\"{}\" fill=\"{colour}\">{name}</text>", HEIGHT - 5.0));
        }
    }
}

fn y(power: f64) -> f64 {
    let (low, high) = (f64::from(LOW), f64::from(HIGH));
    BOTTOM - (power.clamp(low, high) - low) / (high - low) * (BOTTOM - TOP)
}

fn colour(point: &Point) -> &'static str {
    match point.waited {
        Waited::ForData => MISS,
        Waited::Not if point.kind.writes() => UPDATE,
        Waited::Not => HIT,
    }
}
