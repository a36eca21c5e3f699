//! Names that look alike, and are other bytes: what a model writes is what it saw.

use unicode_normalization::UnicodeNormalization;

/// Whether two names are the same after folding.
///
/// File managers and keyboards write no-break spaces into the names of screenshots, curly quotes, and accents as characters of their
/// own; a model writes the plain ones, or the other way round.
pub(super) fn are_same(a: &str, b: &str) -> bool {
    // What is ASCII folds to itself.
    if a.is_ascii() && b.is_ascii() { a == b } else { folded(a).eq(folded(b)) }
}

/// Composed (NFC), with plain spaces and straight quotes.
pub(super) fn folded(name: &str) -> impl Iterator<Item = char> {
    name.nfc().map(|c| match c {
        // The general category Zs.
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_spaces_quotes_and_composition_and_nothing_else() {
        for (a, b) in [
            ("Screenshot 9.41\u{202f}AM.png", "Screenshot 9.41 AM.png"),
            ("a\u{a0}b", "a\u{3000}b"),
            ("l\u{2019}e\u{301}te\u{301}", "l'\u{e9}t\u{e9}"),
            ("\u{201c}x\u{201d}", "\"x\""),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
        ] {
            assert!(are_same(a, b) && are_same(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("a b", "ab"),
            ("a  b", "a b"),
            ("a\tb", "a b"),
            ("a\u{200b}b", "ab"),
            ("A\u{a0}", "a "),
            ("\u{fb01}", "fi"),
            ("\u{ff21}", "A"),
            ("e", "\u{e9}"),
            ("\u{2032}", "'"),
            ("\u{2010}", "-"),
        ] {
            assert!(!are_same(a, b) && !are_same(b, a), "{a} {b}");
        }
    }
}
