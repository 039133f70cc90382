use super::*;

const CANARY: &str = "sk-canary-7f3a9c1e5b";

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn keys(command: &str) -> KeyCache {
    KeyCache::new(KeySource::Command(command.into()), url("https://host/v1").origin())
}

async fn shown(keys: &KeyCache) -> Result<String, KeyError> {
    Ok(keys.key_for(&url("https://host/v1/messages")).await?.unwrap().expose().to_owned())
}

#[test]
fn a_key_is_visible_ascii() {
    let check =
        |text: &str| ApiKey::new(&SecretString::from(text)).map(|key| key.expose().to_owned());
    assert_eq!(check(" k-1\r\n").as_deref(), Ok("k-1"));
    assert_eq!(check(" \n"), Err(KeyError::Empty));
    assert_eq!(check("a\nb"), Err(KeyError::Lines));
    for bad in ["a b", "a\u{1b}[0m", "a\0b", "é", "a\u{202e}b"] {
        assert_eq!(check(bad), Err(KeyError::Characters), "{bad:?}");
    }
    assert_eq!(check(&"k".repeat(MAX_KEY + 1)), Err(KeyError::TooLong));
}

#[test]
fn the_usual_variable_is_for_the_providers_own_server() {
    let chosen = KeySource::chosen;
    let env = |name: &str| KeySource::Env(name.into());
    let (own, other) = ("", "https://host");
    assert_eq!(chosen(Provider::OpenAi, own, "", ""), env("OPENAI_API_KEY"));
    assert_eq!(chosen(Provider::OpenAi, other, "", ""), KeySource::None);
    assert_eq!(chosen(Provider::Anthropic, other, "MY_KEY", ""), env("MY_KEY"));
    assert_eq!(
        chosen(Provider::Anthropic, own, "A", "pass x"),
        KeySource::Command("pass x".into())
    );
    assert_eq!(env(CANARY).check(), Err(EndpointError::KeyName));
}

#[tokio::test]
async fn a_key_goes_to_its_own_origin_only() {
    let keys = keys("echo k");
    for other in
        ["http://host/v1", "https://host:444/", "https://host.evil/", "https://evil/?https://host"]
    {
        let found = keys.key_for(&url(other)).await;
        assert_eq!(found.err(), Some(KeyError::OtherOrigin), "{other}");
    }
    assert_eq!(shown(&keys).await.as_deref(), Ok("k"));
}

#[tokio::test]
async fn a_command_is_asked_again_after_a_refusal_and_at_most_once_a_minute() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("n");
    let keys = keys(&format!("echo x >> '{0}'; wc -l < '{0}'", count.display()));
    assert_eq!(shown(&keys).await.as_deref(), Ok("1"));
    tokio::time::pause();
    tokio::time::advance(KEY_AGAIN).await;
    tokio::time::resume();
    assert_eq!(shown(&keys).await.as_deref(), Ok("1"), "a good key is not asked for again");
    keys.refused().await;
    assert_eq!(shown(&keys).await.as_deref(), Ok("2"));
    keys.refused().await;
    assert_eq!(shown(&keys).await.as_deref(), Ok("2"), "within the minute");
}

#[tokio::test]
async fn a_command_that_fails_is_not_asked_in_a_loop() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("n");
    let keys = keys(&format!("echo x >> '{}'; exit 3", mark.display()));
    for _ in 0..3 {
        assert_eq!(shown(&keys).await, Err(KeyError::Failed("exit status: 3".into())));
    }
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "x\n");
}

#[test]
fn nothing_shows_a_key() {
    let source = KeySource::Command(format!("echo {CANARY}"));
    let keys = KeyCache::new(source.clone(), url("https://host").origin());
    let header = ApiKey::new(&SecretString::from(CANARY)).ok().unwrap().header("Bearer ").unwrap();
    let shown = format!("{source:?} {:?} {keys:?} {header:?}", KeySource::Env(CANARY.into()));
    assert!(!shown.contains("canary"), "{shown}");
}
