//! The server as the SDK calls it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, CustomRequest, CustomResult, ErrorCode,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::Reading;
use super::answers::Answers;
use super::client::Client;
use super::message::{Call, shown};
use super::progress::Teller;

const INSTRUCTIONS: &str =
    "Reads text files inside the allowed directories, in parts that fit. Paths are relative to the first one.";

pub(super) struct Server {
    pub(super) tool: Tool,
    pub(super) read: Arc<Reading>,
    pub(super) answers: Answers,
    pub(super) client: Arc<Client>,
}

/// In the extensions of a request: it is handled by a thread that may wait for files.
#[derive(Clone)]
pub(super) struct MayWait;

impl Server {
    /// Whether this is a call of the tool.
    pub(super) fn has(&self, request: &ClientRequest) -> bool {
        matches!(request, ClientRequest::CallToolRequest(call) if call.params.name == self.tool.name)
    }

    /// Reads. A panic is told on standard error.
    fn result(&self, context: &RequestContext<RoleServer>) -> CallToolResult {
        let call: &Call = context.extensions.get().expect("every call of a tool was given one as it was read");
        let cancelled = self.client.unanswered.flag(&context.id);
        let teller = context.meta.get_progress_token().map(Teller::new);
        let tell = |progress| {
            if let Some(news) = teller.as_ref().and_then(|teller| teller.news(progress)) {
                self.client.tell_progress(&context.id, &news);
            }
        };
        let read = || self.answers.result(&(self.read)(&call.id, &call.arguments, &*cancelled, &tell));
        catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| self.answers.broken_off())
    }
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
        if context.extensions.get::<MayWait>().is_none() {
            // The SDK's loop hears of no call but the one that a session begins with, which is answered by a thread as all others are.
            return Err(ErrorData::internal_error("Internal error: the call is answered elsewhere", None));
        }
        Ok(self.result(&context).into())
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
