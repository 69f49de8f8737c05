//! Victim selection: the superblock collected next.
//!
//! Implements the policies of the literature: greedy (the fewest live pages), FIFO (the oldest),
//! d-choices (the emptiest of d random ones; Van Houdt 2013) and cost-benefit (age times benefit
//! over cost; Rosenblum and Ousterhout 1992).

use serde::{Deserialize, Serialize};

use super::superblock::{Superblocks, mix};

/// Largest number of superblocks for which cost-benefit examines all; larger drives are sampled at
/// random.
const COST_BENEFIT_LOOKS: u32 = 10_000;
/// Maximum number of random superblocks examined for one victim. Arbitrary; published analyses use
/// far fewer.
const CHOICES_MAX: u32 = 1000;

/// Victim selection policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String", into = "String")]
pub enum Policy {
    /// The superblock with the fewest live pages.
    Greedy,
    /// The superblock closed first; those of the SLC cache take precedence.
    Fifo,
    /// The emptiest of this many random superblocks; 1 is a random victim.
    Choices(u32),
    /// The highest age times free fraction over live fraction.
    CostBenefit,
}

impl TryFrom<String> for Policy {
    type Error = String;

    fn try_from(text: String) -> Result<Policy, String> {
        match text.as_str() {
            "greedy" => Ok(Policy::Greedy),
            "fifo" => Ok(Policy::Fifo),
            "cost-benefit" => Ok(Policy::CostBenefit),
            other => {
                let d = other.strip_suffix("-choices").and_then(|d| d.parse().ok());
                d.filter(|d| (1..=CHOICES_MAX).contains(d)).map(Policy::Choices).ok_or_else(|| {
                    format!(
                        "'{text}' is not greedy, fifo, cost-benefit or, for example, 8-choices \
                         (at most {CHOICES_MAX})"
                    )
                })
            }
        }
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> String {
        match policy {
            Policy::Greedy => "greedy".into(),
            Policy::Fifo => "fifo".into(),
            Policy::CostBenefit => "cost-benefit".into(),
            Policy::Choices(d) => format!("{d}-choices"),
        }
    }
}

/// A policy's random numbers: SplitMix64, with eight bytes of state.
#[derive(Clone, Copy, Debug)]
pub struct Draws(pub u64);

impl Draws {
    /// Returns a number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(1);
        ((u128::from(mix(self.0)) * u128::from(n)) >> 64) as u32
    }
}

/// Selects a policy's victim among the closed superblocks.
pub fn victim(policy: Policy, blocks: &mut Superblocks, draws: &mut Draws) -> Option<u32> {
    match policy {
        Policy::Greedy => blocks.emptiest(),
        // Start with the cache: folding it frees all but 1/bits of its flash, whereas data that
        // were never overwritten yield nothing.
        Policy::Fifo => blocks.oldest(true).or_else(|| blocks.oldest(false)),
        Policy::Choices(d) => {
            let candidates = (0..d).filter_map(|_| random_candidate(blocks, draws));
            candidates.min_by_key(|&sb| blocks.live(sb)).or_else(|| blocks.emptiest())
        }
        Policy::CostBenefit => cost_benefit(blocks, draws),
    }
}

fn random_candidate(blocks: &Superblocks, draws: &mut Draws) -> Option<u32> {
    let mut tries = (0..64).map(|_| draws.below(blocks.count()));
    tries.find(|&sb| blocks.is_candidate(sb))
}

fn cost_benefit(blocks: &Superblocks, draws: &mut Draws) -> Option<u32> {
    let most = f64::from((0..blocks.count()).map(|sb| blocks.live(sb)).max()?.max(1));
    let weighed = |sb: u32| {
        let live = f64::from(blocks.live(sb)) / most;
        (sb, blocks.age(sb) as f64 * (1.0 - live) / (2.0 * live).max(1e-9))
    };
    let better = |best: (u32, f64), next: (u32, f64)| if next.1 > best.1 { next } else { best };
    let victim = if blocks.count() <= COST_BENEFIT_LOOKS {
        (0..blocks.count()).filter(|&sb| blocks.is_candidate(sb)).map(weighed).reduce(better)
    } else {
        let looks = 0..COST_BENEFIT_LOOKS / 10;
        looks.filter_map(|_| random_candidate(blocks, draws)).map(weighed).reduce(better)
    };
    victim.map(|(sb, _)| sb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_choices_is_limited() {
        let policy = |text: &str| Policy::try_from(text.to_string());
        assert_eq!(policy("1-choices"), Ok(Policy::Choices(1)));
        assert_eq!(policy("1000-choices"), Ok(Policy::Choices(1000)));
        for text in ["0-choices", "1001-choices", "4000000000-choices", "choices"] {
            let error = policy(text).expect_err("no policy");
            assert!(error.ends_with("8-choices (at most 1000)"), "{error}");
        }
    }
}
