//! How far a read has come, for a client that wants to know.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use capread::Progress;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use tokio::sync::watch;

/// Reads that end before this tell nothing.
const PATIENCE: Duration = Duration::from_millis(100);

/// Between two notifications.
const INTERVAL: Duration = Duration::from_millis(100);

/// The end in the threads that read. Only the furthest progress is kept, so it never waits for the client.
pub(super) struct Teller {
    news: watch::Sender<Option<Progress>>,
    next: Mutex<Instant>,
}

/// The end in the server.
pub(super) struct Listener {
    news: watch::Receiver<Option<Progress>>,
    token: ProgressToken,
    context: RequestContext<RoleServer>,
}

/// `None` where the client does not want to know.
pub(super) fn channel(context: &RequestContext<RoleServer>) -> Option<(Teller, Listener)> {
    let token = context.meta.get_progress_token()?;
    let (sender, receiver) = watch::channel(None);
    let teller = Teller { news: sender, next: Mutex::new(Instant::now() + PATIENCE) };
    Some((teller, Listener { news: receiver, token, context: context.clone() }))
}

impl Teller {
    pub(super) fn tell(&self, progress: Progress) {
        if self.is_time() {
            self.news.send_if_modified(|told| {
                // Two threads may tell at once, the one behind last.
                let is_further = told.is_none_or(|told| told.scanned < progress.scanned);
                if is_further {
                    *told = Some(progress);
                }
                is_further
            });
        }
    }

    fn is_time(&self) -> bool {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_time = now >= *next;
        if is_time {
            *next = now + INTERVAL;
        }
        is_time
    }
}

impl Listener {
    /// Until the teller is dropped, and what it told last is written.
    pub(super) async fn pass_all_on(mut self) {
        while self.news.changed().await.is_ok() {
            let news = *self.news.borrow_and_update();
            if let Some(progress) = news.filter(|_| !self.context.ct.is_cancelled()) {
                // A client that is gone is noticed elsewhere.
                let _ = self.context.peer.notify_progress(notification(self.token.clone(), progress)).await;
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the protocol has no other numbers; files over 8 PiB are told to the nearest byte that it has"
)]
fn notification(token: ProgressToken, progress: Progress) -> ProgressNotificationParam {
    let told = ProgressNotificationParam::new(token, progress.scanned as f64);
    match progress.size {
        Some(size) => told.with_total(size as f64),
        None => told,
    }
}
