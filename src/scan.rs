//! Bytes looked at many at a time: most of what a server says is text in which there is nothing to find.

const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Returns whether `wanted` is among `bytes`.
pub(crate) fn has(bytes: &[u8], wanted: u8) -> bool {
    any(bytes, |byte| byte == wanted)
}

/// Returns whether all bytes are printable ASCII, spaces included.
pub(crate) fn is_printable(bytes: &[u8]) -> bool {
    !any(bytes, |byte| !matches!(byte, b' '..=b'~'))
}

/// Returns whether all bytes are printable ASCII, spaces excluded.
pub(crate) fn is_graphic(bytes: &[u8]) -> bool {
    !any(bytes, |byte| !byte.is_ascii_graphic())
}

/// Returns whether all bytes are ASCII, and none begins an escape: `\`, `%` or ESC.
pub(crate) fn is_unescaped(bytes: &[u8]) -> bool {
    !any(bytes, |byte| {
        !byte.is_ascii() | (byte == b'\\') | (byte == b'%') | (byte == 0x1b)
    })
}

/// Returns where the first of two bytes is.
#[inline(always)]
pub(crate) fn find(bytes: &[u8], one: u8, other: u8) -> Option<usize> {
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let bits = u64::from_le_bytes(*word);
        let found = zeros(bits ^ all_of(one)) | zeros(bits ^ all_of(other));
        if found != 0 {
            let before = bytes.len() - rest.len();
            return Some(before + found.trailing_zeros() as usize / 8);
        }
        rest = behind;
    }
    let inside = rest.iter().position(|byte| *byte == one || *byte == other);
    inside.map(|inside| bytes.len() - rest.len() + inside)
}

/// Returns whether `test` holds for any byte. It may see one more than once.
#[inline(always)]
fn any(bytes: &[u8], test: impl Fn(u8) -> bool) -> bool {
    if let Some(last) = bytes.last_chunk() {
        let mut rest = bytes;
        while let Some((chunk, behind)) = rest.split_first_chunk() {
            if any_of::<16>(chunk, &test) {
                return true;
            }
            rest = behind;
        }
        return any_of::<16>(last, &test);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => any_of::<8>(first, &test) | any_of::<8>(last, &test),
        _ => bytes.iter().any(|byte| test(*byte)),
    }
}

/// As [`any`]. Without a branch in it all are looked at in one.
#[inline(always)]
fn any_of<const N: usize>(bytes: &[u8; N], test: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(false, |found, byte| found | test(*byte))
}

const fn all_of(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Returns a word whose lowest bit that is set is in the lowest byte of `word` that is zero.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_is_told_at_every_place() {
        for length in 1..20 {
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = byte;
                    assert_eq!(is_printable(&bytes), (b' '..=b'~').contains(&byte));
                    assert_eq!(is_graphic(&bytes), byte.is_ascii_graphic());
                    assert_eq!(has(&bytes, b'<'), byte == b'<');
                    let is_escape = matches!(byte, b'\\' | b'%' | 0x1b | 0x80..);
                    assert_eq!(is_unescaped(&bytes), !is_escape);
                    let found = matches!(byte, b'"' | b'\\').then_some(place);
                    assert_eq!(find(&bytes, b'"', b'\\'), found);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_agree_with_a_look_at_each_byte(bytes: Vec<u8>, wanted: u8, other: u8) {
            prop_assert_eq!(has(&bytes, wanted), bytes.contains(&wanted));
            let is_visible = |byte: &u8| matches!(byte, b' '..=b'~');
            prop_assert_eq!(is_printable(&bytes), bytes.iter().all(is_visible));
            prop_assert_eq!(is_graphic(&bytes), bytes.iter().all(u8::is_ascii_graphic));
            let place = bytes.iter().position(|byte| *byte == wanted || *byte == other);
            prop_assert_eq!(find(&bytes, wanted, other), place);
        }
    }
}
