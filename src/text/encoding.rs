//! Which encoding a file is in.

use encoding_rs::Encoding;

use super::{SNIFF_BYTES, chunks::to_u64, format};
#[cfg(feature = "encodings")]
use crate::display::Shown;
#[cfg(feature = "encodings")]
use crate::error::Error;
use crate::error::{ErrorKind, Result};

/// The byte order mark in UTF-8, Unicode Standard 23.8.
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The byte order marks of UTF-16.
const UTF_16_LE_MARK: &[u8] = b"\xff\xfe";
const UTF_16_BE_MARK: &[u8] = b"\xfe\xff";

/// How the bytes of files become text. The default is UTF-8.
///
/// A byte order mark is believed before anything else.
///
/// ```
/// use capread::TextEncoding;
///
/// # fn main() -> Result<(), capread::Error> {
/// assert_eq!(TextEncoding::default().name(), Some("UTF-8"));
/// # #[cfg(feature = "encodings")]
/// assert_eq!(TextEncoding::from_label("gb2312")?.name(), Some("GBK"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextEncoding(Choice);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Choice {
    #[default]
    Utf8,
    #[cfg(feature = "encodings")]
    Label(&'static Encoding),
    #[cfg(feature = "encodings")]
    Detect,
}

impl TextEncoding {
    /// The encoding with this label, in the [WHATWG Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels). A label
    /// that it does not know is refused, and so are those of encodings that it decodes to nothing (`iso-2022-kr`).
    #[cfg(feature = "encodings")]
    pub fn from_label(label: &str) -> Result<Self> {
        match Encoding::for_label_no_replacement(label.as_bytes()) {
            Some(encoding) if encoding == encoding_rs::UTF_8 => Ok(Self::default()),
            Some(encoding) => Ok(Self(Choice::Label(encoding))),
            None => Err(Error::invalid(format!(
                "encoding must be a label of the Encoding Standard that it decodes, found \"{}\"",
                Shown(label)
            ))),
        }
    }

    /// What the first 64 KiB of each file look most like. A guess, and the same for every window of an unchanged file.
    #[cfg(feature = "encodings")]
    #[must_use]
    pub fn detect() -> Self {
        Self(Choice::Detect)
    }

    /// The standard's name of the encoding; `None` where each file has its own.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        match self.0 {
            Choice::Utf8 => Some(Coding::Utf8.name()),
            #[cfg(feature = "encodings")]
            Choice::Label(encoding) => Some(encoding.name()),
            #[cfg(feature = "encodings")]
            Choice::Detect => None,
        }
    }

    /// Bytes at the start of a file that decide.
    pub(crate) fn sample_bytes(self) -> usize {
        match self.0 {
            #[cfg(feature = "encodings")]
            Choice::Detect => super::CHUNK_BYTES,
            _ => SNIFF_BYTES,
        }
    }

    /// UTF-16 without a byte order mark, where that was asked for or is what the file looks like.
    #[cfg_attr(not(feature = "encodings"), expect(unused_variables, reason = "nothing is guessed"))]
    fn utf_16(self, head: &[u8]) -> Option<&'static Encoding> {
        match self.0 {
            #[cfg(feature = "encodings")]
            Choice::Label(encoding) if encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE => {
                Some(encoding)
            }
            #[cfg(feature = "encodings")]
            Choice::Detect => super::detect::utf_16(head),
            _ => None,
        }
    }

    /// What a file is that starts so, or why it is no text. `head` is as many bytes as [`sample_bytes`](Self::sample_bytes), or all.
    pub(crate) fn recognise(self, head: &[u8], size: Option<u64>) -> Result<Form> {
        let marked = |coding, mark: &[u8]| Form { coding, bom: true, start: to_u64(mark.len()) };
        let plain = |coding| Form { coding, bom: false, start: 0 };
        if head.starts_with(UTF_16_LE_MARK) {
            return Ok(marked(Coding::Other(encoding_rs::UTF_16LE), UTF_16_LE_MARK));
        }
        if head.starts_with(UTF_16_BE_MARK) {
            return Ok(marked(Coding::Other(encoding_rs::UTF_16BE), UTF_16_BE_MARK));
        }
        // Half of it may be NULs.
        let utf_16 = if head.starts_with(UTF_8_MARK) { None } else { self.utf_16(head) };
        if let Some(encoding) = utf_16 {
            return Ok(plain(Coding::Other(encoding)));
        }
        let sniffed = &head[..head.len().min(SNIFF_BYTES)];
        if memchr::memchr(0, sniffed).is_some() {
            return Err(ErrorKind::Binary { format: format::name(sniffed), size }.into());
        }
        if head.starts_with(UTF_8_MARK) {
            return Ok(marked(Coding::Utf8, UTF_8_MARK));
        }
        #[cfg(feature = "encodings")]
        let rest = match size {
            Some(size) if size <= to_u64(head.len()) => super::detect::Rest::Nothing,
            None if head.len() < self.sample_bytes() => super::detect::Rest::Nothing,
            _ => super::detect::Rest::Something,
        };
        Ok(plain(match self.0 {
            Choice::Utf8 => Coding::Utf8,
            #[cfg(feature = "encodings")]
            Choice::Label(encoding) => Coding::Other(encoding),
            #[cfg(feature = "encodings")]
            Choice::Detect => super::detect::with_ascii(head, rest),
        }))
    }
}

/// How a file is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) coding: Coding,
    /// Whether it starts with a byte order mark.
    pub(crate) bom: bool,
    /// Where its text starts.
    pub(crate) start: u64,
}

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Utf8,
    Other(&'static Encoding),
}

impl Coding {
    /// The name in the Encoding Standard.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Other(encoding) => encoding.name(),
        }
    }
}
