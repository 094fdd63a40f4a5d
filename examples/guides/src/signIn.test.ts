/** The backend's tokens let people in, as the guide says. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { backend, type User } from "./backend.js";
import { freshToken, openAs } from "./signIn.js";
import { startServer } from "./startServer.js";

const program = process.env["IOLITE_PROGRAM"] ?? fileURLToPath(new URL("../../../target/release/iolite", import.meta.url));
const SECRET = "0123456789abcdef0123456789abcdef";

test("who has signed in is let in, and who has not keeps their changes until then", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tokens-"));
  await copyFile(fileURLToPath(new URL("../src/tokens.toml", import.meta.url)), join(folder, "tokens.toml"));
  await writeFile(join(folder, "backend.key"), SECRET, { mode: 0o600 });
  const server = await startServer(program, ["--tokens", join(folder, "tokens.toml")]);
  let signedIn: User | undefined;
  const http = backend(SECRET, () => signedIn).listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const ada = await openAs("ada", server.url, () => freshToken(`http://127.0.0.1:${port}/token`));

  await new Promise<void>((refused) => ada.onConnectionChange(({ refusal }) => refusal === "unauthorized" && refused()));
  assert.match(ada.connection.message ?? "", /Sign in again to save your changes/);
  const added = ada.mutate.addTask({ project: "garden", title: "Water the beans" });
  signedIn = { id: "ada", roles: ["teller"] };
  await added.until("confirmed");
  await ada.signOut();

  http.close();
  await server.stop();
  await rm(folder, { recursive: true });
});
