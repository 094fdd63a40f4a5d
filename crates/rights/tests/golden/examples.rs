//! The rights of the examples allow what their mutators write, and deny what strangers would.

use super::store::{Store, delete, does};
use iolite_values::{ListOrder, Operation, Value, Write};

const CHAT: &str = include_str!("../../../../sdks/golden/rights/chat.json");
const WORD_BOARD: &str = include_str!("../../../../sdks/golden/rights/word-board.json");
const SHOPPING_LIST: &str = include_str!("../../../../sdks/golden/rights/shopping-list.json");

fn text(own: &str) -> Value {
    Value::string(own)
}

fn say(store: &Store, line: &str, by: &str) -> Vec<Write> {
    let columns = [("by", text(by)), ("author", text("Ada")), ("text", text("Hello")), ("at", Value::Int(5))];
    let append = Operation::Append { value: text(line), order: ListOrder::Commit };
    let room = [text("lobby")];
    let written = store.insert("lines", &[text(line)], &columns);
    [written, does("logs", &room, "value", append), does("rooms", &room, "count", Operation::Add(1))].concat()
}

#[test]
fn nobody_in_the_chat_speaks_as_somebody_else() {
    let mut chat = Store::of(CHAT);
    let room = [text("lobby")];
    let first = say(&chat, "l0", "ada");
    assert!(!chat.commit("ada", [first]), "there is no such room");
    let open = chat.insert("rooms", &room, &[("name", text("lobby"))]);
    assert!(chat.commit("ada", [open]));
    let (own, others) = (say(&chat, "l1", "ada"), say(&chat, "l2", "ada"));
    assert!(chat.commit("ada", [own]));
    assert!(!chat.commit("eve", [others]), "another's name");
    let edit = chat.update("lines", &[text("l1")], &[("text", text("I am a fool"))]);
    assert!(!chat.commit("eve", [edit.clone()]) && !chat.commit("ada", [edit]));
    assert!(!chat.commit("eve", [delete("lines", &[text("l1")])]));
    assert!(!chat.commit("eve", [does("rooms", &room, "count", Operation::Add(100))]));
    assert!(!chat.commit("eve", [does("logs", &room, "value", Operation::SetAt { index: 0, value: text("l2") })]));

    let here = [text("lobby"), text("ada")];
    let seen = [("name", text("Ada")), ("seen", Value::Int(5))];
    let look = chat.insert("people", &here, &seen);
    assert!(!chat.commit("eve", [look.clone()]) && chat.commit("ada", [look]));
    let again = chat.update("people", &here, &seen);
    assert!(!chat.commit("eve", [again.clone()]) && chat.commit("ada", [again]));
    assert!(!chat.commit("eve", [delete("people", &here)]) && chat.commit("ada", [delete("people", &here)]));
}

fn sit(store: &Store, player: &str, seat: i64) -> Vec<Write> {
    let columns = [("seat", Value::Int(seat)), ("name", text(player)), ("rack", text(""))];
    let key = [text("g"), text(player)];
    [store.insert("players", &key, &columns), store.update("players", &key, &[("rack", text("ABCDEFG"))])].concat()
}

#[test]
fn only_players_of_a_game_change_it_and_nobody_takes_a_seat_for_others() {
    let mut board = Store::of(WORD_BOARD);
    let game = [text("g")];
    let open = board.insert("games", &game, &[("bag", text("XYZ"))]);
    let draw = board.update("games", &game, &[("bag", text("XY"))]);
    let (ada, ben, eve) = (sit(&board, "ada", 0), sit(&board, "ben", 1), sit(&board, "eve", 7));
    assert!(!board.commit("ada", [open.clone()]), "a table without a player");
    assert!(board.commit("ada", [open, ada, draw.clone()]));
    assert!(!board.commit("eve", [ben.clone()]), "another's seat");
    assert!(!board.commit("eve", [eve, draw.clone()]), "a seat that is not there");
    assert!(!board.commit("eve", [draw.clone()]), "no seat");
    assert!(board.commit("ben", [ben, draw]));

    let square = [text("g"), Value::Int(60)];
    let of = |player: &str| [text("g"), text(player)];
    let lay = board.insert("squares", &square, &[("letter", text("A"))]);
    let add = does("laid", &game, "value", Operation::Insert(Value::Int(60)));
    let rack = |store: &Store, player, tiles| store.update("players", &of(player), &[("rack", text(tiles))]);
    let tiles = rack(&board, "ada", "BCDEFG");
    assert!(!board.commit("eve", [lay.clone()]) && !board.commit("eve", [add.clone()]));
    assert!(board.commit("ada", [lay, add, tiles]));
    let score = |store: &Store, player, points| store.update("players", &of(player), &[("score", Value::Int(points))]);
    let finish = [("turn", Value::Int(1)), ("news", text("ada: A for 1")), ("passes", Value::Int(0))];
    let (points, finish) = (score(&board, "ada", 1), board.update("games", &game, &finish));
    assert!(!board.commit("ben", [points.clone()]), "another's points");
    let take_away = does("laid", &game, "value", Operation::Remove(Value::Int(60)));
    assert!(board.commit("ada", [take_away.clone(), points, finish.clone()]));

    let skipped = rack(&board, "ada", "ABCDEFG");
    let back = [delete("squares", &square), take_away, skipped, finish].concat();
    assert!(!board.commit("eve", [back.clone()]) && board.commit("ben", [back]), "whoever has a seat may skip another");
    let anew = [score(&board, "ada", 0), rack(&board, "ada", ""), rack(&board, "ada", "GFEDCBA")].concat();
    assert!(board.commit("ben", [anew]));
    assert!(!board.commit("ben", [delete("players", &of("ada"))]));
}

#[test]
fn who_gets_a_thing_of_the_shopping_list_stays() {
    let mut list = Store::of(SHOPPING_LIST);
    let item = [Value::Id(iolite_values::Id::from_u128(1))];
    let columns = [("at", Value::Int(5)), ("what", text("Milk")), ("bought", Value::Bool(false))];
    let add = list.insert("items", &item, &columns);
    assert!(list.commit("ada", [add]));
    let take =
        |store: &Store, who| store.update("items", &item, &[("taker", text("Somebody")), ("takerId", text(who))]);
    let (ada, ben) = (take(&list, "ada"), take(&list, "ben"));
    assert!(!list.commit("ben", [ada.clone()]), "in another's place");
    assert!(list.commit("ada", [ada.clone()]));
    assert!(!list.commit("ben", [ben]) && !list.commit("ben", [ada]));
    let tick = list.update("items", &item, &[("what", text("Oat milk")), ("bought", Value::Bool(true))]);
    assert!(list.commit("ben", [tick]));
    assert!(!list.commit("ben", [delete("items", &item)]));
}
