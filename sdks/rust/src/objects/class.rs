//! Classes: what the macros say of a struct, and the same without its type, for the runner.

use std::any::Any;
use std::sync::{Arc, Weak};

use iolite_objects::Class;
use iolite_objects::managers::Choice;
use iolite_values::DeviceRight;
use iolite_wire::objects::Declared;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::RwLock;

use super::cbor;
use super::context::Context;
use super::generated::{Outcome, Running, Stub};
use super::node::Node;

/// A struct whose values are objects. Implemented by [`sapphire`](macro@crate::objects::sapphire).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no class of objects",
    note = "write #[sapphire(name = \"...\")] above the struct"
)]
pub trait Object: Serialize + DeserializeOwned + Send + Sync + Sized + 'static {
    /// The name by which programs of all languages know the class.
    const NAME: &'static str;
    /// The version of its methods: callers with another one are refused.
    const VERSION: u32;
    /// The most that devices may do with its objects.
    const DEVICES: DeviceRight;
    /// The managers. The compiler has looked at them.
    #[doc(hidden)]
    const MANAGERS: &'static [Choice];
    /// The type that references are used as.
    #[doc(hidden)]
    type Stub: Stub;
}

/// A class with its methods. Implemented by [`sapphire::methods`](macro@crate::objects::sapphire::methods).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no methods that others can call",
    note = "write #[sapphire::methods] above its `impl` block"
)]
pub trait Methods: Object {
    /// The methods that only read.
    const READS: &'static [&'static str];
    /// Begins a method.
    #[doc(hidden)]
    fn run(method: &str, running: Running<Self>) -> Outcome;
}

/// The line above a class.
pub(crate) fn declared<T: Object>() -> Declared {
    Declared { version: T::VERSION, managers: Choice::text(T::MANAGERS), devices: T::DEVICES }
}

/// An object that is here, of whatever type.
pub(crate) type Instance = Arc<dyn Any + Send + Sync>;

/// A class without its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyClass {
    pub(crate) name: &'static str,
    pub(crate) devices: DeviceRight,
    pub(crate) managers: &'static [Choice],
    pub(crate) class: fn() -> Class,
    /// Makes an object of its state.
    pub(crate) restore: fn(&[u8], &Weak<Node>) -> Result<Instance, String>,
    /// The state of an object of which no method runs.
    pub(crate) save: fn(&Instance) -> Result<Vec<u8>, String>,
    /// Begins a method of an object of the class.
    pub(crate) run: fn(Instance, &str, Vec<u8>, Context) -> Outcome,
}

impl AnyClass {
    pub(crate) fn of<T: Methods>() -> AnyClass {
        let (restore, save, run) = (restore::<T>, save::<T>, run::<T>);
        let (name, devices, managers) = (T::NAME, T::DEVICES, T::MANAGERS);
        AnyClass { name, devices, managers, class: class::<T>, restore, save, run }
    }
}

fn class<T: Methods>() -> Class {
    let reads: Arc<[String]> = T::READS.iter().map(|&name| name.to_owned()).collect();
    Class { name: T::NAME.to_owned(), declared: declared::<T>(), reads }
}

fn restore<T: Methods>(state: &[u8], host: &Weak<Node>) -> Result<Instance, String> {
    let object: T = cbor::decode(state, host)?;
    Ok(Arc::new(RwLock::new(object)))
}

fn save<T: Methods>(instance: &Instance) -> Result<Vec<u8>, String> {
    let object = instance.downcast_ref::<RwLock<T>>().expect("the runner keeps what the same class has restored");
    let object = object.try_read().map_err(|_| "a method has it still".to_owned())?;
    cbor::encode_canonical(&*object)
}

fn run<T: Methods>(instance: Instance, method: &str, arguments: Vec<u8>, context: Context) -> Outcome {
    let object = instance.downcast::<RwLock<T>>().expect("the runner keeps what the same class has restored");
    T::run(method, Running::new(object, arguments, context))
}
