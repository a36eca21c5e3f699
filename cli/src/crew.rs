//! Threads that take turns at the input: whoever takes a job in does it, and reads on. Another takes the input over when that lasts.
//!
//! These are leader and followers (Schmidt and others, "Pattern-Oriented Software Architecture", volume 2), but that no follower is
//! woken for each job: most are done before it would run. So a job costs no switch between threads. One that waits for a disk or for
//! a full pipe, for ever perhaps, keeps nobody from reading on: as long as there is something to do, one of the followers looks
//! every [`TICK`] whether the input lies idle.
//!
//! Most threads do jobs, up to as many as were asked for. One more does those that were cancelled before their turn, and yet one
//! more is left to read.

use std::any::Any;
use std::collections::VecDeque;
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

    /// Whether a job is not to wait for its turn any more.
    fn is_cancelled(&self, job: &Self::Job) -> bool;

    /// Does a job, and writes what comes of it. Fails when nobody takes that any more.
    fn perform(&self, job: Self::Job) -> io::Result<()>;

    /// There is nobody to work for. Jobs may be running.
    fn abandon(&self);
}

/// What a message was.
pub(crate) enum Heard<J> {
    Job(J),
    /// Of jobs that may wait for their turn.
    Cancellation,
    /// Nothing for these threads.
    Other,
}

/// See the module.
pub(crate) struct Crew<W: Work> {
    work: W,
    state: Mutex<State<W>>,
    /// There is a job to do, an input to look at, or nothing more to come.
    wake: Condvar,
    over: Condvar,
}

struct State<W: Work> {
    /// Most jobs that run in their turn.
    jobs: usize,
    /// Lies here while who read from it does a job.
    input: Option<W::Input>,
    /// How often it was laid down.
    turns: u64,
    /// Whether a thread looks at it.
    is_watched: bool,
    /// In the order in which they were read.
    waiting: VecDeque<W::Job>,
    /// Those that were cancelled while they waited.
    cancelled: VecDeque<W::Job>,
    running: usize,
    /// Whether a cancelled one runs.
    runs_aside: bool,
    /// Whether the input has ended.
    is_closed: bool,
    /// Whether there is nobody to work for.
    is_abandoned: bool,
    end: End,
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
    fn new(first: Option<W::Job>) -> Self {
        Self {
            // Not before it is known how many threads there are.
            jobs: 0,
            input: None,
            turns: 0,
            is_watched: false,
            waiting: first.into_iter().collect(),
            cancelled: VecDeque::new(),
            running: 0,
            runs_aside: false,
            is_closed: false,
            is_abandoned: false,
            end: End::default(),
        }
    }

    /// The next job that may run, which takes its place.
    fn next_job(&mut self) -> Option<(W::Job, Place)> {
        if !self.runs_aside {
            if let Some(job) = self.cancelled.pop_front() {
                self.runs_aside = true;
                return Some((job, Place::Aside));
            }
        }
        if self.running < self.jobs {
            let job = self.waiting.pop_front()?;
            self.running += 1;
            return Some((job, Place::InTurn));
        }
        None
    }

    fn has_job(&self) -> bool {
        (!self.runs_aside && !self.cancelled.is_empty()) || (self.running < self.jobs && !self.waiting.is_empty())
    }

    fn leave(&mut self, place: Place) {
        match place {
            Place::InTurn => self.running -= 1,
            Place::Aside => self.runs_aside = false,
        }
    }

    /// Whether nothing is left to take up. Jobs may still run.
    fn is_drained(&self) -> bool {
        self.is_abandoned || (self.is_closed && self.waiting.is_empty() && self.cancelled.is_empty())
    }

    fn is_over(&self) -> bool {
        self.is_abandoned || (self.is_drained() && self.running == 0 && !self.runs_aside)
    }
}

