//! Letting the heap give its free memory back while the program rests.
//!
//! Invariant: when the program goes on, the flags are as they were. A JVM that does not allow them is frozen all the same; its heap just stays large.

use iolite_memory::attach;

/// In the order in which they are lowered: the least part may not be above the most.
const FLAGS: [(&str, &str); 2] = [("MinHeapFreeRatio", "5"), ("MaxHeapFreeRatio", "10")];

/// The flags that were changed, with their values before.
pub struct Shrinking {
    before: Vec<(&'static str, String)>,
}

impl Shrinking {
    pub fn begin() -> Shrinking {
        let pid = std::process::id();
        let mut before = Vec::new();
        for (flag, low) in FLAGS {
            let Ok(said) = attach::command(pid, &["printflag", flag]) else { break };
            let Some((_, value)) = said.trim().split_once('=') else { break };
            if attach::command(pid, &["setflag", flag, low]).is_err() {
                break;
            }
            before.push((flag, value.to_owned()));
        }
        Shrinking { before }
    }

    pub fn end(self) {
        for (flag, value) in self.before.into_iter().rev() {
            if let Err(error) = attach::command(std::process::id(), &["setflag", flag, &value]) {
                eprintln!("memoryd's agent: {flag} stays low, so the heap is collected more often: {error}");
            }
        }
    }
}
