//! The program of the soak: two threads that put, read, write and drop objects, and check every word of every object that they read.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_memory::{Options, Pool, Region, Slot};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

const OBJECTS: usize = 200;
const THREADS: u64 = 2;

/// The work of a program, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    pub reads: u64,
    pub writes: u64,
    pub restored: u64,
    pub taken_over: u64,
    pub longest_read_us: u64,
}

impl Sum {
    fn line(self) -> String {
        let Sum { reads, writes, restored, taken_over, longest_read_us } = self;
        format!("soaked {reads} {writes} {restored} {taken_over} {longest_read_us} end")
    }

    pub fn read(said: &str) -> Option<Sum> {
        let (_, rest) = said.split_once("soaked ")?;
        let numbers: Vec<u64> = rest.split(' ').map_while(|number| number.parse().ok()).collect();
        let [reads, writes, restored, taken_over, longest_read_us] = numbers[..] else { return None };
        Some(Sum { reads, writes, restored, taken_over, longest_read_us })
    }
}

#[test]
#[ignore = "another process of the soak"]
fn program_of_the_soak() {
    let Some(socket) = std::env::var_os("IOLITE_SOAK_SOCKET") else { return };
    let seed = std::env::var("IOLITE_SOAK_PROGRAM").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let options = Options::new("soak").bytes_max(64 << 20).swap_in(std::env::temp_dir()).memoryd_at(socket);
    let region = Region::create(options.save_every(Duration::from_millis(5))).expect("this machine allows it");
    region.background();
    let is_done = AtomicBool::new(false);
    let sums: Vec<Sum> = std::thread::scope(|scope| {
        let users: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (pool, is_done) = (region.pool().expect("there are few"), &is_done);
                scope.spawn(move || User::new(&pool, seed, thread).run(is_done))
            })
            .collect();
        // The parent closes it, or is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        is_done.store(true, Ordering::Relaxed);
        users.into_iter().map(|user| user.join().expect("the thread has checked everything")).collect()
    });
    let counts = region.counts();
    assert_eq!(counts.corrupt, 0, "the swap file gave other bytes");
    let mut sum = Sum { restored: counts.restored, taken_over: counts.taken_over, ..Sum::default() };
    for its in sums {
        sum.reads += its.reads;
        sum.writes += its.writes;
        sum.longest_read_us = sum.longest_read_us.max(its.longest_read_us);
    }
    println!("\n{}", sum.line());
}

struct User<'a> {
    pool: &'a Pool,
    random: ChaCha8Rng,
    thread: u64,
    objects: Vec<Object>,
    sum: Sum,
}

struct Object {
    slot: Slot,
    /// From which its words follow.
    stamp: u64,
}

/// Every word differs from its neighbours, and from those of other objects and versions.
fn word(stamp: u64, at: usize) -> [u8; 8] {
    (stamp ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()
}

fn check(bytes: &[u8], stamp: u64) {
    for (at, found) in bytes.as_chunks::<8>().0.iter().enumerate() {
        if *found != word(stamp, at) {
            println!("\nWRONG word {at} of {}: {found:?} for {:?}", bytes.len() / 8, word(stamp, at));
            std::process::exit(3);
        }
    }
}

fn fill(bytes: &mut [u8], stamp: u64) {
    for (at, word_of) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word_of = word(stamp, at);
    }
}

impl<'a> User<'a> {
    fn new(pool: &'a Pool, seed: u64, thread: u64) -> User<'a> {
        let random = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(THREADS) + thread);
        let mut user = User { pool, random, thread, objects: Vec::new(), sum: Sum::default() };
        for _ in 0..OBJECTS {
            let object = user.made();
            user.objects.push(object);
        }
        user
    }

    fn made(&mut self) -> Object {
        let stamp = self.random.next_u64();
        let bytes = 128 << (self.random.next_u64() % 10);
        let mut content = vec![0; bytes];
        fill(&mut content, stamp);
        Object { slot: self.pool.put(&content).expect("there is room"), stamp }
    }

    fn run(mut self, is_done: &AtomicBool) -> Sum {
        while !is_done.load(Ordering::Relaxed) {
            let draw = self.random.next_u64();
            let which = usize::try_from(draw >> 40).expect("24 bits fit") % OBJECTS;
            match draw % 32 {
                0 => self.objects[which] = self.made(),
                1..6 => self.write(which, draw ^ self.thread),
                _ => self.read(which),
            }
        }
        self.sum
    }

    fn read(&mut self, which: usize) {
        let begun = Instant::now();
        let guard = self.pool.read(&self.objects[which].slot).expect("it is there");
        let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        check(&guard, self.objects[which].stamp);
        self.sum.reads += 1;
        self.sum.longest_read_us = self.sum.longest_read_us.max(took);
    }

    fn write(&mut self, which: usize, stamp: u64) {
        let object = &mut self.objects[which];
        let mut guard = self.pool.write(&mut object.slot).expect("it is there");
        check(&guard, object.stamp);
        fill(&mut guard, stamp);
        drop(guard);
        object.stamp = stamp;
        self.sum.writes += 1;
    }
}
