//! JSON by its grammar (RFC 8259): where a value ends, and what an object has in it, each as the text that was written. What a string
//! says is left to `serde_json`, which alone says no to half a surrogate pair.

use serde_json::from_str;

/// The fields of an object, the later one of two that have the same name. `None` where the text is no object, or a name no text.
#[must_use]
pub fn object(text: &str) -> Option<Vec<(String, &str)>> {
    let text = value(text)?;
    let mut fields: Vec<(String, &str)> = Vec::new();
    let mut rest = skip_space(text.strip_prefix('{')?);
    while !rest.starts_with('}') {
        let (name, after) = rest.split_at(string_end(rest)?);
        let after = skip_space(skip_space(after).strip_prefix(':')?);
        let (field, after) = after.split_at(end(after)?);
        let name: String = from_str(name).ok()?;
        fields.retain(|(other, _)| *other != name);
        fields.push((name, field));
        rest = skip_space(after);
        rest = rest.strip_prefix(',').map_or(rest, skip_space);
    }
    Some(fields)
}

/// One value and nothing else, without the space around it.
#[must_use]
pub fn value(text: &str) -> Option<&str> {
    let text = skip_space(text);
    let (value, rest) = text.split_at(end(text)?);
    skip_space(rest).is_empty().then_some(value)
}

/// The field with that name.
#[must_use]
pub fn field<'a>(fields: &[(String, &'a str)], name: &str) -> Option<&'a str> {
    fields.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
}

/// What a string says.
#[must_use]
pub fn text(value: &str) -> Option<String> {
    from_str(value).ok()
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// Where the value ends that the text starts with.
fn end(text: &str) -> Option<usize> {
    match text.bytes().next()? {
        b'{' => nested_end(text, '}', |text| {
            let after = skip_space(&text[string_end(text)?..]);
            let value = skip_space(after.strip_prefix(':')?);
            Some(&value[end(value)?..])
        }),
        b'[' => nested_end(text, ']', |text| Some(&text[end(text)?..])),
        b'"' => string_end(text),
        b'-' | b'0'..=b'9' => number_end(text),
        _ => ["null", "true", "false"].into_iter().find(|word| text.starts_with(word)).map(str::len),
    }
}

/// Of an object or an array, whose items `item` takes off.
fn nested_end<'a>(text: &'a str, close: char, item: impl Fn(&'a str) -> Option<&'a str>) -> Option<usize> {
    let mut rest = skip_space(&text[1..]);
    let mut is_first = true;
    while !rest.starts_with(close) {
        if !is_first {
            rest = skip_space(rest.strip_prefix(',')?);
        }
        rest = skip_space(item(rest)?);
        is_first = false;
    }
    Some(text.len() - rest.len() + 1)
}

fn string_end(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(usize::from(text.starts_with('"')));
    if !text.starts_with('"') {
        return None;
    }
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(at + 1),
            b'\\' => match bytes.next()?.1 {
                b'u' if (0..4).all(|_| bytes.next().is_some_and(|(_, digit)| digit.is_ascii_hexdigit())) => {}
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                _ => return None,
            },
            0..0x20 => return None,
            _ => {}
        }
    }
    None
}

/// Where the number ends that the text starts with, in the one way that JSON writes numbers.
#[must_use]
pub fn number_end(text: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut at = usize::from(text.starts_with('-'));
    match digits(&text[at..]) {
        0 => return None,
        // No number has a zero in front.
        _ if text[at..].starts_with('0') => at += 1,
        count => at += count,
    }
    if text[at..].starts_with('.') {
        let count = digits(&text[at + 1..]);
        at += if count == 0 { return None } else { 1 + count };
    }
    if text[at..].starts_with(['e', 'E']) {
        let sign = usize::from(text[at + 1..].starts_with(['+', '-']));
        let count = digits(&text[at + 1 + sign..]);
        at += if count == 0 { return None } else { 1 + sign + count };
    }
    Some(at)
}
