/** The addresses of a server's gateways. */

export function addressesOf(url: string | readonly string[]): readonly string[] {
  return typeof url === "string" ? [url] : url;
}
