//! Sending on the thread that has something to send. A connection's own thread may sleep, and would have to wake up first.

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

/// Most turns of tasks in one call of [`send_at_once`]. A short message takes two: the stream's, and the connection's.
const MOST_TURNS: usize = 8;

thread_local! {
    /// Tasks that were woken on this thread and are to run on it, in that order.
    static WOKEN: RefCell<Option<VecDeque<Arc<Task>>>> = const { RefCell::new(None) };
}

/// Calls, and runs the tasks of gRPC's connections that the call wakes. What cannot go on at once, or has more to do, is left to
/// the connection's own thread. It is for threads that belong to no runtime.
pub fn send_at_once<R>(call: impl FnOnce() -> R) -> R {
    if WOKEN.with_borrow(Option::is_some) {
        return call();
    }
    WOKEN.set(Some(VecDeque::new()));
    let _rest = Rest;
    let outcome = call();
    for _ in 0..MOST_TURNS {
        let next = WOKEN.with_borrow_mut(|woken| woken.as_mut().and_then(VecDeque::pop_front));
        let Some(task) = next else { break };
        task.run_here();
    }
    outcome
}

/// What is left is for the tasks' owners, after a panic too.
struct Rest;

impl Drop for Rest {
    fn drop(&mut self) {
        WOKEN.take().into_iter().flatten().for_each(|task| task.wake_owner());
    }
}

/// Spawns tasks that [`send_at_once`] can run.
pub(crate) struct Spawner(pub(crate) Handle);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Executor<Work> for Spawner {
    fn execute(&self, work: Work) {
        let (work, runtime) = (Mutex::new(Some(work)), self.0.clone());
        self.0.spawn(Owner(Arc::new(Task { work, runtime, owner: OnceLock::new() })));
    }
}

/// What is to be done, until it is done or its runtime ends.
struct Task {
    work: Mutex<Option<Work>>,
    runtime: Handle,
    /// Wakes the owner, once that has had a turn.
    owner: OnceLock<Waker>,
}

/// Runs a task on a thread of its runtime.
struct Owner(Arc<Task>);

impl Future for Owner {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The same in each turn.
        self.0.owner.get_or_init(|| context.waker().clone());
        // Who runs it elsewhere is done in a moment.
        self.0.run(&mut self.0.work.lock())
    }
}

impl Drop for Owner {
    /// The work may hold what keeps the task's wakers, and so itself.
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

    /// A turn on this thread, unless it has one at its owner. It is no longer than a turn there: `block_on` gives it the same budget.
    fn run_here(self: Arc<Self>) {
        let turn = || Poll::Ready(self.work.try_lock().map(|mut work| self.run(&mut work)));
        let turn = AssertUnwindSafe(|| self.runtime.block_on(poll_fn(|_| turn())));
        match catch_unwind(turn) {
            Ok(Some(Poll::Pending)) => {}
            Ok(_) => self.wake_owner(),
            Err(panic) => {
                // As a runtime does with a task that panics.
                let work = self.work.lock().take();
                drop(work);
                self.wake_owner();
                resume_unwind(panic)
            }
        }
    }

    fn wake_owner(&self) {
        // Before it has had one, its first turn is still to come.
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
        let here = WOKEN.try_with(|woken| {
            let mut woken = woken.borrow_mut();
            let Some(woken) = woken.as_mut() else { return false };
            if !woken.iter().any(|task| Arc::ptr_eq(task, self)) {
                woken.push_back(self.clone());
            }
            true
        });
        // A thread that ends can keep nothing.
        if !here.unwrap_or(false) {
            self.wake_owner();
        }
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

    /// A task that counts what it receives.
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
        // Nobody drives the runtime now.
        send_at_once(|| sender.try_send(())).unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 1);
        send_at_once(|| send_at_once(|| sender.try_send(()))).unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2);
        sender.try_send(()).unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2, "it is the owner's");
        owner_runs();
        assert_eq!(count.load(Ordering::SeqCst), 3);
        let panics = || send_at_once(|| sender.try_send(()).map(|()| panic!("on purpose")));
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
        let sends = || send_at_once(|| sender.try_send(()));
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
                        if plain { send() } else { send_at_once(send) }
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
        send_at_once(|| waker.wake_by_ref());
        assert_eq!(turns.load(Ordering::SeqCst), 1 + MOST_TURNS);
        runtime.block_on(async { tokio::task::yield_now().await });
        assert!(turns.load(Ordering::SeqCst) > 1 + MOST_TURNS, "its owner goes on");
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
        send_at_once(|| waker.wake_by_ref());
    }
}
