//! The port of a home whose settings name none.

use std::net::TcpListener;

use bethink_harness::Home;

/// A port that nobody uses at the moment.
fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_home_keeps_its_port() {
    let home = Home::new().on_its_own_port();
    let port = free();
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::write(home.path().join("port"), format!("{port}\n")).unwrap();
    let mut daemon = home.start();
    assert_eq!(daemon.addr().port(), port);
    daemon.kill9();
    daemon.start();
    assert_eq!(daemon.addr().port(), port);
    assert!(!daemon.home.path().join("port.moved").exists());
}

#[test]
fn a_port_that_the_settings_name_is_not_exchanged_for_another() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let home = Home::new().on_its_own_port().with("BETHINK_DAEMON__LISTEN", &listen);
    let exit = home.try_start().unwrap_err();
    assert!(exit.stderr.contains(&format!("could not listen on {listen}")), "{exit:?}");
}
