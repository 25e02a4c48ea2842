use super::{axis::Axis, measure::Point};

/// How much dearer a unit may become from one step to the next. The allocator, of which calls at once
/// ask more than it has at hand, makes steps of a quarter; what grows with the square doubles.
const MAY_GROW: f64 = 1.5;

/// Instructions that no step is called bent for.
const TOLERATED: f64 = 20.0;

/// The growths that are not flat or no line, each said in words. Instructions, never time. `None` where
/// there is no valgrind.
#[must_use]
pub fn bent() -> Option<Vec<String>> {
    // Ten headers have a place of their own, so that it is beyond it that headers are looked at.
    let steps: [(Axis, &[usize]); 3] = [
        (Axis::AtOnce, &[10, 500]),
        (Axis::Headers, &[50, 100, 200]),
        (Axis::Download, &[0, 64 * 1024, 1024 * 1024]),
    ];
    let points: Vec<(Axis, usize)> = steps
        .into_iter()
        .flat_map(|(axis, sizes)| sizes.iter().map(move |size| (axis, *size)))
        .collect();
    let added = crate::parallel::map(&points, |(axis, size)| {
        Point::added(*axis, "client stack", *size)
    });
    let added: Vec<f64> = added.into_iter().collect::<Option<_>>()?;
    let mut bent = Vec::new();
    let mut rest = added.as_slice();
    for (axis, sizes) in steps {
        let (added, others) = rest.split_at(sizes.len());
        rest = others;
        let costs: Vec<f64> = match axis.units(0) {
            None => added.to_vec(),
            Some(_) => added
                .windows(2)
                .zip(sizes.windows(2))
                .map(|(added, sizes)| {
                    let units = |size| axis.units(size).unwrap_or(1) as f64;
                    (added[1] - added[0]) / (units(sizes[1]) - units(sizes[0]))
                })
                .collect(),
        };
        for pair in costs.windows(2) {
            if pair[1] > pair[0] * MAY_GROW + TOLERATED {
                let name = axis.name();
                bent.push(format!(
                    "{name}: {:.0} instructions, then {:.0}",
                    pair[0], pair[1]
                ));
            }
        }
    }
    Some(bent)
}
