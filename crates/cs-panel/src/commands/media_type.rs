//! What kind of file bytes are: by how they begin, since a name may say anything.

/// How files of a kind begin.
const BEGINNINGS: [(&[u8], &str); 12] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
];

/// What texts are by the ending of their name.
const TEXTS: [(&str, &str); 6] = [
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("csv", "text/csv"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("xml", "application/xml"),
];

/// Says what a file is.
pub(super) fn of(name: &str, bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    let is_text = !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
    if is_text {
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase());
        let known = TEXTS.iter().find(|(known, _)| ending.as_deref() == Some(known));
        return known.map_or("text/plain", |(_, kind)| kind);
    }
    let known = BEGINNINGS
        .iter()
        .find(|(beginning, _)| bytes.starts_with(beginning));
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_it_begins_with() {
        for (name, bytes, kind) in [
            ("shot.txt", &b"\x89PNG\r\n\x1a\n\0\0"[..], "image/png"),
            ("x.png", b"hello", "text/plain"),
            ("x", b"\xff\xd8\xff\xe0", "image/jpeg"),
            ("x", b"RIFF\xff\0\0\0WEBPVP8", "image/webp"),
            ("x", b"RIFF\xff\0\0\0WAVE", "application/octet-stream"),
            ("x.PDF", b"%PDF-1.7\n\xff", "application/pdf"),
            ("notes.md", b"# Hi", "text/markdown"),
            ("x.svg", b"<svg/>", "image/svg+xml"),
            ("x", b"", "text/plain"),
            ("x", b"a\0b", "application/octet-stream"),
            ("BM", b"BM is how some texts begin", "text/plain"),
        ] {
            assert_eq!(of(name, bytes), kind, "{name}");
        }
    }
}