impl<W: Work> Crew<W> {
    /// Starts `jobs` threads and those beside them. Where the machine gives fewer, these do the same work. `first` comes before what
    /// the input has.
    pub(crate) fn start(work: W, jobs: usize, input: W::Input, first: Option<W::Job>) -> Result<Arc<Self>, Failure> {
        let state = Mutex::new(State::new(first));
        let crew = Arc::new(Self { work, state, wake: Condvar::new(), over: Condvar::new() });
        let start = |input| {
            let crew = Arc::clone(&crew);
            spawn(move || crew.run(input))
        };
        start(Some(input)).map_err(Failure::Threads)?;
        let others = (1..jobs.saturating_add(OTHERS)).map_while(|_| start(None).ok()).count();
        crew.lock().jobs = (1 + others).saturating_sub(OTHERS).max(1);
        crew.wake.notify_all();
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

    fn run(&self, input: Option<W::Input>) {
        let work = || {
            if let Some(input) = input {
                self.lead(input);
            }
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
            if state.is_watched || state.input.is_none() {
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

    /// Looks at the input until it has lain for a tick, which gives it to this thread; or until somebody waited in it for that long, or
    /// there is something else to do.
    fn watch<'a>(&self, mut state: MutexGuard<'a, State<W>>) -> (MutexGuard<'a, State<W>>, Option<W::Input>) {
        state.is_watched = true;
        loop {
            let turn = state.turns;
            let woken = self.wake.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            state = woken.0;
            let is_idle = woken.1.timed_out() && state.turns == turn;
            let is_wanted = state.is_drained() || state.has_job();
            if is_idle || is_wanted {
                state.is_watched = false;
                let input = if is_wanted { None } else { state.input.take() };
                return (state, input);
            }
        }
    }

    /// Reads until the input ends or another thread has taken it over.
    fn lead(&self, mut input: W::Input) {
        loop {
            match self.work.hear(&mut input) {
                Ok(Some(Heard::Job(job))) => match self.take_in(job, input) {
                    Some(same) => input = same,
                    None => return,
                },
                Ok(Some(Heard::Cancellation)) => self.withdraw(),
                Ok(Some(Heard::Other)) => {}
                Ok(None) => return self.close(input, None),
                Err(error) => return self.close(input, Some(error)),
            }
        }
    }

    /// Does the job, or has it wait for its turn. The input is gone when another thread has taken it over.
    fn take_in(&self, job: W::Job, input: W::Input) -> Option<W::Input> {
        let mut state = self.lock();
        if state.is_abandoned {
            return None;
        }
        if state.running == state.jobs || !state.waiting.is_empty() {
            state.waiting.push_back(job);
            if state.running < state.jobs {
                self.wake.notify_one();
            }
            return Some(input);
        }
        state.running += 1;
        state.turns += 1;
        state.input = Some(input);
        self.have_watched(&state);
        drop(state);
        self.perform(job, Place::InTurn);
        self.lock().input.take()
    }

    /// Somebody looks at the input, or is woken to do so.
    fn have_watched(&self, state: &State<W>) {
        if state.input.is_some() && !state.is_watched {
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

    /// Jobs that were cancelled need not wait for their turn.
    fn withdraw(&self) {
        let mut state = self.lock();
        let waiting = std::mem::take(&mut state.waiting).into_iter();
        let (mut cancelled, waiting): (VecDeque<_>, _) = waiting.partition(|job| self.work.is_cancelled(job));
        state.waiting = waiting;
        state.cancelled.append(&mut cancelled);
        self.wake.notify_one();
    }

    fn close(&self, input: W::Input, error: Option<io::Error>) {
        drop(input);
        let mut state = self.lock();
        state.is_closed = true;
        state.end.input = error;
        self.tell_if_drained(&state);
        self.tell_if_over(&state);
    }

    /// Drops what waits.
    fn abandon(&self, why: impl FnOnce(&mut End)) {
        let mut state = self.lock();
        why(&mut state.end);
        state.is_abandoned = true;
        let dropped = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.cancelled), state.input.take());
        self.wake.notify_all();
        self.over.notify_all();
        drop(state);
        // Not while others wait for the lock.
        drop(dropped);
        self.work.abandon();
    }

    fn tell_if_drained(&self, state: &State<W>) {
        if state.is_drained() {
            self.wake.notify_all();
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
