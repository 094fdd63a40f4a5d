//! The tables of functions that a JVM gives to native libraries: JNI, JVMTI and the invocation interface.
//!
//! Invariants: a function is called by the number that it has in the headers of OpenJDK 17 (`jni.h` counts from 0, `jvmti.h` from 1), and with the type that stands there.
//! An error of JNI leaves no exception behind.
//! Source: the Java Native Interface specification and the JVM Tool Interface, version 17.

use std::ffi::{CStr, c_char, c_void};

/// A reference to a Java object, local, global or weak.
pub type Object = *mut c_void;
/// The id of a field.
pub type Field = *mut c_void;
type Table = *mut *const *const c_void;

const JNI_VERSION: i32 = 0x0001_0008;
const JVMTI_VERSION: i32 = 0x3001_0200;
/// `can_tag_objects` and `can_suspend`.
const TAG: u32 = 1;
const SUSPEND: u32 = 1 << 20;
const THREAD_START: i32 = 52;

/// A virtual machine.
#[derive(Clone, Copy)]
pub struct Vm(Table);
// SAFETY: the specification allows the invocation interface to be used by every thread.
unsafe impl Send for Vm {}
// SAFETY: likewise.
unsafe impl Sync for Vm {}

/// JNI for one thread that is attached.
#[derive(Clone, Copy)]
pub struct Jni(Table);

/// An environment of JVMTI: capabilities and tags of its own.
#[derive(Clone, Copy)]
pub struct Tools(Table);
// SAFETY: the specification allows an environment to be used by every attached thread.
unsafe impl Send for Tools {}
// SAFETY: likewise.
unsafe impl Sync for Tools {}

/// The callback of a heap walk.
pub type OnReference = extern "C" fn(i32, *const c_void, i64, i64, i64, *mut i64, *mut i64, i32, *mut c_void) -> i32;

/// The callback of a visit to each object.
pub type OnObject = extern "C" fn(i64, i64, *mut i64, i32, *mut c_void) -> i32;

/// The function at a place of a table.
///
/// # Safety
/// `F` is the type of the function that stands there.
unsafe fn function<F: Copy>(table: Table, index: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: the table is the virtual machine's, and has this place; the caller knows the type.
    unsafe { std::mem::transmute_copy(&*(*table).add(index)) }
}

/// Calls a function of a table with the table as its first argument.
macro_rules! call {
    ($table:expr, $index:expr, fn($($kind:ty),*) $(-> $out:ty)?, $($value:expr),*) => {{
        // SAFETY: the number and the type are those of the header.
        unsafe {
            let function: unsafe extern "C" fn(Table $(, $kind)*) $(-> $out)? = function($table, $index);
            function($table $(, $value)*)
        }
    }};
}

impl Vm {
    /// # Safety
    /// The pointer is one that a virtual machine gave to `Agent_OnAttach`.
    pub unsafe fn of(pointer: *mut c_void) -> Vm {
        Vm(pointer.cast())
    }

    fn environment(self, version: i32) -> Option<Table> {
        let mut table = std::ptr::null_mut();
        let code = call!(self.0, 6, fn(*mut *mut c_void, i32) -> i32, &raw mut table, version);
        (code == 0 && !table.is_null()).then(|| table.cast())
    }

    /// JNI for this thread, if it is attached.
    pub fn jni(self) -> Option<Jni> {
        self.environment(JNI_VERSION).map(Jni)
    }

    /// Attaches this thread; the program may end while it runs.
    pub fn attach(self) -> Option<Jni> {
        let mut table = std::ptr::null_mut();
        let none: *mut c_void = std::ptr::null_mut();
        let code = call!(self.0, 7, fn(*mut *mut c_void, *mut c_void) -> i32, &raw mut table, none);
        (code == 0 && !table.is_null()).then(|| Jni(table.cast()))
    }

    pub fn detach(self) {
        call!(self.0, 5, fn() -> i32,);
    }

    /// A new environment of JVMTI.
    pub fn tools(self) -> Option<Tools> {
        self.environment(JVMTI_VERSION).map(Tools)
    }
}

impl Jni {
    /// The version of JNI, in its upper half the Java release.
    pub fn version(self) -> i32 {
        call!(self.0, 4, fn() -> i32,)
    }

