//! A plug-in in this process: it records its calls, and misbehaves as a test requires.

use std::{
    alloc::{Layout, alloc, dealloc},
    cell::{Cell, RefCell},
    collections::HashMap,
    ffi::{CStr, c_char, c_void},
    ptr, slice,
    sync::{Barrier, LazyLock},
};

use crate::abi::{self, Device, Engine, ModelSettings, Status, Tensor, Text};

/// Fault that a test makes the plug-in show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// A call fails with this status and this text, to which the plug-in adds no final zero.
    Fails(Status, &'static str),
    /// A call succeeds and returns null.
    GivesNull,
    /// `allocate` returns memory that is not aligned.
    Misaligned,
    /// `wait` waits at [`GATE`] until the test arrives there, and once more before it returns.
    Waits,
}

/// Gate at which the only test with [`Fault::Waits`] meets the waiting thread.
pub(super) static GATE: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(2));

thread_local! {
    /// Table that the exported function returns. Each test has its own thread.
    pub(super) static TABLE: Cell<*const Engine> = const { Cell::new(ptr::null()) };
    pub(super) static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
    pub(super) static IN_FLIGHT: Cell<u32> = const { Cell::new(2) };
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static MEMORY: RefCell<HashMap<usize, Layout>> = RefCell::new(HashMap::new());
}

pub(super) fn note(call: impl Into<String>) {
    CALLS.with_borrow_mut(|calls| calls.push(call.into()));
}

/// Returns the calls that were recorded since this function last ran.
pub(super) fn calls() -> Vec<String> {
    CALLS.take()
}

/// Returns the number of allocations that were not released.
pub(super) fn allocated() -> usize {
    MEMORY.with_borrow(HashMap::len)
}

/// Returns the status of a call under the fault that the test has set. If the call succeeds,
/// `succeed` writes its result.
pub(super) fn outcome(error: Text, succeed: impl FnOnce()) -> Status {
    match FAULT.get() {
        Fault::Fails(status, text) => {
            // SAFETY: the node passes room for that many bytes.
            let room = unsafe { slice::from_raw_parts_mut(error.at, error.room as usize) };
            room.fill(b'.' as c_char);
            for (place, byte) in room.iter_mut().zip(text.bytes()) {
                *place = byte as c_char;
            }
            if text.is_empty() {
                room.fill(0);
            }
            status
        }
        Fault::GivesNull => abi::OK,
        _ => {
            succeed();
            abi::OK
        }
    }
}

/// Returns a text that the node has passed.
pub(super) unsafe fn text(at: *const c_char) -> String {
    // SAFETY: the node's texts end with zero.
    unsafe { CStr::from_ptr(at) }.to_str().expect("UTF-8").into()
}

pub(super) unsafe extern "C" fn entry(_abi: u32) -> *const Engine {
    TABLE.get()
}

unsafe extern "C" fn devices(
    devices: *mut Device,
    room: u32,
    count: *mut u32,
    error: Text,
) -> Status {
    outcome(error, || {
        // SAFETY: the node passes room for that many devices and for their number.
        let devices = unsafe { slice::from_raw_parts_mut(devices, room as usize) };
        devices[0].name.fill(b'x' as c_char);
        devices[1].name[..3].copy_from_slice(&[b'a' as c_char, -1, 0]);
        devices[1].usable = 1;
        devices[2].usable = abi::NEW_SIZES_STALL;
        devices[3].usable = abi::USABLE | abi::NEW_SIZES_STALL;
        // SAFETY: as above.
        unsafe { *count = u32::MAX };
    })
}

/// A model that keeps the node's settings, and reads them again when it is unloaded.
struct FakeModel(ModelSettings);

impl FakeModel {
    fn said(&self) -> String {
        let settings = &self.0;
        // SAFETY: strings and specs live until unload.
        unsafe {
            let specs = slice::from_raw_parts(settings.inputs, settings.input_count as usize);
            let specs: Vec<_> = specs
                .iter()
                .map(|spec| format!("{}{:?}", text(spec.name), &spec.shape[..spec.rank as usize]))
                .collect();
            let [path, device, precision] =
                [settings.path, settings.device, settings.precision].map(|at| text(at));
            format!("{path} {device} {precision} {}", specs.join(" "))
        }
    }
}

unsafe extern "C" fn load(
    settings: *const ModelSettings,
    model: *mut *mut abi::Model,
    error: Text,
) -> Status {
    outcome(error, || {
        // SAFETY: the node's settings; a copy keeps their pointers.
        let loaded = FakeModel(unsafe { ptr::read(settings) });
        note(format!("load {}", loaded.said()));
        // SAFETY: the node's pointer for the model.
        unsafe { *model = Box::into_raw(Box::new(loaded)).cast() };
    })
}

