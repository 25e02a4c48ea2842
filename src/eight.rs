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

/// Returns whether `test` holds for every place where there is a `wanted`, from the first on. It may be
/// asked of one twice.
#[inline(always)]
pub(crate) fn all(bytes: &[u8], wanted: u8, test: impl FnMut(usize) -> bool) -> bool {
    all_marked(bytes, |word| exact_zeros(word ^ all_of(wanted)), test)
}

/// Returns whether `test` holds for every place where there is neither a letter nor a digit of ASCII,
/// from the first on. It may be asked of one twice.
#[inline(always)]
pub(crate) fn all_others(bytes: &[u8], test: impl FnMut(usize) -> bool) -> bool {
    let is_other = |word: u64| {
        let low = word & !HIGH;
        let is_letter = between(low | all_of(b' '), b'a', b'z');
        !(is_letter | between(low, b'0', b'9')) & HIGH | word & HIGH
    };
    all_marked(bytes, is_other, test)
}

/// Calls `test` for the places of the bytes whose highest bit `mark` sets, while it holds.
#[inline(always)]
fn all_marked(
    bytes: &[u8],
    mark: impl Fn(u64) -> u64,
    mut test: impl FnMut(usize) -> bool,
) -> bool {
    let mut all = |mut marked: u64, at: usize| {
        while marked != 0 {
            if !test(at + marked.trailing_zeros() as usize / 8) {
                return false;
            }
            marked &= marked - 1;
        }
        true
    };
    let Some(last) = bytes.last_chunk() else {
        let join = |word, byte: &u8| word << 8 | u64::from(*byte);
        let there = (1 << (8 * bytes.len())) - 1;
        return all(mark(bytes.iter().rev().fold(0, join)) & there, 0);
    };
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk() {
        if !all(mark(u64::from_le_bytes(*word)), bytes.len() - rest.len()) {
            return false;
        }
        rest = behind;
    }
    rest.is_empty() || all(mark(u64::from_le_bytes(*last)), bytes.len() - last.len())
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

/// Returns a word in which the highest bit of a byte is set where `word` has a zero, and nothing else.
const fn exact_zeros(word: u64) -> u64 {
    let low = !HIGH;
    !(((word & low) + low) | word | low)
}

/// Returns the highest bit of each byte that is from `least` to `most`; all are below 0x80.
const fn between(word: u64, least: u8, most: u8) -> u64 {
    (word + all_of(0x80 - least)) & !(word + all_of(0x7f - most)) & HIGH
}

/// Returns zero if every byte is at least `least` and at most `~`. A borrow or a carry into a byte comes
/// from one that is outside itself.
const fn outside(word: u64, least: u8) -> u64 {
    (word | word.wrapping_sub(all_of(least)) | word.wrapping_add(LOW)) & HIGH
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
                    let found = matches!(byte, b'"' | b'\\').then_some(place);
                    assert_eq!(find(&bytes, b'"', b'\\'), found);
                    let count = if byte == b'a' { length } else { 1 };
                    let mut places = BTreeSet::new();
                    let note = |at| {
                        places.insert(at);
                        true
                    };
                    assert!(all(&bytes, byte, note));
                    assert_eq!((places.len(), places.contains(&place)), (count, true));
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
            for is_other in [false, true] {
                let is_meant = |byte: u8| match is_other {
                    true => !byte.is_ascii_alphanumeric(),
                    false => byte == wanted,
                };
                let mut places = BTreeSet::new();
                let note = |at| { places.insert(at); true };
                match is_other {
                    true => all_others(&bytes, note),
                    false => all(&bytes, wanted, note),
                };
                let expected = (0..bytes.len()).filter(|at| is_meant(bytes[*at]));
                prop_assert_eq!(&places, &expected.collect::<BTreeSet<_>>());
                for stop in places {
                    let before = |at| at < stop;
                    let is_all = match is_other {
                        true => all_others(&bytes, before),
                        false => all(&bytes, wanted, before),
                    };
                    prop_assert!(!is_all);
                }
            }
        }
    }
}
