//! The class of each kind. All are lists of numbers.

use iolite::objects::{CallError, Methods, Ref, sapphire};

use super::kind::{COPIED_MS, LEASED_MS, REPEATED_MS};

/// A list and the number of its beginning, as a read returns them.
pub type Numbers = (u64, Vec<u64>);

/// A class of this run.
pub trait List: Methods {
    /// An object that begins with this number.
    fn begun(birth: u64) -> Self;
    /// Appends a number. Returns that of the object's beginning.
    fn append(object: &Ref<Self>, number: u64) -> impl Future<Output = Result<u64, CallError>> + Send;
    fn read(object: &Ref<Self>) -> impl Future<Output = Result<Numbers, CallError>> + Send;
}

macro_rules! classes {
    ($($class:ident $name:literal $([$($manager:tt)*])?;)*) => {$(
        #[sapphire(name = $name, devices = "hold" $(, managers = [$($manager)*])?)]
        #[derive(Debug)]
        pub struct $class {
            birth: u64,
            numbers: Vec<u64>,
        }

        #[sapphire::methods]
        impl $class {
            #[read]
            fn read(&self) -> Numbers {
                (self.birth, self.numbers.clone())
            }

            fn append(&mut self, number: u64) -> u64 {
                self.numbers.push(number);
                self.birth
            }
        }

        impl List for $class {
            fn begun(birth: u64) -> $class {
                $class { birth, numbers: Vec::new() }
            }

            async fn append(object: &Ref<$class>, number: u64) -> Result<u64, CallError> {
                object.append(number).await
            }

            async fn read(object: &Ref<$class>) -> Result<Numbers, CallError> {
                object.read().await
            }
        }
    )*};
}

classes! {
    Plain "Plain";
    Migrating "Migrating" [ExplicitMigration];
    Leased "Leased" [LeaseCaching { lease: millis(500) }];
    Consistent "Consistent" [ConsistentCaching { lease: millis(1_000) }];
    WriteThrough "WriteThrough" [WriteThroughCaching { lease: millis(1_000) }];
    AtLeastOnce "AtLeastOnce" [AtLeastOnceRPC { within: secs(5) }];
}

// The lines above the classes take numbers only.
const _: () = assert!(LEASED_MS == 500 && COPIED_MS == 1_000 && REPEATED_MS == 5_000);

/// Something for the class of a kind: `of_kind!(kind, Class => find::<Class>(host))`.
macro_rules! of_kind {
    ($kind:expr, $class:ident => $what:expr) => {{
        use $crate::objects::kind::Kind;
        match $kind {
            Kind::Plain => {
                type $class = $crate::objects::classes::Plain;
                $what
            }
            Kind::Migrating => {
                type $class = $crate::objects::classes::Migrating;
                $what
            }
            Kind::Leased => {
                type $class = $crate::objects::classes::Leased;
                $what
            }
            Kind::Consistent => {
                type $class = $crate::objects::classes::Consistent;
                $what
            }
            Kind::WriteThrough => {
                type $class = $crate::objects::classes::WriteThrough;
                $what
            }
            Kind::AtLeastOnce => {
                type $class = $crate::objects::classes::AtLeastOnce;
                $what
            }
        }
    }};
}

pub(crate) use of_kind;
