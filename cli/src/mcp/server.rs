//! The server as the SDK calls it.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use super::Reading;
use super::answers::Answers;
use super::message::{Call, shown};
use super::progress;
use super::unanswered::Unanswered;
use super::workers::Workers;

const INSTRUCTIONS: &str =
    "Reads text files inside the allowed directories, in parts that fit. Paths are relative to the first one.";

pub(super) struct Server {
    read: Arc<Reading>,
    tool: Tool,
    answers: Answers,
    workers: Workers,
    /// One permit a worker.
    idle: Arc<Semaphore>,
    unanswered: Arc<Unanswered>,
}

impl Server {
    pub(super) fn new(
        read: Arc<Reading>,
        tool: Tool,
        answers: Answers,
        workers: Workers,
        unanswered: Arc<Unanswered>,
    ) -> Self {
        let idle = Arc::new(Semaphore::new(workers.count()));
        Self { read, tool, answers, workers, idle, unanswered }
    }

    async fn read(&self, context: RequestContext<RoleServer>) -> CallToolResult {
        let permit = tokio::select! {
            biased;
            () = context.ct.cancelled() => return self.cancelled(&context),
            permit = Arc::clone(&self.idle).acquire_owned() => permit.expect("is never closed"),
        };
        let id = context.id.clone();
        let Some(cancelled) = self.unanswered.flag(&id) else { return self.cancelled(&context) };
        let (teller, mut listener) = progress::channel(&context);
        let (read, answers) = (Arc::clone(&self.read), self.answers);
        let mut read = self.workers.run(move || {
            let call = call(&context);
            answers.result(&read(&call.id, &call.arguments, &*cancelled, &|news| teller.tell(news)))
        });
        let result = loop {
            let news = tokio::select! {
                biased;
                result = &mut read => break result,
                news = listener.news() => news,
            };
            listener.pass_on(news).await;
        };
        self.unanswered.keep(&id, permit);
        result.unwrap_or_else(|_| self.answers.broken_off())
    }

    /// Of a call whose turn to read never comes. It gets no answer, whatever this is, but it is recorded like any other.
    fn cancelled(&self, context: &RequestContext<RoleServer>) -> CallToolResult {
        let call = call(context);
        self.answers.result(&(self.read)(&call.id, &call.arguments, &|| true, &|_| {}))
    }
}

fn call(context: &RequestContext<RoleServer>) -> &Call {
    context.extensions.get().expect("every call of a tool was given one as it was read")
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
