//! The one way by which every front end reads: the tool, and the record of what it was asked.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Instant, SystemTime};

use capread::{Cancel, Definition, Error, LineNumbers, Progress, ReadOutput, ReadRequest, ReadTool, Result};

use crate::audit::{Audit, Record};

pub(crate) struct Reads {
    tool: ReadTool,
    audit: Option<Audit>,
}

/// A call, as its front end knows it.
pub(crate) struct Call<'a> {
    /// JSON text.
    pub(crate) id: Option<&'a str>,
    /// The name of the tool that is called.
    pub(crate) tool: &'a str,
    pub(crate) request: Result<ReadRequest>,
}

impl Reads {
    pub(crate) fn new(tool: ReadTool, audit: Option<Audit>) -> Self {
        Self { tool, audit }
    }

    pub(crate) fn with_line_numbers(self, numbers: LineNumbers) -> Self {
        Self { tool: self.tool.with_line_numbers(numbers), ..self }
    }

    pub(crate) fn definition(&self) -> Definition {
        self.tool.definition()
    }

    /// Reads. What comes back is recorded, whatever it is.
    pub(crate) fn read(
        &self,
        call: Call<'_>,
        cancel: &dyn Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ReadOutput> {
        let Some(audit) = &self.audit else { return self.tool.call_parsed(call.request, cancel, progress) };
        let Call { id, tool, request } = call;
        let input = match &request {
            Ok(request) => Some(request.path.to_string_lossy().into_owned()),
            Err(error) => error.input().map(str::to_owned),
        };
        let input = input.as_deref();
        let (begun, clock) = (SystemTime::now(), Instant::now());
        let result = catch_unwind(AssertUnwindSafe(|| self.tool.call_parsed(request, cancel, progress)));
        let (outcome, output) = match &result {
            Ok(Ok(output)) => ("ok", Some(output)),
            Ok(Err(error)) => (error.code(), None),
            Err(_) => ("internal", None),
        };
        let recorded = audit.record(&Record { begun, duration: clock.elapsed(), id, tool, input, outcome, output });
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        recorded.map_err(|error| unrecorded(input, &error))?;
        result
    }
}

/// No more than that: not what came of the read either.
fn unrecorded(input: Option<&str>, error: &std::io::Error) -> Error {
    let source = std::io::Error::other(format!("the read could not be audited: {error}"));
    Error::from_io(input.map(Path::new), source)
}
