//! Mounts of every kind inside a root, above it, and where procfs should be. Each test has mounts of its own, which nobody else sees.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use capread::ReadRequest;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::chroot;
use rstest::rstest;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{Tree, check_in, missing, no_permission, outside, root_at, special, text, too_many_links};
use crate::world::{
    alone, asked, bind, by_the_kernel_then_the_walk, by_the_walk, had, mode, mount_plainly, on_a_thread, proc, tmpfs,
    with_own_mounts,
};

/// `MS_NOSYMFOLLOW` of mount(2), which nix does not name.
const NOSYMFOLLOW: MsFlags = MsFlags::from_bits_retain(256);

#[test]
fn a_mount_inside_is_inside() {
    let tree =
        Tree::new(&["m/", "f", "l -> m/f", "into -> m", "O/file = IN: bound", "O/d/f = IN: bound below", "g", "b/"]);
    with_own_mounts(|| {
        tmpfs(tree.at("m"));
        tree.file("m/f", b"IN: m/f\n");
        symlink("../f", tree.at("m/up")).unwrap();
        symlink("../../elsewhere/file", tree.at("m/out")).unwrap();
        bind(tree.at("O/file"), tree.at("g"));
        bind(tree.at("O/d"), tree.at("b"));
        check_in(
            &tree,
            &tree.root(),
            &[
                ("m/f", text("IN: m/f")),
                ("{R}/m/f", text("IN: m/f")),
                ("l", text("IN: m/f")),
                ("into/f", text("IN: m/f")),
                ("m/up", text("IN: f")),
                ("m/out", outside("m/out")),
                ("m/nope", missing("m/nope")),
                ("m", special("m", "directory")),
                ("g", text("IN: bound")),
                ("b/f", text("IN: bound below")),
            ],
        );
    });
}

#[test]
fn one_file_system_refuses_what_lies_in_another_mount() {
    let tree = Tree::new(&[
        "m/",
        "f",
        "d/f",
        "l -> m/f",
        "into -> m",
        "past -> m/../f",
        "absolute -> {R}/m/f",
        "O/file",
        "g",
        "b/",
        "p|",
        "x -> x",
    ]);
    with_own_mounts(|| {
        tmpfs(tree.at("m"));
        tree.file("m/f", b"OUT: m/f\n");
        bind(tree.at("O/file"), tree.at("g"));
        // Of the same device, and even of the same root.
        bind(tree.at("d"), tree.at("b"));
        let refused =
            ["m/f", "m", "m/nope", "m/f/x", "g", "b/f", "b/nope", "b", "l", "into/f", "into", "past", "absolute"];
        let root = tree.root().one_file_system();
        check_in(&tree, &root, &refused.map(|request| (request, outside(request))));
        check_in(
            &tree,
            &root,
            &[
                ("f", text("IN: f")),
                ("d/f", text("IN: d/f")),
                ("m/../f", text("IN: f")),
                ("nope", missing("nope")),
                ("p", special("p", "FIFO")),
                ("x", too_many_links("x")),
            ],
        );
        assert_eq!(root.open("m/f").unwrap_err().raw_os_error(), None);
    });
}

/// `..` goes up by the way that led down, and never by the place where the mount's own directory lies (row 79).
#[test]
fn a_bind_mount_is_left_to_where_it_is_mounted() {
    let tree =
        Tree::new(&["x", "b/", "d/c/", "O/x", "O/deep/up -> ../x", "O/deep/e/far -> ../../x", "O/deep/out -> ../../x"]);
    with_own_mounts(|| {
        bind(tree.at("O/deep"), tree.at("b"));
        bind(tree.at("O/deep"), tree.at("d/c"));
        check_in(
            &tree,
            &tree.root(),
            &[
                ("b/up", text("IN: x")),
                ("b/e/far", text("IN: x")),
                ("b/out", outside("b/out")),
                ("d/c/up", missing("d/c/up")),
                ("d/c/out", text("IN: x")),
            ],
        );
    });
}

