//! Rows in a form that is the same for every store, so that they can be copied from one to another and compared.
//!
//! A store describes its tables from the database's own catalog. What it derives from other columns, and the search index,
//! which is made from history again, are not part of it.

use bethink_store::{StoreError, StoreFuture, StoreResult};

/// Maximum number of rows, and of bytes unless one row has more, that are in memory at once.
pub const BATCH_ROWS: usize = 512;
pub const BATCH_BYTES: u64 = 1 << 20;

/// The types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Also a flag, which is 0 or 1.
    Integer,
    Real,
    Text,
    /// Also a UUID, which has 16 bytes.
    Blob,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedColumn {
    pub name: String,
    pub kind: ColumnKind,
    pub is_nullable: bool,
}

/// A table with its columns, sorted by name. Each table also has a key, the column `number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    pub name: String,
    pub columns: Vec<CopiedColumn>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row with its values in the order of the table's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct CopiedRow {
    pub number: i64,
    pub values: Vec<ColumnValue>,
}

/// A database whose rows can be read and written one table after the other.
pub trait RowStore: Send {
    /// Returns the tables, sorted by name.
    fn tables(&mut self) -> StoreFuture<'_, Vec<CopiedTable>>;

    /// Returns the number of the last row of a table, or 0.
    fn last_number<'a>(&'a mut self, table: &'a CopiedTable) -> StoreFuture<'a, i64>;

    /// Returns the numbers and sizes of the rows after a number, at most [`BATCH_ROWS`].
    fn sizes<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        after: i64,
    ) -> StoreFuture<'a, Vec<(i64, u64)>>;

    /// Returns the rows after a number, through another one. Fails with the row's name if one is corrupted.
    fn rows<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        after: i64,
        through: i64,
    ) -> StoreFuture<'a, Vec<CopiedRow>>;

    /// Adds rows in one transaction, which is durable when this returns.
    fn insert<'a>(
        &'a mut self,
        table: &'a CopiedTable,
        rows: Vec<CopiedRow>,
    ) -> StoreFuture<'a, ()>;

    /// Removes all rows of a table.
    fn clear<'a>(&'a mut self, table: &'a CopiedTable) -> StoreFuture<'a, ()>;
}

