//! A safe file name from whatever the model wrote.
//!
//! Rewritten, not refused: a refusal makes the model send the whole file again. The name is part of an
//! object's key, of a link, and of a name on somebody's disk, so what is kept is what all three take.

use contracts::request::FileName;

/// How long a name may be, in characters.
const MAX_CHARS: usize = 60;

/// How long a name may be where it is percent-encoded, as in keys and links; systems allow names of 255 bytes.
const MAX_ENCODED_BYTES: usize = 240;

/// How much of a name's end is kept as its extension when it is cut.
const MAX_EXTENSION_CHARS: usize = 12;

/// Names that Windows gives to devices, with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// One safe path segment; none when nothing of the name is left.
///
/// Letters and digits of any script stay, and `_`, `-` and single dots between other characters.
/// Everything else, slashes and control characters among it, becomes `_`.
pub(super) fn safe(name: &str) -> Option<FileName> {
    let mut kept = String::new();
    for char in name.chars() {
        let char = if char.is_alphanumeric() || matches!(char, '-' | '.') { char } else { '_' };
        // Runs become one: no `..` is left, and no row of underscores from a path's slashes.
        if char.is_alphanumeric() || !kept.ends_with(char) {
            kept.push(char);
        }
    }
    let kept = kept.trim_matches(['.', '_', '-']);
    if kept.is_empty() {
        return None;
    }
    let mut safe = shorten(kept);
    if is_device(&safe) {
        safe.insert(0, '_');
    }
    FileName::new(&safe).ok()
}

/// Cuts a long name, but not its extension.
fn shorten(name: &str) -> String {
    let fits = |chars: usize, bytes: usize| chars <= MAX_CHARS && bytes <= MAX_ENCODED_BYTES;
    if fits(name.chars().count(), name.chars().map(encoded).sum()) {
        return name.to_owned();
    }
    let (stem, extension) = name
        .rfind('.')
        .and_then(|dot| name.split_at_checked(dot))
        .filter(|(_, extension)| extension.chars().count() <= MAX_EXTENSION_CHARS)
        .unwrap_or((name, ""));
    let (mut chars, mut bytes) = (extension.chars().count(), extension.chars().map(encoded).sum());
    let stem = stem.chars().take_while(|char| {
        (chars, bytes) = (chars + 1, bytes + encoded(*char));
        fits(chars, bytes)
    });
    // The cut may have left a dot before the extension's own.
    stem.collect::<String>().trim_end_matches(['.', '_', '-']).to_owned() + extension
}

/// How many bytes a character takes where it is percent-encoded.
fn encoded(char: char) -> usize {
    if char.is_ascii() { 1 } else { 3 * char.len_utf8() }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = |prefix| {
        let mut rest = stem.strip_prefix(prefix).unwrap_or_default().chars();
        // Superscript digits count for Windows too.
        matches!((rest.next(), rest.next()), (Some(digit), None) if digit.is_numeric())
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(name: &str) -> Option<String> {
        safe(name).map(String::from)
    }

    #[test]
    fn ordinary_names_stay_and_others_become_ordinary() {
        for (raw, expected) in [
            ("report.md", "report.md"),
            ("Übersicht-2.csv", "Übersicht-2.csv"),
            ("src/app/main.rs", "src_app_main.rs"),
            (r"C:\temp\x.txt", "C_temp_x.txt"),
            ("../../etc/passwd", "etc_passwd"),
            (".gitignore", "gitignore"),
            ("a..b", "a.b"),
            ("a\0b\n.txt", "a_b_.txt"),
            ("%2e%2e%2fx", "2e_2e_2fx"),
            ("nul.txt", "_nul.txt"),
            ("COM1", "_COM1"),
            ("lpt²", "_lpt²"),
            ("comb.txt", "comb.txt"),
            ("console.log", "console.log"),
            ("evil\u{202e}gnp.exe", "evil_gnp.exe"),
        ] {
            assert_eq!(named(raw).as_deref(), Some(expected), "{raw}");
        }
        for nothing in ["", " ", "..", "///", "\0", "._-"] {
            assert_eq!(named(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        let long = named(&format!("{}.json", "x".repeat(100))).unwrap();
        assert_eq!(long.chars().count(), MAX_CHARS);
        assert!(long.ends_with("x.json"));
        for stem in ["x", "é", "日", "𝔞"] {
            for chars in [100, 300, 100_000] {
                let long = named(&format!("{}.json", stem.repeat(chars))).unwrap();
                assert!(long.ends_with(&format!("{stem}.json")), "{long}");
                assert!(long.chars().count() <= MAX_CHARS, "{long}");
                assert!(long.chars().map(encoded).sum::<usize>() <= MAX_ENCODED_BYTES, "{long}");
            }
        }
        assert_eq!(named(&"a.".repeat(300)).unwrap().chars().count(), MAX_CHARS - 1);
    }

    proptest! {
        #[test]
        fn a_name_is_never_a_path(raw in prop_oneof![
            any::<String>(),
            r"[./\\~:%\x00a-c ]{0,40}",
            r"(\.\./|\.\.\\|%2e|\x00|con|nul|com1|[a-z.]){0,12}",
        ]) {
            if let Some(name) = named(&raw) {
                prop_assert!(!name.contains("..") && !name.starts_with('.') && !name.ends_with('.'), "{name:?}");
                prop_assert!(!name.chars().any(|c| c.is_control() || "/\\:%~<>\"|?* \u{202e}".contains(c)), "{name:?}");
                let bytes: usize = name.chars().map(encoded).sum();
                prop_assert!((1..=255).contains(&bytes), "{name:?}");
                prop_assert!(!is_device(&name), "{name:?}");
                prop_assert_eq!(named(&name).map(|n| n.trim_matches('_').to_owned()), Some(name.trim_matches('_').to_owned()));
            }
        }
    }
}
