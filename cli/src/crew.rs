//! Threads that take turns at the input: whoever takes a job in does it, and reads on. Another takes the input over when that lasts.
//!
//! These are leader and followers (Schmidt and others, "Pattern-Oriented Software Architecture", volume 2), but that no follower is
//! woken for each job: most are done before it would run. So a job costs no switch between threads. One that waits for a disk or for
//! a full pipe, for ever perhaps, keeps nobody from reading on: as long as there is something to do, one of the followers looks
//! every [`TICK`] whether the input lies idle.
//!
//! Most threads do jobs, up to as many as were asked for. One more does those that need not wait for their turn, and yet one more is
//! left to read.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Failure;
use crate::threads::spawn;

/// A job that lasts longer holds the next line up for at most twice this.
const TICK: Duration = Duration::from_millis(1);

/// Threads beside those that do jobs in their turn.
const OTHERS: usize = 2;

/// What the threads do.
pub(crate) trait Work: Send + Sync + 'static {
    type Input: Send;
    type Job: Send;

    /// Waits for the next message, and takes it in. `None` at the end.
    fn hear(&self, input: &mut Self::Input) -> io::Result<Option<Heard<Self::Job>>>;

    /// Whether the next message is there already, so that hearing it waits for nobody.
    fn has_more(&self, input: &Self::Input) -> bool;

    /// Does a job, and writes what comes of it. Fails when nobody takes that any more.
    fn perform(&self, job: Self::Job) -> io::Result<()>;

    /// There is nobody to work for. Jobs may be running.
    fn abandon(&self);
}

/// What a message was.
pub(crate) enum Heard<J> {
    /// To be done in the order of their numbers, each of which is greater than the one before.
    InTurn(u64, J),
    /// To be done at once: it is little, and waits for no file.
    Aside(J),
    /// Of the jobs with these numbers, which need not wait for their turn any more.
    Cancellation(Vec<u64>),
    /// Nothing for these threads.
    Other,
}

/// See the module.
pub(crate) struct Crew<W: Work> {
    work: W,
    state: Mutex<State<W>>,
    /// There is a job to do, an input to take or to look at, or nothing more to come.
    wake: Condvar,
    /// Who looks at the input waits here, so that nobody has to be found for that when one of the others is woken.
    watch: Condvar,
    over: Condvar,
}

struct State<W: Work> {
    /// Most jobs that run in their turn.
    jobs: usize,
    /// Lies here while who read from it does a job.
    input: Option<W::Input>,
    /// Whether it has more: then any thread takes it at once.
    has_more: bool,
    /// How often it was laid down.
    turns: u64,
    /// The turn behind which nothing came for a while, so that nobody looks at the input any more.
    idle_turn: u64,
    /// Whether a thread looks at it.
    is_watched: bool,
    /// By their numbers.
    waiting: BTreeMap<u64, W::Job>,
    /// Those that need not wait for their turn.
    aside: VecDeque<W::Job>,
    running: usize,
    /// How many of those run: none or one.
    running_aside: usize,
    phase: Phase,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// More may come.
    Open,
    /// The input has ended.
    Closed,
    /// There is nobody to work for.
    Abandoned,
}

/// What went wrong.
#[derive(Default)]
struct End {
    input: Option<io::Error>,
    output: Option<io::Error>,
    panic: Option<Box<dyn Any + Send>>,
}

/// What a thread does next.
enum Task<W: Work> {
    Lead(W::Input),
    Perform(W::Job, Place),
}

/// Where a job runs.
#[derive(Clone, Copy)]
enum Place {
    InTurn,
    Aside,
}

impl<W: Work> State<W> {
    fn new() -> Self {
        Self {
            jobs: 0,
            input: None,
            has_more: false,
            turns: 0,
            idle_turn: 0,
            is_watched: false,
            waiting: BTreeMap::new(),
            aside: VecDeque::new(),
            running: 0,
            running_aside: 0,
            phase: Phase::Open,
            end: End::default(),
        }
    }

    /// The next job that may run, which takes its place.
    fn next_job(&mut self) -> Option<(W::Job, Place)> {
        if self.has_job_aside() {
            self.enter(Place::Aside);
            return Some((self.aside.pop_front()?, Place::Aside));
        }
        if self.has_job_in_turn() {
            self.enter(Place::InTurn);
            return Some((self.waiting.pop_first()?.1, Place::InTurn));
        }
        None
    }

    fn has_job_aside(&self) -> bool {
        self.running_aside == 0 && !self.aside.is_empty()
    }

    fn has_job_in_turn(&self) -> bool {
        self.running < self.jobs && !self.waiting.is_empty()
    }

    fn enter(&mut self, place: Place) {
        match place {
            Place::InTurn => self.running += 1,
            Place::Aside => self.running_aside += 1,
        }
    }

