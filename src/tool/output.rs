//! The facts of a result, as a schema.

use serde_json::{Value, json};

use super::definition::Definition;

impl Definition {
    /// The JSON schema of a result's facts: those of a read ([`ReadOutput::to_json`](crate::ReadOutput::to_json)) and those of a
    /// failed one ([`Error::to_json`](crate::Error::to_json)), each with its `text`.
    ///
    /// It is one flat object for both, without alternatives, since clients hold failed results to it too. What it requires is what
    /// both have.
    #[must_use]
    pub fn output_schema(&self) -> Value {
        let line = |description: &str| json!({"type": "integer", "description": description});
        let maybe_line = |description: &str| json!({"type": ["integer", "null"], "description": description});
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The text of the answer: the lines and the hint how to continue, or the error message."},
                "path": {"type": ["string", "null"], "description": "The path asked for, normalised; null when it lies outside."},
                "startLine": line("First line returned, 1-based."),
                "endLine": line("Last line returned; 0 for an empty file."),
                "totalLines": maybe_line("Lines in the file; null when they were not all counted."),
                "truncatedBy": {"type": ["string", "null"], "enum": ["limit", "lines", "bytes", null], "description": "What ended the answer before the file's end."},
                "nextOffset": maybe_line("The offset to continue from; null at the end of the file."),
                "nextColumn": maybe_line("The column to continue from, within the line nextOffset; null where the next line starts."),
                "bytes": line("Bytes of the lines returned."),
                "fileSize": line("Bytes of the file."),
                "encoding": {"type": "string"},
                "bom": {"type": "boolean", "description": "Whether the file starts with a byte order mark."},
                "replacements": line("Places that could not be decoded, each replaced by U+FFFD."),
                "controls": line("Control and bidirectional-override characters."),
                "lineEnds": {"type": ["string", "null"], "enum": ["lf", "crlf", "mixed", null]},
                "finalNewline": {"type": ["boolean", "null"], "description": "Whether the file ends with a line break; null when nobody looked."},
                "links": line("Hard links of the file."),
                "version": {"type": "string", "description": "The state of the file that was read, for if_version."},
                "changedDuringRead": {"type": "boolean"},
                "code": {"type": "string", "description": "Of a failed read: the kind of error."},
                "input": {"type": ["string", "null"], "description": "Of a failed read: the path as it was asked for."},
                "os": {"type": ["string", "integer"], "description": "Of a failed read: the operating system's error."},
                "suggestions": {"type": "array", "items": {"type": "string"}, "description": "Of a failed read: paths that may have been meant."},
                "entries": {"type": "array", "items": {"type": "string"}, "description": "Of a directory, which cannot be read: some of its names."},
                "moreEntries": {"type": "integer", "description": "Of a directory: how many names it has, or at least has, beside those."},
            },
            "required": ["text", "path"],
        })
    }
}
