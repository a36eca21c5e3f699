//! Reading and paging: small files and very large ones, by everything that one would read them with.

mod answer;
mod cases;
mod command;
mod entrants;
mod figure;
mod library;
mod long_line;
mod many;
mod others;
mod report;
mod scene;
mod system;
mod targets;

use std::fs;
use std::path::PathBuf;

use crate::corpus::{Corpus, Scale};
use crate::measure::{self, Rounds, Samples, Turn};
use crate::options::Places;
use crate::{Result, machine, mcp};
use cases::Case;
use scene::Scene;
use system::Contender;

/// Rounds before the first that counts.
const WARM_UP_ROUNDS: usize = 1;

/// What is measured, and where it goes.
#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// How often each system has its turn
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Part of the full sizes that the files have; the targets are meant for 1, which takes 1.3 GiB
    #[arg(long, value_name = "X", default_value = "1", value_parser = scale)]
    scale: Scale,
    /// Only the cases whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,
    /// Where file servers are installed, and found again
    #[arg(long, value_name = "DIR", default_value = mcp::SERVERS, hide_default_value = true)]
    servers: PathBuf,
    #[command(flatten)]
    places: Places,
    /// Also draws the chart, as SVG
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
}

fn scale(text: &str) -> std::result::Result<Scale, String> {
    match text.parse() {
        Ok(scale) if scale > 0.0 && scale <= 100.0 => Ok(Scale(scale)),
        _ => Err("not a number above 0 and up to 100".to_owned()),
    }
}

/// How often, and of what size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    rounds: usize,
    scale: Scale,
}

/// One system's samples.
#[derive(Debug)]
pub(crate) struct Row {
    system: &'static str,
    samples: Samples,
}

/// One case's rows.
#[derive(Debug)]
pub(crate) struct Results {
    case: &'static str,
    reference: &'static str,
    rows: Vec<Row>,
}

impl Results {
    fn samples(&self, system: &str) -> Option<&Samples> {
        self.rows.iter().find(|row| row.system == system).map(|row| &row.samples)
    }
}

/// Measures, prints, writes JSON, and draws.
pub(crate) fn run(options: &Options) -> Result<()> {
    let plan = Plan { rounds: usize::try_from(options.rounds)?, scale: options.scale };
    let scene = Scene::new(Corpus::create(&options.places.directory, plan.scale)?, &options.servers)?;
    let machine = machine::describe(&scene.corpus.root);
    print_head(&scene, plan);
    let all = measure_all(&scene, plan, &options.only)?;
    let verdicts = targets::judge(&all);
    println!("{}", report::verdicts(&verdicts));
    options.places.write(|| report::json(&machine, plan, &scene, &all, &verdicts))?;
    if let Some(path) = &options.chart {
        fs::write(path, figure::draw(&scene.corpus, &all).to_string())?;
    }
    Ok(scene.corpus.remove()?)
}

fn print_head(scene: &Scene, plan: Plan) {
    let load = machine::load().unwrap_or_default();
    println!("Per call; scale {}, {} rounds, load {load}", plan.scale.0, plan.rounds);
    println!("Beside capread: {}", scene.others.join(", "));
    for reason in &scene.left_out {
        println!("Left out: {reason}");
    }
    println!("\n{}", report::corpus(&scene.corpus));
}

fn measure_all(scene: &Scene, plan: Plan, only: &str) -> Result<Vec<Results>> {
    let mut all = Vec::new();
    for (name, make) in cases::ALL.into_iter().filter(|(name, _)| name.contains(only)) {
        let results = measure_case(name, make(scene)?, plan)?;
        println!("{}", report::table(&results));
        all.push(results);
    }
    Ok(all)
}

fn measure_case(name: &'static str, mut case: Case, plan: Plan) -> Result<Results> {
    case.contenders
        .iter_mut()
        .try_for_each(|contender| contender.check().map_err(|wrong| format!("{name}, {wrong}")))?;
    let mut turns: Vec<Turn<'_>> = case.contenders.iter_mut().map(Contender::turn).collect();
    let samples = measure::samples(&mut turns, Rounds { warm_up: WARM_UP_ROUNDS, counted: plan.rounds })?;
    drop(turns);
    let rows = case.contenders.iter().zip(samples).map(|(contender, samples)| Row { system: contender.name, samples });
    Ok(Results { case: name, reference: case.reference, rows: rows.collect() })
}
