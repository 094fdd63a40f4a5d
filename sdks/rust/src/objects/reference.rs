//! References: an object's name, and the host through which its methods are called.
//!
//! Invariants: a reference keeps no host alive; two are equal if they name the same object.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Weak;

use ciborium::tag::Required;
use iolite_objects::managers::Manager;
use iolite_values::ObjectName;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::call_error::{CallError, NotRun};
use super::cbor::{REFERENCE_TAG, REFERENCE_TYPE, reading_host};
use super::class::Object;
use super::generated::{Stub, Target};
use super::node::Node;

/// A reference to an object, wherever it lives. The methods of its class are called on it: `list.add("milk".into()).await?`.
///
/// References are cheap to clone, and may be arguments, results, and parts of states. One that comes out of a call, a state or a [`Host`](super::Host) calls
/// through that host. One that was made otherwise, by serde, calls through the host of the method that uses it, and is
/// [`Unreachable`](super::NotRun::Unreachable) outside of methods.
///
/// A call begins when its future is first polled. When the future is dropped, its answer is given up and nothing else: the method may run, and run to its end.
///
/// A call that a method makes is part of that method: it has no more time than the method's own call, and a circle of such calls is refused as
/// [`WouldDeadlock`](super::NotRun::WouldDeadlock). A task that a method spawns is no part of it.
///
/// In states and arguments, a reference cannot stand inside of what serde reads twice: enums with `#[serde(untagged)]`, and `#[serde(flatten)]`.
pub struct Ref<T: Object> {
    stub: T::Stub,
    class: PhantomData<fn() -> T>,
}

impl<T: Object> Ref<T> {
    pub(crate) fn new(name: ObjectName, host: Weak<Node>) -> Ref<T> {
        Ref { stub: T::Stub::new(Target::new(name, host)), class: PhantomData }
    }

    /// The name of the object. A function and no method, as the object's methods are called on the reference.
    pub fn name(this: &Ref<T>) -> &ObjectName {
        this.stub.target().name()
    }

    /// Says something to a manager of the object, which is the app's own, and returns its reply. The manager's proxy hears it at this host (`on_app`). If it has
    /// no proxy, its part beside the object does (`on_message`).
    ///
    /// Cancel safe: the manager may have heard it all the same.
    ///
    /// # Errors
    /// [`CallError`]; [`BadArguments`](super::NotRun::BadArguments) if the object has no such manager, or this host does not know it.
    pub async fn tell<M: Manager>(this: &Ref<T>, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        Ref::manage(this, M::KIND.name, body).await
    }

    /// Says something to one of the object's managers.
    pub(crate) async fn manage(this: &Ref<T>, manager: &str, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let target = this.stub.target();
        let Some(node) = target.node() else { return Err(CallError::NotRun(NotRun::Unreachable)) };
        node.manage(target.name().clone(), manager, body).await.map_err(CallError::of_question)
    }

    /// The id of the object, as [`Ref::name`].
    pub fn id(this: &Ref<T>) -> &str {
        Ref::name(this).id()
    }
}

impl<T: Object> Deref for Ref<T> {
    type Target = T::Stub;

    fn deref(&self) -> &T::Stub {
        &self.stub
    }
}

impl<T: Object> Clone for Ref<T> {
    fn clone(&self) -> Ref<T> {
        Ref { stub: T::Stub::new(self.stub.target().clone()), class: PhantomData }
    }
}

impl<T: Object> PartialEq for Ref<T> {
    fn eq(&self, other: &Ref<T>) -> bool {
        Ref::name(self) == Ref::name(other)
    }
}

impl<T: Object> Eq for Ref<T> {}

impl<T: Object> PartialOrd for Ref<T> {
    fn partial_cmp(&self, other: &Ref<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Object> Ord for Ref<T> {
    fn cmp(&self, other: &Ref<T>) -> std::cmp::Ordering {
        Ref::name(self).cmp(Ref::name(other))
    }
}

impl<T: Object> Hash for Ref<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Ref::name(self).hash(state);
    }
}

impl<T: Object> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ref({})", Ref::name(self))
    }
}

impl<T: Object> Serialize for Ref<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = Ref::name(self);
        Required::<_, REFERENCE_TAG>((REFERENCE_TYPE, name.class(), name.id())).serialize(serializer)
    }
}

impl<'de, T: Object> Deserialize<'de> for Ref<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ref<T>, D::Error> {
        let Required::<_, REFERENCE_TAG>((kind, class, id)) =
            Required::<(String, String, String), REFERENCE_TAG>::deserialize(deserializer)?;
        if kind != REFERENCE_TYPE {
            return Err(D::Error::custom(format!("a value of type {kind:?} stands for a reference")));
        }
        if class != T::NAME {
            return Err(D::Error::custom(format!("a reference to a {class:?} stands for one to a {:?}", T::NAME)));
        }
        let name = ObjectName::new(&class, &id).map_err(D::Error::custom)?;
        Ok(Ref::new(name, reading_host().unwrap_or_default()))
    }
}
