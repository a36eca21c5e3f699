//! Many small files, each read once, one after the other. A turn is all of them, and the time that of one.

use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::json;

use super::answer::{Answer, Expected};
use super::cases::Case;
use super::entrants::{CAP_STD, JSONL, LIBRARY, MCP, STD};
use super::scene::Scene;
use super::system::{Contender, System, in_process, piped};
use super::{command, library, others};
use crate::clock::Length;
use crate::corpus::excerpt;
use crate::pipe::Pipe;
use crate::{Result, jsonl, mcp};

pub(crate) fn case(scene: &Scene) -> Result<Case> {
    let contenders =
        [Some(std_fs(scene)?), Some(cap_std(scene)?), Some(library(scene)?), Some(jsonl(scene)?), mcp(scene)?];
    Ok(Case { reference: CAP_STD, contenders: contenders.into_iter().flatten().collect() })
}

fn std_fs(scene: &Scene) -> Result<Contender> {
    let root = scene.corpus.root.clone();
    enter(scene, STD, each(scene, move |path| others::std_fs(&root.join(path)))?)
}

fn cap_std(scene: &Scene) -> Result<Contender> {
    let directory = Dir::open_ambient_dir(&scene.corpus.root, ambient_authority())?;
    enter(scene, CAP_STD, each(scene, move |path| others::cap_std(&directory, path))?)
}

fn library(scene: &Scene) -> Result<Contender> {
    let tool = library::tool(&scene.corpus.root)?;
    enter(scene, LIBRARY, each(scene, move |path| library::read(&tool, path, 1))?)
}

fn jsonl(scene: &Scene) -> Result<Contender> {
    let pipe = Pipe::start(&jsonl::program(&scene.capread, &scene.corpus.root))?;
    let requests = paths(scene).iter().map(|path| command::call(path, 1)).collect();
    enter(scene, JSONL, piped(all(scene)?, pipe, requests, command::answer))
}

fn mcp(scene: &Scene) -> Result<Option<Contender>> {
    let (Some(server), root) = (&scene.server, &scene.corpus.root) else { return Ok(None) };
    let request =
        |path: &PathBuf| mcp::call(2, mcp::READ_TEXT_FILE, &json!({ "path": root.join(path).to_string_lossy() }));
    let requests = paths(scene).iter().map(request).collect();
    let pipe = mcp::start(&server.clone().arg(root))?;
    enter(scene, MCP, piped(all(scene)?, pipe, requests, others::served)).map(Some)
}

/// One path in each call.
fn each(scene: &Scene, read: impl Fn(&PathBuf) -> Result<Answer> + 'static) -> Result<Box<dyn System>> {
    let (paths, mut next) = (paths(scene), 0);
    Ok(in_process(all(scene)?, move || {
        let path = &paths[next];
        next = (next + 1) % paths.len();
        read(path)
    }))
}

fn paths(scene: &Scene) -> Vec<PathBuf> {
    scene.corpus.many.iter().map(|file| file.path.clone()).collect()
}

fn all(scene: &Scene) -> Result<Length> {
    Ok(Length::Calls(scene.corpus.many.len().try_into()?))
}

/// The first file is what is looked at.
fn enter(scene: &Scene, name: &'static str, system: Box<dyn System>) -> Result<Contender> {
    let file = scene.corpus.many.first().ok_or("no file")?;
    let window = excerpt::from_line(&scene.corpus.root.join(&file.path), 1)?;
    Ok(Contender { name, system, expected: Expected { window, lines: Some(file.lines), bytes: file.bytes } })
}
