//! Finding the arrays whose memory can be taken, and the fields that hold them.
//!
//! Invariants: an array is found only if as many fields were seen to hold it as the JVM's walk reports references to it. A field counts only if a
//! class of the program declares it as an instance field, or one of a short list of the JDK's. Others of the JDK are left alone, and so are those of
//! records and hidden classes, which compiled code may take for constants. The walk misses what only compiled code knows: `frozen.rs` has the proof for that.
//! Source: docs/memory.md, "Programs for the JVM".

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;

use iolite_memory::agent::{Left, Reason, SizeClass, Survey};

use crate::vm::{Field, Jni, Object, Tools};

/// Smaller arrays are not worth a field each.
const ARRAY_BYTES_MIN: i64 = 2048;
/// The eight primitive types in JNI's order, and the bytes of an element.
const PRIMITIVES: [(&str, usize); 8] =
    [("[Z", 1), ("[B", 1), ("[C", 2), ("[S", 2), ("[I", 4), ("[J", 8), ("[F", 4), ("[D", 8)];
const NO_WALK: &str = "the JVM does not walk its heap for agents: use OpenJDK 17 or 18";
const JDK: &[&str] = &["Ljava/", "Ljavax/", "Ljdk/", "Lsun/", "Lcom/sun/"];

/// Classes of the JDK whose instance fields count as the program's: buffers and entries of maps. They are used as a program's own objects are, and
/// compiled code takes none of their fields for a constant. A reference's referent is none of them: the collector clears it.
const LIKE_THE_PROGRAMS: [&str; 10] = [
    "Ljava/nio/ByteBuffer;",
    "Ljava/nio/HeapByteBuffer;",
    "Ljava/nio/HeapByteBufferR;",
    "Ljava/nio/CharBuffer;",
    "Ljava/nio/HeapCharBuffer;",
    "Ljava/nio/HeapCharBufferR;",
    "Ljava/util/HashMap$Node;",
    "Ljava/util/LinkedHashMap$Entry;",
    "Ljava/util/TreeMap$Entry;",
    "Ljava/util/concurrent/ConcurrentHashMap$Node;",
];

// What a tag says.
const HOLDER: i64 = 1;
const PRIMITIVE: i64 = 8;
const CLASS: i64 = 1 << 20;
/// An array that the walk has met, and its number among these.
const ARRAY: i64 = 1 << 40;
/// An array that a field was seen to hold, and its number.
const NUMBER: i64 = 1 << 50;

// Kinds of references.
const OF_FIELD: i32 = 2;
const OF_ELEMENT: i32 = 3;
const OF_STATIC_FIELD: i32 = 8;
const OF_JNI_GLOBAL: i32 = 21;
const OF_MONITOR: i32 = 23;
const OF_STACK: i32 = 24;
const OF_JNI_LOCAL: i32 = 25;
const GO_FURTHER: i32 = 0x100;

/// An array that only fields of the program hold.
pub struct Found {
    /// A local reference.
    pub array: Object,
    /// The type of the array: a number in JNI's order.
    pub primitive: usize,
    /// The fields that hold it, with local references of their objects.
    pub places: Vec<(Object, Field)>,
    met: usize,
}

/// An array as the walk meets it.
struct Met {
    bytes: u64,
    references: usize,
    /// Why it may not be taken, as far as a single reference says.
    reason: Option<Reason>,
}

impl Found {
    /// The bytes of an array's elements.
    pub fn bytes(&self, length: i32) -> usize {
        usize::try_from(length).unwrap_or(0) * PRIMITIVES[self.primitive].1
    }
}

/// Looks what could be taken, and why the rest stays. As for [`find`].
pub fn survey(jni: Jni, tools: Tools) -> Result<Survey, String> {
    let (_, survey) = find(jni, tools)?;
    Ok(Survey { sizes: sizes(tools)?, ..survey })
}

/// Finds arrays by a walk of the heap. The program's threads are suspended, and the environment has no tags yet.
pub fn find(jni: Jni, tools: Tools) -> Result<(Vec<Found>, Survey), String> {
    let classes = tag_classes(jni, tools);
    let mut met: Vec<Met> = Vec::new();
    if !tools.walk(on_reference, &mut met) {
        return Err(NO_WALK.to_owned());
    }
    let mut search = Search { jni, tools, classes, fields: BTreeMap::new(), found: Vec::new() };
    for holder in tools.tagged(HOLDER) {
        search.look_into(holder);
    }
    let mut found = search.found;
    found.retain(|found| met[found.met].references == found.places.len());
    let survey = survey_of(met, &found);
    Ok((found, survey))
}

