/** A server for the tests of one file, and what opens the notes app on it; all of it is closed in the end. */

import { after, before } from "node:test";

import type { Addresses, ClientOf, OptionsOfApp } from "../index.js";
import { type DevServer, startDevServer } from "./devServer.js";
import { FakeDevice } from "./fakeDevice.js";
import { mutators, schema } from "./notesApp.js";

export type App = ClientOf<typeof mutators>;
export type AppOptions = OptionsOfApp<typeof schema, (typeof mutators)["byName"]> & { readonly url: Addresses };

export class NotesStage {
  #server: DevServer | undefined;
  readonly #clients: { close(): Promise<void> }[] = [];

  /** Call it within `describe`. */
  constructor() {
    before(async () => {
      this.#server = await startDevServer();
    });
    after(async () => {
      await Promise.all(this.#clients.map((client) => client.close()));
      await this.#server?.stop();
    });
  }

  get options(): AppOptions & { readonly token: string } {
    const { url = "", token = "" } = this.#server ?? {};
    return { url, token, name: "notes", user: "ann", schema, mutators };
  }

  /** Opens a tab of a device. */
  async open(device = new FakeDevice(), changed: Partial<AppOptions> = {}): Promise<App> {
    return this.add(await device.openTab({ ...this.options, ...changed }));
  }

  /** Has it closed in the end. */
  add<T extends { close(): Promise<void> }>(client: T): T {
    this.#clients.push(client);
    return client;
  }
}
