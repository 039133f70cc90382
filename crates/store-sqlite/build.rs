//! Migrations are embedded at compile time: a new file must make this crate compile again.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
