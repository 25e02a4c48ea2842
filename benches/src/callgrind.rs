//! Counts by callgrind, of this very program run with other arguments.

use std::{
    collections::HashSet,
    fs,
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// What of the C library allocates. A block that is moved to grow counts as one more.
const ALLOCATING: [&str; 5] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
];

/// Instructions of one call: the difference of two runs that differ only in the number of calls, which
/// is the last argument. `None` where there is no valgrind.
#[must_use]
pub fn instructions(arguments: &[&str], calls: u64) -> Option<f64> {
    let few = collected("/dev/null", arguments, calls)?;
    let many = collected("/dev/null", arguments, calls * 2)?;
    Some(many.saturating_sub(few) as f64 / calls as f64)
}

/// Instructions and allocations of one call. The program needs no allocator that counts, which would
/// make every block dearer.
#[must_use]
pub fn instructions_and_allocations(arguments: &[&str], calls: u64) -> Option<(f64, f64)> {
    let few = profiled(arguments, calls)?;
    let many = profiled(arguments, calls * 2)?;
    let each = |few: u64, many: u64| many.saturating_sub(few) as f64 / calls as f64;
    Some((each(few.0, many.0), each(few.1, many.1)))
}

fn profiled(arguments: &[&str], calls: u64) -> Option<(u64, u64)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let profile = std::env::temp_dir().join(format!("callgrind.{}.{number}", process::id()));
    let instructions = collected(profile.to_str()?, arguments, calls);
    let text = fs::read_to_string(&profile);
    let _ = fs::remove_file(&profile);
    Some((instructions?, allocations(&text.ok()?)))
}

fn collected(profile: &str, arguments: &[&str], calls: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={profile}"))
        .arg(std::env::current_exe().ok()?)
        .args(arguments)
        .arg(calls.to_string())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().find_map(|line| {
        let (_, count) = line.split_once("Collected : ")?;
        count.trim().parse().ok()
    })
}

/// How often a profile says that a function of [`ALLOCATING`] was called. A function is named where it
/// is first met, `cfn=(7) malloc`, and by its number after that; the line that follows says how often.
fn allocations(profile: &str) -> u64 {
    let mut allocating = HashSet::new();
    let mut is_counted = false;
    let mut sum = 0;
    for line in profile.lines() {
        let named = line.strip_prefix("fn=").or(line.strip_prefix("cfn="));
        if let Some(named) = named {
            let (number, name) = named.split_once(' ').unwrap_or((named, ""));
            if ALLOCATING.contains(&name) {
                allocating.insert(number);
            }
            is_counted = line.starts_with('c') && allocating.contains(number);
        } else if let Some(count) = line.strip_prefix("calls=") {
            if is_counted {
                let count = count
                    .split(' ')
                    .next()
                    .and_then(|count| count.parse::<u64>().ok());
                sum += count.unwrap_or(0);
            }
            is_counted = false;
        }
    }
    sum
}
