//! Of a line that is too long to keep: which call it is.

use serde_json::value::RawValue;

/// Longest text of a key or an id, in bytes, that is looked at.
const MAX_TOKEN_BYTES: usize = 1024;

/// The outermost object of a line, seen byte by byte. What is no JSON gives an outline too, but hardly an id.
#[derive(Default)]
pub(crate) struct Outline {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// The text since the last comma or colon of the outermost object, without what is nested in it.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Option<Vec<u8>>,
    call_id: Option<Vec<u8>>,
    has_method: bool,
}

impl Outline {
    pub(crate) fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// JSON text of the field `id`, where its value is none that holds others.
    pub(crate) fn id(&self) -> Option<&str> {
        text(self.id.as_deref())
    }

    /// The same of `call_id`, which a call has beside an `id` that is another's.
    pub(crate) fn call_id(&self) -> Option<&str> {
        text(self.call_id.as_deref())
    }

    pub(crate) fn has_method(&self) -> bool {
        self.has_method
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            self.in_string = byte != b'"' || self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return;
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_value(),
            b':' if self.depth == 1 => self.key = std::mem::take(&mut self.token),
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                self.in_string = byte == b'"';
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        // One byte over the bound makes it no token that is looked for.
        if self.depth == 1 && self.token.len() <= MAX_TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        let token = std::mem::take(&mut self.token);
        match std::mem::take(&mut self.key).as_slice() {
            br#""id""# => self.id = Some(token),
            br#""call_id""# => self.call_id = Some(token),
            br#""method""# => self.has_method = true,
            _ => {}
        }
    }
}

fn text(token: Option<&[u8]>) -> Option<&str> {
    let token = token.filter(|token| token.len() <= MAX_TOKEN_BYTES)?;
    serde_json::from_slice::<&RawValue>(token).ok().map(RawValue::get)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::first(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read"}}"#, Some("7"))]
    #[case::last(r#"{"method":"tools/call","params":{"id":1,"a":[{"id":2}]},"jsonrpc":"2.0","id": 7 }"#, Some("7"))]
    #[case::text(r#"{"method":"x","id":"a\",\"id\":1"}"#, Some(r#""a\",\"id\":1""#))]
    #[case::escaped(r#"{"method":"\\","params":{"x":"\"}\\"},"id":3}"#, Some("3"))]
    #[case::in_another(r#"{"method":"notifications/cancelled","params":{"requestId":7,"id":7}}"#, None)]
    #[case::batch(r#"[{"id":7,"method":"x"}]"#, None)]
    #[case::odd_id(r#"{"id":{"a":1},"method":"x"}"#, None)]
    #[case::no_id(r#"{"id":seven,"method":"x"}"#, None)]
    #[case::garbage(r#"]]}},::"id""#, None)]
    #[case::cut_off(r#"{"method":"x","id":7"#, None)]
    fn tells_the_id(#[case] line: &str, #[case] expected: Option<&str>) {
        assert_eq!(outline(line).id(), expected);
    }

    #[test]
    fn tells_what_else_a_call_is_known_by() {
        let outline = outline(r#"{"type":"function_call","id":"fc_1","call_id":"c","arguments":"{\"method\":1}"}"#);
        assert_eq!((outline.id(), outline.call_id(), outline.has_method()), (Some(r#""fc_1""#), Some(r#""c""#), false));
    }

    fn outline(line: &str) -> Outline {
        let mut outline = Outline::default();
        for part in line.as_bytes().chunks(3) {
            outline.see(part);
        }
        outline
    }

    #[test]
    fn keeps_no_more_than_its_bound() {
        let mut outline = Outline::default();
        let long = "x".repeat(100_000);
        outline.see(format!(r#"{{"{long}":"{long}","method":"{long}","id":"{long}"#).as_bytes());
        assert!(outline.token.len() + outline.key.len() <= 2 * MAX_TOKEN_BYTES + 2);
        outline.see(b"\"}");
        assert_eq!(outline.id(), None);
    }
}
