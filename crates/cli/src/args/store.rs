//! Arguments of `bethink store`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy all history from a home to a PostgreSQL database, or back
    ///
    /// FROM and TO are each a home directory or a postgres:// URL, but only one of them can be a URL. No rows of FROM are changed. TO must be empty; if the copy is
    /// interrupted, run the same command again, and it continues. At the end, all rows of both are read again and compared.
    /// No daemon may use FROM or TO. A password can be in PGPASSWORD or ~/.pgpass.
    #[command(
        after_help = "Example: bethink store copy ~/.local/share/bethink postgres://ann@db.example.org/bethink"
    )]
    Copy {
        /// The home or database to copy
        from: String,
        /// The home or database to copy to
        to: String,
        /// When copying from a database: the home whose rows to copy. When copying to a database: the home that will own the rows
        #[arg(long, value_name = "DIR")]
        home: Option<PathBuf>,
    },
    /// Check the stored history for damage
    ///
    /// The daemon may be running. A damaged home is recovered when its daemon starts next.
    #[command(after_help = "Example: bethink store check")]
    Check {
        /// A home or a postgres:// URL [default: the database that the settings name]
        place: Option<String>,
    },
}
