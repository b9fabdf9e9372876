//! How events lie in the file: a header, then frames of length, checksum and payload.
//!
//! All numbers are little-endian. The header is the magic, the version and the CRC32C of both. A frame is the length of
//! its payload, the CRC32C of length and payload, and the payload: one event as JSON.

/// The newest version of the file that this program knows.
pub(crate) const VERSION: u32 = 1;
/// The size of the header.
pub(crate) const HEADER_BYTES: usize = 16;
/// The most that the payload of one frame may have.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 16 << 20;

const MAGIC: [u8; 8] = *b"CSLEDGER";
const FRAME_HEAD_BYTES: usize = 8;

/// What the first bytes of a file say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// It is ours.
    Ours,
    /// It is ours, or empty, and was cut before its first event.
    Torn,
    /// It is not ours, or damaged.
    Foreign,
    /// A newer program wrote it.
    Newer(u32),
}

/// Returns the header of a file.
pub(crate) fn header(version: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&version.to_le_bytes());
    let sum = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Judges the first bytes of a file.
pub(crate) fn read_header(file: &[u8]) -> Header {
    let Some(head) = file.first_chunk::<HEADER_BYTES>() else {
        return if header(VERSION).starts_with(file) {
            Header::Torn
        } else {
            Header::Foreign
        };
    };
    let version = u32_at(head, 8);
    if *head != header(version) || version == 0 {
        Header::Foreign
    } else if version > VERSION {
        Header::Newer(version)
    } else {
        Header::Ours
    }
}

/// Puts a payload in its frame, or says that it is too large by returning nothing.
pub(crate) fn frame(payload: &[u8]) -> Option<Vec<u8>> {
    if payload.is_empty() || payload.len() > MAX_PAYLOAD_BYTES {
        return None;
    }
    let length = u32::try_from(payload.len()).ok()?.to_le_bytes();
    let mut frame = Vec::with_capacity(FRAME_HEAD_BYTES + payload.len());
    frame.extend_from_slice(&length);
    frame.extend_from_slice(&checksum(length, payload).to_le_bytes());
    frame.extend_from_slice(payload);
    Some(frame)
}

/// The intact frames of a file, in order. It ends at the first that is torn or damaged.
pub(crate) struct Frames<'a> {
    file: &'a [u8],
    offset: usize,
}

impl<'a> Frames<'a> {
    /// Begins behind the header.
    pub(crate) const fn of(file: &'a [u8]) -> Self {
        Self {
            file,
            offset: HEADER_BYTES,
        }
    }

    /// Returns where the intact part ends, in bytes, once the frames are through.
    pub(crate) const fn intact(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for Frames<'a> {
    /// Where the frame begins, and its payload.
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.file.get(self.offset..)?;
        let head = rest.first_chunk::<FRAME_HEAD_BYTES>()?;
        let length = u32_at(head, 0);
        let size = usize::try_from(length)
            .ok()
            .filter(|size| (1..=MAX_PAYLOAD_BYTES).contains(size))?;
        let payload = rest.get(FRAME_HEAD_BYTES..FRAME_HEAD_BYTES + size)?;
        if checksum(length.to_le_bytes(), payload) != u32_at(head, 4) {
            return None;
        }
        let begin = self.offset;
        self.offset += FRAME_HEAD_BYTES + size;
        Some((begin, payload))
    }
}

fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&length), payload)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_whose_file_it_is() {
        assert_eq!(read_header(&header(VERSION)), Header::Ours);
        assert_eq!(read_header(&header(VERSION + 1)), Header::Newer(VERSION + 1));
        assert_eq!(read_header(b""), Header::Torn);
        assert_eq!(read_header(&header(VERSION)[..9]), Header::Torn);
        assert_eq!(read_header(b"SQLite format 3\0"), Header::Foreign);
        assert_eq!(read_header(b"hello"), Header::Foreign);
    }

    #[test]
    fn frames_come_back_as_they_went_in() {
        let mut file = header(VERSION).to_vec();
        for payload in [&b"one"[..], b"two", &[0; 300]] {
            file.extend(frame(payload).expect("it fits"));
        }
        let mut frames = Frames::of(&file);
        let payloads: Vec<&[u8]> = frames.by_ref().map(|(_, payload)| payload).collect();
        assert_eq!(payloads, [&b"one"[..], b"two", &[0; 300]]);
        assert_eq!(frames.intact(), file.len());
    }

    #[test]
    fn a_payload_without_content_or_limit_has_no_frame() {
        assert_eq!(frame(b""), None);
        assert_eq!(frame(&vec![0; MAX_PAYLOAD_BYTES + 1]), None);
    }

    #[test]
    fn zeros_are_no_frame() {
        let mut file = header(VERSION).to_vec();
        file.extend([0; 64]);
        let mut frames = Frames::of(&file);
        assert_eq!(frames.next(), None);
        assert_eq!(frames.intact(), HEADER_BYTES);
    }
}
