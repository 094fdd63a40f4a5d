//! Why a call has no result, as an array for JavaScript: `[kind]`, or `[kind, detail]`, or for a call that did not run `["notRun", reason, detail]`.

use iolite_objects::CallError;
use iolite_values::ObjectName;
use iolite_wire::objects::{NotRun, RpcId};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

pub(crate) fn failure(error: &CallError) -> JsValue {
    let parts: [JsValue; 2] = match error {
        CallError::App(error) => ["app".into(), Uint8Array::from(error.as_slice()).into()],
        CallError::NotRun(why) => return not_run(why),
        CallError::Fenced => return Array::of1(&"fenced".into()).into(),
        CallError::Gone => return Array::of1(&"gone".into()).into(),
        CallError::InDoubt(rpc) => ["inDoubt".into(), text(rpc).into()],
        CallError::Broke(how) => ["broke".into(), how.into()],
    };
    let [kind, detail] = parts;
    Array::of2(&kind, &detail).into()
}

/// A call that did not reach the kernel.
pub(crate) fn bad_arguments(problem: &str) -> JsValue {
    not_run(&NotRun::BadArguments(problem.to_owned()))
}

pub(crate) fn not_run(why: &NotRun) -> JsValue {
    let (reason, detail) = match why {
        NotRun::Unreachable => ("unreachable", JsValue::UNDEFINED),
        NotRun::NotPermitted => ("notPermitted", JsValue::UNDEFINED),
        NotRun::NoSuchMethod => ("noSuchMethod", JsValue::UNDEFINED),
        NotRun::WrongVersion(own) => ("wrongVersion", (*own).into()),
        NotRun::NoHostForClass => ("noHostForClass", JsValue::UNDEFINED),
        NotRun::LeaseUnavailable => ("leaseUnavailable", JsValue::UNDEFINED),
        NotRun::Conflict => ("conflict", JsValue::UNDEFINED),
        NotRun::WouldDeadlock(chain) => ("wouldDeadlock", names(chain)),
        NotRun::TooLarge(limit) => ("tooLarge", limit.into()),
        NotRun::Busy => ("busy", JsValue::UNDEFINED),
        NotRun::BadArguments(problem) => ("badArguments", problem.into()),
    };
    Array::of3(&"notRun".into(), &reason.into(), &detail).into()
}

/// Pairs of a class and an id.
fn names(chain: &[ObjectName]) -> JsValue {
    let pair = |name: &ObjectName| Array::of2(&name.class().into(), &name.id().into());
    chain.iter().map(pair).collect::<Array>().into()
}

/// The identity of a call as a text: the kernel, the counter, and the places of nested calls.
fn text(rpc: &RpcId) -> String {
    let path: String = rpc.path.iter().map(|place| format!(".{place}")).collect();
    format!("{}-{}{path}", rpc.kernel, rpc.counter)
}
