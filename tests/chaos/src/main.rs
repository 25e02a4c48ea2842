fn main() {
    tower_diagnose_chaos::panics::watch();
    let arguments: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    if let [seed] = arguments[..] {
        println!("{:#?}", tower_diagnose_chaos::plan::Plan::of(seed));
        println!("{:#?}", tower_diagnose_chaos::run::one(seed));
        return;
    }
    let began = std::time::Instant::now();
    let (counts, failures) = tower_diagnose_chaos::run::many(arguments[0]..arguments[1], 2, |_| {});
    println!("{counts:?} {:?}", began.elapsed());
    for (seed, faults) in failures {
        println!("seed {seed}:");
        for fault in faults { println!("  {}", fault.chars().take(600).collect::<String>()); }
    }
}
