//! Tests with many clients that use the same session ID, compared with a model of their histories.

use std::collections::HashSet;

use super::*;

/// A small random generator, so that a failure can be repeated with its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn texts(said: &[Value]) -> Vec<String> {
    said.iter().map(text).collect()
}

/// Makes the client's next change.
fn turn(client: &mut Client, dice: &mut Dice) {
    let length = client.said.len() as u64;
    match dice.roll(8) {
        // Goes back and continues differently.
        0 if length > 0 => {
            client.said.truncate(usize::try_from(dice.roll(length)).unwrap());
            client.says(&format!("again {}", dice.roll(2)));
        }
        // Edits an earlier message and keeps the rest.
        1 if length > 2 => {
            let at = usize::try_from(dice.roll(length)).unwrap();
            let role = client.said[at]["role"].clone();
            client.said[at] = json!({ "role": role, "content": format!("edit {}", dice.roll(2)) });
        }
        // Sends the same request again.
        2 if length > 0 => {}
        // Begins a new conversation.
        3 => {
            client.said.clear();
            client.says(&format!("hello {}", dice.roll(2)));
        }
        _ => client.says(&format!("word {}", dice.roll(3))),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_client_has_its_own_history_and_no_other() {
    for seed in 1..=6 {
        let home = Home::new();
        let mut daemon = home.boot().await;
        let mut dice = Dice(seed);
        let key = Some("same").filter(|_| seed % 2 == 0);
        let mut clients = vec![Client::new(key); 3];
        // Every history that was sent, with all its prefixes.
        let mut conversations = HashSet::new();
        for step in 0..40 {
            let who = usize::try_from(dice.roll(3)).unwrap();
            let client = &mut clients[who];
            turn(client, &mut dice);
            let prepared = client.sends(&daemon).await;
            if dice.roll(4) > 0 {
                client.hears(&daemon, &prepared, &format!("answer {}", dice.roll(2)));
            }
            for length in 1..=client.said.len() {
                conversations.insert(texts(&client.said[..length]));
            }
            if dice.roll(10) == 0 {
                daemon.shutdown().await;
                drop(daemon);
                daemon = home.boot().await;
            }
            let _ = step;
        }
        for client in &mut clients {
            client.says("last");
            let prepared = client.sends(&daemon).await;
            conversations.insert(texts(&client.said));
            assert_eq!(
                history(&daemon, prepared.session).await,
                texts(&client.said),
                "seed {seed}"
            );
        }
        for (session, history) in histories(&daemon).await {
            assert!(conversations.contains(&history), "seed {seed}, {session}: {history:?}");
        }
        daemon.shutdown().await;
    }
}

/// The clients run concurrently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_at_the_same_time_do_not_mix() {
    let home = Home::new();
    let daemon = home.boot().await;
    let work = (0..12).map(|number| {
        let daemon = daemon.clone();
        tokio::spawn(async move {
            let mut client = Client::new(Some("same"));
            for round in 0..6 {
                // They differ from the second message on.
                client.says(&if round == 0 {
                    "hello".to_owned()
                } else {
                    format!("{number} {round}")
                });
                let prepared = client.sends(&daemon).await;
                client.hears(&daemon, &prepared, "yes");
            }
            client.says("end");
            let prepared = client.sends(&daemon).await;
            (prepared.session, client)
        })
    });
    let mut sessions = HashSet::new();
    for done in work.collect::<Vec<_>>() {
        let (session, client) = done.await.unwrap();
        assert_eq!(history(&daemon, session).await, texts(&client.said));
        assert!(sessions.insert(session));
    }
    daemon.shutdown().await;
}
