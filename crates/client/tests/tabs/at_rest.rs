//! Whatever happened, at rest every tab shows the same.

use super::*;

/// A small generator, so that a failure names its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Something happens at the leader, at a tab, or between them.
fn happen(random: &mut Random, leader: &mut Harness, tabs: &mut [Tab], clock: &mut u64) {
    let tab = random.below(tabs.len() as u64) as usize;
    *clock += 10;
    match random.below(9) {
        0 => drop(leader.mutate(["hit", "shout", "refuse"][random.below(3) as usize])),
        1 => drop(tabs[tab].mutate(leader.now, u128::from(*clock), ["hit", "shout"][random.below(2) as usize])),
        2 => leader.store(),
        3 => leader.advance(Advance { to: at(*clock), changes: vec![hit(1, 1)], ..Advance::default() }),
        4 => leader.advance(Advance { to: at(*clock), changes: vec![title_put(1, "z")], ..Advance::default() }),
        5 => {
            for submit in leader.take_submits() {
                let changes = match submit.decision {
                    iolite_values::Decision::Commit(writes) => writes,
                    iolite_values::Decision::Abort(_) => Vec::new(),
                };
                leader.decide(submit.counter, submit.attempt.0, *clock, changes, Verdict::Committed(at(*clock)));
            }
        }
        6 => take_down(leader, tabs),
        7 => {
            let down = std::mem::take(&mut tabs[tab].down);
            for message in down {
                tabs[tab].input(leader.now, FollowerInput::FromLeader(message));
            }
            tabs[tab].store(leader);
        }
        _ => {
            for message in std::mem::take(&mut tabs[tab].up) {
                leader.input(Input::FromTab(tabs[tab].id, message));
            }
        }
    }
}

#[test]
fn at_rest_every_tab_shows_what_the_leader_shows() {
    for seed in 1..=200 {
        let mut random = Random(seed);
        let (mut leader, mut tabs) = followed(2);
        let read = |tx: &mut Transaction<'_>| Ok(format!("{} {:?}", count(tx)?, first_note(tx)?));
        let seen: Vec<_> = tabs.iter_mut().flat_map(|tab| VIEWS.map(|view| tab.watch(view, read))).collect();
        exchange(&mut leader, &mut tabs);
        let mut clock = 10;
        leader.load(clock, &[(notes(), key(1), note_row("a", 0))]);
        leader.load(clock, &[(notes(), key(1), note_row("a", 0))]);
        exchange(&mut leader, &mut tabs);
        leader.load(clock, &[(notes(), key(1), note_row("a", 0))]);
        leader.stores = false;
        for _ in 0..60 {
            happen(&mut random, &mut leader, &mut tabs, &mut clock);
        }
        if random.below(2) == 0 {
            leader.store();
        }
        exchange(&mut leader, &mut tabs);
        let own = VIEWS.map(|view| {
            let shown = std::rc::Rc::new(std::cell::RefCell::new(String::new()));
            let log = shown.clone();
            leader.react(view, move |tx| {
                *log.borrow_mut() = read(tx)?;
                Ok(())
            });
            shown.take()
        });
        for (place, seen) in seen.iter().enumerate() {
            assert_eq!(seen.borrow().last(), Some(&own[place % 3]), "seed {seed}, {:?}", VIEWS[place % 3]);
        }
        let pending: Vec<_> = leader.client.pending().collect();
        for tab in &tabs {
            assert!(tab.follower.pending().eq(&pending), "seed {seed}");
        }
    }
}
