/** What can be done to the selected piece. Without one it says how to begin, and what stands in the way. */

import type { Piece } from "../schema";
import { DraftInput } from "../styles/DraftInput";
import { Icon } from "../styles/Icon";
import { useMedia } from "../styles/useMedia";
import { COLOURS } from "./catalogue";
import { overlaps } from "./geometry";
import type { PieceActions } from "./usePieceActions";

interface PieceBarProps {
  readonly piece: Piece | undefined;
  readonly pieces: readonly Piece[];
  readonly actions: PieceActions;
}

export function PieceBar({ piece, pieces, actions }: PieceBarProps) {
  return (
    <div className="piece-bar" role="toolbar" aria-label={piece ? `Change ${piece.name}` : "Change furniture"}>
      {piece ? <Tools piece={piece} actions={actions} /> : <Hint pieces={pieces} />}
      <button type="button" className="tool undo" disabled={!actions.canUndo} onClick={actions.undo} title="Undo my last change">
        <Icon name="undo" />
        <span>Undo</span>
      </button>
    </div>
  );
}

function Hint({ pieces }: { pieces: readonly Piece[] }) {
  const hasKeyboard = useMedia("(any-pointer: fine)");
  const [first, ...more] = overlaps(pieces);
  if (first === undefined) {
    const keys = "Drag furniture, or use the arrow keys. R turns, D duplicates, Delete removes.";
    return <p className="hint">{hasKeyboard ? keys : "Drag furniture, or tap it to turn, colour or remove it."}</p>;
  }
  const others = more.length === 0 ? "" : `, and ${more.length} more`;
  return <p className="hint warning">{`${first[0].name} and ${first[1].name} overlap${others}.`}</p>;
}

function Tools({ piece, actions }: { piece: Piece; actions: PieceActions }) {
  return (
    <>
      <DraftInput
        className="piece-title"
        label="Name of this piece"
        value={piece.name}
        maxLength={40}
        onCommit={(name) => actions.rename(piece, name)}
      />
      <div className="swatches" role="group" aria-label="Colour">
        {COLOURS.map((colour) => (
          <button
            key={colour}
            type="button"
            className={`swatch colour-${colour}`}
            aria-label={colour}
            aria-pressed={piece.colour === colour}
            onClick={() => actions.recolour(piece, colour)}
          />
        ))}
      </div>
      <div className="tools">
        <Tool icon="turn" label="Turn" disabled={piece.locked} onClick={() => actions.turn(piece)} />
        <Tool icon="copy" label="Duplicate" onClick={() => actions.duplicate(piece)} />
        <Tool
          icon={piece.locked ? "unlock" : "lock"}
          label={piece.locked ? "Unlock" : "Lock"}
          onClick={() => actions.lock(piece, !piece.locked)}
        />
        <Tool icon="bin" label="Remove" disabled={piece.locked} onClick={() => actions.remove(piece)} />
      </div>
    </>
  );
}

interface ToolProps {
  readonly icon: "turn" | "copy" | "lock" | "unlock" | "bin";
  readonly label: string;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

function Tool({ icon, label, disabled = false, onClick }: ToolProps) {
  return (
    <button type="button" className="tool" title={label} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
      <span>{label}</span>
    </button>
  );
}
