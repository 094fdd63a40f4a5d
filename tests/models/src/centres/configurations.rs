//! The small worlds of data centres that are explored.

use super::plan::{Bounds, Broken, Called, Pace, Plan};

/// One client of the first data centre, and one transaction.
pub fn one_call() -> Plan {
    Plan {
        k: 2,
        clients: vec![0],
        calls: vec![Called { client: 0, after: None }],
        pace: Pace::Eager,
        side_by_side: false,
        bounds: Bounds::default(),
        broken: Broken::Nothing,
    }
}

/// A client writes, and one of the same data centre writes once it has seen that.
pub fn in_turn() -> Plan {
    Plan {
        clients: vec![0, 0],
        calls: vec![Called { client: 0, after: None }, Called { client: 1, after: Some(0) }],
        ..one_call()
    }
}

/// Two clients of two data centres write at once.
pub fn at_once() -> Plan {
    Plan {
        clients: vec![0, 1],
        calls: vec![Called { client: 0, after: None }, Called { client: 1, after: None }],
        ..one_call()
    }
}

/// One client writes twice.
pub fn lane() -> Plan {
    let call = Called { client: 0, after: None };
    Plan { calls: vec![call, call], ..one_call() }
}

/// Two clients of the first data centre write, and one of the second only reads.
pub fn with_a_reader() -> Plan {
    Plan {
        clients: vec![0, 0, 1],
        calls: vec![Called { client: 0, after: None }, Called { client: 1, after: None }],
        ..one_call()
    }
}

/// The same world, in which entries that are taken pass each other in the store.
pub fn side_by_side(plan: Plan) -> Plan {
    Plan { side_by_side: true, ..plan }
}

/// The same world with something wrong, and other bounds.
pub fn with(plan: Plan, broken: Broken, bounds: Bounds) -> Plan {
    Plan { broken, bounds, ..plan }
}