unsafe extern "C" fn unload(model: *mut abi::Model) {
    // SAFETY: the pointer is from `load`.
    let model = unsafe { Box::from_raw(model.cast::<FakeModel>()) };
    note(format!("unload {}", model.said()));
}

unsafe extern "C" fn open(
    _model: *mut abi::Model,
    instance: *mut *mut abi::Instance,
    error: Text,
) -> Status {
    outcome(error, || {
        note("open");
        // SAFETY: the node's pointer for the instance.
        unsafe { *instance = Box::into_raw(Box::new(7_u8)).cast() };
    })
}

unsafe extern "C" fn close(instance: *mut abi::Instance) {
    note("close");
    // SAFETY: the pointer is from `open`.
    drop(unsafe { Box::from_raw(instance.cast::<u8>()) });
}

unsafe extern "C" fn in_flight(_instance: *const abi::Instance) -> u32 {
    IN_FLIGHT.get()
}

unsafe extern "C" fn allocate(
    _instance: *mut abi::Instance,
    bytes: u64,
    memory: *mut *mut c_void,
    error: Text,
) -> Status {
    outcome(error, || {
        let layout = Layout::from_size_align(bytes as usize + 1, 64).expect("a layout");
        let off = usize::from(FAULT.get() == Fault::Misaligned);
        // SAFETY: the layout is not empty, and one byte longer than asked for.
        let given = unsafe { alloc(layout).add(off) };
        MEMORY.with_borrow_mut(|memory| memory.insert(given as usize, layout));
        // SAFETY: the node's pointer for the memory.
        unsafe { *memory = given.cast() };
    })
}

unsafe extern "C" fn release(_instance: *mut abi::Instance, memory: *mut c_void) {
    note("release");
    let layout = MEMORY.with_borrow_mut(|known| known.remove(&(memory as usize)));
    let layout = layout.expect("memory of this plug-in, released once");
    // SAFETY: it was allocated with this layout, whose alignment determines its start.
    unsafe { dealloc((memory as usize & !63) as *mut u8, layout) };
}

unsafe extern "C" fn warm_up(
    _instance: *mut abi::Instance,
    inputs: *const Tensor,
    input_count: u32,
    _outputs: *const Tensor,
    output_count: u32,
    error: Text,
) -> Status {
    outcome(error, || {
        // SAFETY: the node passes that many.
        let inputs = unsafe { slice::from_raw_parts(inputs, input_count as usize) };
        let shapes: Vec<_> = inputs
            .iter()
            .map(|input| format!("{:?}={}", &input.shape[..input.rank as usize], input.bytes))
            .collect();
        note(format!("warm_up {} to {output_count}", shapes.join(" ")));
    })
}

unsafe extern "C" fn begin(
    _instance: *mut abi::Instance,
    slot: u32,
    inputs: *const Tensor,
    _input_count: u32,
    outputs: *const Tensor,
    _output_count: u32,
    error: Text,
) -> Status {
    outcome(error, || {
        note(format!("begin {slot}"));
        // SAFETY: one input and one output of the same length, as the tests have them.
        unsafe {
            let (input, output) = (&*inputs, &*outputs);
            ptr::copy_nonoverlapping(
                input.data.cast::<u8>(),
                output.data.cast::<u8>(),
                input.bytes as usize,
            );
        }
    })
}

unsafe extern "C" fn finish(_instance: *mut abi::Instance, slot: u32, error: Text) -> Status {
    note(format!("finish {slot}"));
    outcome(error, || ())
}

unsafe extern "C" fn wait(_instance: *mut abi::Instance, slot: u32, error: Text) -> Status {
    note(format!("wait {slot}"));
    if FAULT.get() == Fault::Waits {
        GATE.wait();
        GATE.wait();
    }
    outcome(error, || ())
}

/// Returns a table with all functions.
pub(super) fn table() -> Engine {
    Engine {
        abi: abi::ABI,
        size: size_of::<Engine>() as u32,
        tensor_size: size_of::<Tensor>() as u32,
        reserved: 0,
        name: c"fake".as_ptr(),
        version: c"fake 1".as_ptr(),
        devices: Some(devices),
        load: Some(load),
        unload: Some(unload),
        open: Some(open),
        close: Some(close),
        in_flight: Some(in_flight),
        allocate: Some(allocate),
        release: Some(release),
        warm_up: Some(warm_up),
        begin: Some(begin),
        finish: Some(finish),
        tokens: ptr::null(),
        wait: Some(wait),
    }
}
