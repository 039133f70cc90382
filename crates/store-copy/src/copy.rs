//! The copy: table by table, in batches, and then a comparison of both sides.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bethink_api::{CopiedRowCount, CopyPhase, CopyProgress, CopyReport};
use bethink_store::{StoreError, StoreResult};
use bethink_store_format::{CopiedTable, RowStore, TableDigest, TableSum, next_rows};
use bethink_transcript::UnixMicros;
use uuid::Uuid;

use crate::error::CopyError;
use crate::home::{home_id, make_home_id};
use crate::place::StorePlace;
use crate::sides::{CopySide, CopyTarget, TargetState, reading, writing};

/// What to copy, and where to.
#[derive(Clone, Debug)]
pub struct CopyRequest {
    pub from: StorePlace,
    pub to: StorePlace,
    /// The home whose rows in the database are meant; without one, it is the home of either side.
    pub home: Option<PathBuf>,
    pub now: UnixMicros,
}

/// Copies all rows. Can be interrupted and repeated at any time.
pub async fn copy(
    request: &CopyRequest,
    progress: &mut (dyn FnMut(CopyProgress) + Send),
) -> Result<CopyReport, CopyError> {
    let began = Instant::now();
    let CopyRequest { from, to, now, .. } = request;
    check_places(request)?;
    let mut source = CopySide::open_source(from, *now).await?;
    let (id, other_homes) = choose_home(request, &mut source).await?;
    let named = match id {
        Some(id) => format!("{}, home {id}", canonical(from)),
        None => canonical(from),
    };
    let mut target = CopyTarget::open(to, &named, id).await?;
    let tables = same_tables(request, &mut source, &mut target.side).await?;
    let state = target.state.clone();
    let mut work =
        CopyWork { request, tables, source: source.rows(), target: target.side.rows(), progress };
    let sums = match &state {
        TargetState::Filled(table) => match work.compare().await? {
            Ok(sums) => sums,
            Err(_) => {
                return Err(CopyError::NotEmpty { place: to.to_string(), table: table.clone() });
            }
        },
        TargetState::Empty | TargetState::Resumed => work.fill().await?,
    };
    let unreadable_rows = source.unread_rows().await.map_err(|error| reading(from, error))?;
    let already_complete = matches!(state, TargetState::Filled(_));
    match already_complete {
        true => target.side.close().await.map_err(|error| reading(to, error))?,
        false => target.finish(to).await?,
    }
    // The rows are safe in the target, and nothing was written to the source.
    drop(source.close().await);
    Ok(CopyReport {
        from: from.to_string(),
        to: to.to_string(),
        rows: sums.iter().map(|(_, sum)| sum.rows).sum(),
        bytes: sums.iter().map(|(_, sum)| sum.bytes).sum(),
        tables: sums
            .into_iter()
            .filter(|(_, sum)| sum.rows > 0)
            .map(|(table, sum)| CopiedRowCount { table, rows: sum.rows })
            .collect(),
        seconds: began.elapsed().as_secs_f64(),
        resumed: state == TargetState::Resumed,
        already_complete,
        unreadable_rows,
        other_homes,
    })
}

fn check_places(request: &CopyRequest) -> Result<(), CopyError> {
    match (&request.from, &request.to) {
        (StorePlace::Database(_), StorePlace::Database(_)) => Err(CopyError::TwoDatabases),
        (StorePlace::Home(_), StorePlace::Home(_)) if request.home.is_some() => {
            Err(CopyError::NoDatabase)
        }
        (StorePlace::Home(from), StorePlace::Home(to)) if absolute(from) == absolute(to) => {
            Err(CopyError::SameHome)
        }
        _ => Ok(()),
    }
}

fn absolute(home: &Path) -> PathBuf {
    home.canonicalize().or_else(|_| std::path::absolute(home)).unwrap_or_else(|_| home.to_owned())
}

/// Returns a name of the place that does not depend on the current directory.
fn canonical(place: &StorePlace) -> String {
    match place {
        StorePlace::Home(home) => absolute(home).display().to_string(),
        StorePlace::Database(address) => address.to_string(),
    }
}

/// Returns the home whose rows in the database are meant, and the number of other homes that have rows there.
async fn choose_home(
    request: &CopyRequest,
    source: &mut CopySide,
) -> Result<(Option<Uuid>, u64), CopyError> {
    let CopyRequest { from, to, home, .. } = request;
    let CopySide::Database(rows) = source else {
        return match (from, to, home) {
            (_, StorePlace::Database(_), Some(home)) => Ok((Some(make_home_id(home)?), 0)),
            (StorePlace::Home(home), StorePlace::Database(_), None) => {
                Ok((Some(make_home_id(home)?), 0))
            }
            _ => Ok((None, 0)),
        };
    };
    let homes = rows.homes().await.map_err(|error| reading(from, error))?;
    let named = match home {
        Some(home) => Some(home_id(home)?.ok_or_else(|| CopyError::NoId(home.clone()))?),
        None => to.home().map(home_id).transpose()?.flatten(),
    };
    let has_rows = |id: &Uuid| homes.iter().any(|it| it.home == *id);
    let chosen = match (named, homes.as_slice()) {
        (Some(id), _) if home.is_some() || has_rows(&id) => id,
        (_, [only]) => only.home,
        (named, []) => named.unwrap_or_default(),
        _ => return Err(CopyError::SeveralHomes(homes)),
    };
    rows.choose_home(chosen).await.map_err(|error| reading(from, error))?;
    let others = homes.iter().filter(|it| it.home != chosen).count();
    Ok((Some(chosen), others as u64))
}