    /// Whether a job that comes now may run, before which none waits.
    fn is_free(&self, place: Place) -> bool {
        match place {
            Place::InTurn => self.running < self.jobs && self.waiting.is_empty(),
            Place::Aside => self.running_aside == 0 && self.aside.is_empty(),
        }
    }

    fn leave(&mut self, place: Place) {
        match place {
            Place::InTurn => self.running -= 1,
            Place::Aside => self.running_aside -= 1,
        }
    }

    fn is_input_wanted(&self) -> bool {
        self.has_more && self.input.is_some()
    }

    fn needs_watch(&self) -> bool {
        !self.is_watched && self.turns != self.idle_turn
    }

    /// Whether nothing is left to take up. Jobs may still run.
    fn is_drained(&self) -> bool {
        match self.phase {
            Phase::Open => false,
            Phase::Closed => self.waiting.is_empty() && self.aside.is_empty(),
            Phase::Abandoned => true,
        }
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Abandoned || (self.is_drained() && self.running + self.running_aside == 0)
    }
}

impl<W: Work> Crew<W> {
    /// Starts `jobs` threads and those beside them. Where the machine gives fewer, these do the same work. `first` comes before what
    /// the input has.
    pub(crate) fn start(
        work: W,
        jobs: usize,
        input: W::Input,
        first: Option<(u64, W::Job)>,
    ) -> Result<Arc<Self>, Failure> {
        let state = Mutex::new(State::new());
        let crew = Arc::new(Self { work, state, wake: Condvar::new(), watch: Condvar::new(), over: Condvar::new() });
        let (first_of_all, other) = (Arc::clone(&crew), || {
            let crew = Arc::clone(&crew);
            spawn(move || crew.run(|| {}))
        });
        // No job is taken in before it is known how many there may be.
        let mut state = crew.lock();
        spawn(move || first_of_all.run(|| first_of_all.begin(input, first))).map_err(Failure::Threads)?;
        let others = (1..jobs.saturating_add(OTHERS)).map_while(|_| other().ok()).count();
        state.jobs = (1 + others).saturating_sub(OTHERS).max(1);
        drop(state);
        Ok(crew)
    }

