/** The backend of the app: it knows who has signed in, and gives them tokens for Iolite. */

import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";

export interface User {
  /** The same for good, also when the person has another name or address. */
  readonly id: string;
  readonly roles: readonly string[];
}

const LIFE_S = 10 * 60;

/** `secret`: 32 characters or more, which the gateways have in a file. */
export function tokenFor(user: User, secret: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: "https://app.example", aud: "tasks", sub: user.id, roles: user.roles, iat, exp: iat + LIFE_S };
  const signed = `${part({ alg: "HS256", kid: "2026-1" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** Your sign-in says whose cookie it is. */
export function backend(secret: string, userOf: (cookie: string | undefined) => User | undefined): Server {
  return createServer(({ method, url, headers }, response) => {
    const user = method === "POST" && url === "/token" ? userOf(headers.cookie) : undefined;
    response.writeHead(user === undefined ? 401 : 200, { "cache-control": "no-store" });
    response.end(user === undefined ? "" : tokenFor(user, secret));
  });
}
