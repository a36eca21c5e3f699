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
    /// `None` where the client does not want to know.
    client: Option<(ProgressToken, RequestContext<RoleServer>)>,
}

pub(super) fn channel(context: &RequestContext<RoleServer>) -> (Teller, Listener) {
    let (sender, receiver) = watch::channel(None);
    let client = context.meta.get_progress_token().map(|token| (token, context.clone()));
    (Teller { news: sender, next: Mutex::new(Instant::now() + PATIENCE) }, Listener { news: receiver, client })
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
    /// The newest progress, once there is some that is not passed on yet. May be dropped before it ends.
    pub(super) async fn news(&mut self) -> Progress {
        loop {
            if self.client.is_none() || self.news.changed().await.is_err() {
                // Nothing will come.
                return std::future::pending().await;
            }
            let news = *self.news.borrow_and_update();
            if let Some(progress) = news {
                return progress;
            }
        }
    }

    /// Ends when it is written. Until then the answer must wait, for no progress may come after it.
    pub(super) async fn pass_on(&self, progress: Progress) {
        if let Some((token, context)) = self.client.as_ref().filter(|(_, context)| !context.ct.is_cancelled()) {
            // A client that is gone is noticed elsewhere.
            let _ = context.peer.notify_progress(notification(token.clone(), progress)).await;
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
