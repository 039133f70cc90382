//! Maps the fields of records to the columns in which they are stored.

use crate::sql::{Row, Statement};

bethink_store_format::records!();
