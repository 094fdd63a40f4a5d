/** What can be added to the room. */

import { euros, KIND_NAMES, kindOf, type KindName } from "./catalogue";
import { FurnitureShape } from "./FurnitureShape";

export function Palette({ left, onAdd }: { left: number; onAdd: (kind: KindName) => void }) {
  return (
    <ul className="palette" aria-label="Furniture to add">
      {KIND_NAMES.map((name) => (
        <li key={name}>
          <PaletteButton name={name} tooDear={kindOf(name).price > left} onAdd={onAdd} />
        </li>
      ))}
    </ul>
  );
}

function PaletteButton({ name, tooDear, onAdd }: { name: KindName; tooDear: boolean; onAdd: (kind: KindName) => void }) {
  const kind = kindOf(name);
  const reach = Math.max(kind.width, kind.depth, 90) / 2 + 8;
  return (
    <button
      type="button"
      data-add={name}
      className={tooDear ? "too-dear" : undefined}
      title={tooDear ? `More than what is left of the budget` : `Add: ${kind.label}`}
      onClick={() => onAdd(name)}
    >
      <svg className={`colour-${kind.colour}`} viewBox={`${-reach} ${-reach} ${2 * reach} ${2 * reach}`} aria-hidden="true">
        <FurnitureShape kind={name} />
      </svg>
      <span>{kind.label}</span>
      <small>{euros(kind.price)}</small>
    </button>
  );
}