/// Returns the tables of both sides, which must be the same: a column that only one has would be lost.
async fn same_tables(
    request: &CopyRequest,
    source: &mut CopySide,
    target: &mut CopySide,
) -> Result<Vec<CopiedTable>, CopyError> {
    let CopyRequest { from, to, .. } = request;
    let own = source.rows().tables().await.map_err(|error| reading(from, error))?;
    let other = target.rows().tables().await.map_err(|error| writing(to, error))?;
    for (here, there, from, to) in [(&own, &other, from, to), (&other, &own, to, from)] {
        for table in here {
            let missing = |column: Option<String>| CopyError::Schemas {
                from: from.to_string(),
                to: to.to_string(),
                table: table.name.clone(),
                column,
            };
            let found = there.iter().find(|it| it.name == table.name);
            let found = found.ok_or_else(|| missing(None))?;
            if let Some(column) = table.columns.iter().find(|it| !found.columns.contains(it)) {
                return Err(missing(Some(column.name.clone())));
            }
        }
    }
    Ok(own)
}

struct CopyWork<'a> {
    request: &'a CopyRequest,
    tables: Vec<CopiedTable>,
    source: &'a mut dyn RowStore,
    target: &'a mut dyn RowStore,
    progress: &'a mut (dyn FnMut(CopyProgress) + Send),
}

type Sums = Vec<(String, TableSum)>;

impl CopyWork<'_> {
    /// Copies what is missing, and compares both sides. A table that differs is copied again once: the source may have
    /// changed after an interrupted copy.
    async fn fill(&mut self) -> Result<Sums, CopyError> {
        self.copy_missing().await?;
        let differs = match self.compare().await? {
            Ok(sums) => return Ok(sums),
            Err(differs) => differs,
        };
        for table in &self.tables {
            if differs.contains(&table.name) {
                let cleared = self.target.clear(table).await;
                cleared.map_err(|error| writing(&self.request.to, error))?;
            }
        }
        self.copy_missing().await?;
        self.compare().await?.map_err(|differs| CopyError::Differs { tables: differs.join(", ") })
    }

    async fn copy_missing(&mut self) -> Result<(), CopyError> {
        let total = self.total().await?;
        let CopyRequest { from, to, .. } = self.request;
        let mut before = 0;
        for table in &self.tables {
            let read = |error| reading(from, error);
            let write = |error| writing(to, error);
            let mut after = self.target.last_number(table).await.map_err(write)?;
            let mut is_continued = after > 0;
            loop {
                let rows = next_rows(&mut *self.source, table, after).await.map_err(read)?;
                let Some(last) = rows.last() else { break };
                let last = last.number;
                match self.target.insert(table, rows).await {
                    // A row that was replaced in the source since the interruption has the key of an older copy.
                    Err(StoreError::Failed(_)) if is_continued => {
                        self.target.clear(table).await.map_err(write)?;
                        (after, is_continued) = (0, false);
                        continue;
                    }
                    inserted => inserted.map_err(write)?,
                }
                after = last;
                let done = before + after.unsigned_abs();
                (self.progress)(CopyProgress { phase: CopyPhase::Copying, done, total });
            }
            before += self.source.last_number(table).await.map_err(read)?.unsigned_abs();
        }
        Ok(())
    }

    /// Reads all rows of both sides. Returns the sums of all tables, or the tables that differ.
    async fn compare(&mut self) -> Result<Result<Sums, Vec<String>>, CopyError> {
        let total = self.total().await?;
        let CopyRequest { from, to, .. } = self.request;
        let (mut sums, mut differs, mut before) = (Vec::new(), Vec::new(), 0);
        for table in &self.tables {
            let mut ignored = |_: u64| {};
            let progress = &mut *self.progress;
            let mut shown = |number: u64| {
                progress(CopyProgress {
                    phase: CopyPhase::Verifying,
                    done: before + number,
                    total,
                });
            };
            let (own, other) = tokio::join!(
                sum(&mut *self.source, table, &mut shown),
                sum(&mut *self.target, table, &mut ignored)
            );
            let (own, other) = (
                own.map_err(|error| reading(from, error))?,
                other.map_err(|error| reading(to, error))?,
            );
            match own == other {
                true => sums.push((table.name.clone(), own)),
                false => differs.push(table.name.clone()),
            }
            let last = self.source.last_number(table).await;
            before += last.map_err(|error| reading(from, error))?.unsigned_abs();
        }
        Ok(if differs.is_empty() { Ok(sums) } else { Err(differs) })
    }

    /// Returns the sum of the last row numbers of all tables, which is roughly the number of rows.
    async fn total(&mut self) -> Result<u64, CopyError> {
        let mut total = 0;
        for table in &self.tables {
            let last = self.source.last_number(table).await;
            total += last.map_err(|error| reading(&self.request.from, error))?.unsigned_abs();
        }
        Ok(total)
    }
}

/// Reads all rows of a table.
async fn sum(
    store: &mut dyn RowStore,
    table: &CopiedTable,
    progress: &mut (dyn FnMut(u64) + Send),
) -> StoreResult<TableSum> {
    let mut digest = TableDigest::new(table);
    let mut after = 0;
    loop {
        let rows = next_rows(&mut *store, table, after).await?;
        let Some(last) = rows.last() else { return Ok(digest.sum()) };
        after = last.number;
        rows.iter().for_each(|row| digest.add(row));
        progress(after.unsigned_abs());
    }
}