    /// Forgets an exception, and says whether there was one.
    pub fn forget_exception(self) -> bool {
        let is_there = call!(self.0, 228, fn() -> u8,) != 0;
        if is_there {
            call!(self.0, 17, fn(),);
        }
        is_there
    }

    /// Runs with a frame of local references, which end with it.
    pub fn with_frame<T>(self, run: impl FnOnce() -> T) -> T {
        let pushed = call!(self.0, 19, fn(i32) -> i32, 64) == 0;
        self.forget_exception();
        let result = run();
        if pushed {
            call!(self.0, 20, fn(Object) -> Object, std::ptr::null_mut());
        }
        result
    }

    pub fn find_class(self, name: &CStr) -> Option<Object> {
        let class = call!(self.0, 6, fn(*const c_char) -> Object, name.as_ptr());
        (!self.forget_exception() && !class.is_null()).then_some(class)
    }

    pub fn superclass(self, class: Object) -> Object {
        call!(self.0, 10, fn(Object) -> Object, class)
    }

    pub fn class_of(self, object: Object) -> Object {
        call!(self.0, 31, fn(Object) -> Object, object)
    }

    pub fn is_same(self, one: Object, other: Object) -> bool {
        call!(self.0, 24, fn(Object, Object) -> u8, one, other) != 0
    }

    pub fn global(self, object: Object) -> Object {
        call!(self.0, 21, fn(Object) -> Object, object)
    }

    pub fn delete_global(self, object: Object) {
        call!(self.0, 22, fn(Object), object);
    }

    pub fn delete_local(self, object: Object) {
        call!(self.0, 23, fn(Object), object);
    }

    pub fn weak(self, object: Object) -> Object {
        let weak = call!(self.0, 226, fn(Object) -> Object, object);
        self.forget_exception();
        weak
    }

    pub fn delete_weak(self, object: Object) {
        call!(self.0, 227, fn(Object), object);
    }

    /// A new local reference; null when a weak one's object is gone.
    pub fn local(self, object: Object) -> Object {
        call!(self.0, 25, fn(Object) -> Object, object)
    }

    pub fn field(self, holder: Object, field: Field) -> Object {
        call!(self.0, 95, fn(Object, Field) -> Object, holder, field)
    }

    pub fn set_field(self, holder: Object, field: Field, value: Object) {
        call!(self.0, 104, fn(Object, Field, Object), holder, field, value);
    }

    /// A new array of the n-th primitive type in JNI's order, or `None` when there is no room.
    pub fn new_array(self, primitive: usize, length: i32) -> Option<Object> {
        let array = call!(self.0, 175 + primitive, fn(i32) -> Object, length);
        (!self.forget_exception() && !array.is_null()).then_some(array)
    }

    pub fn length(self, array: Object) -> i32 {
        call!(self.0, 171, fn(Object) -> i32, array)
    }

    /// The identity hash of an object, which Java computes when it is first asked for.
    pub fn identity_hash(self, object: Object) -> Option<i32> {
        let class = self.find_class(c"java/lang/System")?;
        let find: (*const c_char, *const c_char) = (c"identityHashCode".as_ptr(), c"(Ljava/lang/Object;)I".as_ptr());
        let method = call!(self.0, 113, fn(Object, *const c_char, *const c_char) -> *mut c_void, class, find.0, find.1);
        if self.forget_exception() {
            return None;
        }
        let values = [object];
        let hash = call!(self.0, 131, fn(Object, *mut c_void, *const Object) -> i32, class, method, values.as_ptr());
        (!self.forget_exception()).then_some(hash)
    }

    /// Lends the bytes of a primitive array while no collector moves it, and with them the word that its header begins with.
    ///
    /// The closure calls neither Java nor JNI, and does not wait.
    pub fn with_bytes<T>(self, array: Object, bytes: usize, run: impl FnOnce(&mut [u8], usize) -> T) -> Option<T> {
        let start = call!(self.0, 222, fn(Object, *mut u8) -> *mut u8, array, std::ptr::null_mut());
        if self.forget_exception() || start.is_null() {
            return None;
        }
        // SAFETY: a local reference of HotSpot is the address of a pointer to the object, whose first word is its header. The self-test has seen
        // that on this machine. The array has so many bytes, and nobody else uses them: the program is frozen, or does not know the array.
        let result = unsafe {
            let header = **array.cast::<*const usize>();
            run(std::slice::from_raw_parts_mut(start, bytes), header)
        };
        call!(self.0, 223, fn(Object, *mut u8, i32), array, start, 0);
        Some(result)
    }
}

