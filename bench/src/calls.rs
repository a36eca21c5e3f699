//! Calls for a small file on the pipes of servers that are kept: one at a time, and several.

mod client;
mod line;
mod report;
mod servers;
mod targets;
mod waiting;

use std::path::PathBuf;

use crate::fixture::Tree;
use crate::measure::{self, Plan, Rounds, Turn};
use crate::options::Places;
use crate::process::Program;
use crate::{Result, machine, mcp, release, stats};
use client::Round;

/// How many calls wait for their answers at a time.
const AT_ONCE: [usize; 2] = [1, 8];

/// Rounds before the first that counts.
const WARM_UP_ROUNDS: usize = 1;

/// What is measured, and where it goes.
#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// How often each server has its turn
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Calls in one turn, timed together
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    /// Where file servers are installed, and found again
    #[arg(long, value_name = "DIR", default_value = mcp::SERVERS, hide_default_value = true)]
    servers: PathBuf,
    #[command(flatten)]
    places: Places,
}

/// What is read, and by whom.
#[derive(Debug)]
pub(crate) struct Scene {
    tree: Tree,
    /// The command, as it is released.
    capread: PathBuf,
    /// The official server, where it could be installed.
    official: Option<Program>,
    /// Its name and version, or why it is left out.
    beside: String,
}

impl Scene {
    fn new(options: &Options) -> Result<Self> {
        let installed = mcp::install(&options.servers).and_then(|server| Ok((server, mcp::runtime()?)));
        let (official, beside) = match installed {
            Ok((server, runtime)) => (Some(server), format!("{} on {runtime}", mcp::name())),
            Err(error) => (None, format!("without {}: {error}", mcp::name())),
        };
        Ok(Self { tree: Tree::create(&options.places.directory)?, capread: release::build()?, official, beside })
    }
}

/// One server's rounds.
#[derive(Debug)]
pub(crate) struct Row {
    system: &'static str,
    rounds: Vec<Round>,
}

impl Row {
    fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        stats::median(self.rounds.iter().map(of))
    }

    fn calls_per_second(&self) -> f64 {
        self.median(|round| 1e9 / round.wall)
    }

    fn walls(&self) -> Vec<f64> {
        self.rounds.iter().map(|round| round.wall).collect()
    }
}

/// The rows for so many calls at once.
#[derive(Debug)]
pub(crate) struct Results {
    at_once: usize,
    rows: Vec<Row>,
}

impl Results {
    /// How many calls `of` answers for one of `to`: round by round, and then the median.
    fn throughput(&self, of: &str, to: &str) -> Option<f64> {
        let row = |system: &str| self.rows.iter().find(|row| row.system == system);
        Some(stats::ratio(&row(to)?.walls(), &row(of)?.walls()))
    }
}

/// Measures, prints, and writes JSON.
pub(crate) fn run(options: &Options) -> Result<()> {
    let plan = Plan { rounds: usize::try_from(options.rounds)?, calls: options.calls };
    let scene = Scene::new(options)?;
    let machine = machine::describe(&scene.tree.root);
    println!("{}; {}; {} rounds of {} calls.\n", machine::line(), scene.beside, plan.rounds, plan.calls);
    let all = AT_ONCE.map(|at_once| measure_case(&scene, at_once, plan)).into_iter().collect::<Result<Vec<_>>>()?;
    let verdicts = targets::judge(&all);
    println!("{}\n{}", report::table(&all), report::verdicts(&verdicts));
    options.places.write(|| report::json(&machine, plan, &scene, &all, &verdicts))?;
    Ok(scene.tree.remove()?)
}

fn measure_case(scene: &Scene, at_once: usize, plan: Plan) -> Result<Results> {
    let mut servers = servers::start(scene)?;
    servers.iter_mut().try_for_each(|server| server.client.warm_up(at_once))?;
    let mut turns: Vec<Turn<'_, Round>> = servers.iter_mut().map(|server| server.turn(plan.calls)).collect();
    let rounds = measure::in_turn(&mut turns, Rounds { warm_up: WARM_UP_ROUNDS, counted: plan.rounds })?;
    drop(turns);
    let rows = servers.iter().zip(rounds).map(|(server, rounds)| Row { system: server.name, rounds });
    Ok(Results { at_once, rows: rows.collect() })
}
