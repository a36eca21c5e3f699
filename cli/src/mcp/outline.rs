//! Of a line that is too long to keep: whose request it is.

use rmcp::model::RequestId;

/// Longest text of a key or an id, in bytes, that is looked at.
const MAX_TOKEN_BYTES: usize = 1024;

/// The outermost object of a line, seen byte by byte. What is no JSON gives an outline too, but hardly an id.
#[derive(Default)]
pub(super) struct Outline {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// The text since the last comma or colon of the outermost object, without what is nested in it.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Option<RequestId>,
    has_method: bool,
}

impl Outline {
    pub(super) fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id, where the line is a request.
    pub(super) fn id(self) -> Option<RequestId> {
        self.id.filter(|_| self.has_method)
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
        match self.key.as_slice() {
            br#""id""# if self.token.len() <= MAX_TOKEN_BYTES => self.id = serde_json::from_slice(&self.token).ok(),
            br#""method""# => self.has_method = true,
            _ => {}
        }
        self.token.clear();
        self.key.clear();
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::first(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read"}}"#,
        Some(RequestId::Number(7))
    )]
    #[case::last(
        r#"{"method":"tools/call","params":{"id":1,"a":[{"id":2}]},"jsonrpc":"2.0","id": 7 }"#,
        Some(RequestId::Number(7))
    )]
    #[case::text(r#"{"method":"x","id":"a\",\"id\":1"}"#, Some(RequestId::String("a\",\"id\":1".into())))]
    #[case::escaped(r#"{"method":"\\","params":{"x":"\"}\\"},"id":3}"#, Some(RequestId::Number(3)))]
    #[case::no_request(r#"{"id":7,"result":{}}"#, None)]
    #[case::notification(r#"{"method":"notifications/cancelled","params":{"requestId":7,"id":7}}"#, None)]
    #[case::batch(r#"[{"id":7,"method":"x"}]"#, None)]
    #[case::odd_id(r#"{"id":{"a":1},"method":"x"}"#, None)]
    #[case::garbage(r#"]]}},::"id""#, None)]
    #[case::cut_off(r#"{"method":"x","id":7"#, None)]
    fn tells_the_id_of_a_request(#[case] line: &str, #[case] expected: Option<RequestId>) {
        let mut outline = Outline::default();
        for part in line.as_bytes().chunks(3) {
            outline.see(part);
        }
        assert_eq!(outline.id(), expected);
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
