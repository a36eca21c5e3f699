//! A system call that fails, at every step.

use rstest::rstest;

use super::worlds::{paths, ways, with_links};
use crate::error::{ErrorKind, Resource};
use crate::resolve::memory::{Event, Failure, How, World};
use crate::sys::Errno;

/// Either the failure is told as what it is, or there was another way to the same answer.
#[rstest]
#[case::no_handles(Errno::MFILE, ErrorKind::ResourceLimit(Resource::FileHandles))]
#[case::no_handles_anywhere(Errno::NFILE, ErrorKind::ResourceLimit(Resource::FileHandles))]
#[case::no_memory(Errno::NOMEM, ErrorKind::ResourceLimit(Resource::Memory))]
#[case::forbidden(Errno::ACCESS, ErrorKind::PermissionDenied)]
#[case::forbidden_by_a_filter(Errno::PERM, ErrorKind::PermissionDenied)]
#[case::would_block(Errno::AGAIN, ErrorKind::Busy)]
#[case::broken(Errno::IO, ErrorKind::Io)]
#[case::unknown_call(Errno::NOSYS, ErrorKind::Io)]
#[case::other_device(Errno::XDEV, ErrorKind::Io)]
#[case::stale(Errno::STALE, ErrorKind::Io)]
fn a_failing_step_never_leads_elsewhere(#[case] errno: Errno, #[case] kind: ErrorKind) {
    for (target, inner) in [("d/../d/l", "../f"), ("/srv/other/l/f", ".."), ("f/", "d/f")] {
        let world = with_links(target, inner);
        assert_failures(&world, errno, &kind);
    }
}

#[track_caller]
fn assert_failures(world: &World, errno: Errno, kind: &ErrorKind) {
    let inside = world.inside();
    let told = Err(Failure { kind: kind.clone(), os: Some(errno.raw_os_error()) });
    for (path, how) in
        paths(&["d", "f", "l"], 2).iter().flat_map(|path| ways(world).into_iter().map(move |how| (path, how)))
    {
        let well = world.open(path, how.clone());
        for step in 1..=well.calls.len() {
            let plan = vec![(step, Event::Fail(errno))];
            let run = world.open(path, How { plan: plan.clone(), ..how.clone() });
            run.check(&inside);
            let must_tell = matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM);
            let is_right = run.outcome == told || !must_tell && run.outcome == well.outcome;
            assert!(is_right, "step {step} of {path:?}: {run:#?}");
            world.missing(path, How { plan, ..how.clone() }).check(&inside);
        }
    }
}

/// Nothing is there, says one step: then nothing is there, or the walk began anew and found the same.
#[test]
fn a_name_that_is_gone_never_leads_elsewhere() {
    let world = with_links("d/../d/l", "../f");
    for errno in [Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG] {
        assert_failures(&world, errno, &ErrorKind::NotFound);
    }
}
