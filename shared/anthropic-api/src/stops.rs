//! Ends an answer at a stop sequence. Not every provider has them, so the front cuts the text.

/// The part of a text that a client may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visible<'s> {
    /// The end of it, in bytes.
    pub(crate) end: usize,
    /// The stop sequence that ends it.
    pub(crate) stop: Option<&'s str>,
}

/// Returns the visible part of a whole text.
pub(crate) fn cut<'s>(text: &str, stops: &'s [String]) -> Visible<'s> {
    let found = stops.iter().filter_map(|stop| Some((text.find(stop.as_str())?, stop.as_str())));
    // Of two that begin at the same place, the longer one counts.
    match found.min_by_key(|(at, stop)| (*at, usize::MAX.saturating_sub(stop.len()))) {
        Some((end, stop)) => Visible { end, stop: Some(stop) },
        None => Visible { end: text.len(), stop: None },
    }
}

/// Returns the visible part of a text that continues. An end that may begin a stop sequence isn't part of it yet.
pub(crate) fn cut_open<'s>(text: &str, stops: &'s [String]) -> Visible<'s> {
    let visible = cut(text, stops);
    if visible.stop.is_some() {
        return visible;
    }
    let longest = stops.iter().map(String::len).max().unwrap_or_default();
    let from = text.len().saturating_sub(longest);
    let begins_stop = |at: &usize| {
        text.get(*at..)
            .is_some_and(|rest| !rest.is_empty() && stops.iter().any(|stop| stop.starts_with(rest)))
    };
    let end = (from..text.len()).find(begins_stop).unwrap_or(text.len());
    Visible { end, stop: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(stops: &[&str]) -> Vec<String> {
        stops.iter().map(|stop| (*stop).to_owned()).collect()
    }

    #[test]
    fn text_ends_before_the_first_stop() {
        let stops = stops(&["END", "E"]);
        let visible = cut("an END and E", &stops);
        assert_eq!((visible.end, visible.stop), (3, Some("END")));
        let visible = cut("nothing here", &stops);
        assert_eq!((visible.end, visible.stop), (12, None));
    }

    #[test]
    fn beginning_of_a_stop_is_withheld() {
        let stops = stops(&["</answer>", "ü!"]);
        assert_eq!(cut_open("text </ans", &stops).end, 5);
        assert_eq!(cut_open("text < more", &stops).end, 11);
        assert_eq!(cut_open("grün ü", &stops).end, "grün ".len());
        assert_eq!(cut_open("", &stops).end, 0);
        let visible = cut_open("text </answer> more", &stops);
        assert_eq!((visible.end, visible.stop), (5, Some("</answer>")));
    }

    #[test]
    fn pieces_of_any_size_give_the_text_of_the_whole() {
        let stops = stops(&["abab", "ba!"]);
        for text in ["aba", "xababab", "ab ba! x", "aab", "bababa!", "üabüba"] {
            let whole = cut(text, &stops);
            let (mut seen, mut stop) = (0, None);
            for (end, _) in text.char_indices().skip(1).chain([(text.len(), ' ')]) {
                let visible = cut_open(text.get(..end).unwrap(), &stops);
                assert!(visible.end >= seen, "{text}");
                (seen, stop) = (visible.end, visible.stop);
                if stop.is_some() {
                    break;
                }
            }
            assert_eq!(stop, whole.stop, "{text}");
            assert!(seen <= whole.end && whole.end - seen <= 4, "{text}");
        }
    }
}
