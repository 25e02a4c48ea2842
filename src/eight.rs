//! Bytes looked at eight at a time: most of what a server says is text in which there is nothing to find.

const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Returns whether `wanted` is among `bytes`.
pub(crate) fn has(bytes: &[u8], wanted: u8) -> bool {
    any(bytes, |word| zeros(word ^ all_of(wanted)))
}

/// Returns whether all bytes are printable ASCII, spaces included.
pub(crate) fn is_printable(bytes: &[u8]) -> bool {
    !any(bytes, |word| outside(word, b' '))
}

/// Returns whether all bytes are printable ASCII, spaces excluded.
pub(crate) fn is_graphic(bytes: &[u8]) -> bool {
    !any(bytes, |word| outside(word, b'!'))
}

/// Returns whether all bytes are ASCII, and none begins an escape: `\`, `%` or ESC.
pub(crate) fn is_unescaped(bytes: &[u8]) -> bool {
    !any(bytes, |word| {
        let escapes = [b'\\', b'%', 0x1b].map(|byte| zeros(word ^ all_of(byte)));
        word & HIGH | escapes[0] | escapes[1] | escapes[2]
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

/// Returns whether `test` gives anything but zero for some bytes. It may see a byte more than once.
#[inline(always)]
fn any(bytes: &[u8], test: impl Fn(u64) -> u64) -> bool {
    let Some(last) = bytes.last_chunk() else {
        return bytes.iter().any(|byte| test(all_of(*byte)) != 0);
    };
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk() {
        if test(u64::from_ne_bytes(*word)) != 0 {
            return true;
        }
        rest = behind;
    }
    test(u64::from_ne_bytes(*last)) != 0
}

const fn all_of(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Returns a word whose lowest bit that is set is in the lowest byte of `word` that is zero.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Returns zero if every byte is at least `least` and at most `~`. A borrow or a carry into a byte comes
/// from one that is outside itself.
const fn outside(word: u64, least: u8) -> u64 {
    (word | word.wrapping_sub(all_of(least)) | word.wrapping_add(LOW)) & HIGH
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