impl Tools {
    /// Asks for the capability to tag objects, or to suspend threads.
    pub fn may_tag(self) -> bool {
        self.add(TAG)
    }

    pub fn may_suspend(self) -> bool {
        self.add(SUSPEND)
    }

    fn add(self, wanted: u32) -> bool {
        let capabilities = [wanted, 0, 0, 0];
        call!(self.0, 141, fn(*const u32) -> i32, capabilities.as_ptr()) == 0
    }

    /// Ends the environment, with its tags.
    pub fn dispose(self) {
        call!(self.0, 126, fn() -> i32,);
    }

    fn deallocate<T>(self, memory: *mut T) {
        call!(self.0, 46, fn(*mut c_void) -> i32, memory.cast());
    }

    /// Copies an array that the virtual machine made, and gives it back.
    fn taken<T: Copy>(self, count: i32, memory: *mut T) -> Vec<T> {
        let count = usize::try_from(count).unwrap_or(0);
        if memory.is_null() {
            return Vec::new();
        }
        // SAFETY: the virtual machine has made so many.
        let copy = unsafe { std::slice::from_raw_parts(memory, count) }.to_vec();
        self.deallocate(memory);
        copy
    }

    fn text(self, memory: *mut c_char) -> String {
        if memory.is_null() {
            return String::new();
        }
        // SAFETY: the virtual machine's texts end with a zero.
        let text = unsafe { CStr::from_ptr(memory) }.to_string_lossy().into_owned();
        self.deallocate(memory);
        text
    }

    /// Lets every thread that starts call this first.
    pub fn on_thread_start(self, callback: extern "C" fn(*mut c_void, *mut c_void, Object)) -> bool {
        let mut callbacks: [Option<extern "C" fn(*mut c_void, *mut c_void, Object)>; 40] = [None; 40];
        callbacks[2] = Some(callback);
        let bytes = i32::try_from(size_of_val(&callbacks)).expect("it is a short table");
        let set = call!(self.0, 121, fn(*const c_void, i32) -> i32, callbacks.as_ptr().cast(), bytes);
        // SAFETY: the number and the type are those of the header; the function takes further arguments, and none are needed.
        let enabled = unsafe {
            let enable: unsafe extern "C" fn(Table, i32, i32, Object, ...) -> i32 = function(self.0, 1);
            enable(self.0, 1, THREAD_START, std::ptr::null_mut())
        };
        set == 0 && enabled == 0
    }

    /// All threads that Java shows, as local references.
    pub fn threads(self) -> Vec<Object> {
        let (mut count, mut memory) = (0, std::ptr::null_mut::<Object>());
        call!(self.0, 3, fn(*mut i32, *mut *mut Object) -> i32, &raw mut count, &raw mut memory);
        self.taken(count, memory)
    }

    /// The thread that calls, as a local reference.
    pub fn current_thread(self) -> Object {
        let mut thread = std::ptr::null_mut();
        call!(self.0, 17, fn(*mut Object) -> i32, &raw mut thread);
        thread
    }

    pub fn thread_name(self, thread: Object) -> String {
        #[repr(C)]
        struct Info {
            name: *mut c_char,
            priority: i32,
            is_daemon: u8,
            group: Object,
            loader: Object,
        }
        let none: Object = std::ptr::null_mut();
        let mut info = Info { name: none.cast(), priority: 0, is_daemon: 0, group: none, loader: none };
        call!(self.0, 8, fn(Object, *mut Info) -> i32, thread, &raw mut info);
        self.text(info.name)
    }

    /// Suspends threads, or lets them go on: an error code each.
    pub fn suspend(self, threads: &[Object]) -> Vec<i32> {
        self.for_threads(91, threads)
    }

    pub fn resume(self, threads: &[Object]) -> Vec<i32> {
        self.for_threads(92, threads)
    }

