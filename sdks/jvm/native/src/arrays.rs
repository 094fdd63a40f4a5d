//! Finding the arrays whose memory can be taken, and the fields that hold them.
//!
//! Invariants: an array is found only if as many fields were seen to hold it as the JVM's walk reports references to it. A field counts only if a
//! class of the program declares it as an instance field. Fields of the JDK are left alone, and so are those of records and hidden classes, which
//! compiled code may take for constants. The walk misses what only compiled code knows: `frozen.rs` has the proof for that.
//! Source: docs/memory.md, "Programs for the JVM".

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;

use iolite_memory::agent::Survey;

use crate::vm::{Field, Jni, Object, Tools};

/// Smaller arrays are not worth a field each.
const ARRAY_BYTES_MIN: i64 = 2048;
/// The eight primitive types in JNI's order, and the bytes of an element.
const PRIMITIVES: [(&str, usize); 8] =
    [("[Z", 1), ("[B", 1), ("[C", 2), ("[S", 2), ("[I", 4), ("[J", 8), ("[F", 4), ("[D", 8)];
const JDK: &[&str] = &["Ljava/", "Ljavax/", "Ljdk/", "Lsun/", "Lcom/sun/"];

// What a tag says.
const HOLDER: i64 = 1;
const PRIMITIVE: i64 = 8;
const CLASS: i64 = 1 << 20;
/// An array, and how many references to it the walk has reported.
const ARRAY: i64 = 1 << 40;
/// An array that a field was seen to hold, and its number.
const NUMBER: i64 = 1 << 50;

const OF_FIELD: i32 = 2;
const GO_FURTHER: i32 = 0x100;

/// An array that only fields of the program hold.
pub struct Found {
    /// A local reference.
    pub array: Object,
    /// The type of the array: a number in JNI's order.
    pub primitive: usize,
    /// The fields that hold it, with local references of their objects.
    pub places: Vec<(Object, Field)>,
    references: i64,
}

impl Found {
    /// The bytes of an array's elements.
    pub fn bytes(&self, length: i32) -> usize {
        usize::try_from(length).unwrap_or(0) * PRIMITIVES[self.primitive].1
    }
}

/// Finds arrays by a walk of the heap. The program's threads are suspended, and the environment has no tags yet.
pub fn find(jni: Jni, tools: Tools) -> Result<(Vec<Found>, Survey), String> {
    let classes = tag_classes(jni, tools);
    let mut survey = Survey::default();
    if !tools.walk(on_reference, &mut survey) {
        return Err("the JVM does not walk its heap for agents: use OpenJDK 17 or 18".to_owned());
    }
    let mut search = Search { jni, tools, classes, fields: BTreeMap::new(), found: Vec::new() };
    for holder in tools.tagged(HOLDER) {
        search.look_into(holder);
    }
    let mut found = search.found;
    found.retain(|found| found.references == i64::try_from(found.places.len()).unwrap_or(0));
    survey.eligible = found.len() as u64;
    survey.eligible_bytes = found.iter().map(|found| found.bytes(jni.length(found.array)) as u64).sum();
    Ok((found, survey))
}

extern "C" fn on_reference(
    kind: i32,
    _info: *const c_void,
    class: i64,
    referrer_class: i64,
    size: i64,
    tag: *mut i64,
    referrer: *mut i64,
    _length: i32,
    state: *mut c_void,
) -> i32 {
    if (PRIMITIVE..PRIMITIVE + 8).contains(&class) && size >= ARRAY_BYTES_MIN {
        // SAFETY: the JVM lends both tags for this call, the second one only if there is a referrer; the state is the survey that `find` gave it.
        let (tag, referrer, survey) = unsafe { (&mut *tag, referrer.as_mut(), &mut *state.cast::<Survey>()) };
        if *tag == 0 {
            *tag = ARRAY;
            survey.arrays += 1;
            survey.array_bytes += u64::try_from(size).unwrap_or(0);
        }
        *tag += 1;
        match referrer {
            Some(referrer) if kind == OF_FIELD && referrer_class >= CLASS && *referrer == 0 => *referrer = HOLDER,
            _ => {}
        }
    }
    GO_FURTHER
}

