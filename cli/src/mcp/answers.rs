//! What came of a read, as the result of a tool call.

use capread::{Definition, Format, ReadOutput};
use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde_json::{Value, json};

/// How results look.
#[derive(Clone, Copy)]
pub(crate) enum Answers {
    /// A text.
    Plain,
    /// The same, and the facts with it.
    Structured,
}

impl Answers {
    /// The definition as we wrote it, in the SDK's words.
    pub(super) fn tool(self, definition: &Definition) -> Tool {
        let mut told = definition.to_json(Format::Mcp);
        if matches!(self, Self::Structured) {
            told["outputSchema"] = definition.output_schema();
        }
        serde_json::from_value(told).expect("the definition is a tool, as tests show for every form")
    }

    pub(super) fn result(self, read: &capread::Result<ReadOutput>) -> CallToolResult {
        match read {
            Ok(output) => self.told(CallToolResult::success, output.to_model_text(), || output.to_json()),
            Err(error) => self.told(CallToolResult::error, error.to_string(), || error.to_json()),
        }
    }

    /// The result of a read that came to no end of its own.
    pub(super) fn broken_off(self) -> CallToolResult {
        let facts = || json!({"code": "internal", "input": null, "path": null});
        self.told(CallToolResult::error, "Internal error: the read broke off".to_owned(), facts)
    }

    fn told(
        self,
        result: fn(Vec<ContentBlock>) -> CallToolResult,
        text: String,
        facts: impl FnOnce() -> Value,
    ) -> CallToolResult {
        let structured = matches!(self, Self::Structured).then(|| {
            let mut facts = facts();
            facts["text"] = json!(text);
            facts
        });
        let mut result = result(vec![ContentBlock::text(text)]);
        result.structured_content = structured;
        result
    }
}
