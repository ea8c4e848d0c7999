//! Inline polls: a thread that passes a message to a gRPC connection also runs the connection's
//! tasks, and so sends the message at once. Otherwise the connection's own thread would send it;
//! that thread may sleep, and waking it takes time. Busy polling keeps it from sleeping.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Wake, Waker},
};

use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::runtime::Handle;

/// Maximum number of polls in one call of [`poll_inline`]. A short message needs two: one of the
/// stream and one of the connection.
const MOST_TURNS: usize = 8;

thread_local! {
    /// Tasks that were woken on this thread and will be polled on it, in this order; `None` outside
    /// [`poll_inline`].
    static READY: RefCell<Option<VecDeque<Arc<Task>>>> = const { RefCell::new(None) };
}

/// Runs `call`, polls the tasks of gRPC connections that `call` wakes, and returns the result of
/// `call`. A task that another thread polls, or that still has work after a few polls, is left to
/// the connection's own thread. Only for threads that belong to no runtime.
pub fn poll_inline<R>(call: impl FnOnce() -> R) -> R {
    if READY.with_borrow(Option::is_some) {
        return call();
    }
    READY.set(Some(VecDeque::new()));
    let _rest = DeferredTasks;
    let outcome = call();
    for _ in 0..MOST_TURNS {
        let next = READY.with_borrow_mut(|woken| woken.as_mut().and_then(VecDeque::pop_front));
        let Some(task) = next else { break };
        task.run_here();
    }
    outcome
}

/// Guard that wakes the owners of the remaining tasks when it is dropped, also after a panic.
struct DeferredTasks;

impl Drop for DeferredTasks {
    fn drop(&mut self) {
        READY.take().into_iter().flatten().for_each(|task| task.wake_owner());
    }
}

/// Executor for hyper. Its tasks run on the runtime, and [`poll_inline`] can poll them too.
#[derive(Clone)]
pub(crate) struct Spawner(pub(crate) Handle);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Spawner {
    fn execute(&self, work: F) {
        let work: Work = Box::pin(work);
        let (work, runtime) = (Mutex::new(Some(work)), self.0.clone());
        self.0.spawn(Owner(Arc::new(Task { work, runtime, owner: OnceLock::new() })));
    }
}

/// Task of a gRPC connection. Holds its work until the work is complete or the runtime ends.
struct Task {
    work: Mutex<Option<Work>>,
    runtime: Handle,
    /// Waker of the task's [`Owner`], from the owner's first poll on.
    owner: OnceLock<Waker>,
}

/// Future that owns a task and polls it on a thread of the task's runtime.
struct Owner(Arc<Task>);

impl Future for Owner {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The waker is the same at each poll.
        self.0.owner.get_or_init(|| context.waker().clone());
        // If another thread polls the task now, it finishes soon.
        self.0.run(&mut self.0.work.lock())
    }
}

impl Drop for Owner {
    /// Drops the work, which may hold the task's wakers and so the task itself.
    fn drop(&mut self) {
        let work = self.0.work.lock().take();
        drop(work);
    }
}

impl Task {
    fn run(self: &Arc<Self>, work: &mut Option<Work>) -> Poll<()> {
        let Some(future) = work else { return Poll::Ready(()) };
        let waker = Waker::from(self.clone());
        let turn = future.as_mut().poll(&mut Context::from_waker(&waker));
        if turn.is_ready() {
            *work = None;
        }
        turn
    }

    /// Polls the task on this thread, unless its owner polls it now. The poll lasts no longer than
    /// a poll by the owner: `block_on` limits both with the same budget.
    fn run_here(self: Arc<Self>) {
        let turn = || Poll::Ready(self.work.try_lock().map(|mut work| self.run(&mut work)));
        let turn = AssertUnwindSafe(|| self.runtime.block_on(poll_fn(|_| turn())));
        match catch_unwind(turn) {
            Ok(Some(Poll::Pending)) => {}
            Ok(_) => self.wake_owner(),
            Err(panic) => {
                // A runtime also drops a task that panics.
                let work = self.work.lock().take();
                drop(work);
                self.wake_owner();
                resume_unwind(panic)
            }
        }
    }

    fn wake_owner(&self) {
        // An owner without a waker was not polled yet, and its first poll runs the task.
        if let Some(owner) = self.owner.get() {
            owner.wake_by_ref();
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let here = READY.try_with(|woken| {
            let mut woken = woken.borrow_mut();
            let Some(woken) = woken.as_mut() else { return false };
            if !woken.iter().any(|task| Arc::ptr_eq(task, self)) {
                woken.push_back(self.clone());
            }
            true
        });
        // A thread that is ending has no list of tasks.
        if !here.unwrap_or(false) {
            self.wake_owner();
        }
    }
}

/// Keeps the runtime's thread from sleeping: when idle, it polls the sockets continuously. A
/// sleeping thread needs about ten microseconds to wake; a polling thread uses a whole core.
pub async fn busy_poll() -> std::convert::Infallible {
    loop {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicUsize, Ordering},
        thread,
        time::Duration,
    };

