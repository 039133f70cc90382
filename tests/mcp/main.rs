//! The MCP server, from the outside: over HTTP and over stdio, with our own requests and with the official clients.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::print_stdout)]

mod clients;
mod desk;
mod door;
mod hostile;
mod memory_tool;
mod protocol;
mod stdio;
mod tools;
