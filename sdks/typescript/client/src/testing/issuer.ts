/** Issues tokens for users, as an app's backend does: by HS256 and by EdDSA. */

import { createHmac, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const ISSUER = "https://app.example";
const AUDIENCE = "notes";

export class Issuer {
  readonly #secret = randomBytes(32).toString("hex");
  readonly #pair = generateKeyPairSync("ed25519");
  /** How many tokens were issued to each user. */
  readonly issued = new Map<string, number>();

  /** The settings of a server that takes its tokens, and the files that they name. */
  get settings(): readonly [settings: string, files: Readonly<Record<string, string>>] {
    const settings = `issuer = "${ISSUER}"
audience = "${AUDIENCE}"
keys = [{ kid = "secret", algorithm = "HS256", file = "secret.key" }, { kid = "pair", algorithm = "EdDSA", file = "pair.pem" }]
claims = { roles = "texts" }
rights = "open"
`;
    return [settings, { "secret.key": this.#secret, "pair.pem": this.#pair.publicKey.export({ type: "spki", format: "pem" }) as string }];
  }

  /** A token that is good for so many seconds, or that ran out before. Algorithms take turns. */
  token(sub: string, seconds: number): string {
    const count = this.issued.get(sub) ?? 0;
    this.issued.set(sub, count + 1);
    const isPair = count % 2 === 1;
    const now = Math.floor(Date.now() / 1000);
    const times = { iat: Math.min(now, now + seconds) - 1, exp: now + seconds };
    const head = isPair ? { alg: "EdDSA", kid: "pair" } : { alg: "HS256", kid: "secret" };
    const signed = [head, { iss: ISSUER, aud: AUDIENCE, sub, roles: ["writer"], ...times }].map(base64).join(".");
    const signature = isPair ? sign(null, Buffer.from(signed), this.#pair.privateKey) : createHmac("sha256", this.#secret).update(signed).digest();
    return `${signed}.${signature.toString("base64url")}`;
  }
}

function base64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
