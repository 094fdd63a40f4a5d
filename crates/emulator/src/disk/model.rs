//! How long a disk takes for an operation: a disk that rotates, or flash.
//!
//! Invariant: an operation takes the same time at the same moment and place, so both clocks measure one disk.
//! Source: Ruemmler and Wilkes, "An introduction to disk drive modeling" (1994): the time of a seek grows with the root of its distance when
//! it is short, and with the distance itself when it is long. The sector under the head follows from the time.

use iolite_machine::Instant;

use crate::file::{Problem, Section};
use crate::quantity::{Bytes, Span};

#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    Rotating(Rotating),
    Flash(Flash),
    /// Takes no time: for the data that are there before a run starts.
    Free,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rotating {
    /// The time of one rotation.
    pub rotation: Span,
    /// To the next track, over a third of all tracks, and over all.
    pub seek_nearest: Span,
    pub seek_third: Span,
    pub seek_full: Span,
    /// Bytes a second under the head.
    pub transfer: Bytes,
    /// How much the disk takes in before it is written, if it is not told to write through.
    pub write_cache: Bytes,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    pub read: Span,
    pub write: Span,
    /// The rate of one channel.
    pub transfer: Bytes,
    /// Operations served at once.
    pub channels: usize,
}

/// The rule that says which operation is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// As they came.
    InOrder,
    /// Reads before writes, and a write after two reads that overtook it: what Linux calls `mq-deadline`.
    ReadsFirst,
}

/// Where the head of a rotating disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head(pub u64);

/// The time that an operation takes, and whether its head had to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    pub seek: Span,
    pub rotation: Span,
    pub transfer: Span,
}

impl Service {
    pub fn whole(&self) -> Span {
        self.seek + self.rotation + self.transfer
    }
}

impl Model {
    pub fn read(disk: &Section) -> Result<Model, Problem> {
        let model = match disk.choice("kind", &["rotating", "flash"], None)? {
            0 => {
                let rotations = disk.count_or("rpm", 7_200)?;
                Model::Rotating(Rotating {
                    rotation: Span::from_secs(60) / u32::try_from(rotations).unwrap_or(u32::MAX),
                    seek_nearest: disk.span("seek_nearest")?,
                    seek_third: disk.span("seek_third")?,
                    seek_full: disk.span("seek_full")?,
                    transfer: disk.bytes("transfer")?,
                    write_cache: disk.bytes_or("write_cache", Bytes(0))?,
                })
            }
            _ => Model::Flash(Flash {
                read: disk.span("read")?,
                write: disk.span("write")?,
                transfer: disk.bytes("transfer")?,
                channels: disk.count_or("channels", 1)?.min(4096) as usize,
            }),
        };
        let (Model::Rotating(Rotating { transfer, .. }) | Model::Flash(Flash { transfer, .. })) = &model else {
            return Ok(model);
        };
        if transfer.0 == 0 {
            return Err(disk.problem(
                "transfer",
                "a disk that transfers nothing never answers",
                "write bytes a second",
            ));
        }
        Ok(model)
    }

    /// How many operations are served at once.
    pub fn channels(&self) -> usize {
        match self {
            Model::Rotating(_) => 1,
            Model::Flash(flash) => flash.channels,
            Model::Free => usize::MAX,
        }
    }

    /// The most bytes that are written and not yet safe.
    pub fn write_cache(&self) -> Bytes {
        match self {
            Model::Rotating(rotating) => rotating.write_cache,
            Model::Flash(_) | Model::Free => Bytes(0),
        }
    }

    /// The time that it takes to read or write these pieces, one after the other, from `start` on; the head ends behind the last.
    pub fn service(
        &self,
        start: Instant,
        capacity: Bytes,
        head: &mut Head,
        is_write: bool,
        pieces: &[(u64, u64)],
    ) -> Service {
        let mut sum = Service::default();
        for (offset, length) in pieces {
            let one = match self {
                Model::Rotating(disk) => disk.service(start + sum.whole(), capacity, *head, *offset, *length),
                Model::Flash(flash) => flash.service(is_write, *length),
                Model::Free => Service::default(),
            };
            *head = Head(offset + length);
            sum.seek += one.seek;
            sum.rotation += one.rotation;
            sum.transfer += one.transfer;
        }
        sum
    }
}

