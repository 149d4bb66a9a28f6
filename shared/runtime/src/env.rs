//! Settings, read once at start-up: a wrong or missing one stops the function with its name.

use std::{fmt, ops::RangeInclusive, str::FromStr, time::Duration};

/// The environment, and everything that was wrong with it so far.
#[derive(Debug, Default)]
pub struct Env {
    faults: Vec<String>,
}

/// The settings can't be used; names each fault.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the function's settings are wrong: {}", .0.join("; "))]
pub struct Invalid(Vec<String>);

impl Invalid {
    /// What is wrong, a sentence without its full stop for each setting.
    pub fn faults(&self) -> &[String] {
        &self.0
    }
}

impl Env {
    /// A setting that must be there.
    pub fn required(&mut self, name: &'static str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.faults.push(format!("{name} must be set"));
            String::new()
        })
    }

    /// A setting that may be left out. Blank counts as left out.
    pub fn optional(&mut self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.trim().is_empty())
    }

    /// A setting with a default.
    pub fn or(&mut self, name: &'static str, default: &str) -> String {
        self.optional(name).unwrap_or_else(|| default.to_owned())
    }

    /// A setting of another type, which may be left out.
    pub fn parsed<T: FromStr>(&mut self, name: &'static str, what: &str) -> Option<T> {
        let text = self.optional(name)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.faults.push(format!("{name} must be {what}"));
        }
        parsed
    }

    /// A number within bounds, which may be left out. `unit` is what it counts, for the message.
    pub fn between<T: FromStr + PartialOrd + fmt::Display>(
        &mut self,
        name: &'static str,
        bounds: RangeInclusive<T>,
        unit: &str,
    ) -> Option<T> {
        let text = self.optional(name)?;
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        if number.is_none() {
            self.faults.push(format!("{name} must be {} to {} {unit}", bounds.start(), bounds.end()));
        }
        number
    }

    /// A duration in seconds, fractions allowed.
    pub fn seconds(&mut self, name: &'static str) -> Option<Duration> {
        let what = "a positive number of seconds";
        let seconds: f64 = self.parsed(name, what)?;
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if !duration.is_zero() => Some(duration),
            _ => {
                self.faults.push(format!("{name} must be {what}"));
                None
            }
        }
    }

    /// Notes what is wrong with a setting that the caller reads itself.
    pub fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Everything that was wrong, at once.
    pub fn finish(self) -> Result<(), Invalid> {
        if self.faults.is_empty() { Ok(()) } else { Err(Invalid(self.faults)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_its_bounds_is_named_with_them() {
        // Cargo sets these for every test.
        let (major, package) = ("CARGO_PKG_VERSION_MAJOR", "CARGO_PKG_NAME");
        let mut env = Env::default();
        assert_eq!(env.between(major, 0..=9_u32, "times"), Some(0));
        assert_eq!(env.between("NO_SUCH_SETTING", 0..=9_u32, "times"), None);
        assert_eq!(env.between(major, 0.1..=60.0, "seconds"), None);
        assert_eq!(env.between(package, 0..=9_u32, "times"), None);
        let fault = env.finish().unwrap_err().to_string();
        assert!(
            fault.ends_with(
                "CARGO_PKG_VERSION_MAJOR must be 0.1 to 60 seconds; CARGO_PKG_NAME must be 0 to 9 times"
            ),
            "{fault}"
        );
    }

    #[test]
    fn every_missing_setting_is_named() {
        let mut env = Env::default();
        env.required("NO_SUCH_SETTING_A");
        env.required("NO_SUCH_SETTING_B");
        assert_eq!(env.optional("NO_SUCH_SETTING_C"), None);
        let fault = env.finish().unwrap_err().to_string();
        assert_eq!(
            fault,
            "the function's settings are wrong: NO_SUCH_SETTING_A must be set; NO_SUCH_SETTING_B must be set"
        );
    }
}
