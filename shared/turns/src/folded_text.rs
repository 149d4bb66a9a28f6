//! The form of a text that search and its index compare: letters without case, optional marks and variants.
//!
//! Two texts that a user takes for the same have the same form: `Straße` and `STRASSE`, `Łódź` and `lodz`, `ＡＰＩ` and
//! `api`. Where scripts meet without a space, a word begins. Index and scan both depend on it, so a change here changes the
//! terms of [`crate::text_search::add_terms`], which stored entries have.

use std::ops::Range;

use icu_normalizer::{
    DecomposingNormalizerBorrowed,
    properties::{CanonicalCombiningClassMapBorrowed, CanonicalCompositionBorrowed},
};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed,
    props::{GeneralCategory, Script},
};

const SCRIPTS: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::<Script>::new();
const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> =
    CodePointMapData::<GeneralCategory>::new();
const CLASSES: CanonicalCombiningClassMapBorrowed<'static> = CanonicalCombiningClassMapBorrowed::new();

/// The canonical combining class of nuktas.
const NUKTA: u8 = 7;

/// A folded text, with the source range of each character.
pub(crate) struct FoldedText {
    pub(crate) chars: Vec<char>,
    /// The byte range of each character's source.
    sources: Vec<Range<usize>>,
}

impl FoldedText {
    pub(crate) fn new(text: &str) -> Self {
        let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
        let chars = Vec::with_capacity(text.len());
        let mut folded = Self { chars, sources: Vec::with_capacity(text.len()) };
        for (at, char) in text.char_indices() {
            let source = at..at + char.len_utf8();
            if char.is_ascii() {
                folded.push(char.to_ascii_lowercase(), source);
                continue;
            }
            for part in normalizer.normalize_iter(std::iter::once(char)) {
                if part.is_ascii() {
                    folded.push(part.to_ascii_lowercase(), source.clone());
                } else if !is_optional(part, folded.chars.last().copied()) {
                    for part in fold_case(part) {
                        fold_letter(part, &mut |letter| folded.push(letter, source.clone()));
                    }
                }
            }
        }
        folded
    }

    /// Adds a character. A voicing mark of kana becomes part of its letter, since か is no が.
    fn push(&mut self, char: char, source: Range<usize>) {
        if let ('\u{3099}' | '\u{309A}', Some(letter), Some(of_letter)) =
            (char, self.chars.last_mut(), self.sources.last_mut())
            && let Some(voiced) = CanonicalCompositionBorrowed::new().compose(*letter, char)
        {
            *letter = voiced;
            of_letter.end = source.end;
            return;
        }
        self.chars.push(char);
        self.sources.push(source);
    }

    /// Returns the runs of letters, digits and their marks.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &[char]> {
        self.chars.split(|char| !is_word_char(*char)).filter(|run| !run.is_empty())
    }

    /// Returns the source of these characters, in bytes.
    pub(crate) fn source(&self, first: usize, end: usize) -> Range<usize> {
        let start = self.sources.get(first).map_or(0, |bytes| bytes.start);
        let end = end.checked_sub(1).and_then(|last| self.sources.get(last)).map_or(start, |bytes| bytes.end);
        start..end
    }
}

/// True for a character of a word.
fn is_word_char(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_alphanumeric();
    }
    char.is_alphanumeric()
        || matches!(CATEGORIES.get(char), GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark)
}

/// Returns true if a word may begin at a character: behind a character of no word, or where scripts meet.
pub(crate) fn begins_word(before: Option<char>, char: char) -> bool {
    before.is_none_or(|before| !is_word_char(before) || Class::of(before).meets(Class::of(char)))
}

/// True if a character's script separates words by spaces. A match in another script may begin anywhere.
#[must_use]
pub fn is_spaced(char: char) -> bool {
    Class::of(char) != Class::Unspaced
}

