//! The sum of the ratings that users gave a session's turns.

/// The ratings of a session's turns, one per user and turn.
///
/// Only feedback changes them, in the transaction that stores it. Every other write of the session leaves the stored
/// ones as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ratings {
    /// The number of ratings.
    pub count: u64,
    /// The sum of their values.
    pub sum: u64,
}

impl Ratings {
    /// Returns the ratings after a change.
    #[must_use]
    pub fn changed_by(self, change: RatingChange) -> Self {
        Self {
            count: self.count.saturating_add(change.count),
            sum: self.sum.saturating_add_signed(change.sum),
        }
    }
}

impl FromIterator<u8> for Ratings {
    fn from_iter<I: IntoIterator<Item = u8>>(ratings: I) -> Self {
        ratings
            .into_iter()
            .fold(Self::default(), |sum, rating| sum.changed_by(RatingChange::new(None, rating)))
    }
}

/// The change of a session's ratings by one feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatingChange {
    /// The number of added ratings.
    pub count: u64,
    /// The difference of the sum.
    pub sum: i64,
}

impl RatingChange {
    /// Returns the change by a rating that replaces the user's counted rating, if any.
    #[must_use]
    pub fn new(counted: Option<u8>, rating: u8) -> Self {
        Self {
            count: u64::from(counted.is_none()),
            sum: i64::from(rating) - i64::from(counted.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_rating_counts_once() {
        let ratings: Ratings = [5, 2].into_iter().collect();
        assert_eq!(ratings, Ratings { count: 2, sum: 7 });
        let lower = ratings.changed_by(RatingChange::new(Some(5), 1));
        assert_eq!(lower, Ratings { count: 2, sum: 3 });
        assert_eq!(
            lower.changed_by(RatingChange::new(Some(1), 1)),
            lower,
            "a repeated feedback changes nothing"
        );
        assert_eq!(lower.changed_by(RatingChange::new(None, 4)), Ratings { count: 3, sum: 7 });
    }
}
