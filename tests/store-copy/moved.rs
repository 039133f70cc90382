//! Copies history to PostgreSQL and back, and restores it with `pg_dump` and `pg_restore`.

use std::path::Path;
use std::process::Command;

use bethink_harness::disk::Disk;
use bethink_harness::{Home, say};
use bethink_postgres_server::GUARDED_USER;

use crate::world::{
    CopyServer, EndedProgram, ReadHistory, copied, lived_in, refused, run, start_on, store,
};

/// Moves the file with the history away, so that no daemon uses it by mistake.
fn put_away(home: &Path) {
    let away = home.join("away");
    std::fs::create_dir(&away).unwrap();
    for entry in std::fs::read_dir(home).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("bethink.db") {
            std::fs::rename(entry.path(), away.join(entry.file_name())).unwrap();
        }
    }
}

fn check(home: &Path, place: &[&str]) -> EndedProgram {
    run(store(home, &[&["check"], place].concat()))
}

#[test]
fn history_moves_to_postgresql_and_back() {
    let world = CopyServer::shared();
    let (mut daemon, history) = lived_in();
    let path = daemon.home.path().to_owned();
    let (home, url) = (path.to_str().unwrap().to_owned(), world.database());
    let report = copied(&path, &home, &url);
    assert!(report["rows"].as_u64().unwrap() > 150, "{report}");
    assert_eq!(report["already_complete"], false, "{report}");
    assert_eq!(report["store_url"], url, "{report}");
    assert_eq!(copied(&path, &home, &url)["already_complete"], true);
    put_away(&path);

    let mut moved = start_on(&url, &daemon);
    history.check(&ReadHistory::of(&moved));
    let found = moved.client().get("/v1/search?q=Friday").status;
    assert!(found < 500);
    let refused_now = refused(&path, &url, &home);
    assert!(refused_now.contains("stop"), "{refused_now}");
    let session = moved.session(200_000);
    moved.append(&session, &[say::user("written to PostgreSQL")]);
    let history = ReadHistory::of(&moved);
    assert!(moved.terminate().success());
    assert!(!path.join("bethink.db").exists());

    let report = copied(&path, &url, &home);
    assert_eq!(report["store_url"], "", "{report}");
    let intact = check(&path, &[]);
    assert_eq!(intact.code, Some(0), "{intact:?}");
    assert!(intact.out.contains("is intact: "), "{intact:?}");
    daemon.start();
    history.check(&ReadHistory::of(&daemon));
    let health = daemon.client().get("/health").ok();
    assert_eq!(health["status"], "ok", "{health}");
    assert!(!daemon.home.log().contains("damaged"), "{}", daemon.home.log());
    // The daemon may run during a check, but not during a copy.
    let intact = check(&path, &[&home]);
    assert_eq!(intact.code, Some(0), "{intact:?}");
    let other = world.database();
    assert!(refused(&path, &home, &other).contains("stop the daemon of this home"));
    daemon.append(&session, &[say::user("and written to SQLite again")]);
}

#[test]
fn a_dump_restores_everything() {
    let world = CopyServer::shared();
    let (daemon, _) = lived_in();
    let path = daemon.home.path().to_owned();
    let (home, url, restored) =
        (path.to_str().unwrap().to_owned(), world.database(), world.database());
    copied(&path, &home, &url);
    put_away(&path);
    let mut before = start_on(&url, &daemon);
    let history = ReadHistory::of(&before);
    // The daemon is running.
    let dump = path.join("bethink.dump").display().to_string();
    world.program("pg_dump", &["--format=custom", &format!("--file={dump}"), &url]);
    assert!(before.terminate().success());
    let arguments = ["--exit-on-error", "--no-owner", &format!("--dbname={restored}"), &dump];
    world.program("pg_restore", &arguments);
    let intact = check(&path, &[&restored]);
    assert_eq!(intact.code, Some(0), "{intact:?}");
    let after = start_on(&restored, &daemon);
    history.check(&ReadHistory::of(&after));
    after.is_well();
}

