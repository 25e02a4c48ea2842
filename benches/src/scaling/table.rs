use std::process::ExitCode;

use super::{
    axis::Axis,
    measure::{Point, SUBJECTS},
};
use crate::parallel;

/// What one size costs: of each subject nanoseconds and, where there is valgrind, instructions.
struct Row {
    size: usize,
    costs: [(f64, Option<f64>); SUBJECTS.len()],
}

impl Row {
    fn measure(axis: Axis, size: usize, instructions: &[Option<f64>]) -> Self {
        let mut costs = Point::nanoseconds(axis, size).map(|nanoseconds| (nanoseconds, None));
        for (cost, instructions) in costs.iter_mut().zip(instructions) {
            cost.1 = *instructions;
        }
        Self { size, costs }
    }

    /// Instructions that a subject adds to the bare service.
    fn added(&self, subject: usize) -> Option<f64> {
        Some(self.costs.get(subject)?.1? - self.costs[0].1?)
    }

    /// The cells of one size: what the bare service costs in all, and what the others add to it.
    fn cells(&self) -> Vec<String> {
        let bare = self.costs[0].0;
        let cells = self.costs.iter().enumerate().map(|(subject, cost)| {
            let (nanoseconds, instructions) = match subject {
                0 => *cost,
                _ => (cost.0 - bare, self.added(subject)),
            };
            format!("{nanoseconds:.0} / {}", whole(instructions))
        });
        cells.collect()
    }
}

fn whole(number: Option<f64>) -> String {
    number.map_or("-".to_owned(), |number| format!("{number:.0}"))
}

#[must_use]
pub fn print() -> ExitCode {
    for axis in Axis::ALL {
        let each = match axis {
            Axis::AtOnce => "",
            Axis::Headers | Axis::FreshHeaders => "each header more | ",
            Axis::Upload | Axis::Download => "each frame more | ",
        };
        let what = match axis {
            Axis::AtOnce => "Calls at once, what one of them costs (H10)",
            Axis::Headers => "Headers of a GET, all of the client's configuration",
            Axis::FreshHeaders => "Headers of a GET, half of them made for it",
            Axis::Upload => "Bytes of a PUT, in frames of 16 KiB",
            Axis::Download => "Bytes of the answer, in frames of 16 KiB",
        };
        println!("## {what}\n");
        println!(
            "| {} | {} | {each}of the step before |",
            axis.name(),
            SUBJECTS.join(" | ")
        );
        let columns = SUBJECTS.len() + 1 + usize::from(!each.is_empty());
        println!("|{}", "--:|".repeat(columns + 1));
        let points: Vec<Point> = axis
            .sizes()
            .iter()
            .flat_map(|size| {
                SUBJECTS.map(|name| Point {
                    axis,
                    name,
                    size: *size,
                })
            })
            .collect();
        let instructions = parallel::map(&points, |point| point.instructions());
        let mut rows: Vec<Row> = Vec::new();
        for (size, instructions) in axis.sizes().iter().zip(instructions.chunks(SUBJECTS.len())) {
            rows.push(Row::measure(axis, *size, instructions));
            let mut cells = rows.last().map(Row::cells).unwrap_or_default();
            let growth = growth(axis, &rows);
            if !each.is_empty() {
                cells.push(growth.map_or(String::new(), |growth| format!("{growth:.1}")));
            }
            let before = rows.len().checked_sub(1).and_then(|len| rows.get(..len));
            let ratio = growth.zip(before.and_then(|rows| self::growth(axis, rows)));
            cells.push(ratio.map_or(String::new(), |(now, then)| format!("{:.2}", now / then)));
            println!("| {size} | {} |", cells.join(" | "));
        }
        println!();
    }
    ExitCode::SUCCESS
}

/// The instructions that the client stack adds with the last size; where they should grow, those that
/// one header or frame more adds between the last two sizes.
fn growth(axis: Axis, rows: &[Row]) -> Option<f64> {
    let ours = SUBJECTS.len() - 1;
    let (last, before) = rows.split_last()?;
    let Some(units) = axis.units(last.size) else {
        return last.added(ours);
    };
    let before = before.last()?;
    let more = units - axis.units(before.size)?;
    Some((last.added(ours)? - before.added(ours)?) / more as f64)
}
