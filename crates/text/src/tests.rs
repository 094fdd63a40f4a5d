//! Documents of equal texts show the same.

use proptest::prelude::*;

use super::*;

/// Writers with a text and a document each, who hear of each other's edits late.
struct Writer {
    text: Text,
    document: Yata,
    heard: usize,
}

impl Writer {
    fn new(author: u64) -> Writer {
        Writer { text: Text::default(), document: Yata::new(Author(author)), heard: 0 }
    }

    fn hear(&mut self, edits: &[Arc<Edit>]) {
        for edit in edits {
            // Its own are known already.
            if self.text.check(edit).is_ok() {
                self.text.apply(edit);
                self.document.apply(std::slice::from_ref(edit));
            }
        }
    }

    fn splice(&mut self, at: u32, removed: u32, inserted: &str) -> Option<Arc<Edit>> {
        let length = self.document.length();
        let at = at % (length + 1);
        let edit = Arc::new(self.document.splice(at, removed.min(length - at), inserted).expect("inside")?);
        assert_eq!((edit.check(), self.text.check(&edit)), (Ok(()), Ok(())), "{edit:?}");
        self.text.apply(&edit);
        Some(edit)
    }
}

proptest! {
    #[test]
    fn writers_that_hear_of_all_edits_in_any_order_see_one_text(
        steps in prop::collection::vec((0usize..3, any::<u32>(), 0u32..4, "[ab]{0,3}", any::<bool>()), 1..150),
    ) {
        let mut writers = [Writer::new(7), Writer::new(3), Writer::new(900_000_000)];
        let mut log: Vec<Arc<Edit>> = Vec::new();
        for (who, at, removed, inserted, hears) in steps {
            let writer = &mut writers[who];
            if hears {
                writer.hear(&log[writer.heard..]);
                writer.heard = log.len();
            }
            log.extend(writer.splice(at, removed, &inserted));
        }
        for writer in &mut writers {
            writer.hear(&log);
        }
        let text = &writers[0].text;
        let shown = writers[0].document.string();
        for writer in &writers {
            prop_assert_eq!(&writer.text, text);
            prop_assert_eq!(writer.document.string(), shown.clone());
        }
        prop_assert_eq!(string_of(text), shown.clone());
        let again = Text::from_runs(text.runs()).expect("edits lead to it");
        prop_assert_eq!(&again, text);
        let half = log[..log.len() / 2].iter().fold(Text::default(), |mut text, edit| { text.apply(edit); text });
        let mut late = Yata::new(Author(1));
        late.apply(&half.edits());
        late.apply(&text.since(&half).expect("it only grew"));
        prop_assert_eq!(late.string(), shown);
        prop_assert_eq!(half.since(text).is_none(), half != *text);
    }
}

#[test]
fn positions_count_units_and_no_character_is_parted() {
    let mut writer = Writer::new(1);
    writer.splice(0, 0, "a\u{1fa91}b");
    assert_eq!(writer.document.length(), 4);
    let outside = writer.document.splice(3, 2, "");
    assert_eq!(outside, Err(OutOfText { at: 3, to: 5, length: 4 }));
    let inside = writer.document.splice(2, 0, "x").expect("there is such a unit").expect("it inserts");
    assert_eq!(writer.text.check(&inside), Err(iolite_values::Unfit::Parts));
}

#[test]
fn what_two_insert_at_one_place_is_not_mixed() {
    let (mut one, mut other) = (Writer::new(1), Writer::new(2));
    let begin = one.splice(0, 0, "[]").expect("an edit");
    other.hear(&[begin]);
    let typed = |writer: &mut Writer, text: &str| -> Vec<Arc<Edit>> {
        (1u32..).zip(text.chars()).filter_map(|(at, letter)| writer.splice(at, 0, &letter.to_string())).collect()
    };
    let (first, second) = (typed(&mut one, "hello"), typed(&mut other, "world"));
    one.hear(&second);
    other.hear(&first);
    assert_eq!(one.document.string(), other.document.string());
    assert!(["[helloworld]", "[worldhello]"].contains(&one.document.string().as_str()));
    assert_eq!(one.text.runs().len(), 2);
    assert_eq!(one.text.runs()[&Author(2)].len(), 1, "what was typed in a row is one run");
}
