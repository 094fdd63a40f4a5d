/** Where a server has its objects. */

/** The address of `/objects`, from the address of a server as `createClient` takes it, or from that of its page. */
export function addressOfObjects(given: string | URL): string {
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const protocol = url?.protocol.replace(/^http/, "ws");
  if (url === undefined || (protocol !== "ws:" && protocol !== "wss:")) {
    throw new TypeError(`the address of a server begins with ws:// or wss://, not ${JSON.stringify(text)}`);
  }
  url.protocol = protocol;
  url.pathname = url.pathname.replace(/\/(?:sync|objects)?$/, "/objects");
  if (!url.pathname.endsWith("/objects")) {
    throw new TypeError(`the address of a server ends with /sync, as \`iolite dev\` prints it, not ${JSON.stringify(text)}`);
  }
  return url.href;
}
