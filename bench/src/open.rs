//! Opening and reading a small file.

mod report;
mod systems;
mod targets;

use crate::fixture::{self, Case, Tree};
use crate::measure::{self, Plan, Rounds, Samples, Turn};
use crate::options::Places;
use crate::{Result, machine};
use systems::Done;

/// Rounds before the first that counts.
const WARM_UP_ROUNDS: usize = 3;

/// What is measured, and where it goes.
#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// How often each system has its turn
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Calls in one turn, timed together
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    #[command(flatten)]
    places: Places,
}

/// One system's samples for one case.
#[derive(Debug)]
pub(crate) struct Row {
    system: &'static str,
    samples: Samples,
}

/// One case's rows.
#[derive(Debug)]
pub(crate) struct Results {
    case: Case,
    rows: Vec<Row>,
}

impl Results {
    fn cpu(&self, system: &str) -> Option<&[f64]> {
        self.rows.iter().find(|row| row.system == system).map(|row| row.samples.cpu.as_slice())
    }
}

/// Measures, prints, and writes JSON.
pub(crate) fn run(options: &Options) -> Result<()> {
    let plan = Plan { rounds: usize::try_from(options.rounds)?, calls: options.calls };
    let tree = Tree::create(&options.places.directory)?;
    let machine = machine::describe(&tree.root);
    println!("Per call; root {}, load {}\n", tree.root.display(), machine::load().unwrap_or_default());
    let mut all = Vec::new();
    for case in fixture::cases() {
        let results = measure_case(&tree, case, plan)?;
        println!("{}", report::table(&results));
        all.push(results);
    }
    let verdicts = targets::judge(&all);
    println!("{}", report::verdicts(&verdicts));
    options.places.write(|| report::json(&machine, plan, &all, &verdicts))?;
    Ok(tree.remove()?)
}

fn measure_case(tree: &Tree, case: Case, plan: Plan) -> Result<Results> {
    let systems = systems::all(&tree.root, &case.path)?;
    for system in &systems {
        check(&(system.call)()?, tree).map_err(|wrong| format!("{}, {}: {wrong}", case.name, system.name))?;
    }
    let mut turns: Vec<Turn<'_>> = systems.iter().map(|system| system.turn(plan.calls)).collect();
    let samples = measure::samples(&mut turns, Rounds { warm_up: WARM_UP_ROUNDS, counted: plan.rounds })?;
    let rows = systems.iter().zip(samples).map(|(system, samples)| Row { system: system.name, samples });
    Ok(Results { case, rows: rows.collect() })
}

/// Whether a system did what it is measured for.
fn check(done: &Done, tree: &Tree) -> Result<()> {
    let right = match done {
        // capread's windows have no line break behind the last line.
        Done::Read(text) => text.trim_end_matches('\n') == tree.text.trim_end_matches('\n'),
        Done::Opened(file) => u64::try_from(rustix::fs::fstat(file)?.st_size)? == fixture::FILE_BYTES as u64,
    };
    if right { Ok(()) } else { Err("not the file".into()) }
}