#[test]
fn a_root_may_be_a_mount_of_its_own() {
    let tree = Tree::new(&["f = IN: beneath the mount", "d/"]);
    with_own_mounts(|| {
        let beneath = tree.root();
        tmpfs(tree.path());
        tree.file("f", b"IN: f\n");
        tree.file("d/m/f", b"IN: d/m/f\n");
        symlink(tree.path().join("f"), tree.at("l")).unwrap();
        symlink("..", tree.at("out")).unwrap();
        tmpfs(tree.at("d/m"));
        let root = tree.root();
        let inside = [
            ("f", text("IN: f")),
            ("{R}/f", text("IN: f")),
            ("l", text("IN: f")),
            ("out", outside("out")),
            ("out/elsewhere", outside("out/elsewhere")),
        ];
        check_in(&tree, &root, &inside);
        check_in(&tree, &root.clone().one_file_system(), &inside);
        check_in(&tree, &root.clone().one_file_system(), &[("d/m/f", outside("d/m/f"))]);
        // Who opened the directory before it was mounted over has that directory.
        check_in(&tree, &beneath, &[("f", text("IN: beneath the mount")), ("l", missing("l"))]);
        // Who has a root keeps it, though it is mounted no more.
        umount2(&tree.at("d/m"), MntFlags::MNT_DETACH).unwrap();
        umount2(&tree.path(), MntFlags::MNT_DETACH).unwrap();
        check_in(&tree, &root, &inside);
        check_in(&tree, &root.one_file_system(), &[("d/m/f", text("IN: d/m/f")), ("nope", missing("nope"))]);
        check_in(&tree, &tree.root(), &[("f", text("IN: beneath the mount"))]);
    });
}

#[test]
fn a_mount_that_comes_and_goes_is_what_is_there() {
    let tree = Tree::new(&["d/f", "O/d/f = IN: over it"]);
    with_own_mounts(|| {
        let root = tree.root();
        check_in(&tree, &root, &[("d/f", text("IN: d/f"))]);
        bind(tree.at("O/d"), tree.at("d"));
        check_in(&tree, &root, &[("d/f", text("IN: over it"))]);
        check_in(&tree, &root.clone().one_file_system(), &[("d/f", outside("d/f"))]);
        umount2(&tree.at("d"), MntFlags::MNT_DETACH).unwrap();
        check_in(&tree, &root, &[("d/f", text("IN: d/f"))]);
        check_in(&tree, &root.one_file_system(), &[("d/f", text("IN: d/f"))]);
    });
}

/// The kernel follows no link there, and it knows so only where it follows links itself.
#[test]
fn follows_no_link_of_a_mount_that_forbids_it() {
    let tree = Tree::new(&[
        "m/",
        "b/",
        "f",
        "d/f",
        "d/l -> f",
        "d/out -> ../../elsewhere/s",
        "O/s",
        "into -> m/f",
        "to -> m/l",
    ]);
    with_own_mounts(|| {
        mount_plainly(None, tree.at("m"), Some("tmpfs"), NOSYMFOLLOW, None).unwrap();
        bind(tree.at("d"), tree.at("b"));
        mount_plainly(None, tree.at("b"), None, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | NOSYMFOLLOW, None).unwrap();
        tree.file("m/f", b"IN: m/f\n");
        for (name, target) in [("l", "f"), ("out", "../../elsewhere/s"), ("nope", "nope"), ("e", "."), ("x", "x")] {
            symlink(target, tree.at("m").join(name)).unwrap();
        }
        assert_eq!(fs::read(tree.at("m/l")).unwrap_err().raw_os_error(), Some(Errno::ELOOP as i32));
        assert_eq!(fs::read(tree.at("b/l")).unwrap_err().raw_os_error(), Some(Errno::ELOOP as i32));
        let refused = ["m/l", "m/out", "m/nope", "m/e/f", "m/x", "m/l/", "to", "b/l", "b/out"];
        for request in refused {
            let told = request.trim_end_matches('/');
            check_in(&tree, &tree.root(), &[(request, no_permission(told))]);
        }
        check_in(
            &tree,
            &tree.root(),
            &[
                ("m/f", text("IN: m/f")),
                ("into", text("IN: m/f")),
                ("b/f", text("IN: d/f")),
                // The mount forbids it, not the file system.
                ("d/l", text("IN: d/f")),
                ("d/out", outside("d/out")),
            ],
        );
        let root = root_at(tree.at("m"));
        check_in(&tree, &root, &[("f", text("IN: m/f")), ("l", no_permission("l")), ("out", no_permission("out"))]);
    });
}