impl Rotating {
    fn track_bytes(&self) -> u64 {
        ((self.transfer.0 as f64 * self.rotation.as_secs_f64()) as u64).max(1)
    }

    fn service(&self, start: Instant, capacity: Bytes, head: Head, offset: u64, length: u64) -> Service {
        let track = self.track_bytes();
        let (from, to) = (head.0 / track, offset / track);
        let seek = match from == to {
            true => Span::ZERO,
            false => self.seek(from.abs_diff(to) as f64 / (capacity.0 / track).max(1) as f64),
        };
        let rotation = self.rotation.as_nanos() as u64;
        let under_head = (start + seek).as_nanos() % rotation;
        let wanted = (rotation as f64 * (offset % track) as f64 / track as f64) as u64 % rotation;
        let wait = (wanted + rotation - under_head) % rotation;
        // What follows at once is not missed by the rounding of a nanosecond: gaps between sectors are longer.
        let wait = if wait + rotation / 1_000 >= rotation { 0 } else { wait };
        let transfer = Span::from_secs_f64(length as f64 / self.transfer.0 as f64);
        Service { seek, rotation: Span::from_nanos(wait), transfer }
    }

    /// `distance` is a share of all tracks.
    fn seek(&self, distance: f64) -> Span {
        let [nearest, third, full] =
            [self.seek_nearest, self.seek_third, self.seek_full].map(|span| span.as_secs_f64());
        let distance = distance.min(1.0);
        let seconds = match distance < 1.0 / 3.0 {
            true => nearest + (third - nearest) * (3.0 * distance).sqrt(),
            false => third + (full - third) * (distance - 1.0 / 3.0) * 1.5,
        };
        Span::from_secs_f64(seconds.max(0.0))
    }
}

impl Flash {
    fn service(&self, is_write: bool, length: u64) -> Service {
        let fixed = if is_write { self.write } else { self.read };
        let transfer = fixed + Span::from_secs_f64(length as f64 / self.transfer.0 as f64);
        Service { transfer, ..Service::default() }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn rotating() -> Rotating {
        Rotating {
            rotation: Span::from_nanos(8_333_333),
            seek_nearest: Span::from_micros(800),
            seek_third: Span::from_micros(8_500),
            seek_full: Span::from_millis(18),
            transfer: Bytes(110_000_000),
            write_cache: Bytes(0),
        }
    }

    const CAPACITY: Bytes = Bytes(500_000_000_000);

    #[test]
    fn seeks_grow_with_distance_from_track_to_track_to_full_stroke() {
        let disk = rotating();
        let seeks: Vec<Span> = (0..=100).map(|percent| disk.seek(f64::from(percent) / 100.0)).collect();
        assert!(seeks.is_sorted());
        assert_eq!(seeks[0], disk.seek_nearest);
        assert_eq!(seeks[100], disk.seek_full);
        assert!(disk.seek(1.0 / 3.0).abs_diff(disk.seek_third) < Span::from_micros(1));
    }

    #[test]
    fn random_reads_wait_for_half_a_rotation_on_average() {
        let model = Model::Rotating(rotating());
        let mut head = Head::default();
        let (mut now, mut rotation) = (Instant::default(), Span::ZERO);
        let mut random = crate::workload::Random::of(1, 0);
        for _ in 0..2_000 {
            let offset = random.below(CAPACITY.0 - 4096);
            let service = model.service(now, CAPACITY, &mut head, false, &[(offset, 4096)]);
            rotation += service.rotation;
            now = now + service.whole();
        }
        let average = rotation / 2_000;
        assert!(average.abs_diff(Span::from_micros(4_166)) < Span::from_micros(300), "{average:?}");
    }

    #[test]
    fn what_follows_at_once_waits_for_nothing_and_what_comes_late_for_the_rest_of_a_rotation() {
        let model = Model::Rotating(rotating());
        let mut head = Head::default();
        let first = model.service(Instant::default(), CAPACITY, &mut head, true, &[(0, 4096)]);
        let then = Instant::default() + first.whole();
        let mut at_once = head;
        let second = model.service(then, CAPACITY, &mut at_once, true, &[(4096, 4096)]);
        assert!(second.whole() < Span::from_micros(40), "{second:?}");
        let late = model.service(then + Span::from_millis(1), CAPACITY, &mut head, true, &[(4096, 4096)]);
        assert!(late.rotation > Span::from_micros(7_300) && late.seek.is_zero(), "{late:?}");
    }
}
