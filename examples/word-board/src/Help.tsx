/** The rules in short, and the meaning of the squares. */

import { BONUS_WORDS, BONUSES } from "./letters";

export function Help() {
  return (
    <details className="help" open={matchMedia("(min-width: 901px)").matches}>
      <summary>How to play</summary>
      <ol>
        <li>Choose one of your tiles, then a square. With the keyboard: walk to a square with the arrow keys, and type the letter.</li>
        <li>A click on a tile that you have just laid takes it back.</li>
        <li>The tiles of a word lie in one line, without a gap. The first word covers the star; every other one touches tiles that lie there.</li>
        <li>“Finish word” counts it, draws new tiles, and gives the turn on. There is no dictionary: you judge the words.</li>
      </ol>
      <ul className="legend" aria-label="Squares that count more">
        {BONUSES.map((bonus) => (
          <li key={bonus}>
            <span className={`square bonus-${bonus}`}>
              <small>{bonus}</small>
            </span>
            {BONUS_WORDS[bonus]}
          </li>
        ))}
      </ul>
    </details>
  );
}