    /// Waits until the input has ended and all jobs are done, or until there is nobody to work for. Threads may still wait for input then.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        let state = self.over.wait_while(self.lock(), |state| !state.is_over());
        let end = std::mem::take(&mut state.unwrap_or_else(PoisonError::into_inner).end);
        if let Some(panic) = end.panic {
            resume_unwind(panic);
        }
        end.output.map_or(Ok(()), |error| Err(Failure::Output(error)))?;
        end.input.map_or(Ok(()), |error| Err(Failure::Input(error)))
    }

    /// Nobody is left to work for.
    pub(crate) fn give_up(&self) {
        self.abandon(|_| {});
    }

    /// What a thread does.
    fn run(&self, begin: impl FnOnce()) {
        let work = || {
            begin();
            while let Some(task) = self.next_task() {
                match task {
                    Task::Lead(input) => self.lead(input),
                    Task::Perform(job, place) => self.perform(job, place),
                }
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.abandon(|end| end.panic = Some(panic));
        }
    }

    fn begin(&self, input: W::Input, first: Option<(u64, W::Job)>) {
        let input = match first {
            Some((number, job)) => self.take_in(Some(number), job, input),
            None => Some(input),
        };
        if let Some(input) = input {
            self.lead(input);
        }
    }

    /// `None` when there is nothing more to come.
    fn next_task(&self) -> Option<Task<W>> {
        let mut state = self.lock();
        loop {
            if state.is_drained() {
                return None;
            }
            if let Some((job, place)) = state.next_job() {
                // Whoever was to look at the input may have taken this up instead, and others may wait for what will not come.
                self.have_watched(&state);
                self.tell_if_drained(&state);
                return Some(Task::Perform(job, place));
            }
            if state.is_input_wanted() {
                self.have_watched(&state);
                return state.input.take().map(Task::Lead);
            }
            if !state.needs_watch() {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let input;
            (state, input) = self.watch(state);
            if let Some(input) = input {
                return Some(Task::Lead(input));
            }
        }
    }

    /// Looks at the input until it has lain for a tick, which gives it to this thread; or until nothing has come for that long, or there
    /// is something else to do.
    fn watch<'a>(&self, mut state: MutexGuard<'a, State<W>>) -> (MutexGuard<'a, State<W>>, Option<W::Input>) {
        state.is_watched = true;
        loop {
            let turn = state.turns;
            let woken = self.watch.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            state = woken.0;
            let is_idle = woken.1.timed_out() && state.turns == turn;
            let is_wanted =
                state.is_drained() || state.has_job_aside() || state.has_job_in_turn() || state.is_input_wanted();
            if is_wanted {
                state.is_watched = false;
                return (state, None);
            }
            if is_idle {
                state.is_watched = false;
                state.idle_turn = turn;
                let input = state.input.take();
                return (state, input);
            }
        }
    }

    /// Reads until the input ends or another thread has taken it over.
    fn lead(&self, mut input: W::Input) {
        loop {
            match self.work.hear(&mut input) {
                Ok(Some(Heard::InTurn(number, job))) => match self.take_in(Some(number), job, input) {
                    Some(same) => input = same,
                    None => return,
                },
                Ok(Some(Heard::Aside(job))) => match self.take_in(None, job, input) {
                    Some(same) => input = same,
                    None => return,
                },
                Ok(Some(Heard::Cancellation(numbers))) => self.withdraw(&numbers),
                Ok(Some(Heard::Other)) => {}
                Ok(None) => return self.close(input, None),
                Err(error) => return self.close(input, Some(error)),
            }
        }
    }

    /// Does the job, or has it wait for those before it: by its number those that have one, else those that have none. The input is
    /// gone when another thread has taken it over.
    fn take_in(&self, number: Option<u64>, job: W::Job, input: W::Input) -> Option<W::Input> {
        let mut state = self.lock();
        if state.phase == Phase::Abandoned {
            return None;
        }
        let place = if number.is_some() { Place::InTurn } else { Place::Aside };
        if state.is_free(place) {
            return self.perform_here(state, job, place, input);
        }
        match number {
            Some(number) => drop(state.waiting.insert(number, job)),
            None => state.aside.push_back(job),
        }
        if state.has_job_in_turn() {
            self.wake.notify_one();
        }
        Some(input)
    }

    /// Does the job, while the input lies where others can take it.
    fn perform_here(
        &self,
        mut state: MutexGuard<'_, State<W>>,
        job: W::Job,
        place: Place,
        input: W::Input,
    ) -> Option<W::Input> {
        state.enter(place);
        state.turns += 1;
        // Who is to take it up may be awake already, at a job.
        state.has_more = state.running < state.jobs && self.work.has_more(&input);
        state.input = Some(input);
        if state.has_more {
            self.wake.notify_one();
        } else {
            self.have_watched(&state);
        }
        drop(state);
        self.perform(job, place);
        let mut state = self.lock();
        // Who has finished a job takes up the next one that waits before it reads more.
        if state.has_job_aside() || state.has_job_in_turn() { None } else { state.input.take() }
    }

    /// Somebody looks at the input, or is woken to do so.
    fn have_watched(&self, state: &State<W>) {
        if state.needs_watch() {
            self.wake.notify_one();
        }
    }

    fn perform(&self, job: W::Job, place: Place) {
        if let Err(error) = self.work.perform(job) {
            self.abandon(|end| end.output = end.output.take().or(Some(error)));
        }
        let mut state = self.lock();
        state.leave(place);
        self.tell_if_over(&state);
    }

    fn withdraw(&self, numbers: &[u64]) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.aside.extend(numbers.iter().filter_map(|number| state.waiting.remove(number)));
        self.wake.notify_one();
    }

    fn close(&self, input: W::Input, error: Option<io::Error>) {
        drop(input);
        let mut state = self.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Closed;
        }
        state.end.input = error;
        self.tell_if_drained(&state);
        self.tell_if_over(&state);
    }

    /// Drops what waits.
    fn abandon(&self, why: impl FnOnce(&mut End)) {
        self.work.abandon();
        let mut state = self.lock();
        why(&mut state.end);
        state.phase = Phase::Abandoned;
        let dropped = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.aside), state.input.take());
        self.tell_if_drained(&state);
        self.tell_if_over(&state);
        drop(state);
        // Not while others wait for the lock.
        drop(dropped);
    }

    fn tell_if_drained(&self, state: &State<W>) {
        if state.is_drained() {
            self.wake.notify_all();
            self.watch.notify_all();
        }
    }

    fn tell_if_over(&self, state: &State<W>) {
        if state.is_over() {
            self.over.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread::sleep;

    use super::*;

    /// What the input of a test has.
    type Said = Heard<Box<dyn FnOnce() -> io::Result<()> + Send>>;

    /// Jobs do what they are.
    #[derive(Default)]
    struct Doing {
        running: AtomicUsize,
        most: AtomicUsize,
        abandoned: AtomicUsize,
    }

    impl Work for Doing {
        type Input = mpsc::Receiver<Said>;
        type Job = Box<dyn FnOnce() -> io::Result<()> + Send>;

        fn hear(&self, input: &mut Self::Input) -> io::Result<Option<Said>> {
            Ok(input.recv().ok())
        }

        fn has_more(&self, _: &Self::Input) -> bool {
            false
        }

        fn perform(&self, job: Self::Job) -> io::Result<()> {
            self.most.fetch_max(1 + self.running.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            let result = job();
            self.running.fetch_sub(1, Ordering::SeqCst);
            result
        }

        fn abandon(&self) {
            self.abandoned.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn crew(jobs: usize) -> (mpsc::Sender<Said>, Arc<Crew<Doing>>) {
        let (sender, input) = mpsc::channel();
        (sender, Crew::start(Doing::default(), jobs, input, None).unwrap())
    }

    fn job(number: u64, work: impl FnOnce() + Send + 'static) -> Said {
        let work = move || {
            work();
            Ok(())
        };
        Heard::InTurn(number, Box::new(work))
    }

    /// A job that lasts until it is told to end, and tells that it runs.
    fn lasting(number: u64) -> (Said, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let ((runs, running), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let work = move || {
            runs.send(()).unwrap();
            let _ = ended.recv();
        };
        (job(number, work), running, end)
    }

    #[test]
    fn does_each_job_once_and_no_more_at_a_time_than_it_may() {
        for jobs in [1, 2, 5] {
            let (sender, crew) = crew(jobs);
            let done = Arc::new(Mutex::new(Vec::new()));
            for number in 0..500_u64 {
                let done = Arc::clone(&done);
                let pause = Duration::from_micros(if number % 50 == 0 { 3000 } else { number % 7 });
                let work = move || {
                    sleep(pause);
                    done.lock().unwrap().push(number);
                };
                sender.send(job(number, work)).unwrap();
            }
            drop(sender);
            assert!(crew.wait().is_ok());
            let mut done = done.lock().unwrap();
            assert!(jobs > 1 || done.is_sorted(), "one at a time is in order");
            done.sort_unstable();
            assert!(done.iter().copied().eq(0..500));
            assert!(crew.work.most.load(Ordering::SeqCst) <= jobs);
        }
    }

    #[test]
    fn jobs_that_last_hold_neither_the_input_nor_others_up() {
        let (sender, crew) = crew(3);
        let lasting = [1, 2].map(|number| {
            let (job, running, end) = lasting(number);
            sender.send(job).unwrap();
            running.recv().unwrap();
            end
        });
        for number in 3..100 {
            let (done, is_done) = mpsc::channel();
            sender.send(job(number, move || done.send(()).unwrap())).unwrap();
            is_done.recv().unwrap();
        }
        assert_eq!(crew.work.most.load(Ordering::SeqCst), 3);
        drop((lasting, sender));
        assert!(crew.wait().is_ok());
    }

    #[test]
    fn jobs_that_are_cancelled_or_aside_wait_for_no_other() {
        let (sender, crew) = crew(1);
        let (first, running, end) = lasting(1);
        sender.send(first).unwrap();
        running.recv().unwrap();
        let (done, is_done) = mpsc::channel();
        let told = |number: u64| {
            let done = done.clone();
            move || done.send(number).unwrap()
        };
        (2..6).for_each(|number| sender.send(job(number, told(number))).unwrap());
        sleep(20 * TICK);
        assert_eq!(is_done.try_recv(), Err(mpsc::TryRecvError::Empty), "they wait for their turn");
        // One that runs, and one that there is not.
        sender.send(Heard::Cancellation(vec![1, 3, 5, 7])).unwrap();
        assert_eq!([(); 2].map(|()| is_done.recv().unwrap()), [3, 5]);
        for number in 10..20 {
            let told = told(number);
            let work = move || {
                told();
                Ok(())
            };
            sender.send(Heard::Aside(Box::new(work))).unwrap();
        }
        assert!((10..20).all(|number| is_done.recv() == Ok(number)));
        drop((end, sender));
        assert!(crew.wait().is_ok());
        assert_eq!([(); 2].map(|()| is_done.recv().unwrap()), [2, 4]);
    }

    #[test]
    fn a_failure_ends_it_though_nothing_ends_the_input() {
        let (sender, crew) = crew(2);
        sender.send(Heard::InTurn(1, Box::new(|| Err(io::ErrorKind::StorageFull.into())))).unwrap();
        assert!(matches!(crew.wait(), Err(Failure::Output(error)) if error.kind() == io::ErrorKind::StorageFull));
        assert_eq!(crew.work.abandoned.load(Ordering::SeqCst), 1);
        drop(sender);
    }

    #[test]
    #[should_panic(expected = "as the test wants it")]
    fn a_panic_ends_it_and_goes_on_where_it_is_waited_for() {
        let (sender, crew) = crew(2);
        sender.send(job(1, || panic!("as the test wants it"))).unwrap();
        let _ = crew.wait();
    }
}