/// Reads the next rows of a table, as many as fit into a batch. Returns none at the end.
pub async fn next_rows(
    store: &mut dyn RowStore,
    table: &CopiedTable,
    after: i64,
) -> StoreResult<Vec<CopiedRow>> {
    let sizes = store.sizes(table, after).await?;
    match end_of_batch(&sizes) {
        Some(through) => store.rows(table, after, through).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the number of the last row that fits. The first one always does.
fn end_of_batch(sizes: &[(i64, u64)]) -> Option<i64> {
    let mut total = 0_u64;
    let fits = |(_, size): &&(i64, u64)| {
        let is_first = total == 0;
        total = total.saturating_add(*size).saturating_add(1);
        is_first || total <= BATCH_BYTES
    };
    sizes.iter().take_while(fits).last().map(|(number, _)| *number)
}

/// Counts the rows of a table, and computes a checksum of all of them.
#[derive(Clone, Debug)]
pub struct TableDigest {
    rows: u64,
    bytes: u64,
    hasher: blake3::Hasher,
}

/// The number of rows of a table, the size of their values, and their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSum {
    pub rows: u64,
    pub bytes: u64,
    pub checksum: [u8; 32],
}

impl TableDigest {
    pub fn new(table: &CopiedTable) -> Self {
        let mut hasher = blake3::Hasher::new();
        for name in std::iter::once(&table.name).chain(table.columns.iter().map(|it| &it.name)) {
            hasher.update(name.as_bytes()).update(&[0]);
        }
        Self { rows: 0, bytes: 0, hasher }
    }

    pub fn add(&mut self, row: &CopiedRow) {
        self.rows += 1;
        self.hasher.update(&row.number.to_le_bytes());
        for value in &row.values {
            let number;
            let (kind, bytes): (u8, &[u8]) = match value {
                ColumnValue::Null => (b'n', &[]),
                ColumnValue::Integer(integer) => {
                    number = integer.to_le_bytes();
                    (b'i', &number)
                }
                ColumnValue::Real(real) => {
                    number = real.to_le_bytes();
                    (b'r', &number)
                }
                ColumnValue::Text(text) => (b't', text.as_bytes()),
                ColumnValue::Blob(blob) => (b'b', blob),
            };
            self.bytes += bytes.len() as u64;
            self.hasher.update(&[kind]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
    }

    pub fn sum(&self) -> TableSum {
        let checksum = *self.hasher.finalize().as_bytes();
        TableSum { rows: self.rows, bytes: self.bytes, checksum }
    }
}

/// The statements that read a table. They are the same for every database.
#[derive(Debug)]
pub struct RowStatements<'a> {
    pub table: &'a CopiedTable,
    /// The table's name in this database.
    pub name: &'a str,
    /// A condition for the rows to read.
    pub condition: &'a str,
}

/// The bytes of a line of an imported file that are stored as a message.
const RAW_OF_MESSAGE: &str =
    "(SELECT messages.raw FROM messages WHERE messages.number = copied.message)";

impl RowStatements<'_> {
    pub fn last_number(&self) -> String {
        let Self { name, condition, .. } = self;
        format!("SELECT max(number) FROM {name} AS copied WHERE {condition}")
    }

    /// `$1` is the number after which the rows begin. The size of a row is that of these columns, which have text or bytes.
    pub fn sizes<'a>(&self, columns: impl IntoIterator<Item = &'a str>) -> String {
        let Self { table, name, condition } = self;
        let size = |column| format!("coalesce(octet_length(\"{column}\"), 0)");
        let mut sizes: Vec<String> = columns.into_iter().map(size).collect();
        if table.name == "records" {
            sizes.push(format!("coalesce(octet_length({RAW_OF_MESSAGE}), 0)"));
        }
        if sizes.is_empty() {
            sizes.push("0".to_owned());
        }
        let size = sizes.join(" + ");
        format!(
            "SELECT number, CAST({size} AS BIGINT)\nFROM {name} AS copied\n\
             WHERE number > $1 AND {condition}\nORDER BY number\nLIMIT {BATCH_ROWS}"
        )
    }

    /// Reads these columns of the rows from `$1` to `$2`. Lines of imported files get the additional column `message_raw`.
    pub fn rows<'a>(&self, columns: impl IntoIterator<Item = &'a str>) -> String {
        let Self { table, name, condition } = self;
        let mut list = String::from("number");
        for column in columns {
            list.push_str(&format!(", \"{column}\""));
        }
        if table.name == "records" {
            list.push_str(&format!(", {RAW_OF_MESSAGE} AS message_raw"));
        }
        format!(
            "SELECT {list}\nFROM {name} AS copied\n\
             WHERE number > $1 AND number <= $2 AND {condition}\nORDER BY number"
        )
    }
}

/// The result of a check of everything that has a checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreCheck {
    /// The first problem that was found.
    pub damage: Option<String>,
    pub messages: u64,
    /// Lines of imported files.
    pub lines: u64,
}

/// Returns the error for a row that is not as it was written.
pub fn corrupted_row(table: &str, number: i64) -> StoreError {
    StoreError::Damaged(format!("row {number} of {table} is corrupted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_bounded_and_never_empty() {
        assert_eq!(end_of_batch(&[]), None);
        assert_eq!(end_of_batch(&[(3, u64::MAX), (4, 1)]), Some(3));
        assert_eq!(end_of_batch(&[(3, 1), (9, BATCH_BYTES), (10, 1)]), Some(3));
        assert_eq!(end_of_batch(&[(3, 1), (9, 0), (10, 1)]), Some(10));
    }

    #[test]
    fn every_difference_changes_the_checksum() {
        let column = |name: &str| CopiedColumn {
            name: name.to_owned(),
            kind: ColumnKind::Text,
            is_nullable: true,
        };
        let table = CopiedTable { name: "t".to_owned(), columns: vec![column("a"), column("b")] };
        let sum = |rows: &[(i64, [ColumnValue; 2])]| {
            let mut digest = TableDigest::new(&table);
            for (number, values) in rows {
                digest.add(&CopiedRow { number: *number, values: values.to_vec() });
            }
            digest.sum().checksum
        };
        let text = |text: &str| ColumnValue::Text(text.to_owned());
        let sums = [
            sum(&[]),
            sum(&[(1, [text("ab"), text("c")])]),
            sum(&[(1, [text("a"), text("bc")])]),
            sum(&[(2, [text("ab"), text("c")])]),
            sum(&[(1, [text("ab"), ColumnValue::Null])]),
            sum(&[(1, [text("ab"), text("")])]),
            sum(&[(1, [text("ab"), ColumnValue::Blob(b"c".to_vec())])]),
            sum(&[(1, [text("ab"), ColumnValue::Integer(99)])]),
        ];
        for (at, one) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(one), "{at}");
        }
    }
}