/// Splits a run of word characters where scripts meet.
pub(crate) fn segments(run: &[char]) -> impl Iterator<Item = &[char]> {
    run.chunk_by(|before, char| !Class::of(*before).meets(Class::of(*char)))
}

/// A character's part in where a word begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Of a script without spaces.
    Unspaced,
    /// Of a script with spaces.
    Spaced(Script),
    /// Of no script, as digits. It belongs to the letters beside it, but not to letters of Hangul or of a script without
    /// spaces: 2026 is a word of 2026년.
    Neutral,
}

impl Class {
    fn of(char: char) -> Self {
        match char {
            '0'..='9' => return Self::Neutral,
            'a'..='z' => return Self::Spaced(Script::Latin),
            // Signs that kana share, such as the long vowel, are of no script.
            '\u{3000}'..='\u{30FF}' => return Self::Unspaced,
            _ => {}
        }
        match SCRIPTS.get(char) {
            Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Bopomofo
            | Script::Yi
            | Script::Tangut
            | Script::Nushu
            | Script::KhitanSmallScript
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::TaiLe
            | Script::NewTaiLue
            | Script::TaiTham
            | Script::TaiViet
            | Script::Javanese
            | Script::Balinese => Self::Unspaced,
            Script::Common | Script::Inherited | Script::Unknown => Self::Neutral,
            script => Self::Spaced(script),
        }
    }

    /// True if a word begins between two characters of these classes.
    fn meets(self, next: Self) -> bool {
        match (self, next) {
            (Self::Neutral, Self::Spaced(script)) | (Self::Spaced(script), Self::Neutral) => {
                script == Script::Hangul
            }
            (one, other) => one != other,
        }
    }
}

/// True for a mark that users leave out: an accent, a vowel point, a nukta, or an invisible sign. Marks of other scripts
/// distinguish letters. A zero-width space separates words, unless their script has no spaces.
fn is_optional(char: char, before: Option<char>) -> bool {
    match char {
        '\u{3099}' | '\u{309A}' => return false,
        // The stretch of an Arabic word, and apostrophes that are letters, as in `Hawaiʻi`.
        '\u{0640}' | '\u{02B9}'..='\u{02BF}' => return true,
        '\u{200B}' => return before.is_some_and(|before| !is_spaced(before)),
        _ => {}
    }
    match CATEGORIES.get(char) {
        GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark => {
            let is_of_letters = matches!(
                SCRIPTS.get(char),
                Script::Inherited
                    | Script::Common
                    | Script::Latin
                    | Script::Greek
                    | Script::Cyrillic
                    | Script::Coptic
                    | Script::Hebrew
                    | Script::Arabic
                    | Script::Syriac
                    | Script::Samaritan
                    | Script::Nko
            );
            is_of_letters || CLASSES.get_u8(char) == NUKTA
        }
        GeneralCategory::Format => true,
        _ => false,
    }
}

