//! Keys of modes.

/// The key of the mode that new sessions start in.
pub const GENERAL: &str = "general";

/// Turns a mode's key into words, for a key that is in no catalog.
#[must_use]
pub fn display_name(key: &str) -> String {
    let mut words = key.split('_').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    });
    let first = words.next().unwrap_or_default();
    words.fold(first, |name, word| name + " " + &word)
}