/// Tags the classes of primitive arrays and of the program; those of the program in their order.
fn tag_classes(jni: Jni, tools: Tools) -> Vec<Object> {
    let record = jni.find_class(c"java/lang/Record");
    let mut ours = Vec::new();
    for class in tools.classes() {
        let name = tools.class_signature(class);
        if let Some(index) = (0..).zip(PRIMITIVES).find_map(|(index, (known, _))| (known == name).then_some(index)) {
            tools.set_tag(class, PRIMITIVE + index);
        } else if is_of_program(&name)
            && !tools.is_of_boot_loader(class)
            && !record.is_some_and(|record| jni.is_same(jni.superclass(class), record))
        {
            tools.set_tag(class, CLASS + i64::try_from(ours.len()).unwrap_or(0));
            ours.push(class);
        }
    }
    ours
}

/// Whether a class with this signature may be the program's. A dot is in the names of hidden classes only.
fn is_of_program(signature: &str) -> bool {
    signature.starts_with('L') && !signature.contains('.') && !JDK.iter().any(|prefix| signature.starts_with(prefix))
}

struct Search {
    jni: Jni,
    tools: Tools,
    classes: Vec<Object>,
    /// The fields of a class that may hold an array, by the class's tag.
    fields: BTreeMap<i64, Rc<[Field]>>,
    found: Vec<Found>,
}

impl Search {
    fn look_into(&mut self, holder: Object) {
        let (jni, tools) = (self.jni, self.tools);
        let class = jni.class_of(holder);
        let tag = tools.tag(class);
        jni.delete_local(class);
        let known = self.fields.get(&tag).cloned();
        let fields = known.unwrap_or_else(|| {
            let fields: Rc<[Field]> = self.fields_of(tag).into();
            self.fields.insert(tag, Rc::clone(&fields));
            fields
        });
        for &field in &*fields {
            let value = jni.field(holder, field);
            if value.is_null() {
                continue;
            }
            let number = match tools.tag(value) {
                seen if seen >= NUMBER => {
                    jni.delete_local(value);
                    usize::try_from(seen - NUMBER).expect("numbers begin with 0")
                }
                new if new >= ARRAY => self.found_first(value, new - ARRAY),
                _ => {
                    jni.delete_local(value);
                    continue;
                }
            };
            self.found[number].places.push((holder, field));
        }
    }

    fn found_first(&mut self, array: Object, references: i64) -> usize {
        let number = self.found.len();
        let class = self.jni.class_of(array);
        let primitive = usize::try_from(self.tools.tag(class) - PRIMITIVE).expect("the walk has looked at its class");
        self.jni.delete_local(class);
        self.tools.set_tag(array, NUMBER + i64::try_from(number).expect("a heap has fewer objects"));
        self.found.push(Found { array, primitive, places: Vec::new(), references });
        number
    }

    /// Instance fields that the class and those above it declare, as far as they are the program's own.
    fn fields_of(&self, mut tag: i64) -> Vec<Field> {
        let (jni, tools) = (self.jni, self.tools);
        let mut fields = Vec::new();
        while let Some(&class) = usize::try_from(tag - CLASS).ok().and_then(|index| self.classes.get(index)) {
            let may_hold = |field: &Field| {
                let kind = tools.field_type(class, *field);
                let is_typed = PRIMITIVES.iter().any(|(primitive, _)| *primitive == kind);
                (is_typed || kind == "Ljava/lang/Object;") && !tools.is_static(class, *field)
            };
            fields.extend(tools.fields(class).into_iter().filter(may_hold));
            let above = jni.superclass(class);
            tag = tools.tag(above);
            jni.delete_local(above);
        }
        fields
    }
}
