//! Money, in whole millionths of a currency unit, so that no fraction is lost to binary rounding.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MICROS_PER_UNIT: u64 = 1_000_000;
const DECIMALS: usize = 6;

/// The cost of some tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Cost {
    /// The amount.
    pub amount: Amount,
    /// The currency's ISO 4217 code.
    pub currency: String,
}

/// An amount of money in millionths. It serializes as a decimal string such as `"1.25"`, and also reads from a JSON
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(u64);

/// Error for a string that is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an amount such as \"1.25\", without a sign and with at most {DECIMALS} decimals")]
pub struct InvalidAmount;

impl Amount {
    /// Creates an amount from millionths.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the sum of two amounts, saturating.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference of two amounts, at least zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The amount in millionths.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }
}

impl FromStr for Amount {
    type Err = InvalidAmount;
    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        // A sign would pass the integer parser below.
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > DECIMALS {
            return Err(InvalidAmount);
        }
        let whole: u64 = whole.parse().map_err(|_| InvalidAmount)?;
        let micros: u64 = format!("{fraction:0<DECIMALS$}").parse().map_err(|_| InvalidAmount)?;
        let sum = whole.checked_mul(MICROS_PER_UNIT).and_then(|sum| sum.checked_add(micros));
        sum.map(Self).ok_or(InvalidAmount)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micros) = (self.0 / MICROS_PER_UNIT, self.0 % MICROS_PER_UNIT);
        if micros == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{micros:0>DECIMALS$}").trim_end_matches('0'))
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl de::Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an amount such as \"1.25\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Amount, E> {
        self.visit_str(&whole.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
        // The shortest decimal that parses to this number is the text that the operator wrote.
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_decimal() {
        for (text, written) in [("0", "0"), ("1.250", "1.25"), ("0.000001", "0.000001"), ("007", "7")] {
            assert_eq!(text.parse::<Amount>().unwrap().to_string(), written);
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000001", "1 ", "18446744073710"] {
            assert!(text.parse::<Amount>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn numbers_and_strings_are_read_alike() {
        for json in ["\"0.1\"", "0.1", "1e-1"] {
            assert_eq!(serde_json::from_str::<Amount>(json).unwrap(), Amount(100_000), "{json}");
        }
        for json in ["-1", "-0.5", "1e30", "0.0000001", "null", "true", "[]"] {
            assert!(serde_json::from_str::<Amount>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn amount_round_trips_through_text(micros: u64) {
            prop_assert_eq!(Amount(micros).to_string().parse(), Ok(Amount(micros)));
        }
    }
}
