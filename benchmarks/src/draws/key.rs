//! Keys: a number, by its popularity, and a name.
//!
//! Invariant: names differ, and popular keys are not neighbours in a system that orders them.

/// The most popular key is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyNumber(pub u32);

impl KeyNumber {
    /// What systems know it by: 16 hexadecimal digits.
    pub fn name(self) -> String {
        format!("{:016x}", scattered(u64::from(self.0)))
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The output function of splitmix64: every step can be undone, so no two numbers become one.
fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn names_differ_and_scatter_the_popular_keys() {
        let ordered: BTreeMap<String, u32> = (0..10_000).map(|number| (KeyNumber(number).name(), number)).collect();
        assert_eq!(ordered.len(), 10_000);
        let numbers: Vec<u32> = ordered.into_values().collect();
        let neighbours = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 10).count();
        assert!(neighbours < 50, "{neighbours}");
    }
}
