//! What a line of input means.

use std::collections::BTreeMap;
use std::fmt::Display;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CancelledNotification, ClientRequest, CustomRequest, DiscoverRequest, InitializeRequest,
    ListToolsRequest, PingRequest, RequestId, ServerJsonRpcMessage,
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// One message.
pub(super) enum Message {
    Request(Box<ClientRequest>, RequestId),
    /// Of the request with this id.
    Cancellation(RequestId),
    /// What is none, with its answer.
    Refused(Box<ServerJsonRpcMessage>),
    /// What needs no answer and changes nothing, such as that the client is initialized.
    Passed,
}

/// What a call of the tool carries beside what the SDK has of it.
#[derive(Clone)]
pub(super) struct Call {
    /// The client's own.
    pub(super) id: RequestId,
    /// As they were written: taken apart, numbers would lose digits, and some could not be told at all.
    pub(super) arguments: String,
}

/// Most characters of what a client wrote that an error repeats.
const MAX_SHOWN: usize = 200;

type Fields<'a> = BTreeMap<String, &'a RawValue>;

impl Message {
    pub(super) fn parse(line: &[u8]) -> Self {
        let mut id = None;
        match parse(line, &mut id) {
            Ok(message) => message,
            Err(error) => Self::refused(error, id),
        }
    }

    pub(super) fn refused(error: ErrorData, id: Option<RequestId>) -> Self {
        Self::Refused(Box::new(ServerJsonRpcMessage::error(error, id)))
    }
}

/// Gives the id as soon as it is known, so that whoever asked can be told of an error.
fn parse(line: &[u8], id: &mut Option<RequestId>) -> Result<Message, ErrorData> {
    let fields = object(line)?;
    *id = self::id(&fields)?;
    message(&fields, id.as_ref())
}

fn object(line: &[u8]) -> Result<Fields<'_>, ErrorData> {
    let json: &RawValue =
        serde_json::from_slice(line).map_err(|error| ErrorData::parse_error(format!("Parse error: {error}"), None))?;
    serde_json::from_str(json.get()).map_err(|_| invalid_request("a message must be an object"))
}

fn id(fields: &Fields<'_>) -> Result<Option<RequestId>, ErrorData> {
    let id = fields.get("id").map(|id| serde_json::from_str(id.get()));
    id.transpose().map_err(|_| invalid_request("id must be a string or an integer"))
}

fn message(fields: &Fields<'_>, id: Option<&RequestId>) -> Result<Message, ErrorData> {
    if fields.get("jsonrpc").is_none_or(|version| version.get() != r#""2.0""#) {
        return Err(invalid_request("jsonrpc must be \"2.0\""));
    }
    let is_response = fields.contains_key("result") || fields.contains_key("error");
    let params = fields.get("params").copied();
    match (fields.get("method"), id) {
        // Nothing was asked of the client.
        (None, _) if is_response => Ok(Message::Passed),
        (None, _) => Err(invalid_request("there is no method")),
        (Some(_), _) if is_response => Err(invalid_request("it is both a request and a response")),
        (Some(method), None) => Ok(cancellation(method, params).unwrap_or(Message::Passed)),
        (Some(method), Some(id)) => Ok(Message::Request(Box::new(request(method, params, id)?), id.clone())),
    }
}

/// The only notification that this server heeds.
fn cancellation(method: &RawValue, params: Option<&RawValue>) -> Option<Message> {
    let cancelled: CancelledNotification = typed(method, params?).ok()?;
    cancelled.params.request_id.map(Message::Cancellation)
}

/// Known methods are told apart here: the SDK would take one whose parameters are wrong for a method that it does not know.
fn request(method: &RawValue, params: Option<&RawValue>, id: &RequestId) -> Result<ClientRequest, ErrorData> {
    let name: String = serde_json::from_str(method.get()).map_err(|_| invalid_request("method must be a string"))?;
    let params = params.unwrap_or(RawValue::NULL);
    let request = match name.as_str() {
        "initialize" => typed::<InitializeRequest>(method, params).map(Into::into),
        "server/discover" => typed::<DiscoverRequest>(method, params).map(Into::into),
        "ping" => typed::<PingRequest>(method, params).map(Into::into),
        "tools/list" => typed::<ListToolsRequest>(method, params).map(Into::into),
        "tools/call" => return call(method, params, id),
        _ => Ok(typed(method, params).unwrap_or_else(|_| CustomRequest::new(name, None)).into()),
    };
    request.map_err(invalid_params)
}

fn call(method: &RawValue, params: &RawValue, id: &RequestId) -> Result<ClientRequest, ErrorData> {
    let mut fields: Fields<'_> = serde_json::from_str(params.get()).map_err(invalid_params)?;
    let arguments = fields.remove("arguments").map_or("null", RawValue::get);
    let rest = serde_json::value::to_raw_value(&fields).map_err(invalid_params)?;
    let mut request: CallToolRequest = typed(method, &rest).map_err(invalid_params)?;
    let arguments = match arguments {
        "null" => "{}",
        object if object.starts_with('{') => object,
        _ => return Err(invalid_params("arguments must be an object")),
    };
    request.extensions.insert(Call { id: id.clone(), arguments: arguments.to_owned() });
    Ok(request.into())
}

fn typed<T: DeserializeOwned>(method: &RawValue, params: &RawValue) -> serde_json::Result<T> {
    serde_json::from_str(&format!(r#"{{"method":{method},"params":{params}}}"#))
}

fn invalid_request(reason: &str) -> ErrorData {
    ErrorData::invalid_request(format!("Invalid request: {reason}"), None)
}

fn invalid_params(reason: impl Display) -> ErrorData {
    ErrorData::invalid_params(format!("Invalid params: {}", shown(&reason.to_string())), None)
}

/// What a client wrote, or an error that quotes it, made fit for a message.
pub(super) fn shown(text: &str) -> String {
    let visible = |shown| if capread::is_control(shown) { char::REPLACEMENT_CHARACTER } else { shown };
    text.chars().take(MAX_SHOWN).map(visible).collect()
}