#[test]
fn reads_through_an_overlay() {
    let tree = Tree::new(&["m/", "f"]);
    with_own_mounts(|| {
        // An overlay does not take every file system for its upper layer, but it takes this one.
        tmpfs(tree.outside());
        for (name, said) in
            [("f", "IN: below"), ("g", "IN: g"), ("gone", "OUT: gone"), ("d/x", "OUT: x"), ("e/f", "IN: e/f")]
        {
            tree.file(&format!("O/lower/{name}"), said.as_bytes());
        }
        for name in ["upper", "work"] {
            fs::create_dir(tree.at("O/").join(name)).unwrap();
        }
        let layers = tree.fill("lowerdir={O}/lower,upperdir={O}/upper,workdir={O}/work");
        let layers = Some(OsStr::new(&layers));
        mount_plainly(None, tree.at("m"), Some("overlay"), MsFlags::empty(), layers).unwrap();
        let held = tree.root().open("m/f").unwrap();
        tree.file("m/f", b"IN: above\n");
        tree.file("m/new", b"IN: new\n");
        fs::remove_file(tree.at("m/gone")).unwrap();
        fs::remove_dir_all(tree.at("m/d")).unwrap();
        tree.file("m/d/y", b"IN: d/y\n");
        fs::rename(tree.at("m/e/f"), tree.at("m/e/moved")).unwrap();
        for (name, target) in [("l", "f"), ("up", "../f"), ("old", "gone"), ("out", "../../elsewhere/lower/f")] {
            symlink(target, tree.at("m").join(name)).unwrap();
        }
        check_in(
            &tree,
            &tree.root(),
            &[
                ("m/f", text("IN: above")),
                ("m/g", text("IN: g")),
                ("m/new", text("IN: new")),
                ("m/gone", missing("m/gone")),
                ("m/d/x", missing("m/d/x")),
                ("m/d/y", text("IN: d/y")),
                ("m/e/f", missing("m/e/f")),
                ("m/e/moved", text("IN: e/f")),
                ("m/l", text("IN: above")),
                ("m/up", text("IN: f")),
                ("m/old", missing("m/old")),
                ("m/out", outside("m/out")),
            ],
        );
        check_in(&tree, &root_at(tree.at("m")), &[("f", text("IN: above")), ("up", outside("up"))]);
        // What was opened stays what it was.
        assert_eq!(held.size(), 9);
        // What hides a file of the layer below is a device, seen from outside.
        let upper = root_at(tree.at("O/upper"));
        check_in(&tree, &upper, &[("gone", special("gone", "character device")), ("f", text("IN: above"))]);
    });
}

/// What stands where the kernel's own names for handles should be decides nothing (row 12).
#[rstest]
#[case::file("mounts::does_not_believe_a_procfs_that_is_none::case_1_file")]
#[case::link("mounts::does_not_believe_a_procfs_that_is_none::case_2_link")]
#[case::fifo("mounts::does_not_believe_a_procfs_that_is_none::case_3_fifo")]
#[case::directory("mounts::does_not_believe_a_procfs_that_is_none::case_4_directory")]
#[case::nothing("mounts::does_not_believe_a_procfs_that_is_none::case_5_nothing")]
fn does_not_believe_a_procfs_that_is_none(#[case] name: &str) {
    // Each on its own, since a process may keep what it has once opened there.
    alone(name, || {
        let tree = Tree::new(&["f", "d/f", "l -> d/f", "p|", "out -> ../elsewhere/s", "O/s"]);
        with_own_mounts(|| {
            fake_procfs(&tree, name.rsplit_once('_').unwrap().1);
            for _ in 0..2 {
                check_in(
                    &tree,
                    &tree.root(),
                    &[
                        ("f", text("IN: f")),
                        ("d/f", text("IN: d/f")),
                        ("l", text("IN: d/f")),
                        ("p", special("p", "FIFO")),
                        ("out", outside("out")),
                        ("nope", missing("nope")),
                    ],
                );
            }
        });
    });
}

fn fake_procfs(tree: &Tree, kind: &str) {
    tmpfs("/proc");
    let names = Path::new("/proc/self/fd");
    fs::create_dir_all(names).unwrap();
    for number in 0..1024 {
        let name = names.join(number.to_string());
        match kind {
            "file" => fs::write(name, "OUT: fake\n").unwrap(),
            "link" => symlink(tree.at("O/s"), name).unwrap(),
            "fifo" => mknodat(CWD, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            "directory" => fs::create_dir(name).unwrap(),
            _ => {}
        }
    }
}

/// A mount of procfs inside a root brings in links that lead anywhere.
#[test]
fn follows_no_magic_link_of_a_procfs_inside() {
    let tree = Tree::new(&["p/", "f", "to -> p/self/exe", "fd -> p/self/fd", "name -> p/self/comm"]);
    with_own_mounts(|| {
        bind(proc(), tree.at("p"));
        let root = tree.root();
        let number = std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(&root));
        for request in [
            "to",
            "p/self/exe",
            "p/self/root/etc/hostname",
            "p/self/cwd/Cargo.toml",
            "p/thread-self/cwd",
            "p/self/ns/mnt",
            &format!("fd/{number}/f"),
            &format!("p/self/fd/{number}"),
        ] {
            check_in(&tree, &root, &[(request, outside(request))]);
        }
        for request in ["p/self/status", "name"] {
            assert_eq!(root.open(request).unwrap().size(), 0, "{request}");
        }
        let own = root.one_file_system();
        check_in(&tree, &own, &[("p/self/status", outside("p/self/status")), ("name", outside("name"))]);
        check_in(&tree, &own, &[("f", text("IN: f"))]);
    });
}

