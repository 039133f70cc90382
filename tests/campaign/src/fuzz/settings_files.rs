//! Settings files of other programs, in each of their formats.

use bethink_install::{ClientPlaces, InstallAgent, InstallRequest, files};

/// Entries that were added can be removed again, and adding them twice changes nothing more.
pub(super) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let places = ClientPlaces {
        person: "/home/person".into(),
        config: "/home/person/.config".into(),
        ..ClientPlaces::default()
    };
    let request = InstallRequest {
        program: "/usr/bin/bethink".to_owned(),
        home: Some("/srv/my memory".to_owned()),
        anthropic: Some("http://127.0.0.1:4711/anthropic/k/0123".to_owned()),
        openai: None,
    };
    for agent in InstallAgent::ALL {
        for file in files(agent, &places, &request) {
            let Ok(first) = file.put_in(Some(&text)) else { continue };
            let second = file.put_in(Some(&first.text)).expect("our own text is edited again");
            assert_eq!(second.text, first.text, "putting it in twice changes the file");
            file.take_out(&first.text, &first.made).expect("our own entries are taken out");
        }
    }
}
