use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

use crate::record::{CallRecord, RecordSink};

/// How long a test waits for its records, by tokio's clock.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sink that keeps every record, in the order in which calls ended.
///
/// A clone is another handle on the same records. Nothing is ever forgotten unless it is
/// [taken](Self::take): for a program that runs on there is [`RecentCalls`](crate::RecentCalls).
///
/// A call ends when the body of its response has been read or dropped. Where that happens in another
/// task, [wait](Self::wait) for it.
///
/// ```
/// use std::time::Duration;
///
/// use bytes::Bytes;
/// use http::Request;
/// use http_body_util::Empty;
/// use tower::{Layer, ServiceExt};
/// use tower_diagnose::{
///     ClientStack, ErrorClass,
///     test_util::{Ending, Records, Upstream},
/// };
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let records = Records::new();
/// let client = ClientStack::new(Duration::from_secs(1)).record(records.clone());
/// let client = client.layer(Upstream::new([Ending::Hangs]));
///
/// let request = Request::get("/slow").body(Empty::<Bytes>::new()).unwrap();
/// tokio::spawn(client.oneshot(request));
///
/// let all = records.wait(1).await;
/// assert_eq!(all[0].error_class(), Some(ErrorClass::Timeout));
/// assert_eq!(records.only().duration(), Duration::from_secs(1));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Records {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    records: Mutex<Vec<CallRecord>>,
    came: Notify,
}

impl Records {
    /// Creates a sink that has no record yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all records.
    #[must_use]
    pub fn all(&self) -> Vec<CallRecord> {
        self.lock().clone()
    }

    /// Returns all records and forgets them.
    #[must_use]
    pub fn take(&self) -> Vec<CallRecord> {
        std::mem::take(&mut self.lock())
    }

    /// Returns the record, of which there must be exactly one.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    #[must_use]
    #[track_caller]
    pub fn only(&self) -> CallRecord {
        let mut all = self.all();
        match (all.pop(), all.len()) {
            (Some(record), 0) => record,
            (Some(record), _) => {
                all.push(record);
                panic!("one record was expected, there are {}: {all:#?}", all.len())
            }
            (None, _) => panic!("one record was expected, there is none: is a body still held?"),
        }
    }

    /// Waits until there are at least `count` records, and returns all.
    ///
    /// # Panics
    ///
    /// If that takes ten seconds of tokio's clock; if there is no such clock.
    pub async fn wait(&self, count: usize) -> Vec<CallRecord> {
        let coming = async {
            loop {
                // Made before the look, so that it hears of whatever comes after.
                let came = self.shared.came.notified();
                let all = self.all();
                if all.len() >= count {
                    return all;
                }
                came.await;
            }
        };
        match timeout(PATIENCE, coming).await {
            Ok(all) => all,
            Err(_) => {
                let all = self.all();
                panic!(
                    "{count} records were waited for, there are {}: {all:#?}",
                    all.len()
                )
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CallRecord>> {
        let records = self.shared.records.lock();
        records.unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordSink for Records {
    fn record(&self, record: CallRecord) {
        self.lock().push(record);
        self.shared.came.notify_waiters();
    }
}