/// Sums up what the walk has met.
fn survey_of(met: Vec<Met>, found: &[Found]) -> Survey {
    let bytes_of = |met: &[&Met]| met.iter().map(|met| met.bytes).sum::<u64>();
    let mut is_eligible = vec![false; met.len()];
    found.iter().for_each(|found| is_eligible[found.met] = true);
    let all: Vec<&Met> = met.iter().collect();
    let (eligible, others): (Vec<_>, Vec<_>) = met.iter().zip(is_eligible).partition(|(_, is_eligible)| *is_eligible);
    let eligible: Vec<&Met> = eligible.into_iter().map(|(met, _)| met).collect();
    let left = Reason::ALL.into_iter().filter_map(|reason| {
        let of_it = others.iter().filter(|(met, _)| met.reason.unwrap_or(Reason::Unknown) == reason);
        let of_it: Vec<&Met> = of_it.map(|(met, _)| *met).collect();
        (!of_it.is_empty()).then(|| Left { reason, arrays: of_it.len() as u64, bytes: bytes_of(&of_it) })
    });
    Survey {
        sizes: Vec::new(),
        arrays: all.len() as u64,
        array_bytes: bytes_of(&all),
        eligible: eligible.len() as u64,
        eligible_bytes: bytes_of(&eligible),
        left: left.collect(),
    }
}

/// Counts all objects by their size. What nobody holds counts as well: collect first.
fn sizes(tools: Tools) -> Result<Vec<SizeClass>, String> {
    let bounds = [64, 2 << 10, 4 << 10, 64 << 10, 1 << 20, 0];
    let mut sizes = bounds.map(|below_bytes| SizeClass { below_bytes, objects: 0, bytes: 0 });
    if tools.each(on_object, &mut sizes) { Ok(sizes.to_vec()) } else { Err(NO_WALK.to_owned()) }
}

extern "C" fn on_object(_class: i64, size: i64, _tag: *mut i64, _length: i32, state: *mut c_void) -> i32 {
    // SAFETY: the state is what `sizes` gave.
    let sizes = unsafe { &mut *state.cast::<[SizeClass; 6]>() };
    let bytes = u64::try_from(size).unwrap_or(0);
    if let Some(of_size) = sizes.iter_mut().find(|known| bytes < known.below_bytes || known.below_bytes == 0) {
        of_size.objects += 1;
        of_size.bytes += bytes;
    }
    GO_FURTHER
}

fn is_large_array(class: i64, size: i64) -> bool {
    (PRIMITIVE..PRIMITIVE + 8).contains(&class) && size >= ARRAY_BYTES_MIN
}

/// The reason that a reference gives against taking its array. A field counts for it, if it is the program's.
fn reason_of(kind: i32, is_of_program: bool) -> Option<Reason> {
    match kind {
        OF_FIELD if is_of_program => None,
        OF_FIELD => Some(Reason::ForeignField),
        OF_ELEMENT => Some(Reason::Element),
        OF_STATIC_FIELD => Some(Reason::StaticField),
        OF_JNI_GLOBAL | OF_JNI_LOCAL => Some(Reason::Native),
        OF_MONITOR => Some(Reason::Lock),
        OF_STACK => Some(Reason::Stack),
        _ => Some(Reason::Unknown),
    }
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
    if is_large_array(class, size) {
        // SAFETY: the JVM lends both tags for this call, the second one only if there is a referrer; the state is the list that `find` gave it.
        let (tag, referrer, met) = unsafe { (&mut *tag, referrer.as_mut(), &mut *state.cast::<Vec<Met>>()) };
        if *tag == 0 {
            *tag = ARRAY + i64::try_from(met.len()).expect("a heap has fewer objects");
            met.push(Met { bytes: u64::try_from(size).unwrap_or(0), references: 0, reason: None });
        }
        let array = &mut met[usize::try_from(*tag - ARRAY).expect("the walk has numbered it")];
        array.references += 1;
        let reason = reason_of(kind, referrer_class >= CLASS);
        // The first in their order is told.
        array.reason = array.reason.into_iter().chain(reason).min();
        match referrer {
            Some(referrer) if reason.is_none() && *referrer == 0 => *referrer = HOLDER,
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
        } else if LIKE_THE_PROGRAMS.contains(&name.as_str())
            || is_of_program(&name)
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
        for (field, value) in self.values_of(holder) {
            let number = match tools.tag(value) {
                seen if seen >= NUMBER => {
                    jni.delete_local(value);
                    usize::try_from(seen - NUMBER).expect("numbers begin with 0")
                }
                new if new >= ARRAY => {
                    self.found_first(value, usize::try_from(new - ARRAY).expect("numbers begin with 0"))
                }
                _ => {
                    jni.delete_local(value);
                    continue;
                }
            };
            self.found[number].places.push((holder, field));
        }
    }

    /// The fields of an object that may hold an array, with local references of what they hold now.
    fn values_of(&mut self, holder: Object) -> Vec<(Field, Object)> {
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
        let values = fields.iter().map(|&field| (field, jni.field(holder, field)));
        values.filter(|(_, value)| !value.is_null()).collect()
    }

    fn found_first(&mut self, array: Object, met: usize) -> usize {
        let number = self.found.len();
        let class = self.jni.class_of(array);
        let primitive = usize::try_from(self.tools.tag(class) - PRIMITIVE).expect("the walk has looked at its class");
        self.jni.delete_local(class);
        self.tools.set_tag(array, NUMBER + i64::try_from(number).expect("a heap has fewer objects"));
        self.found.push(Found { array, primitive, places: Vec::new(), met });
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
