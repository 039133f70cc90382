//! The order of a stream whose events come in any order.

use bethink_service::Event;
use bethink_service_testing as testing;
use bethink_store::{Append, NewMessage};
use bethink_transcript::{MessageId, Role, Seq, SessionId};
use serde_json::json;

use crate::messages::message_event;
use crate::tests::home::SessionsHome;

/// Stores this many messages without publishing them.
async fn store(home: &SessionsHome, session: SessionId, count: u64) {
    let messages = (0..count)
        .map(|n| NewMessage {
            id: MessageId::new(&format!("late-{n}")).unwrap(),
            role: Role::User,
            raw: json!({ "role": "user", "content": "x" }).to_string().into(),
            recorded: false,
            created_at: home.cx.now(),
        })
        .collect();
    let append = Append { session, messages, receipt: None, at: home.cx.now(), only_new: false };
    home.cx.store().append(append).await.unwrap();
}

#[tokio::test]
async fn a_message_is_sent_after_all_before_it_and_once() {
    let directory = tempfile::tempdir().unwrap();
    let home = SessionsHome::open(testing::settings(directory.path())).await;
    let id = home.session(&[json!({ "role": "user", "content": "first" })]).await;
    let mut events = home.sessions.events(id, None).await.unwrap();
    store(&home, id, 5).await;
    let any = MessageId::new("any").unwrap();
    let message = |seq| message_event(Seq(seq), &any, Role::User);
    let hub = home.cx.hub();
    // The appends of messages 2 to 6 finished in this order.
    hub.publish(id, Seq(4), &message(4));
    hub.publish(id, Seq(2), &message(2));
    hub.publish(id, Seq(5), &Event::Todos { items: 1 });
    for seq in [5, 3, 6] {
        hub.publish(id, Seq(seq), &message(seq));
    }
    let mut told = Vec::new();
    let mut last = String::new();
    while told.len() < 6 {
        let event = events.next().await.unwrap();
        told.push((event.kind().to_owned(), event.seq().0));
        if event.seq() == Seq(4) {
            last = event.id();
        }
    }
    let wanted = [
        ("message", 2),
        ("message", 3),
        ("message", 4),
        ("message", 5),
        ("todos", 5),
        ("message", 6),
    ];
    assert_eq!(told, wanted.map(|(kind, seq)| (kind.to_owned(), seq)));
    // A reader that comes back gets the rest once, too.
    let mut again = home.sessions.events(id, Some(last)).await.unwrap();
    for (kind, seq) in [("message", 5), ("todos", 5), ("message", 6)] {
        let event = again.next().await.unwrap();
        assert_eq!((event.kind(), event.seq()), (kind, Seq(seq)));
    }
    home.close().await;
}
