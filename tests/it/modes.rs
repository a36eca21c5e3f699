//! Every table in every mode, and what happens to a reader whose mode changes under way.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Output};
use std::sync::Barrier;
use std::thread;

use capread::{ErrorKind, ReadRequest, ReadTool, Resolver, Resource, Root};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource as Limited, getrlimit, setrlimit};
use rstest::rstest;
use rustix::io::Errno;

use crate::support::{Expected, Tree, check_in, missing, outside, special, text, too_many_links};
use crate::world::{
    BY_THE_KERNEL, Mode, alone, answer_openat2, asked, binary, by_the_kernel_then_the_walk, by_the_walk, on_a_thread,
    proc,
};

/// The modules whose tests hold in every mode.
const TABLES: [&str; 7] = ["fence::", "walk::", "special_files::", "mounts::", "policy::", "roots::", "suggest::"];

/// What is left out: the fence alone, and what tries every resolver against the kernel itself.
const MODELESS: &str = "::agrees_with_";

#[rstest]
#[case::auto(Mode::Auto)]
#[case::kernel(Mode::Kernel)]
#[case::walk(Mode::Walk)]
#[case::auto_on_old_kernel(Mode::AutoOnOldKernel)]
#[case::auto_in_old_sandbox(Mode::AutoInOldSandbox)]
#[case::auto_without_procfs(Mode::AutoWithoutProcfs)]
#[case::walk_without_procfs(Mode::WalkWithoutProcfs)]
fn every_table_holds(#[case] mode: Mode) {
    let count = |arguments: &[&str]| {
        let list = said(&tables(Command::new(binary())).args(arguments).output().unwrap());
        list.lines().filter(|line| line.ends_with(": test")).count()
    };
    let ignored = count(&["--list", "--ignored"]);
    let tests = count(&["--list"]) - ignored;
    let Some(run) = mode.enter(|command| tables(command).output().unwrap()) else { return };
    let said = said(&run);
    let all = format!("test result: ok. {tests} passed; 0 failed; {ignored} ignored");
    assert!(run.status.success() && tests > 60 && said.contains(&all), "{tests} tests in {mode:?}:\n{said}");
}

/// Each row of the table in the README has a test that exists, or a reason why it has none.
#[test]
fn the_table_names_tests_that_exist() {
    let list = said(&Command::new(binary()).arg("--list").output().unwrap());
    let exists = |name: &str| list.lines().any(|line| line.starts_with(name) && line.ends_with(": test"));
    let table = include_str!("README.md").split_once("| row | what | tests |\n|---|---|---|\n").unwrap().1;
    let mut wrong = Vec::new();
    for row in table.lines() {
        let tests = row.trim_end_matches(" |").rsplit_once("| ").unwrap().1;
        let names: Vec<_> = tests.split_whitespace().map(|name| name.trim_matches('`')).collect();
        let has_a_reason = names[0] == "-" && names.len() > 1;
        if !has_a_reason && !names.into_iter().all(exists) {
            wrong.push(row);
        }
    }
    assert!(table.lines().count() > 140 && wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn tables(mut command: Command) -> Command {
    command.args(TABLES).args(["--skip", MODELESS]);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// One of each answer, but for those that depend on the user.
const KINDS: [&str; 11] = [
    "f",
    "d/e/f",
    "l -> d/e/../e/f",
    "absolute -> {R}/d/e/f",
    "d/up -> ../f",
    "dangling -> nope",
    "out -> ../elsewhere/s",
    "far -> {O}",
    "x -> x",
    "p|",
    "O/s",
];

#[track_caller]
fn check_each_kind(tree: &Tree, root: &Root) {
    check_in(
        tree,
        root,
        &[
            ("f", text("IN: f")),
            ("d/e/f", text("IN: d/e/f")),
            ("{R}/d/e/f", text("IN: d/e/f")),
            ("l", text("IN: d/e/f")),
            ("absolute", text("IN: d/e/f")),
            ("d/up", text("IN: f")),
            ("dangling", missing("dangling")),
            ("out", outside("out")),
            ("far/s", outside("far/s")),
            ("../elsewhere/s", outside("../elsewhere/s")),
            ("x", too_many_links("x")),
            ("p", special("p", "FIFO")),
            ("d", special("d", "directory")),
            ("nope/x", missing("nope/x")),
            ("f/x", missing("f/x")),
        ],
    );
}

/// A sandbox may be closed at any time, and a success remembered would be wrong then (row 13).
#[rstest]
#[case::old_kernel("modes::a_filter_that_comes_later_changes_no_answer::case_1_old_kernel", Errno::NOSYS)]
#[case::old_sandbox("modes::a_filter_that_comes_later_changes_no_answer::case_2_old_sandbox", Errno::PERM)]
fn a_filter_that_comes_later_changes_no_answer(#[case] name: &str, #[case] errno: Errno) {
    alone(name, || {
        let tree = Tree::new(&KINDS);
        let roots = [Resolver::Auto, Resolver::Kernel].map(|resolver| tree.root().with_resolver(resolver));
        for root in &roots {
            check_each_kind(&tree, root);
            assert_eq!(asked(root, "d/e/f"), BY_THE_KERNEL);
        }
        on_a_thread(|| {
            answer_openat2(errno, None);
            for root in &roots {
                check_each_kind(&tree, root);
            }
            // One that is opened only now.
            check_each_kind(&tree, &tree.root());
        });
    });
}

/// What one call was refused says nothing of the next, least of all that links need no look any more (rows 9 and 90).
#[test]
fn one_refused_call_switches_nothing_off() {
    alone("modes::one_refused_call_switches_nothing_off", || {
        let tree = Tree::new(&KINDS);
        let (refused, other) = (tree.root(), tree.root());
        let walked = by_the_kernel_then_the_walk(3);
        let (filtered, seen) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                answer_openat2(Errno::PERM, Some(refused.as_fd()));
                for _ in 0..3 {
                    assert_eq!(asked(&refused, "d/e/f"), walked);
                    assert_eq!(asked(&other, "d/e/f"), BY_THE_KERNEL);
                    check_each_kind(&tree, &refused);
                    check_each_kind(&tree, &other);
                }
                filtered.wait();
                seen.wait();
            });
            filtered.wait();
            // In a thread that has no filter the same root is asked for by the kernel again.
            assert_eq!(asked(&refused, "d/e/f"), BY_THE_KERNEL);
            check_each_kind(&tree, &refused);
            seen.wait();
        });
    });
}

