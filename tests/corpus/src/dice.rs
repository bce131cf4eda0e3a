//! Seeded draws from ranges that are cut in two: seed A never draws what seed B could draw.

use rand::{Rng, SeedableRng, rngs::StdRng};

/// Strips that every range of real numbers is cut into; A draws from the even ones, B from the odd ones.
const STRIPS: u32 = 8;
/// Share of a strip that is left free at both of its ends, so that no rounding joins neighbours.
const MARGIN: f64 = 0.02;

/// Which part of every range is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// For finding out why the gate is wrong.
    A,
    /// For the result alone: nothing is ever tuned on it.
    B,
}

impl Half {
    const fn offset(self) -> u32 {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// One parameter as it was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Its name within the class of scenarios.
    pub name: &'static str,
    /// The whole range, of which a half drew only its part.
    pub range: (f64, f64),
    /// The value.
    pub value: f64,
    /// Counts are told apart by being even or odd instead of by strips.
    pub whole: bool,
}

/// Draws the parameters of one scenario, and remembers them.
#[derive(Debug)]
pub struct Dice {
    random: StdRng,
    half: Half,
    /// Everything drawn so far.
    pub drawn: Vec<Drawn>,
}

impl Dice {
    /// The dice of scenario `index` of the class whose number is `class`.
    pub fn of(half: Half, class: u64, index: u64) -> Self {
        let seed = (u64::from(half.offset()) << 40) | (class << 20) | index;
        Self { random: StdRng::seed_from_u64(seed), half, drawn: Vec::new() }
    }

    /// A real number within `low..high`.
    pub fn real(&mut self, name: &'static str, low: f64, high: f64) -> f64 {
        let strip = 2 * self.random.random_range(0..STRIPS / 2) + self.half.offset();
        let within = MARGIN + (1.0 - 2.0 * MARGIN) * self.random.random::<f64>();
        let value = low + (high - low) * (f64::from(strip) + within) / f64::from(STRIPS);
        self.note(name, (low, high), value, false)
    }

    /// A count within `low..=high`: an even one for A, an odd one for B.
    pub fn whole(&mut self, name: &'static str, low: u32, high: u32) -> u32 {
        let first = low + u32::from(low % 2 != self.half.offset());
        let choices = (high - first) / 2;
        let value = first + 2 * self.random.random_range(0..=choices);
        self.note(name, (f64::from(low), f64::from(high)), f64::from(value), true);
        value
    }

    /// One of `of`: from the even places for A, from the odd ones for B.
    pub fn one<T: Copy>(&mut self, name: &'static str, of: &[T]) -> T {
        let last = u32::try_from(of.len() - 1).unwrap_or(u32::MAX);
        of[self.whole(name, 0, last) as usize]
    }

    /// The seed of the scenario's own chance.
    pub fn seed(&mut self) -> u64 {
        self.random.random::<u32>().into()
    }

    fn note(&mut self, name: &'static str, range: (f64, f64), value: f64, whole: bool) -> f64 {
        self.drawn.push(Drawn { name, range, value, whole });
        value
    }
}
