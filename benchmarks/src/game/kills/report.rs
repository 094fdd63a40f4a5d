//! What came of a game under which something was killed, as text or as one line of JSON.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

use super::chain::Findings;

/// After one kill, until the next one.
#[derive(Clone, Debug)]
pub struct AfterKill {
    pub victim: String,
    /// The longest time in which no round was acknowledged.
    pub pause: Duration,
    pub rounds: u64,
}

#[derive(Clone, Debug)]
pub struct KillsReport {
    pub seconds: u32,
    pub delay_ms: u32,
    pub durability: String,
    /// The longest pause before anything was killed.
    pub undisturbed: Duration,
    pub kills: Vec<AfterKill>,
    pub rounds: u64,
    pub findings: Findings,
}

impl KillsReport {
    pub fn text(&self, json: bool) -> anyhow::Result<String> {
        let Findings { lost, doubled, violations } = self.findings;
        if json {
            let kills: Vec<_> = self.kills.iter().map(|kill| json!({"victim": kill.victim, "longest_pause_ms": millis(kill.pause), "rounds": kill.rounds})).collect();
            let report = json!({
                "workload": "game", "seconds": self.seconds, "delay_ms": self.delay_ms, "durability": self.durability,
                "undisturbed_longest_pause_ms": millis(self.undisturbed), "kills": kills,
                "rounds": self.rounds, "lost": lost, "doubled": doubled, "violations": violations,
            });
            return Ok(format!("{report}\n"));
        }
        let mut text = format!("longest pause without a kill: {} ms\n", millis(self.undisturbed));
        for AfterKill { victim, pause, rounds } in &self.kills {
            writeln!(
                text,
                "longest pause after {victim} was killed: {} ms ({rounds} rounds until the next kill)",
                millis(*pause)
            )?;
        }
        writeln!(text, "rounds: {}, lost: {lost}, doubled: {doubled}, violations: {violations}", self.rounds)?;
        Ok(text)
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}