/// A kernel does not grow a system call, so `Auto` asks once; `Kernel` was told to ask.
#[test]
fn a_call_that_is_missing_is_asked_for_once() {
    alone("modes::a_call_that_is_missing_is_asked_for_once", || {
        let tree = Tree::new(&KINDS);
        let [auto, kernel] = [Resolver::Auto, Resolver::Kernel].map(|resolver| tree.root().with_resolver(resolver));
        on_a_thread(|| {
            answer_openat2(Errno::NOSYS, None);
            let counts = [asked(&auto, "d/e/f"), asked(&auto, "d/e/f"), asked(&kernel, "d/e/f")];
            assert_eq!(counts, [by_the_kernel_then_the_walk(3), by_the_walk(3), by_the_kernel_then_the_walk(3)]);
        });
        assert_eq!([asked(&auto, "d/e/f"), asked(&kernel, "d/e/f")], [by_the_walk(3), BY_THE_KERNEL]);
        check_each_kind(&tree, &auto);
        check_each_kind(&tree, &kernel);
    });
}

/// Such a thread's numbers mean other handles in `/proc/self`, which is the process's: here sockets, which cannot be opened at all.
#[test]
fn a_thread_with_handles_of_its_own_reads_the_same() {
    alone("modes::a_thread_with_handles_of_its_own_reads_the_same", || {
        let tree = Tree::new(&KINDS);
        let sockets: Vec<_> = (0..32).map(|_| UnixDatagram::unbound().unwrap()).collect();
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_FILES).unwrap();
            // In this thread their numbers are free now.
            drop(sockets);
            for resolver in [Resolver::Auto, Resolver::Kernel, Resolver::Walk] {
                check_each_kind(&tree, &tree.root().with_resolver(resolver));
            }
        });
    });
}

/// Numbers of the handles of this process.
fn handles() -> BTreeSet<u64> {
    let directory = proc().join("self/fd");
    let listed: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    // The one that the list was read from is closed by now.
    let open = listed.iter().filter(|name| fs::read_link(directory.join(name)).is_ok());
    open.map(|name| name.to_str().unwrap().parse().unwrap()).collect()
}

