//! The app of tables that merge: people who befriend each other, visit, say something, and write on walls.
//!
//! Invariants: each call that writes puts its name into `seen` of a person who is never deleted, beside each write of that person or of that person's wall; a
//! register is assigned the name of its call, so a value tells who wrote it.

use std::sync::{Arc, LazyLock};

use iolite_client::Content;
use iolite_values::{Cell, ColumnId, KeyRange, Operation, Row, RowKey, Schema, TableId, Value};
use serde::{Deserialize, Serialize};

use super::guests::OfGuests;
use super::names::{Name, Names};
use super::snapshot::{Snapshot, names_in};
use crate::app::{Handle, Stop, row_key};
use crate::random::Random;

/// People who are never deleted, once they are there.
pub const STAYING: i64 = 4;
/// People who are deleted and inserted again. Their keys follow.
pub const GOING: i64 = 2;
pub const PEOPLE: &str = "people";
pub const WALL: &str = "wall";

pub const SCHEMA: &str = r#"{"tables":{
  "people":{"columns":{"id":{"type":"int"},"status":{"type":"register","of":"int"},"friends":{"type":"set","of":"int"},"visits":{"type":"counter"},
    "seen":{"type":"set","of":"int"}},"key":["id"],"consistency":"causal","onConflict":"merge"},
  "wall":{"columns":{"of":{"type":"int"},"id":{"type":"int"},"by":{"type":"int"}},"key":["of","id"],"consistency":"causal","onConflict":"merge"}
}}"#;

static READ: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::from_json(SCHEMA).expect("it is tested")));

pub fn schema() -> Arc<Schema> {
    READ.clone()
}

/// A call with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub name: Name,
    pub what: OfCentres,
}

/// The calls of the app. People who are not there are inserted by whoever writes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfCentres {
    /// Two people become friends, each of the other.
    Befriend {
        one: i64,
        other: i64,
    },
    /// Friends that are friends no more.
    Part {
        one: i64,
        other: i64,
    },
    Visit {
        of: i64,
        amount: i64,
    },
    /// Visits all people who are never deleted.
    VisitAll {
        amount: i64,
    },
    /// Assigns a status.
    Say {
        by: i64,
    },
    /// Assigns the status of two.
    SayBoth {
        one: i64,
        other: i64,
    },
    /// Writes on a wall.
    Post {
        of: i64,
        by: i64,
    },
    /// Deletes the first or last post of a wall; gives up if there is none.
    Unpost {
        of: i64,
        last: bool,
    },
    /// Inserts one of those who come and go, or visits them if they are there. `by` is noted.
    Come {
        who: i64,
        by: i64,
    },
    /// Deletes one of those who come and go; gives up if they are not there.
    Go {
        who: i64,
        by: i64,
    },
    /// Writes, and gives up.
    GiveUp {
        of: i64,
    },
    /// A call under rights.
    Guests(OfGuests),
}

/// The things that a call did and saw, as the checker has to know them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Did {
    /// The people who are never deleted that it wrote, each with the names that it saw there.
    pub rows: Vec<(i64, Names)>,
    /// Amounts that it added to the visits of people.
    pub visits: Vec<(i64, i64)>,
    pub befriended: Vec<(i64, i64)>,
    pub parted: Vec<(i64, i64)>,
    /// The statuses that it assigned.
    pub said: Vec<i64>,
    /// The wall that its post is on, and who wrote it.
    pub posted: Option<(i64, i64)>,
    /// The wall and the name of the post that it deleted.
    pub unposted: Option<(i64, Name)>,
    /// Somebody who comes and goes was inserted or deleted.
    pub came: bool,
    pub went: bool,
}

impl OfCentres {
    pub fn random(random: &mut Random) -> OfCentres {
        let one = random.below(STAYING as u64) as i64;
        let other = (one + 1 + random.below(STAYING as u64 - 1) as i64) % STAYING;
        let amount = random.between(1, 9) as i64;
        let who = STAYING + random.below(GOING as u64) as i64;
        match random.below(20) {
            0..=3 => OfCentres::Befriend { one, other },
            4..=6 => OfCentres::Part { one, other },
            7 | 8 => OfCentres::Visit { of: one, amount },
            9 | 10 => OfCentres::VisitAll { amount },
            11 | 12 => OfCentres::Say { by: one },
            13 => OfCentres::SayBoth { one, other },
            14 | 15 => OfCentres::Post { of: one, by: other },
            16 => OfCentres::Unpost { of: one, last: random.chance(500) },
            17 => OfCentres::Come { who, by: one },
            18 => OfCentres::Go { who, by: one },
            _ => OfCentres::GiveUp { of: one },
        }
    }
}

impl Named {
    /// Runs the closure.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn run(&self, tx: &mut dyn Handle) -> Result<Did, Stop> {
        let mut run = Running { tx, name: self.name, did: Did::default() };
        match self.what {
            OfCentres::Befriend { one, other } => run.befriend(one, other)?,
            OfCentres::Part { one, other } => run.part(one, other)?,
            OfCentres::Visit { of, amount } => run.visit(of, amount)?,
            OfCentres::VisitAll { amount } => (0..STAYING).try_for_each(|of| run.visit(of, amount))?,
            OfCentres::Say { by } => run.say(by)?,
            OfCentres::SayBoth { one, other } => {
                run.say(one)?;
                run.say(other)?;
            }
            OfCentres::Post { of, by } => run.post(of, by)?,
            OfCentres::Unpost { of, last } => run.unpost(of, last)?,
            OfCentres::Come { who, by } => run.come(who, by)?,
            OfCentres::Go { who, by } => run.go(who, by)?,
            OfCentres::GiveUp { of } => {
                run.visit(of, 1)?;
                return Err(Stop::Abort("it gives up".into()));
            }
            OfCentres::Guests(call) => call.run(run.tx, self.name)?,
        }
        Ok(run.did)
    }
}

