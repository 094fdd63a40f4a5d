/** The data centres behind a page: its server tells their addresses, and the page's address names the one to prefer, as in `?centre=us`. */

type Centres = Readonly<Record<string, readonly string[]>>;

/** The preferred data centre comes first. Undefined: the server is one of its own. */
export async function centresOfServer(): Promise<Centres | undefined> {
  const response = await fetch("/iolite.json", { cache: "no-store" }).catch(() => undefined);
  const { centres } = ((await response?.json().catch(() => undefined)) ?? {}) as { centres?: Centres };
  const preferred = new URLSearchParams(location.search).get("centre") ?? "";
  if (centres === undefined || !Object.hasOwn(centres, preferred)) {
    return centres;
  }
  return { [preferred]: centres[preferred] ?? [], ...centres };
}
