//! Commands of operators about blobs: `iolite blobs usage`, `check` and `sweep` ask them of a running gateway.
//!
//! Invariant: a check ends when nobody listens any more; a sweep goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use iolite_blobs::SweepReport;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::blobs::cells::CellName;
use crate::blobs::check::{Check, CheckNews, Checked, Problem};
use crate::blobs::pass::Order;
use crate::blobs::sweeper::{SWEEPS_MAX, Sweeper};
use crate::operate::{Answering, Lines};

/// The grace that a command may ask for: a week. Its sweep has one of the places for commands for so long.
const GRACE_OF_COMMAND_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Answers the commands, or says that there is no store.
pub(crate) struct BlobCommands {
    sweeper: Option<Arc<Sweeper>>,
    is_checking: Arc<AtomicBool>,
}

impl BlobCommands {
    pub fn new(sweeper: Option<Arc<Sweeper>>) -> BlobCommands {
        BlobCommands { sweeper, is_checking: Arc::default() }
    }

    /// Whether there is such a command.
    pub fn run(&self, name: &str, options: &str, answering: Answering) -> bool {
        let lines = answering.lines.clone();
        let Some(sweeper) = self.sweeper.clone() else {
            let problem = "this gateway has no store for blobs: name one by `store`, under [blobs] in its file";
            lines.begin(json!({ "error": problem }));
            return true;
        };
        match name {
            "usage" => lines.begin(usage(&sweeper)),
            "check" => answering.spawn(check(sweeper, self.is_checking.clone(), lines)),
            "sweep" => match order(options, sweeper.chunks.grace()) {
                Ok(order) => answering.spawn(sweep(sweeper, order, lines)),
                Err(problem) => lines.begin(json!({ "error": problem })),
            },
            _ => return false,
        }
        true
    }
}

/// `dry`, and `grace=SECONDS`, joined by `&`.
fn order(options: &str, grace: Duration) -> Result<Order, String> {
    let mut order = Order { is_dry: false, grace };
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            None if option == "dry" => order.is_dry = true,
            Some(("grace", seconds)) => {
                let seconds = seconds.parse().map_err(|_| format!("grace is {seconds:?}: say how many seconds"))?;
                order.grace = Duration::from_secs(seconds);
                if order.grace > GRACE_OF_COMMAND_MAX {
                    let most = GRACE_OF_COMMAND_MAX.as_secs();
                    return Err(format!("grace is {seconds} seconds: say at most {most}, which is a week"));
                }
            }
            None | Some(_) => {
                return Err(format!("a sweep has no option {option:?}: it has `dry` and `grace=SECONDS`"));
            }
        }
    }
    Ok(order)
}

fn usage(sweeper: &Sweeper) -> Value {
    let usage = sweeper.chunks.usage();
    let Some(now) = usage.now() else {
        return json!({ "error": "the store is being counted: ask again in a moment. If that lasts, the log of this gateway says why" });
    };
    let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let swept = sweeper.last().map(|swept| {
        let mut line = reported(&swept.report);
        line["at"] = json!(since(swept.at));
        line
    });
    let (chunks, bytes) = (now.chunks, now.bytes);
    json!({ "done": {
        "chunks": chunks,
        "bytes": bytes,
        "bytes_max": usage.bytes_max,
        "leases": sweeper.leases_known(),
        "sweeping": sweeper.is_sweeping(),
        "swept": swept,
    } })
}

fn reported(report: &SweepReport) -> Value {
    json!({
        "chunks": report.objects,
        "bytes": report.bytes,
        "garbage": report.garbage,
        "garbage_bytes": report.garbage_bytes,
        "deleted": report.deleted,
        "damaged": report.damaged,
        "failure": report.failure,
    })
}

/// With a grace the answer ends when it is known what is deleted after it.
async fn sweep(sweeper: Arc<Sweeper>, order: Order, lines: Lines) {
    let told = lines.clone();
    let found = move |report: &SweepReport| {
        let mut line = reported(report);
        line["after"] = json!(order.grace.as_secs());
        let is_last = !order.grace.is_zero();
        let line = if is_last { json!({ "done": line }) } else { json!({ "found": line }) };
        told.begin(line);
    };
    let line = match sweeper.sweep_now(order, found).await {
        Some(Ok(report)) => match &report.failure {
            Some(problem) => json!({ "error": problem }),
            None => json!({ "done": reported(&report) }),
        },
        Some(Err(problem)) => json!({ "error": problem.to_string() }),
        None => {
            json!({ "error": format!("{SWEEPS_MAX} sweeps go on already: wait until one has ended (`iolite blobs usage` says so)") })
        }
    };
    lines.say(line).await;
}

async fn check(sweeper: Arc<Sweeper>, is_checking: Arc<AtomicBool>, lines: Lines) {
    if is_checking.swap(true, Ordering::AcqRel) {
        return lines.say(json!({ "error": "another check goes on: wait until it has ended" })).await;
    }
    let (news, mut told) = mpsc::channel(1);
    let telling = async {
        while let Some(news) = told.recv().await {
            lines.say(news_line(news)).await;
        }
    };
    let checking = async { tokio::join!(Check::run(&sweeper.asks, &sweeper.chunks, news), telling) };
    let line = tokio::select! {
        (checked, ()) = checking => match checked {
            Ok(checked) => json!({ "done": counted(checked) }),
            Err(problem) => json!({ "error": problem.to_string() }),
        },
        () = lines.closed() => Value::Null,
    };
    is_checking.store(false, Ordering::Release);
    lines.say(line).await;
}

fn news_line(news: CheckNews) -> Value {
    match news {
        CheckNews::Progress(checked) => json!({ "progress": counted(checked) }),
        CheckNews::Problem(Problem { cell: CellName { table, key, column }, object, flaw }) => {
            let flaw = flaw.to_string();
            json!({ "problem": {
                "table": table, "key": key, "column": column, "chunk": object.chunk.to_string(),
                "object": object.to_string(), "flaw": flaw,
            } })
        }
    }
}

fn counted(checked: Checked) -> Value {
    let Checked { blobs, chunks, bytes, problems } = checked;
    json!({ "blobs": blobs, "chunks": chunks, "bytes": bytes, "problems": problems })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn an_order_has_the_options_that_it_is_given_and_no_others() {
        assert_eq!(order("", HOUR), Ok(Order { is_dry: false, grace: HOUR }));
        assert_eq!(order("dry&grace=0", HOUR), Ok(Order { is_dry: true, grace: Duration::ZERO }));
        assert!(order("grace=604800", HOUR).is_ok_and(|order| order.grace == GRACE_OF_COMMAND_MAX));
        let too_long = order("grace=604801", HOUR);
        assert!(too_long.is_err_and(|error| error.contains("at most 604800, which is a week")));
        for (wrong, told) in [("wet", "no option \"wet\""), ("grace=soon", "how many seconds"), ("dry=1", "no option")]
        {
            assert!(order(wrong, HOUR).is_err_and(|error| error.contains(told)), "{wrong}");
        }
    }
}
