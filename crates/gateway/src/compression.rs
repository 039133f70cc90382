//! Decompresses the bodies of clients' requests, within the limit on their size.

use std::io::Read;

use bethink_intake::BodyRoom;
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use tokio::sync::Semaphore;

use crate::fault::GatewayFault;

/// Maximum number of bodies that are decoded at the same time. Their decoded size is not known in advance, so it counts towards
/// the memory budget only after decoding.
static DECODING: Semaphore = Semaphore::const_new(2);

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEncoding {
    Plain,
    Gzip,
    Zstd,
}

impl BodyEncoding {
    /// Reads the `Content-Encoding` header. Fails for encodings that the gateway cannot decode.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, GatewayFault> {
        let values = headers.get_all(CONTENT_ENCODING).iter().map(http::HeaderValue::as_bytes);
        let mut named = values.flat_map(|value| value.split(|b| *b == b','));
        let names: Vec<String> = named
            .by_ref()
            .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        match names.as_slice() {
            [] => Ok(Self::Plain),
            [one] if one == "gzip" || one == "x-gzip" => Ok(Self::Gzip),
            [one] if one == "zstd" => Ok(Self::Zstd),
            _ => Err(GatewayFault::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "compressed_body",
                "the gateway cannot read a body with this Content-Encoding: compress it with zstd or gzip, or send it uncompressed",
            )
            .no_retry()),
        }
    }

    /// Returns the decoded body; `None` if the body is not compressed or is damaged. The provider reports a damaged body.
    pub(crate) async fn decoded(
        self,
        body: &Bytes,
        limit: u64,
        room: &mut BodyRoom,
    ) -> Result<Option<Bytes>, GatewayFault> {
        if self == Self::Plain {
            return Ok(None);
        }
        // The semaphore is never closed.
        let _one = DECODING.acquire().await.ok();
        let compressed = body.clone();
        let decoding = tokio::task::spawn_blocking(move || self.decode(&compressed, limit));
        let Some(decoded) = decoding.await.ok().flatten() else { return Ok(None) };
        if decoded.len() as u64 > limit {
            let what = format!(
                "the decompressed request has more than {limit} bytes, which is the limit of bethink's gateway: send less, or raise `max_body_bytes` in [gateway]"
            );
            let fault = GatewayFault::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what);
            return Err(fault.no_retry());
        }
        if !room.grow((body.len() + decoded.len()) as u64).await {
            return Err(GatewayFault::busy());
        }
        Ok(Some(Bytes::from(decoded)))
    }

    /// Decodes at most one byte more than `limit`; `None` if the body is damaged.
    fn decode(self, body: &[u8], limit: u64) -> Option<Vec<u8>> {
        let most = limit.saturating_add(1);
        let mut out = Vec::new();
        match self {
            Self::Plain => return None,
            Self::Gzip => {
                flate2::read::MultiGzDecoder::new(body).take(most).read_to_end(&mut out).ok()?;
            }
            Self::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(body).ok()?;
                decoder.take(most).read_to_end(&mut out).ok()?;
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Bytes {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text).unwrap();
        Bytes::from(out.finish().unwrap())
    }

    fn zstd(text: &[u8]) -> Bytes {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        Bytes::from(ruzstd::encoding::compress_to_vec(text, level))
    }

    async fn decoded(encoding: BodyEncoding, body: &Bytes) -> Result<Option<Bytes>, u16> {
        let read = encoding.decoded(body, 1 << 20, &mut BodyRoom::default()).await;
        read.map_err(|fault| fault.status.as_u16())
    }

    #[tokio::test]
    async fn a_body_is_decoded_within_its_limit() {
        let large = vec![b' '; 2 << 20];
        for (encoding, compressed, bomb) in [
            (BodyEncoding::Gzip, gzip(b"{}"), gzip(&large)),
            (BodyEncoding::Zstd, zstd(b"{}"), zstd(&large)),
        ] {
            assert_eq!(decoded(encoding, &compressed).await, Ok(Some(Bytes::from("{}"))));
            assert!(bomb.len() < 1 << 16, "{}", bomb.len());
            assert_eq!(decoded(encoding, &bomb).await, Err(413));
            assert_eq!(decoded(encoding, &Bytes::from("nonsense")).await, Ok(None));
            let half = compressed.slice(..compressed.len() / 2);
            assert_eq!(decoded(encoding, &half).await, Ok(None));
        }
        assert_eq!(decoded(BodyEncoding::Plain, &Bytes::from("{}")).await, Ok(None));
    }

    #[test]
    fn encodings_are_known_by_name() {
        let of = |value: &'static str| {
            let headers = HeaderMap::from_iter([(CONTENT_ENCODING, value.parse().unwrap())]);
            BodyEncoding::of(&headers).map_err(|fault| fault.status.as_u16())
        };
        assert_eq!(of("Identity"), Ok(BodyEncoding::Plain));
        assert_eq!(of("zstd"), Ok(BodyEncoding::Zstd));
        assert_eq!(of(" GZIP "), Ok(BodyEncoding::Gzip));
        for other in ["br", "gzip, zstd", "deflate"] {
            assert_eq!(of(other), Err(415), "{other}");
        }
    }
}