/// Runs `body` while this process can open `free` handles and no more.
fn with_free_handles<T>(free: usize, body: impl FnOnce() -> T) -> T {
    let (soft, hard) = getrlimit(Limited::RLIMIT_NOFILE).unwrap();
    let used = handles();
    let allows = |limit: &u64| usize::try_from(*limit).unwrap() - used.range(..limit).count() == free;
    setrlimit(Limited::RLIMIT_NOFILE, (0..1024).find(allows).unwrap(), hard).unwrap();
    let result = body();
    setrlimit(Limited::RLIMIT_NOFILE, soft, hard).unwrap();
    assert_eq!(handles(), used, "some were left open");
    result
}

/// The walk holds a handle for each component, and the file itself once more; the kernel's way needs two whatever the depth.
#[test]
fn few_handles_are_a_limit_and_none_is_lost() {
    alone("modes::few_handles_are_a_limit_and_none_is_lost", || {
        let depth = 20;
        let deep = "d/".repeat(depth - 1) + "f";
        let mut tree = Tree::new(&[&deep, "f"]);
        tree.add(&format!("l -> {deep}"));
        tree.add(&format!("up -> {}{}f", "d/".repeat(depth - 1), "../".repeat(depth - 1)));
        let size = u64::try_from("IN: \n".len() + deep.len()).unwrap();
        for (resolver, request, needed, size) in [
            (Resolver::Walk, deep.as_str(), depth + 1, size),
            (Resolver::Kernel, &deep, 2, size),
            (Resolver::Auto, &deep, 2, size),
            (Resolver::Walk, "l", depth + 1, size),
            (Resolver::Kernel, "l", depth + 1, size),
            (Resolver::Auto, "l", depth + 1, size),
            // One more to ask whether each directory may be searched.
            (Resolver::Walk, "up", depth, 6),
            (Resolver::Walk, "f", 2, 6),
            (Resolver::Kernel, "f", 2, 6),
        ] {
            let root = tree.root().with_resolver(resolver);
            // Once before, for what is opened once and kept.
            root.open(request).unwrap();
            for free in 0..needed + 3 {
                let found = with_free_handles(free, || root.open(request).map(|file| file.size()));
                let found = found.map_err(|error| (error.to_string(), error.kind().clone()));
                let limit = Err(("Out of file handles".to_owned(), ErrorKind::ResourceLimit(Resource::FileHandles)));
                let expected = if free < needed { limit } else { Ok(size) };
                assert_eq!(found, expected, "{resolver:?} {request} with {free} handles");
            }
            let (code, message) = ("resource_limit", "Out of file handles".to_owned());
            with_free_handles(3, || {
                let shallow = text("IN: f");
                check_in(&tree, &root, &[("f", shallow), ("d/nope", missing("d/nope"))]);
                if needed > 3 {
                    check_in(&tree, &root, &[(request, Expected::Error(code, message))]);
                    check_in(&tree, &root, &[("f", text("IN: f"))]);
                }
            });
        }
    });
}

/// To suggest something needs handles too. Without them there is nothing to suggest, and nothing else is wrong.
#[test]
fn few_handles_cost_suggestions_at_most() {
    alone("modes::few_handles_cost_suggestions_at_most", || {
        let tree = Tree::new(&["d/e/main.rs"]);
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let tool = ReadTool::new(tree.root().with_resolver(resolver));
            let ask = || tool.call(&ReadRequest::new("d/e/mian.rs"), &|| false).unwrap_err().to_string();
            tool.call(&ReadRequest::new("d/e/main.rs"), &|| false).unwrap();
            let answers: Vec<_> = (0..6).map(|free| with_free_handles(free, ask)).collect();
            let [none, plain, suggested] = [
                "Out of file handles",
                "File does not exist: d/e/mian.rs",
                "File does not exist: d/e/mian.rs. Did you mean d/e/main.rs?",
            ];
            let needed = answers.iter().take_while(|answer| *answer == none).count();
            let for_suggestions = answers.iter().take_while(|answer| *answer != suggested).count();
            assert!(answers[needed..for_suggestions].iter().all(|answer| answer == plain), "{answers:#?}");
            assert!(answers[for_suggestions..].iter().all(|answer| answer == suggested), "{answers:#?}");
            assert!(needed <= 3 && (2..=4).contains(&for_suggestions), "{answers:#?}");
        }
    });
}