    use tokio::{runtime::Builder, sync::mpsc, time::timeout};

    use super::*;

    /// Spawns a task that counts the messages it receives. Returns the sender of the messages, and
    /// the count.
    fn counting(runtime: &Handle) -> (mpsc::Sender<()>, Arc<AtomicUsize>) {
        let (sender, mut receiver) = mpsc::channel(100_000);
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        Spawner(runtime.clone()).execute(Box::pin(async move {
            while receiver.recv().await.is_some() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }));
        (sender, count)
    }

    #[test]
    fn what_a_call_wakes_runs_on_its_thread_and_nothing_else_does() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (sender, count) = counting(runtime.handle());
        let owner_runs = || runtime.block_on(async { tokio::task::yield_now().await });
        owner_runs();
        // The runtime is not running now.
        poll_inline(|| sender.try_send(())).unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 1);
        poll_inline(|| poll_inline(|| sender.try_send(()))).unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2);
        sender.try_send(()).unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2, "its owner has to run it");
        owner_runs();
        assert_eq!(count.load(Ordering::SeqCst), 3);
        let panics = || poll_inline(|| sender.try_send(()).map(|()| panic!("on purpose")));
        catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        owner_runs();
        assert_eq!(count.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn a_task_that_panics_here_is_over() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (sender, mut receiver) = mpsc::channel(100_000);
        let held = Arc::new(());
        let holds = held.clone();
        Spawner(runtime.handle().clone()).execute(Box::pin(async move {
            let _holds = holds;
            receiver.recv().await;
            panic!("on purpose");
        }));
        runtime.block_on(async { tokio::task::yield_now().await });
        let sends = || poll_inline(|| sender.try_send(()));
        let panic = catch_unwind(AssertUnwindSafe(sends)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert_eq!(Arc::strong_count(&held), 1);
        runtime.block_on(async { tokio::task::yield_now().await });
        sender.try_send(()).unwrap_err();
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        const EACH: usize = 20_000;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (sender, count) = counting(runtime.handle());
        thread::scope(|threads| {
            for plain in [false, false, true] {
                let sender = sender.clone();
                threads.spawn(move || {
                    for _ in 0..EACH {
                        let send = || sender.try_send(()).unwrap();
                        if plain { send() } else { poll_inline(send) }
                    }
                });
            }
        });
        let all = async {
            while count.load(Ordering::SeqCst) < 3 * EACH {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let all = async { timeout(Duration::from_secs(30), all).await };
        runtime.block_on(all).expect("all of them");
        assert_eq!(count.load(Ordering::SeqCst), 3 * EACH);
    }

    #[test]
    fn a_task_that_never_rests_is_left_to_its_owner() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let turns = Arc::new(AtomicUsize::new(0));
        let (counted, kept) = (turns.clone(), Arc::new(OnceLock::new()));
        let keep = kept.clone();
        Spawner(runtime.handle().clone()).execute(Box::pin(poll_fn(move |context| {
            keep.get_or_init(|| context.waker().clone());
            if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })));
        runtime.block_on(async { tokio::task::yield_now().await });
        let waker: &Waker = kept.get().unwrap();
        poll_inline(|| waker.wake_by_ref());
        assert_eq!(turns.load(Ordering::SeqCst), 1 + MOST_TURNS);
        runtime.block_on(async { tokio::task::yield_now().await });
        assert!(turns.load(Ordering::SeqCst) > 1 + MOST_TURNS, "its owner continues");
    }

    #[test]
    fn a_runtime_that_ends_drops_its_tasks_though_their_wakers_are_kept() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (held, kept) = (Arc::new(()), Arc::new(OnceLock::new()));
        let (holds, keep) = (held.clone(), kept.clone());
        Spawner(runtime.handle().clone()).execute(Box::pin(async move {
            let _holds = holds;
            poll_fn(|context| {
                keep.get_or_init(|| context.waker().clone());
                Poll::Ready(())
            })
            .await;
            pending::<()>().await;
        }));
        runtime.block_on(async { tokio::task::yield_now().await });
        let waker: &Waker = kept.get().unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
        drop(runtime);
        assert_eq!(Arc::strong_count(&held), 1);
        poll_inline(|| waker.wake_by_ref());
    }
}