/// Everything that there is, as one transaction sees it.
///
/// # Errors
/// [`Stop::Missing`].
pub fn look(tx: &mut dyn Handle) -> Result<Snapshot, Stop> {
    let people = tx.range(TableId::of(PEOPLE), &KeyRange::all(), None, false)?;
    let wall = tx.range(TableId::of(WALL), &KeyRange::all(), None, false)?;
    Ok(Snapshot::of(people, wall))
}

/// A cell of a person.
pub fn of_person(id: i64, column: &str) -> Cell {
    Cell { table: TableId::of(PEOPLE), row: row_key(&[id]), column: ColumnId::of(column) }
}

struct Running<'a> {
    tx: &'a mut dyn Handle,
    name: Name,
    did: Did,
}

impl Running<'_> {
    fn befriend(&mut self, one: i64, other: i64) -> Result<(), Stop> {
        for (own, friend) in [(one, other), (other, one)] {
            self.sign(own)?;
            self.tx.write(of_person(own, "friends"), Operation::Insert(Value::Int(friend)))?;
            self.did.befriended.push((own, friend));
        }
        Ok(())
    }

    fn part(&mut self, one: i64, other: i64) -> Result<(), Stop> {
        for (own, friend) in [(one, other), (other, one)] {
            self.sign(own)?;
            self.tx.write(of_person(own, "friends"), Operation::Remove(Value::Int(friend)))?;
            self.did.parted.push((own, friend));
        }
        Ok(())
    }

    fn visit(&mut self, of: i64, amount: i64) -> Result<(), Stop> {
        self.sign(of)?;
        self.did.visits.push((of, amount));
        self.tx.write(of_person(of, "visits"), Operation::Add(amount))
    }

    fn say(&mut self, by: i64) -> Result<(), Stop> {
        self.sign(by)?;
        self.did.said.push(by);
        self.tx.write(of_person(by, "status"), Operation::Assign(Value::Int(self.name)))
    }

    fn post(&mut self, of: i64, by: i64) -> Result<(), Stop> {
        self.sign(of)?;
        self.did.posted = Some((of, by));
        let content = Content::from([(ColumnId::of("by"), vec![Operation::Put(Value::Int(by))])]);
        self.tx.insert(TableId::of(WALL), &row_key(&[of, self.name]), content)
    }

    fn unpost(&mut self, of: i64, last: bool) -> Result<(), Stop> {
        let range = KeyRange::prefix(&[Value::Int(of)]).expect("an integer is a key");
        let posts = self.tx.range(TableId::of(WALL), &range, Some(1), last)?;
        let (key, _) = posts.first().ok_or_else(|| Stop::Abort("the wall is empty".into()))?;
        self.sign(of)?;
        let [_, post] = ints(key);
        self.did.unposted = Some((of, post));
        self.tx.delete(TableId::of(WALL), key)
    }

    fn come(&mut self, who: i64, by: i64) -> Result<(), Stop> {
        self.sign(by)?;
        if self.tx.exists(TableId::of(PEOPLE), &row_key(&[who]))? {
            return self.tx.write(of_person(who, "visits"), Operation::Add(1));
        }
        self.did.came = true;
        self.insert(who, self.name)
    }

    fn go(&mut self, who: i64, by: i64) -> Result<(), Stop> {
        if !self.tx.exists(TableId::of(PEOPLE), &row_key(&[who]))? {
            return Err(Stop::Abort("nobody is there".into()));
        }
        self.sign(by)?;
        self.did.went = true;
        self.tx.delete(TableId::of(PEOPLE), &row_key(&[who]))
    }

    /// Puts the name into a person who is never deleted, and who is inserted first if nobody has.
    fn sign(&mut self, id: i64) -> Result<(), Stop> {
        let row = self.tx.row(TableId::of(PEOPLE), &row_key(&[id]))?;
        let saw = row.as_ref().map(|row| names_in(row, "seen")).unwrap_or_default();
        if self.did.rows.iter().any(|(own, _)| *own == id) {
            return Ok(());
        }
        if row.is_none() {
            self.did.said.push(id);
            self.insert(id, self.name)?;
        }
        self.did.rows.push((id, saw));
        self.tx.write(of_person(id, "seen"), Operation::Insert(Value::Int(self.name)))
    }

    fn insert(&mut self, id: i64, status: i64) -> Result<(), Stop> {
        let status = (ColumnId::of("status"), vec![Operation::Assign(Value::Int(status))]);
        self.tx.insert(TableId::of(PEOPLE), &row_key(&[id]), Content::from([status]))
    }
}

/// The numbers of a key.
pub fn ints<const N: usize>(key: &RowKey) -> [i64; N] {
    let values = key.values().unwrap_or_default();
    std::array::from_fn(|place| match values.get(place) {
        Some(Value::Int(value)) => *value,
        _ => panic!("keys of this app are numbers: {key:?}"),
    })
}

/// The number in a column of a row.
pub fn number(row: &Row, column: &str) -> Option<i64> {
    use iolite_values::CellState::{Counter, Register, Scalar};
    match row.cell(ColumnId::of(column))? {
        Scalar(Value::Int(value)) | Register(Value::Int(value)) | Counter(value) => Some(*value),
        _ => None,
    }
}
