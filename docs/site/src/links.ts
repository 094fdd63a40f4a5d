/** Every link of the site that was built leads to a file and an anchor of it. */

import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** One line for each link that leads nowhere. */
export function deadLinks(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return deadLinksIn(new Map(files.filter((file) => /\.[a-z0-9]+$/.test(file)).map((file) => [file, file.endsWith(".html") ? readFileSync(join(folder, file), "utf8") : ""])));
}

export function deadLinksIn(files: ReadonlyMap<string, string>): readonly string[] {
  const anchors = new Map([...files].map(([file, html]) => [file, new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => unescape(id)))]));
  // What rustdoc writes is its own business; only that it is there counts.
  const own = [...files].filter(([file]) => file.endsWith(".html") && !file.startsWith("rust/"));
  return own.flatMap(([file, html]) =>
    [...html.matchAll(/<a [^>]*href="([^"]*)"/g)]
      .map(([, href = ""]) => unescape(href))
      .filter((href) => !/^[a-z]+:/.test(href) && !leads(file, href, files, anchors))
      .map((href) => `${file}: ${href}`),
  );
}

function leads(from: string, href: string, files: ReadonlyMap<string, string>, anchors: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const [path = "", anchor] = href.split("#");
  const target = path === "" ? from : decodeURI(path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(from), path));
  const file = [target, `${target}.html`, posix.join(target, "index.html")].find((one) => files.has(one));
  return file !== undefined && (anchor === undefined || anchor === "" || (anchors.get(file)?.has(decodeURIComponent(anchor)) ?? false));
}

function unescape(text: string): string {
  return text.replaceAll("&amp;", "&").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'");
}
