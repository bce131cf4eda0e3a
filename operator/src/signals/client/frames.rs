//! Cuts an answer into its rows while it arrives: the objects in `data.result`, and the envelope around them.
//!
//! Only the row that the end of a chunk cuts in two is copied. The envelope keeps everything else, so that it is read by the
//! same code as a small answer, in whatever order it comes.

/// The largest row, and the largest envelope, in bytes.
const LARGEST: usize = 64 * 1024;
/// The most that is open at once.
const DEEPEST: usize = 64;

/// A cut that is under way.
#[derive(Debug, Default)]
pub struct Frames {
    /// What is open, outermost first: an object or not.
    open: Vec<bool>,
    quotes: Quotes,
    place: Place,
    /// The beginning of a row that the last chunk broke off.
    begun: Vec<u8>,
    envelope: Vec<u8>,
}

/// Whether a byte is part of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quotes {
    #[default]
    Outside,
    Inside,
    /// The next byte means itself.
    Escaped,
}

/// Where the next byte belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Envelope,
    Row,
    /// Behind a row, whose comma goes with it.
    Behind,
}

/// Why a cut ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort<E> {
    /// A row or an envelope is larger than any Prometheus makes them.
    TooLarge,
    /// A row was refused.
    Refused(E),
}

/// An object in an array in an object in an object.
const BEFORE_A_ROW: [bool; 3] = [true, true, false];

impl Frames {
    /// Takes the next bytes, and calls `each` with every row that is whole now, until one is refused.
    pub fn take<E>(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), CutShort<E>> {
        let mut from = 0;
        for (at, byte) in chunk.iter().enumerate() {
            let was_text = self.quotes != Quotes::Outside;
            self.quotes = self.quotes.after(*byte);
            match byte {
                _ if was_text => {}
                b'{' | b'[' => {
                    if self.place != Place::Row && *byte == b'{' && self.open == BEFORE_A_ROW {
                        (self.place, from) = (Place::Row, at);
                    }
                    self.open.push(*byte == b'{');
                }
                b'}' | b']' => {
                    self.open.pop();
                    if self.place == Place::Row && self.open == BEFORE_A_ROW {
                        self.whole(&chunk[from..=at], &mut each).map_err(CutShort::Refused)?;
                        continue;
                    }
                }
                _ => {}
            }
            self.around(*byte);
        }
        if self.place == Place::Row {
            self.begun.extend_from_slice(&chunk[from..]);
        }
        if self.begun.len().max(self.envelope.len()) > LARGEST || self.open.len() > DEEPEST {
            return Err(CutShort::TooLarge);
        }
        Ok(())
    }

    /// What stood around the rows.
    pub fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// A byte that ends no row.
    fn around(&mut self, byte: u8) {
        match self.place {
            Place::Row => return,
            Place::Behind if byte.is_ascii_whitespace() => return,
            Place::Behind | Place::Envelope => {}
        }
        let was = std::mem::take(&mut self.place);
        if was == Place::Envelope || byte != b',' {
            self.envelope.push(byte);
        }
    }

    fn whole<E>(&mut self, rest: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.place = Place::Behind;
        if self.begun.is_empty() {
            return each(rest);
        }
        self.begun.extend_from_slice(rest);
        let done = each(&self.begun);
        self.begun.clear();
        done
    }
}

impl Quotes {
    const fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Outside, b'"') | (Self::Escaped, _) => Self::Inside,
            (Self::Outside, _) | (Self::Inside, b'"') => Self::Outside,
            (Self::Inside, b'\\') => Self::Escaped,
            (Self::Inside, _) => Self::Inside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"a":"}]{[,\""},"value":[1,"5"]}, {"metric":{},"value":[1,"6"]}]},"warnings":["{x}"]}"#;

    fn cut(body: &str, at: usize) -> (Vec<String>, String) {
        let mut frames = Frames::default();
        let mut rows = Vec::new();
        for part in [&body.as_bytes()[..at], &body.as_bytes()[at..]] {
            let each = |row: &[u8]| {
                rows.push(String::from_utf8_lossy(row).into_owned());
                Ok::<(), ()>(())
            };
            frames.take(part, each).unwrap();
        }
        (rows, String::from_utf8_lossy(frames.envelope()).split_whitespace().collect())
    }

    #[test]
    fn the_rows_and_the_envelope_are_the_same_wherever_the_chunks_end() {
        let rows = [r#"{"metric":{"a":"}]{[,\""},"value":[1,"5"]}"#, r#"{"metric":{},"value":[1,"6"]}"#];
        let envelope = r#"{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["{x}"]}"#;
        for at in 0..BODY.len() {
            let found = cut(BODY, at);
            assert_eq!(found, (rows.map(str::to_owned).to_vec(), envelope.to_owned()), "cut at {at}");
        }
    }

    #[test]
    fn what_has_no_end_ends_at_the_bound() {
        let mut frames = Frames::default();
        let nothing = |_: &[u8]| Ok::<(), ()>(());
        frames.take(br#"{"data":{"result":[{"metric":{"a":""#, nothing).unwrap();

        assert_eq!(frames.take(&vec![b'x'; LARGEST], nothing), Err(CutShort::TooLarge));
        assert_eq!(Frames::default().take(&vec![b'x'; LARGEST + 1], nothing), Err(CutShort::TooLarge));
        assert_eq!(Frames::default().take(&[b'['; 100], nothing), Err(CutShort::TooLarge));
    }
}
