//! The ratings of a session.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Ratings of a session's turns, summed from the feedback on them: one per user and turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SessionRatings {
    /// Number of ratings.
    pub count: u64,
    /// Mean of the ratings, from 1 (worst) to 5 (best), with two decimals.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub mean: MeanRating,
}

impl SessionRatings {
    /// Returns the ratings of a session. `None` if there are none.
    #[must_use]
    pub fn new(count: u64, sum: u64) -> Option<Self> {
        // Half a hundredth is rounded up.
        let hundredths =
            sum.saturating_mul(200).saturating_add(count).checked_div(count.saturating_mul(2))?;
        Some(Self { count, mean: MeanRating { hundredths } })
    }
}

/// A mean with two decimals, so that it reads back unchanged. On the wire it is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeanRating {
    hundredths: u64,
}

impl Serialize for MeanRating {
    #[allow(clippy::cast_precision_loss, reason = "two decimals of a rating are exact")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.hundredths as f64 / 100.0)
    }
}

impl<'de> Deserialize<'de> for MeanRating {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates, and of what is no number is 0"
    )]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mean = f64::deserialize(deserializer)?;
        Ok(Self { hundredths: (mean * 100.0).round() as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_has_two_decimals_and_round_trips() {
        for (count, sum, written) in [(1, 5, "5.0"), (3, 13, "4.33"), (3, 14, "4.67"), (8, 17, "2.13")] {
            let ratings = SessionRatings::new(count, sum).unwrap();
            let json = serde_json::to_string(&ratings).unwrap();
            assert_eq!(json, format!("{{\"Count\":{count},\"Mean\":{written}}}"));
            assert_eq!(serde_json::from_str::<SessionRatings>(&json).unwrap(), ratings);
        }
        assert_eq!(SessionRatings::new(0, 0), None);
    }
}
