//! The connection was made, and the exchange over HTTP/2 failed.

use std::{net::SocketAddr, time::Duration};

use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{io::AsyncWriteExt, sync::Notify};

use super::{
    support::{
        client,
        h2_by_hand::{self as by_hand, Connection},
        raw,
    },
    *,
};

const CODES: [u32; 6] = [
    by_hand::NO_ERROR,
    by_hand::PROTOCOL_ERROR,
    by_hand::INTERNAL_ERROR,
    by_hand::REFUSED_STREAM,
    by_hand::CANCEL,
    by_hand::ENHANCE_YOUR_CALM,
];

/// Reads a request and does `act` with the connection and the request's stream.
async fn after_request<F>(
    act: impl Fn(Connection, u32) -> F + Clone + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = io::Result<()>> + Send,
{
    by_hand::serve(move |mut connection| {
        let act = act.clone();
        async move {
            let id = connection.request().await.unwrap();
            act(connection, id).await.unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn of_all_resets_only_a_refused_stream_proves_that_it_was_not_processed() {
    for code in CODES {
        let address = after_request(move |mut connection, id| async move {
            connection.rst_stream(id, code).await?;
            connection.drain().await;
            Ok(())
        })
        .await;
        let expected = match code {
            by_hand::REFUSED_STREAM => network(Delivery::NotSent, "stream refused"),
            _ => network(Delivery::Unknown, "network error"),
        };
        assert_verdict(fail_http2(post(address, "body")).await, &expected);
    }
}

#[tokio::test]
async fn a_goaway_proves_it_of_the_streams_above_its_last_whatever_its_code() {
    for code in CODES {
        let address = after_request(move |mut connection, _| async move {
            connection.goaway(0, code).await?;
            connection.drain().await;
            Ok(())
        })
        .await;
        let expected = network(Delivery::NotSent, "stream refused");
        assert_verdict(fail_http2(post(address, "body")).await, &expected);
    }
}

#[tokio::test]
async fn a_goaway_proves_nothing_of_the_streams_up_to_its_last() {
    for code in CODES {
        let address =
            after_request(
                move |mut connection, id| async move { connection.goaway(id, code).await },
            )
            .await;
        let expected = network(Delivery::Unknown, "EPIPE");
        assert_verdict(fail_http2(post(address, "body")).await, &expected);
    }
}

#[tokio::test]
async fn a_goaway_does_not_end_the_streams_up_to_its_last() {
    let address = after_request(|mut connection, id| async move {
        connection.goaway(id, by_hand::NO_ERROR).await?;
        connection.head(id, 204, true).await
    })
    .await;
    let response = client::http2().request(post(address, "body")).await;
    assert_eq!(response.unwrap().status(), 204);
}

#[tokio::test]
async fn a_connection_that_ends_without_an_answer() {
    let expected = network(Delivery::Unknown, "EPIPE");
    let closes = after_request(|_, _| async { Ok(()) }).await;
    assert_verdict(fail_http2(post(closes, "body")).await, &expected);
    let resets = after_request(|connection, _| async {
        connection.reset();
        Ok(())
    })
    .await;
    let error = fail_http2(post(resets, "body")).await;
    assert_verdict(error, &expected);
}

/// One that waits for its turn, while another is being answered.
#[tokio::test]
async fn a_request_left_behind_by_a_connection_that_ends() {
    let close = Arc::new(Notify::new());
    let closed = Arc::clone(&close);
    let address = after_request(move |mut connection, id| {
        let closes = Arc::clone(&closed);
        async move {
            // From now on there may be no stream at all.
            let settings = [0, 3, 0, 0, 0, 0];
            connection.write(by_hand::SETTINGS, 0, 0, &settings).await?;
            connection.head(id, 204, true).await?;
            closes.notified().await;
            Ok(())
        }
    })
    .await;
    let client = client::http2();
    client.request(post(address, "body")).await.unwrap();
    let waiting = client.request(post(address, "body"));
    let closing = async {
        // The client's tasks take over what was asked for.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        close.notify_one();
    };
    let (error, ()) = tokio::join!(waiting, closing);
    let error = error.unwrap_err();
    // By itself it cannot be told from a body that failed.
    assert_eq!(Verdict::of(&error), body_failed());
    let expected = network(Delivery::Unknown, "connection closed before a response");
    assert_verdict(Context(LeftBehind::explain(error.into())), &expected);
}

#[tokio::test]
async fn an_answer_that_is_not_http2() {
    let expected = network(Delivery::Unknown, "invalid response");
    let headers = after_request(|mut connection, id| async move {
        let block = [0xff; 9];
        connection
            .write(by_hand::HEADERS, by_hand::END_HEADERS, id, &block)
            .await?;
        connection.drain().await;
        Ok(())
    })
    .await;
    assert_verdict(fail_http2(post(headers, "body")).await, &expected);

    let data_first = after_request(|mut connection, id| async move {
        connection.write(by_hand::DATA, 0, id, b"body").await?;
        connection.drain().await;
        Ok(())
    })
    .await;
    assert_verdict(fail_http2(post(data_first, "body")).await, &expected);

    let http1 = raw::serve(|mut stream| async move {
        raw::skip(&mut stream, 24).await;
        let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        raw::drain(&mut stream).await;
    })
    .await;
    assert_verdict(fail_http2(post(http1, "body")).await, &expected);
}

#[tokio::test]
async fn a_server_that_answers_no_ping() {
    let address = raw::serve(|mut stream| async move {
        // Settings, and nothing ever after.
        stream
            .write_all(&[0, 0, 0, by_hand::SETTINGS, 0, 0, 0, 0, 0])
            .await
            .unwrap();
        raw::drain(&mut stream).await;
    })
    .await;
    let client = Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .http2_only(true)
        .http2_keep_alive_interval(Duration::from_millis(10))
        .http2_keep_alive_timeout(Duration::from_millis(10))
        .build_http();
    let error = client.request(post(address, "body")).await.unwrap_err();
    assert_verdict(error, &timeout(Delivery::Unknown, "timed out"));
}
