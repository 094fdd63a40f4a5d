/** Times and days, in words. */

export function timeOf(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

export function isSameDay(a: number, b: number): boolean {
  return new Date(a).toDateString() === new Date(b).toDateString();
}

export function dayOf(at: number, now: number): string {
  if (isSameDay(at, now)) {
    return "Today";
  }
  if (isSameDay(at, now - 86_400_000)) {
    return "Yesterday";
  }
  return new Date(at).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });
}
