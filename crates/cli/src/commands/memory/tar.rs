//! Reads and writes tar archives (POSIX ustar) that contain only plain files. The code is so short that a dependency is
//! not worth it.

use bethink_terminal::words::plural;

/// Size of a block, in bytes.
const BLOCK: usize = 512;
/// Maximum lengths of the parts of a path, in bytes.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// Appends a file. Fails if the path is too long for the format.
pub(super) fn append(tar: &mut Vec<u8>, path: &str, bytes: &[u8]) -> Result<(), String> {
    let (prefix, name) =
        split(path).ok_or_else(|| format!("the path {path} is too long for a .tar file"))?;
    let mut head = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", bytes.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend_from_slice(&head);
    tar.extend_from_slice(bytes);
    tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    Ok(())
}

/// Appends the end of the archive.
pub(super) fn finish(tar: &mut Vec<u8>) {
    tar.resize(tar.len() + 2 * BLOCK, 0);
}

/// Returns the plain files of an archive, with their paths. Folders are skipped.
pub(super) fn files(tar: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut found = Vec::new();
    let mut rest = tar;
    while let Some((head, after)) = rest.split_at_checked(BLOCK) {
        if head.iter().all(|byte| *byte == 0) {
            return Ok(found);
        }
        let intact = plural(found.len() as u64, "intact file", "intact files");
        let damaged = || format!("the .tar file is damaged after {intact}");
        let size = octal(&head[124..136]).filter(|_| is_whole(head)).ok_or_else(damaged)?;
        let (bytes, after) = after.split_at_checked(size).ok_or_else(damaged)?;
        let padding = size.next_multiple_of(BLOCK) - size;
        rest = after.get(padding..).unwrap_or_default();
        let (prefix, name) = (text(&head[345..500]), text(&head[..100]));
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        match head[156] {
            b'0' | 0 => found.push((name, bytes.to_vec())),
            b'5' => {}
            _ => return Err(format!("{name} in the .tar file is neither a file nor a folder")),
        }
    }
    let complete = plural(found.len() as u64, "complete file", "complete files");
    Err(format!("the .tar file is truncated after {complete}"))
}

/// Splits a path at a `/`, so that both parts fit.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME {
        return Some(("", path));
    }
    let mut places = path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
    places.find(|(prefix, name)| prefix.len() <= PREFIX && name.len() <= NAME)
}

fn octal(field: &[u8]) -> Option<usize> {
    usize::from_str_radix(text(field).trim(), 8).ok()
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Returns whether the checksum of a header is right.
fn is_whole(head: &[u8]) -> bool {
    let sum: usize = head
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { usize::from(*byte) })
        .sum();
    octal(&head[148..156]) == Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let long = format!("{}/{}.md", "a".repeat(120), "b".repeat(90));
        let written = [("fog.md", &b"Thick.\n"[..]), (&long, b""), ("plans/x.md", &[7; 1025])];
        let mut tar = Vec::new();
        for (path, bytes) in written {
            append(&mut tar, path, bytes).unwrap();
        }
        finish(&mut tar);
        let expect: Vec<_> =
            written.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
        assert_eq!(files(&tar).unwrap(), expect);
        for cut in [100, 700, 2000] {
            assert!(files(&tar[..cut]).is_err(), "{cut}");
        }
        let mut damaged = tar.clone();
        damaged[3] ^= 1;
        assert!(files(&damaged).unwrap_err().contains("is damaged after 0 intact files"));
        assert!(append(&mut tar, &"x".repeat(300), b"").unwrap_err().contains("too long"));
    }
}
