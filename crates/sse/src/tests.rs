use proptest::prelude::*;

use super::*;

const MOST: usize = 1 << 20;

fn decode(pieces: &[&[u8]], most: usize) -> Result<Vec<SseEvent>, TooLarge> {
    let (mut decoder, mut events) = (Decoder::new(most), Vec::new());
    for piece in pieces {
        decoder.push(piece, &mut events)?;
    }
    Ok(events)
}

fn event(kind: &str, data: &str) -> SseEvent {
    SseEvent { kind: kind.into(), data: data.into(), ..SseEvent::default() }
}

fn check(stream: &str, expect: &[SseEvent]) {
    let stream = stream.as_bytes();
    assert_eq!(decode(&[stream], MOST).unwrap(), expect, "{stream:?}");
    for cut in 0..stream.len() {
        let (a, b) = stream.split_at(cut);
        assert_eq!(decode(&[a, b], MOST).unwrap(), expect, "{stream:?} cut at {cut}");
    }
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(decode(&single, MOST).unwrap(), expect, "{stream:?} byte by byte");
}

#[test]
fn events_are_the_same_wherever_the_bytes_are_cut() {
    check("event: a\ndata: 1\n\ndata:2\n\n", &[event("a", "1"), event("", "2")]);
    check("event: a\r\ndata: é中\r\n\r\n", &[event("a", "é中")]);
    check("data: 1\r\rdata: 2\r\r", &[event("", "1"), event("", "2")]);
    check("data: 1\r\ndata: 2\n\r\ndata\r\n\n", &[event("", "1\n2"), event("", "")]);
    check("\u{feff}data: 1\n\n\u{feff}data: 2\n\n", &[event("", "1")]);
    check("\u{feff}\n\ndata: 1\n\n", &[event("", "1")]);
    check(": ping\n\n:\ndata: x\n:y\ndata:  z\n\n", &[event("", "x\n z")]);
    let numbered = |id: &str, data: &str| SseEvent { id: id.into(), ..event("", data) };
    check("id: 1\nretry: 5\ndata: a:b\nother\n\n", &[numbered("1", "a:b")]);
    check(
        "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
        &[numbered("1", "a"), numbered("1", "b"), numbered("", "c")],
    );
    check("event: lost\n\ndata: kept\n\n", &[event("", "kept")]);
    check("event: message\ndata: unfinished\n", &[]);
    check("data\n\ndata\ndata\n\ndata:", &[event("", ""), event("", "\n")]);
}

#[test]
fn an_endless_event_is_refused() {
    assert_eq!(decode(&[&[b'x'; 65]], 64), Err(TooLarge(64)));
    assert_eq!(decode(&[&[b'x'; 64], b"\n"], 64), Ok(vec![]));
    let short_lines = b"data: 01234567\n".repeat(10);
    assert_eq!(decode(&[&short_lines], 64), Err(TooLarge(64)));
    let empty_lines = b"data\n".repeat(100);
    assert_eq!(decode(&[&empty_lines], 64), Err(TooLarge(64)));
    let named = [b"event: ".as_slice(), &[b'n'; 50], b"\ndata: 0123456789\n\n"].concat();
    assert_eq!(decode(&[&named], 64), Err(TooLarge(64)));
    let many = b"data: 01234567\n\n".repeat(100);
    assert_eq!(decode(&[&many], 64).unwrap().len(), 100);
}

/// Decodes a whole stream by the standard's rules, in a second, independent implementation.
fn read_whole(stream: &[u8]) -> Vec<SseEvent> {
    let text = String::from_utf8_lossy(stream).into_owned();
    let text =
        text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let (mut id, mut kind) = (String::new(), String::new());
    let mut data: Option<Vec<String>> = None;
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match (line, field) {
            ("", _) => {
                if let Some(data) = data.take() {
                    events.push(SseEvent {
                        id: id.clone(),
                        kind: kind.clone(),
                        data: data.join("\n"),
                    });
                }
                kind.clear();
            }
            (_, "event") => kind = value,
            (_, "id") if !value.contains('\0') => id = value,
            (_, "data") => data.get_or_insert_default().push(value),
            _ => {}
        }
    }
    events
}

fn pieces(stream: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    at.extend([0, stream.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| stream[pair[0]..pair[1]].to_vec()).collect()
}

fn lively() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![
        "data",
        "event",
        "id",
        ":",
        ": ",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "é",
        "中😀",
        "{\"a\":1}",
        " ",
        "x",
        "\u{feff}",
    ]);
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_cut_of_any_stream_gives_the_same_events(
        stream in lively(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let pieces = pieces(&stream, &cuts);
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(decode(&pieces, MOST).unwrap(), read_whole(&stream));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(
        stream in prop::collection::vec(any::<u8>(), 0..400),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        most in 1usize..300,
    ) {
        let pieces = pieces(&stream, &cuts);
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let whole = decode(&[&stream], most);
        let cut = decode(&pieces, most);
        prop_assert_eq!(whole.is_err(), cut.is_err());
        if let Ok(events) = whole {
            prop_assert!(events.iter().all(|e| e.data.len() + e.kind.len() <= 3 * most));
            prop_assert_eq!(Ok(events), cut);
        }
    }
}