/// Returns a character without case. Both directions: the upper case of `ß` is `SS`, and `ς` and `σ` share one.
fn fold_case(char: char) -> impl Iterator<Item = char> {
    char.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// Replaces letters that no normalization decomposes, but that users write without their strokes, as two letters, or with
/// the keyboard of another language. Digits of every script become ASCII digits.
fn fold_letter(char: char, emit: &mut impl FnMut(char)) {
    let letter = match char {
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ø' | 'ɔ' | 'ɵ' => "o",
        'ł' | 'ƚ' | 'ɫ' | 'ⱡ' => "l",
        'đ' | 'ð' | 'ɖ' | 'ɗ' => "d",
        'ɨ' => "i",
        'ħ' | 'ⱨ' => "h",
        'ŧ' | 'ƭ' | 'ⱦ' => "t",
        'ŋ' | 'ɲ' | 'ƞ' => "n",
        'ĸ' | 'ƙ' | 'ⱪ' => "k",
        'ƀ' | 'ɓ' => "b",
        'ǥ' | 'ɠ' => "g",
        'ƒ' => "f",
        'ɛ' | 'ə' | 'ǝ' | 'ɇ' => "e",
        'ʉ' => "u",
        'ʋ' => "v",
        'ƴ' | 'ɏ' => "y",
        'ƶ' | 'ⱬ' => "z",
        'ⱥ' => "a",
        'ȼ' => "c",
        'ɉ' => "j",
        'ɍ' => "r",
        // Alef with wasla, the Persian and Urdu yeh and kaf, the final yeh, and the final heh.
        'ٱ' => "ا",
        'ی' | 'ى' => "ي",
        'ک' => "ك",
        'ة' | 'ہ' | 'ۀ' | 'ە' => "ه",
        // Final letters of Hebrew.
        'ך' => "כ",
        'ם' => "מ",
        'ן' => "נ",
        'ף' => "פ",
        'ץ' => "צ",
        _ => return emit(digit(char).unwrap_or(char)),
    };
    letter.chars().for_each(emit);
}

/// Returns the ASCII digit of a decimal digit. The digits of a script follow each other, from zero.
fn digit(char: char) -> Option<char> {
    let is_digit = |char: char| CATEGORIES.get(char) == GeneralCategory::DecimalNumber;
    if !is_digit(char) {
        return None;
    }
    let before = (1..10_u32).map_while(|distance| char::from_u32(u32::from(char).checked_sub(distance)?));
    let value = before.take_while(|char| is_digit(*char)).count();
    char::from_digit(u32::try_from(value).ok()?, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str) -> String {
        FoldedText::new(text).chars.into_iter().collect()
    }

    #[test]
    fn case_marks_and_variants_fold_to_one_form() {
        for (texts, form) in [
            (["ΟΔΟΣ", "οδός", "Οδοσ"], "οδοσ"),
            (["Straße", "STRASSE", "STRAẞE"], "strasse"),
            (["Łódź", "LODZ", "ŁÓDZ\u{301}"], "lodz"),
            (["ＡＰＩ２", "API2", "api２"], "api2"),
            (["שָׁלוֹם", "שלום", "שלומ"], "שלומ"),
            (["كِتَابٌ", "كتاب", "کـتـاب"], "كتاب"),
            (["ガ", "カ\u{3099}", "ｶﾞ"], "ガ"),
            (["٢٠٢٦", "۲۰۲۶", "२०२६"], "2026"),
            (["ﬁancé", "fiance\u{301}", "fi\u{AD}ancé"], "fiance"),
        ] {
            for text in texts {
                assert_eq!(fold(text), form, "{text}");
            }
        }
        assert_ne!(fold("か"), fold("が"));
        assert_ne!(fold("कि"), fold("क"));
    }

    #[test]
    fn words_begin_where_scripts_meet() {
        let split = |text: &str| -> Vec<String> {
            let text = FoldedText::new(text);
            let segments = text.runs().flat_map(segments);
            segments.map(|segment| segment.iter().collect()).collect()
        };
        assert_eq!(split("このAPIを使う"), ["この", "api", "を使う"]);
        assert_eq!(split("设置2026年预算"), ["设置", "2026", "年预算"]);
        assert_eq!(split("GOST-2026Я v2 x̂y"), ["gost", "2026я", "v2", "xy"]);
        assert_eq!(split("데이터API").len(), 2);
        assert_eq!(split("2026년").len(), 2);
        assert_eq!(split("データー"), ["データー"]);
        assert_eq!(split("हिन्दी"), ["हिन्दी"]);
    }

    #[test]
    fn folded_text_keeps_sources() {
        let text = "aß か\u{3099}";
        let folded = FoldedText::new(text);
        assert_eq!(folded.chars, ['a', 's', 's', ' ', 'が']);
        assert_eq!(&text[folded.source(1, 3)], "ß");
        assert_eq!(&text[folded.source(4, 5)], "か\u{3099}");
    }
}
