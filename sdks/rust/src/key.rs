//! Keys of rows, from what apps have.

use iolite_values::{Id, KeyError, RowKey, Value};

/// Something that names a row: the values of the table's key columns, in order.
pub trait IntoKey {
    /// The values.
    fn values(&self) -> Vec<Value>;

    /// The key.
    ///
    /// # Errors
    /// [`KeyError`] when it is longer than 1024 bytes.
    fn key(&self) -> Result<RowKey, KeyError> {
        RowKey::new(&self.values())
    }
}

macro_rules! single {
    ($type:ty, $own:ident => $value:expr) => {
        impl IntoKey for $type {
            fn values(&self) -> Vec<Value> {
                let $own = self;
                vec![$value]
            }
        }
    };
}

single!(str, text => Value::from(text));
single!(String, text => Value::from(text.as_str()));
single!(i64, number => Value::Int(*number));
single!(bool, value => Value::Bool(*value));
single!(Id, id => Value::Id(*id));
single!(Value, value => value.clone());

impl<T: IntoKey + ?Sized> IntoKey for &T {
    fn values(&self) -> Vec<Value> {
        (**self).values()
    }
}

impl IntoKey for Vec<Value> {
    fn values(&self) -> Vec<Value> {
        self.clone()
    }
}

impl<A: IntoKey, B: IntoKey> IntoKey for (A, B) {
    fn values(&self) -> Vec<Value> {
        [self.0.values(), self.1.values()].concat()
    }
}

impl<A: IntoKey, B: IntoKey, C: IntoKey> IntoKey for (A, B, C) {
    fn values(&self) -> Vec<Value> {
        [self.0.values(), self.1.values(), self.2.values()].concat()
    }
}
