//! Cuts a query into tokens, roughly: enough to count them and to point at one.

/// The byte range of every token: a word, a number, a quoted string (to the end of the text if it is never closed), or a
/// single sign. Space and comments are none.
pub(super) fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut spans = vec![];
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let end = start + length(&text[start..], first);
        if !first.is_whitespace() && first != '#' {
            spans.push((start, end));
        }
        start = end;
    }
    spans
}

fn length(rest: &str, first: char) -> usize {
    match first {
        '#' => rest.find('\n').unwrap_or(rest.len()),
        '"' | '\'' | '`' => quoted(rest, first),
        _ if in_word(first) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
        _ => first.len_utf8(),
    }
}

fn in_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '.')
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}
