//! Records that can be asserted on.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use tokio::time::Instant;
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    CallRecord, RecorderLayer,
    test_util::{Ending, Records, Upstream},
};

async fn call(records: &Records, path: &str) {
    let service = RecorderLayer::new(records.clone()).layer(Upstream::new([Ending::status(204)]));
    let request = Request::get(path).body(Empty::<Bytes>::new()).unwrap();
    service.oneshot(request).await.unwrap();
}

fn paths(records: &[CallRecord]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record.endpoint().path())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn records_are_kept_in_order_until_they_are_taken() {
    let records = Records::new();
    call(&records, "/a").await;
    assert_eq!(records.only().endpoint().path(), "/a");
    call(&records, "/b").await;
    assert_eq!(paths(&records.all()), ["/a", "/b"]);
    assert_eq!(paths(&records.take()), ["/a", "/b"]);
    assert!(records.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_yet_to_come_is_waited_for() {
    let records = Records::new();
    let later = records.clone();
    tokio::spawn(async move {
        for path in ["/a", "/b", "/c"] {
            tokio::time::sleep(Duration::from_secs(1)).await;
            call(&later, path).await;
        }
    });
    let began = Instant::now();
    assert_eq!(paths(&records.wait(2).await), ["/a", "/b"]);
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    assert_eq!(records.wait(1).await.len(), 2);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "2 records were waited for, there are 1")]
async fn what_never_comes_is_not_waited_for_without_end() {
    let records = Records::new();
    call(&records, "/a").await;
    records.wait(2).await;
}

#[test]
#[should_panic(expected = "there is none")]
fn none_is_not_one() {
    let _ = Records::new().only();
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "there are 2")]
async fn two_are_not_one() {
    let records = Records::new();
    call(&records, "/a").await;
    call(&records, "/b").await;
    let _ = records.only();
}
