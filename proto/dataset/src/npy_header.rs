//! Header of a `.npy` file (NumPy Enhancement Proposal 1): a Python dictionary of three keys.
//!
//! The reader accepts only what NumPy writes for one array of numbers, and reads it from front to
//! back. A general reader of Python literals would be open to hostile input: nested brackets kept
//! one busy forever.

/// First bytes of a file. Two bytes of version and the header's length follow.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum length of a header, in bytes: NumPy's own limit for untrusted files.
const MAX_HEADER_BYTES: usize = 10_000;

/// Length of the beginning of a file, in bytes, that is sure to contain the header.
pub(super) const PREFIX_BYTES: usize = MAGIC.len() + 2 + 4 + MAX_HEADER_BYTES;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Type of the elements, such as `<f4`.
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
    /// Position of the data, in bytes.
    pub(super) data_at: usize,
}

impl Header {
    /// Reads the header at the beginning of a file. An error is a text with the reason.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        let rest = file.strip_prefix(MAGIC).ok_or("it does not begin with \\x93NUMPY")?;
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => {
                (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest)
            }
            _ => return Err("it is not a file of version 1, 2 or 3 of the format".into()),
        };
        if length > MAX_HEADER_BYTES {
            return Err(format!(
                "the header has {length} bytes, the maximum is {MAX_HEADER_BYTES}"
            ));
        }
        let text = rest.get(..length).ok_or("the file ends in its header")?;
        let text = std::str::from_utf8(text).map_err(|_| "its header is not text")?;
        let data_at = file.len() - rest.len() + length;
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut text = Text(text);
        text.sign('{')?;
        while !text.has('}') {
            let key = text.quoted()?;
            text.sign(':')?;
            match key {
                "descr" => descr = Some(text.quoted()?.to_owned()),
                "fortran_order" => fortran_order = Some(text.truth()?),
                "shape" => shape = Some(text.lengths()?),
                _ => return Err(format!("unknown key `{key}` in its header")),
            }
            if !text.has(',') {
                text.sign('}')?;
                break;
            }
        }
        if !text.0.trim().is_empty() {
            return Err(text.unexpected("the end"));
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => {
                Ok(Self { descr, fortran_order, shape, data_at })
            }
            _ => Err("its header must have all of descr, fortran_order and shape".into()),
        }
    }
}

/// Unread rest of the header.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Returns true if the next character is `sign`, and consumes it.
    fn has(&mut self, sign: char) -> bool {
        let rest = self.0.trim_start().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn sign(&mut self, sign: char) -> Result<(), String> {
        if self.has(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let text = self.0.trim_start();
        let rest = ['\'', '"'].into_iter().find_map(|quote| {
            let (quoted, rest) = text.strip_prefix(quote)?.split_once(quote)?;
            Some((quoted, rest))
        });
        let (quoted, rest) = rest.ok_or_else(|| self.unexpected("a text in quotes"))?;
        self.0 = rest;
        Ok(quoted)
    }

    fn truth(&mut self) -> Result<bool, String> {
        for (word, truth) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.trim_start().strip_prefix(word) {
                self.0 = rest;
                return Ok(truth);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn lengths(&mut self) -> Result<Vec<usize>, String> {
        let mut lengths = Vec::new();
        self.sign('(')?;
        while !self.has(')') {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let length = text[..end].parse().map_err(|_| self.unexpected("a length"))?;
            lengths.push(length);
            self.0 = &text[end..];
            if !self.has(',') {
                self.sign(')')?;
                break;
            }
        }
        Ok(lengths)
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found: String = self.0.trim_start().chars().take(16).collect();
        format!("expected {wanted} in its header, not `{found}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, header: &str) -> Vec<u8> {
        let length = header.len() as u32;
        let width = if version == 1 { 2 } else { 4 };
        [MAGIC, &[version, 0], &length.to_le_bytes()[..width], header.as_bytes(), b"data"].concat()
    }

    #[test]
    fn every_version_is_read_as_numpy_writes_it() {
        for version in 1..=3 {
            let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }          \n";
            let file = file(version, text);
            let header = Header::read(&file).unwrap();
            assert_eq!((header.descr.as_str(), header.fortran_order), ("<f4", false));
            assert_eq!((&header.shape[..], &file[header.data_at..]), (&[3, 1][..], &b"data"[..]));
        }
        let shape = |shape: &str| {
            let text = format!("{{\"shape\":{shape},'fortran_order':True,'descr':'|u1'}}");
            Header::read(&file(1, &text)).map(|header| header.shape)
        };
        assert!(shape("()").unwrap().is_empty());
        assert_eq!(shape("(7,)").unwrap(), [7]);
        assert_eq!(shape("( 7 , 8 )").unwrap(), [7, 8]);
        for bad in ["(,)", "(-1,)", "(1 2)", "7", "(99999999999999999999,)", "(1,", "(1,))"] {
            assert!(shape(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_damaged_header_says_what_is_wrong() {
        let nested = format!("{{'descr': {}", "[".repeat(9_000));
        for (file, want) in [
            (b"PK\x03\x04".to_vec(), "begin with"),
            (file(9, ""), "version 1, 2 or 3"),
            (MAGIC.to_vec(), "version 1, 2 or 3"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "the maximum is 10000"),
            (b"\x93NUMPY\x01\x00\x09\x00{".to_vec(), "ends in its header"),
            (b"\x93NUMPY\x01\x00\x01\x00\xff".to_vec(), "not text"),
            (file(1, "{'descr': '<f4'}"), "must have all of"),
            (file(1, "{'colour': 'red'}"), "`colour`"),
            (file(1, "{'shape': (1,)} more"), "expected the end"),
            (file(1, "{'fortran_order': Maybe}"), "expected True or False"),
            (file(1, "{'descr': [('a', '<i4')]}"), "expected a text in quotes"),
            (file(1, &nested), "expected a text in quotes"),
        ] {
            let error = Header::read(&file).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }
}
