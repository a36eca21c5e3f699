//! How far a read has come, for a client that wants to know.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use capread::Progress;
use rmcp::model::{ProgressNotification, ProgressNotificationParam, ProgressToken, ServerJsonRpcMessage};

/// Reads that end before this tell nothing.
const PATIENCE: Duration = Duration::from_millis(100);

/// Between two notifications.
const INTERVAL: Duration = Duration::from_millis(100);

/// Of one read.
pub(super) struct Teller {
    token: ProgressToken,
    told: Mutex<Told>,
}

struct Told {
    next: Instant,
    scanned: u64,
}

impl Teller {
    pub(super) fn new(token: ProgressToken) -> Self {
        Self { token, told: Mutex::new(Told { next: Instant::now() + PATIENCE, scanned: 0 }) }
    }

    /// What the client is to hear of it, which is more each time.
    pub(super) fn news(&self, progress: Progress) -> Option<ServerJsonRpcMessage> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now < told.next || progress.scanned <= told.scanned {
            return None;
        }
        *told = Told { next: now + INTERVAL, scanned: progress.scanned };
        let notification = ProgressNotification::new(parameters(self.token.clone(), progress));
        Some(ServerJsonRpcMessage::notification(notification.into()))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the protocol has no other numbers; files over 8 PiB are told to the nearest byte that it has"
)]
fn parameters(token: ProgressToken, progress: Progress) -> ProgressNotificationParam {
    let told = ProgressNotificationParam::new(token, progress.scanned as f64);
    match progress.size {
        Some(size) => told.with_total(size as f64),
        None => told,
    }
}
