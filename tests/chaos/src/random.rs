//! Numbers that look random and follow from a seed.

use std::time::Duration;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates a stream of its own for the part of the work that has this `label`.
    #[must_use]
    pub fn fork(&self, label: u64) -> Self {
        let mut fork = Self(self.0 ^ label.wrapping_mul(0xd134_2543_de82_ef95));
        fork.draw();
        fork
    }

    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `sides`; 0 if there are none.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.draw() % sides.max(1)
    }

    /// Returns an index below `length`.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns `true` so many times in a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Returns one of `items`.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// Returns a length of time up to `longest`, short ones more often.
    pub fn time(&mut self, longest: Duration) -> Duration {
        let part = (self.below(1 << 20) * self.below(1 << 20)) >> 20;
        Duration::from_nanos((longest.as_nanos() as u64 >> 20) * part)
    }

    /// Returns so many bytes of noise.
    pub fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.draw() as u8).collect()
    }
}
