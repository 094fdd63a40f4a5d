/** How long texts may be, in JavaScript's characters: fields stop there, and the rules refuse more. */

export const LONGEST = { room: 40, name: 24, text: 2000 } as const;
