//! What a binary file is, by its first bytes.

use infer::MatcherType;

/// Formats that `infer` tells by one or two bytes that any other file may start with, by their extension.
const GUESSES: [&str; 4] = ["aac", "der", "obj", "ps"];

/// Names that people know, by the extension that `infer` has for a format.
const NAMES: [(&str, &str); 54] = [
    ("7z", "7z archive"),
    ("ar", "ar archive"),
    ("avi", "AVI video"),
    ("avif", "AVIF image"),
    ("bc", "LLVM bitcode"),
    ("bmp", "BMP image"),
    ("bz2", "bzip2 archive"),
    ("class", "Java class"),
    ("cpio", "cpio archive"),
    ("deb", "Debian package"),
    ("dex", "Android executable"),
    ("dll", "Windows executable"),
    ("doc", "Word document"),
    ("docx", "Word document"),
    ("elf", "ELF executable"),
    ("epub", "EPUB book"),
    ("exe", "Windows executable"),
    ("flac", "FLAC audio"),
    ("gif", "GIF image"),
    ("gz", "gzip archive"),
    ("heif", "HEIF image"),
    ("ico", "icon image"),
    ("jpg", "JPEG image"),
    ("jxl", "JPEG XL image"),
    ("lz4", "LZ4 archive"),
    ("m4a", "MPEG-4 audio"),
    ("mach", "Mach-O executable"),
    ("mkv", "Matroska video"),
    ("mov", "QuickTime video"),
    ("mp3", "MP3 audio"),
    ("mp4", "MPEG-4 video"),
    ("odp", "OpenDocument presentation"),
    ("ods", "OpenDocument spreadsheet"),
    ("odt", "OpenDocument text"),
    ("ogg", "Ogg audio"),
    ("otf", "OpenType font"),
    ("pdf", "PDF document"),
    ("png", "PNG image"),
    ("pptx", "PowerPoint presentation"),
    ("psd", "Photoshop image"),
    ("rar", "RAR archive"),
    ("rpm", "RPM package"),
    ("sqlite", "SQLite database"),
    ("tar", "tar archive"),
    ("tif", "TIFF image"),
    ("ttf", "TrueType font"),
    ("wasm", "WebAssembly module"),
    ("wav", "WAV audio"),
    ("webm", "WebM video"),
    ("webp", "WebP image"),
    ("woff", "WOFF font"),
    ("woff2", "WOFF2 font"),
    ("xlsx", "Excel spreadsheet"),
    ("xz", "xz archive"),
];

/// The format of a file that starts so and is no text, where its magic number is well known: a name that people know, or else its
/// media type.
pub(super) fn name(head: &[u8]) -> Option<&'static str> {
    let format = infer::get(head)?;
    let extension = format.extension();
    // What looks like text by its start is none: a NUL follows.
    if format.matcher_type() == MatcherType::Text || GUESSES.contains(&extension) {
        return None;
    }
    match extension {
        "zip" => Some("ZIP archive"),
        "zst" => Some("Zstandard archive"),
        _ => Some(NAMES.iter().find(|(known, _)| *known == extension).map_or(format.mime_type(), |(_, name)| name)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_what_is_well_known() {
        for (head, format) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some("PNG image")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0", Some("JPEG image")),
            (b"GIF89a\x01\0\x01\0", Some("GIF image")),
            (b"%PDF-1.7\n\0", Some("PDF document")),
            (b"PK\x03\x04\x14\0\0\0\x08\0", Some("ZIP archive")),
            (b"\x1f\x8b\x08\0\0\0\0\0", Some("gzip archive")),
            (b"SQLite format 3\0\x10\0", Some("SQLite database")),
            (b"\0asm\x01\0\0\0", Some("WebAssembly module")),
            (b"\x28\xb5\x2f\xfd\0\0\0", Some("Zstandard archive")),
            // Known, and without a name of ours.
            (b"MThd\0\0\0\x06", Some("audio/midi")),
            (b"<html>\0", None),
            (b"#!/bin/sh\n\0", None),
            (b"0\x82\0", None),
            (b"%!\0", None),
            (b"text\0", None),
            (b"\0", None),
            (b"", None),
        ] {
            assert_eq!(name(head), format, "{}", head.escape_ascii());
        }
        assert_eq!(name(&[&b"\x7fELF\x02\x01\x01"[..], &[0; 57]].concat()), Some("ELF executable"));
    }

    #[test]
    fn every_name_is_of_a_format() {
        let extensions = NAMES.iter().map(|(extension, _)| *extension).chain(GUESSES).chain(["zip", "zst"]);
        for extension in extensions {
            assert!(infer::is_supported(extension), "{extension}");
        }
    }

    const STARTS: [&[u8]; 14] = [
        b"",
        b"PK\x03\x04",
        b"PK\x03\x04\x14\0\0\0\x08\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x13\0\0\0[Content_Types].xml",
        b"\x7fELF",
        b"MZ",
        b"\0\0\0\x18ftyp",
        b"RIFF",
        b"\x1a\x45\xdf\xa3",
        b"!<arch>\n",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"ID3",
        b"BM",
        b"II*\0",
        b"070707",
    ];

    /// The detector is not ours, and the bytes are anybody's.
    #[test]
    fn survives_every_start_cut_anywhere() {
        for start in STARTS {
            for end in 0..=start.len() {
                for filling in [0, 0xff] {
                    let head = [&start[..end], &[filling; 600]].concat();
                    for cut in [end, end + 1, head.len()] {
                        let _ = name(&head[..cut]);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn survives_any_bytes(
            start in prop::sample::select(STARTS.to_vec()),
            rest in prop::collection::vec(any::<u8>(), 0..700),
        ) {
            let _ = name(&[start, &rest].concat());
        }
    }
}
