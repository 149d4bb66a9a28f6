//! Modes, as far as a turn needs them before the catalog is there.

/// The mode that new sessions start in (AGN-011 §3.1).
pub const GENERAL: &str = "general";

/// What a client displays for a mode (AGN-033 §3.1).
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_reads_as_words() {
        assert_eq!(super::display_name("general"), "General");
        assert_eq!(super::display_name("ddr_authoring"), "Ddr Authoring");
    }
}
