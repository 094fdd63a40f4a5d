/** What can stand in a room: sizes in centimetres, prices in euros. */

export interface Kind {
  readonly label: string;
  readonly width: number;
  readonly depth: number;
  readonly price: number;
  readonly colour: Colour;
  /** Rugs lie under the furniture, which does not count as an overlap; doors and windows belong to a wall. */
  readonly place: "floor" | "room" | "wall";
}

export const COLOURS = ["linen", "sand", "clay", "rose", "moss", "lake", "iolite", "slate"] as const;
export type Colour = (typeof COLOURS)[number];

const KINDS = {
  bed: { label: "Bed", width: 160, depth: 200, price: 420, colour: "iolite", place: "room" },
  sofa: { label: "Sofa", width: 200, depth: 90, price: 560, colour: "moss", place: "room" },
  desk: { label: "Desk", width: 140, depth: 70, price: 190, colour: "sand", place: "room" },
  table: { label: "Table", width: 120, depth: 80, price: 160, colour: "sand", place: "room" },
  chair: { label: "Chair", width: 50, depth: 50, price: 60, colour: "clay", place: "room" },
  wardrobe: { label: "Wardrobe", width: 150, depth: 60, price: 340, colour: "linen", place: "room" },
  shelf: { label: "Shelf", width: 80, depth: 30, price: 90, colour: "sand", place: "room" },
  lamp: { label: "Lamp", width: 40, depth: 40, price: 45, colour: "linen", place: "room" },
  plant: { label: "Plant", width: 50, depth: 50, price: 30, colour: "moss", place: "room" },
  rug: { label: "Rug", width: 200, depth: 140, price: 120, colour: "rose", place: "floor" },
  door: { label: "Door", width: 90, depth: 90, price: 110, colour: "linen", place: "wall" },
  window: { label: "Window", width: 120, depth: 10, price: 180, colour: "lake", place: "wall" },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as KindName[];

/** A row may hold a kind that a later version of this page added: it is drawn as a box. */
const UNKNOWN: Kind = { label: "Something", width: 60, depth: 60, price: 0, colour: "slate", place: "room" };

export function kindOf(name: string): Kind {
  return (KINDS as Record<string, Kind>)[name] ?? UNKNOWN;
}

export function euros(amount: number): string {
  return `€${amount.toLocaleString("en")}`;
}
