/** The page's icons: paths on a grid of 20 by 20. */

const PATHS = {
  undo: "M7 5 3.5 8.5 7 12M4 8.5h7.5a4 4 0 0 1 0 8H8",
  turn: "M15.5 7A6.3 6.3 0 1 0 16.300 11M16 3.500V7.200H12.300",
  copy: "M7.500 7.500h8.500v8.500H7.500zM12.500 7.500V4H4v8.500h3.500",
  lock: "M5 9.500h10v7H5zM7 9.500V7a3 3 0 0 1 6 0v2.500",
  unlock: "M5 9.500h10v7H5zM7 9.500V6.500a3 3 0 0 1 5.800-1",
  bin: "M4 6h12M8 6V4h4v2M5.500 6l.8 10.500h7.400L14.500 6M8.500 9v4.500M11.500 9v4.500",
  heart: "M10 16.200S3.500 12.400 3.500 7.900A3.400 3.400 0 0 1 10 6.500a3.400 3.400 0 0 1 6.500 1.400C16.500 12.400 10 16.200 10 16.200Z",
  down: "M10 4v11M5.500 10.500 10 15l4.500-4.500",
  chevron: "m6 8 4 4 4-4",
  plus: "M10 4.500v11M4.500 10h11",
  send: "M4 10h11M10.500 5.500 15 10l-4.500 4.500",
  close: "m5.500 5.500 9 9M14.500 5.500l-9 9",
  chat: "M4 5h12v8.500H9.500L6 16.500v-3H4z",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