#[test]
fn a_dump_of_several_people_restores_each_persons_history_for_that_person() {
    let world = CopyServer::shared();
    let people = ["ada", "bob"];
    let of = |person: &str, url: &str| url.replace("bethink@", &format!("{person}@"));
    let (url, restored, of_ada_only) = (world.database(), world.database(), world.database());
    for person in people {
        world.admin(&format!("CREATE ROLE {person} LOGIN"));
        world.program("psql", &[&url, "-c", &format!("CREATE SCHEMA AUTHORIZATION {person}")]);
    }
    let mut daemons = people.map(|person| {
        let home = Home::new().with("BETHINK_STORE__URL", &of(person, &url));
        let daemon = home.start();
        let session = daemon.session(200_000);
        daemon.append(&session, &[say::user(&format!("said by {person}"))]);
        daemon
    });
    let histories = daemons.each_ref().map(ReadHistory::of);
    for daemon in &mut daemons {
        assert!(daemon.terminate().success());
    }
    let path = daemons[0].home.path().to_owned();
    let [dump, dump_of_ada] =
        ["all.dump", "ada.dump"].map(|name| path.join(name).display().to_string());
    world.program("pg_dump", &["--format=custom", &format!("--file={dump}"), &url]);
    world.program("pg_restore", &["--exit-on-error", &format!("--dbname={restored}"), &dump]);
    let ada = of("ada", &url);
    world.program(
        "pg_dump",
        &["--format=custom", "--schema=ada", &format!("--file={dump_of_ada}"), &ada],
    );
    world.program("psql", &[&of_ada_only, "-c", "CREATE SCHEMA AUTHORIZATION ada"]);
    world.program(
        "pg_restore",
        &[
            "--exit-on-error",
            "--no-owner",
            "--schema=ada",
            &format!("--dbname={}", of("ada", &of_ada_only)),
            &dump_of_ada,
        ],
    );
    for (person, daemon, history) in
        [("ada", &daemons[0], &histories[0]), ("bob", &daemons[1], &histories[1])]
    {
        history.check(&ReadHistory::of(&start_on(&of(person, &restored), daemon)));
    }
    histories[0].check(&ReadHistory::of(&start_on(&of("ada", &of_ada_only), &daemons[0])));
    let read = |person: &str, schema: &str| {
        let mut command = Command::new(world.server.program("psql"));
        let query = format!("SELECT * FROM {schema}.messages");
        command.args([&of(person, &restored), "-c", &query]);
        run(command)
    };
    assert_eq!(read("ada", "ada").code, Some(0));
    let refused = read("bob", "ada");
    assert!(refused.err.contains("permission denied"), "{refused:?}");
}

#[test]
fn a_full_disk_interrupts_the_copy_and_space_lets_it_continue() {
    let Some(disk) = Disk::mount(64 << 10) else { return };
    let (daemon, _) = lived_in();
    let path = daemon.home.path().to_owned();
    let target = disk.path().join("home");
    let (home, to) = (path.to_str().unwrap(), target.to_str().unwrap());
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("lock"), "x").unwrap();
    assert!(disk.remount("size=1500k"));
    let full = refused(&path, home, to);
    assert!(full.contains("disk is full") && full.contains("make space"), "{full}");
    assert!(!target.join("bethink.db").exists());
    assert!(disk.remount("size=64m"));
    let report = copied(&path, home, to);
    assert!(report["rows"].as_u64().unwrap() > 150, "{report}");
}

#[test]
fn a_password_is_used_and_never_shown() {
    let world = CopyServer::shared();
    let (daemon, _) = lived_in();
    let path = daemon.home.path().to_owned();
    let home = path.to_str().unwrap();
    let (user, password) = GUARDED_USER;
    let url = world.database().replace("bethink@", &format!("{user}@"));
    let wrong = url.replace("guarded@", "guarded:hunter2@");
    let told = refused(&path, home, &wrong);
    assert!(told.contains("password") && !told.contains("hunter2"), "{told}");
    let right = url.replace("guarded@", &format!("guarded:{}@", password.replace(' ', "%20")));
    let ended = run(store(&path, &["copy", home, &right]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = format!("{}{}", ended.out, ended.err);
    assert!(!shown.contains("correct") && shown.contains("password_file"), "{shown}");
    assert!(shown.contains(&format!("bethink config set store.url '{url}'")), "{shown}");
    // From the environment, and from the settings.
    for (name, value) in [
        ("PGPASSWORD", password.to_owned()),
        ("BETHINK_STORE__PASSWORD_COMMAND", format!("echo '{password}'")),
    ] {
        let mut command = store(&path, &["check"]);
        command.env("BETHINK_STORE__URL", &url).env(name, value);
        let ended = run(command);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        assert!(ended.out.contains("PostgreSQL database"), "{ended:?}");
    }
    world.admin("SELECT 1");
}

#[test]
fn check_fails_and_names_the_damaged_row() {
    let (daemon, _) = lived_in();
    let path = daemon.home.path().to_owned();
    let file = path.join("bethink.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let text = b"\"Go on.\"";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at + 1] = b'N';
    std::fs::write(&file, bytes).unwrap();
    let found = check(&path, &["--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let value: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(value["ok"], false, "{value}");
    assert!(value["damage"].as_str().unwrap().contains("is corrupted"), "{value}");
    let other = path.join("other").display().to_string();
    let told = refused(&path, path.to_str().unwrap(), &other);
    assert!(told.contains("damaged"), "{told}");
}
