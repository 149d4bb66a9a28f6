//! Similarity scores of chunks.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A score with six decimals, so that it reads back unchanged. On the wire it is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    millionths: i64,
}

impl Score {
    /// Creates a rounded score. NaN becomes 0.
    #[must_use]
    pub fn new(score: f32) -> Self {
        Self::rounded(f64::from(score))
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a cast of a float saturates, and of what is no number is 0"
    )]
    fn rounded(score: f64) -> Self {
        Self { millionths: (score * 1e6).round() as i64 }
    }
}

impl Serialize for Score {
    #[allow(clippy::cast_precision_loss, reason = "six decimals of a score are exact")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.millionths as f64 / 1e6)
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_round_trips_with_six_decimals() {
        for (score, written) in
            [(0.75_f32, "0.75"), (0.1, "0.1"), (-0.5, "-0.5"), (f32::NAN, "0.0"), (1.0, "1.0")]
        {
            let json = serde_json::to_string(&Score::new(score)).unwrap();
            assert_eq!(json, written);
            assert_eq!(serde_json::from_str::<Score>(&json).unwrap(), Score::new(score));
        }
    }
}
