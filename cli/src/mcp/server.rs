//! The server as the SDK calls it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use capread::Cancel;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::task::block_in_place;

use super::answers::Answers;
use super::message::{Arguments, shown};
use super::progress;
use super::turns::Turn;
use super::unanswered::Unanswered;
use super::{Hearing, Reading};

const INSTRUCTIONS: &str =
    "Reads text files inside the allowed directories, in parts that fit. Paths are relative to the first one.";

pub(super) struct Server {
    read: Arc<Reading>,
    tool: Tool,
    answers: Answers,
    unanswered: Arc<Unanswered>,
}

impl Server {
    pub(super) fn new(read: Arc<Reading>, tool: Tool, answers: Answers, unanswered: Arc<Unanswered>) -> Self {
        Self { read, tool, answers, unanswered }
    }

    async fn read(&self, context: RequestContext<RoleServer>) -> CallToolResult {
        let Some(turn) = context.extensions.get::<Turn>() else { return self.cancelled(&context) };
        let permit = tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            permit = turn.come() => permit,
        };
        let (Some(permit), Some(cancelled)) = (permit, self.unanswered.flag(&context.id)) else {
            return self.cancelled(&context);
        };
        let result = match progress::channel(&context) {
            None => self.answer(&context, &*cancelled, &|_| {}),
            Some((teller, listener)) => {
                let listener = tokio::spawn(listener.pass_all_on());
                // The listener is woken from here, and so has to be run by another thread meanwhile.
                let result = block_in_place(|| self.answer(&context, &*cancelled, &|news| teller.tell(news)));
                drop(teller);
                // No progress may come after the answer.
                let _ = listener.await;
                result
            }
        };
        self.unanswered.keep(&context.id, permit);
        result
    }

    /// Reads. A panic is told on standard error, and is an answer all the same.
    fn answer(
        &self,
        context: &RequestContext<RoleServer>,
        cancel: &dyn Cancel,
        progress: &Hearing<'_>,
    ) -> CallToolResult {
        let read = || self.answers.result(&(self.read)(&context.id, arguments(context), cancel, progress));
        catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| self.answers.broken_off())
    }

    /// Of a call whose turn to read never comes. It gets no answer, whatever this is, but it is recorded like any other.
    fn cancelled(&self, context: &RequestContext<RoleServer>) -> CallToolResult {
        self.answer(context, &|| true, &|_| {})
    }
}

fn arguments(context: &RequestContext<RoleServer>) -> &str {
    context.extensions.get().map_or("{}", |Arguments(text)| text)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("capread", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // There is one page, so no cursor was ever given out.
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("Invalid params: unknown cursor", None));
        }
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != self.tool.name {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", shown(&request.name)), None));
        }
        Ok(self.read(context).await.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let message = format!("Unknown method: {}", shown(&request.method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }
}