    fn for_threads(self, index: usize, threads: &[Object]) -> Vec<i32> {
        let mut codes = vec![-1; threads.len()];
        let count = i32::try_from(threads.len()).expect("there are fewer threads");
        if count > 0 {
            call!(self.0, index, fn(i32, *const Object, *mut i32) -> i32, count, threads.as_ptr(), codes.as_mut_ptr());
        }
        codes
    }

    /// All classes, as local references.
    pub fn classes(self) -> Vec<Object> {
        let (mut count, mut memory) = (0, std::ptr::null_mut::<Object>());
        call!(self.0, 77, fn(*mut i32, *mut *mut Object) -> i32, &raw mut count, &raw mut memory);
        self.taken(count, memory)
    }

    pub fn class_signature(self, class: Object) -> String {
        let mut name = std::ptr::null_mut();
        let none = std::ptr::null_mut();
        call!(self.0, 47, fn(Object, *mut *mut c_char, *mut *mut c_char) -> i32, class, &raw mut name, none);
        self.text(name)
    }

    /// Whether the JDK's own loader has loaded the class.
    pub fn is_of_boot_loader(self, class: Object) -> bool {
        let mut loader = std::ptr::null_mut();
        call!(self.0, 56, fn(Object, *mut Object) -> i32, class, &raw mut loader);
        loader.is_null()
    }

    /// The fields that a class declares; none if it is not prepared.
    pub fn fields(self, class: Object) -> Vec<Field> {
        let (mut count, mut memory) = (0, std::ptr::null_mut::<Field>());
        call!(self.0, 52, fn(Object, *mut i32, *mut *mut Field) -> i32, class, &raw mut count, &raw mut memory);
        self.taken(count, memory)
    }

    /// The type of a field, as a signature.
    pub fn field_type(self, class: Object, field: Field) -> String {
        let mut kind = std::ptr::null_mut();
        let none: *mut *mut c_char = std::ptr::null_mut();
        call!(
            self.0,
            59,
            fn(Object, Field, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char) -> i32,
            class,
            field,
            none,
            &raw mut kind,
            none
        );
        self.text(kind)
    }

    pub fn is_static(self, class: Object, field: Field) -> bool {
        let mut modifiers = 0;
        call!(self.0, 61, fn(Object, Field, *mut i32) -> i32, class, field, &raw mut modifiers);
        modifiers & 8 != 0
    }

    pub fn tag(self, object: Object) -> i64 {
        let mut tag = 0;
        call!(self.0, 105, fn(Object, *mut i64) -> i32, object, &raw mut tag);
        tag
    }

    pub fn set_tag(self, object: Object, tag: i64) -> bool {
        call!(self.0, 106, fn(Object, i64) -> i32, object, tag) == 0
    }

    pub fn collect(self) -> bool {
        call!(self.0, 107, fn() -> i32,) == 0
    }

    /// All objects with a tag, as local references.
    pub fn tagged(self, tag: i64) -> Vec<Object> {
        let (mut count, mut memory) = (0, std::ptr::null_mut::<Object>());
        let none: *mut *mut i64 = std::ptr::null_mut();
        call!(
            self.0,
            113,
            fn(i32, *const i64, *mut i32, *mut *mut Object, *mut *mut i64) -> i32,
            1,
            &raw const tag,
            &raw mut count,
            &raw mut memory,
            none
        );
        self.taken(count, memory)
    }

    /// Calls back for every object of the heap.
    pub fn each<T>(self, callback: OnObject, state: &mut T) -> bool {
        let mut callbacks = [None::<OnObject>; 16];
        callbacks[0] = Some(callback);
        let state: *mut T = state;
        call!(
            self.0,
            115,
            fn(i32, Object, *const c_void, *mut c_void) -> i32,
            0,
            std::ptr::null_mut(),
            callbacks.as_ptr().cast(),
            state.cast()
        ) == 0
    }

    /// Calls back for every reference of the heap.
    pub fn walk<T>(self, callback: OnReference, state: &mut T) -> bool {
        let mut callbacks = [None::<OnReference>; 16];
        callbacks[1] = Some(callback);
        let none = std::ptr::null_mut();
        let state: *mut T = state;
        call!(
            self.0,
            114,
            fn(i32, Object, Object, *const c_void, *mut c_void) -> i32,
            0,
            none,
            none,
            callbacks.as_ptr().cast(),
            state.cast()
        ) == 0
    }
}
