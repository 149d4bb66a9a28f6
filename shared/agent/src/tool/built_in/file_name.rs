//! A safe file name from whatever the model wrote.
//!
//! Rewritten, not refused: a refusal makes the model send the whole file again. The name is part of an
//! object's key, of a link, and of a name on somebody's disk, so what is kept is what all three take.

use contracts::request::FileName;

/// How long a name may be, in characters; systems allow 255 bytes, and a character may take four.
const MAX_CHARS: usize = 60;

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
    for char in name.chars().take(4 * MAX_CHARS) {
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
    if name.chars().count() <= MAX_CHARS {
        return name.to_owned();
    }
    let extension = name
        .rsplit_once('.')
        .map(|(_, extension)| format!(".{extension}"))
        .filter(|extension| extension.chars().count() <= MAX_EXTENSION_CHARS)
        .unwrap_or_default();
    let stem: String = name.chars().take(MAX_CHARS.saturating_sub(extension.chars().count())).collect();
    // The cut may have left a dot before the extension's own.
    stem.trim_end_matches(['.', '_', '-']).to_owned() + &extension
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
        assert_eq!(named(&"é".repeat(300)).unwrap().chars().count(), MAX_CHARS);
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
                prop_assert!((1..=255).contains(&name.len()), "{name:?}");
                prop_assert!(!is_device(&name), "{name:?}");
                prop_assert_eq!(named(&name).map(|n| n.trim_matches('_').to_owned()), Some(name.trim_matches('_').to_owned()));
            }
        }
    }
}