#[test]
fn needs_no_procfs_in_a_changed_root() {
    alone("mounts::needs_no_procfs_in_a_changed_root", || {
        let tree = Tree::new(&[
            "d/e/f",
            "f",
            "p|",
            "l -> /app/f",
            "m -> d/../f",
            "out -> /elsewhere/s",
            "up -> ../../app/f",
            "O/s",
            "x -> x",
        ]);
        let before = tree.root();
        let top = tree.at("T/");
        on_a_thread(|| {
            let changed = unshare(CloneFlags::CLONE_FS).and_then(|()| chroot(&top));
            let Some(()) = had("the right to change the root", changed) else { return };
            std::env::set_current_dir("/").unwrap();
            assert!(!Path::new("/proc").exists());
            let root = root_at("/app");
            for (root, absolute) in [(&root, "/app/f"), (&before, "{R}/f")] {
                check_in(
                    &tree,
                    root,
                    &[
                        ("f", text("IN: f")),
                        (absolute, text("IN: f")),
                        ("d/e/f", text("IN: d/e/f")),
                        ("m", text("IN: f")),
                        ("p", special("p", "FIFO")),
                        ("out", outside("out")),
                        ("up", outside("up")),
                        ("x", too_many_links("x")),
                        ("nope", missing("nope")),
                        ("../elsewhere/s", outside("../elsewhere/s")),
                    ],
                );
            }
            check_in(&tree, &root, &[("l", text("IN: f")), ("/elsewhere/s", outside("/elsewhere/s"))]);
            // Of the root that was opened before, `/app` is no name.
            check_in(&tree, &before, &[("l", outside("l"))]);
            let count = if mode().asks_the_kernel() { by_the_kernel_then_the_walk(3) } else { by_the_walk(3) };
            assert_eq!(asked(&root, "d/e/f"), count);
        });
    });
}

/// A file system that does not tell `.env` from `.ENV`: NTFS in user space, as Windows has it.
struct CaseInsensitive {
    at: PathBuf,
}

impl CaseInsensitive {
    #[track_caller]
    fn mount(image: &Path, at: PathBuf) -> Option<Self> {
        fs::write(image, vec![0; 4 << 20]).unwrap();
        let run = |program: &str, arguments: &[&OsStr]| {
            let path = std::env::var("PATH").unwrap_or_default() + ":/sbin:/usr/sbin";
            let mut command = Command::new(program);
            command.args(arguments).env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            had("ntfs-3g, for a file system that ignores case", command.status())
        };
        assert!(run("mkntfs", &["-q".as_ref(), "-F".as_ref(), image.as_ref()])?.success());
        // The parent ends when the file system is mounted.
        let mounted = run("lowntfs-3g", &["-o".as_ref(), "ignore_case".as_ref(), image.as_ref(), at.as_ref()])?;
        assert!(mounted.success(), "lowntfs-3g: {mounted}");
        Some(Self { at })
    }
}

impl Drop for CaseInsensitive {
    /// The server lives in these mounts too, and would keep them for ever.
    fn drop(&mut self) {
        umount2(&self.at, MntFlags::MNT_DETACH).unwrap();
    }
}

#[test]
fn a_file_system_that_ignores_case_decides_what_is_the_same() {
    let tree = Tree::new(&["m/", "f", "O/s"]);
    with_own_mounts(|| {
        let Some(_mounted) = CaseInsensitive::mount(&tree.at("T/image"), tree.at("m")) else { return };
        for name in ["m/.env", "m/Dir/File", "m/.git/x"] {
            tree.file(name, format!("IN: {name}\n").as_bytes());
        }
        symlink(".git", tree.at("m/A")).unwrap();
        symlink("../../elsewhere", tree.at("m/B")).unwrap();
        symlink("x", tree.at("m/x")).unwrap();
        let root = tree.root();
        check_in(
            &tree,
            &root,
            &[
                ("m/.env", text("IN: m/.env")),
                ("m/.ENV", text("IN: m/.env")),
                ("m/dIR/fILE", text("IN: m/Dir/File")),
                ("m/a/X", text("IN: m/.git/x")),
                ("m/b/s", outside("m/b/s")),
                ("m/X", too_many_links("m/X")),
            ],
        );
        #[cfg(feature = "policy")]
        {
            let denied = |path: &'static str| (path, crate::support::denied(path));
            let root = root.with_policy(capread::Policy::deny([".env", ".git/"]).unwrap());
            let paths = ["m/.env", "m/.ENV", "m/.Env", "m/.GIT/x", "m/A/x", "m/a/x"];
            check_in(&tree, &root, &paths.map(denied));
            check_in(&tree, &root, &[("m/DIR/file", text("IN: m/Dir/File"))]);
        }
        let output = capread::ReadTool::new(tree.root()).call(&ReadRequest::new("m/DIR/file"), &|| false).unwrap();
        assert_eq!(output.path, Path::new("m/DIR/file"));
    });
}
