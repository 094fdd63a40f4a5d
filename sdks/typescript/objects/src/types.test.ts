/** Tests of what the compiler infers for references, and of what it refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";

import { args, type CallError, type ConnectOptions, connectObjects, defineObject, type ObjectHost, read, type Ref, sapphire } from "./index.js";

@sapphire("User")
class User {
  friends: Ref<User>[] = [];
  private secret = 1;
  private hidden(): number {
    return this.secret;
  }
  _own(): number {
    return this.hidden();
  }
  @read()
  count(): number {
    return this.friends.length;
  }
  async follow(other: Ref<User>, note?: string): Promise<string | undefined> {
    await other.count();
    return note;
  }
}

class Wrong {
  // @ts-expect-error the parser gives a number, and the method takes a text
  @args(z.tuple([z.number()]))
  add(_text: string): void {}
}

abstract class Remote {
  abstract greet(name: string): string;
}
defineObject("Remote", Remote);
// @ts-expect-error there is no such method
assert.throws(() => defineObject("Remote2", Remote, { read: ["gret"] }));
// @ts-expect-error the parser gives a number, and the method takes a text
assert.throws(() => defineObject("Wrong", Wrong, { args: { add: z.tuple([z.number()]), nothing: z.tuple([]) } }));
// @ts-expect-error devices have no such right
assert.throws(() => sapphire("A", { devices: "own" })(class {}, {} as ClassDecoratorContext<typeof User>));

async function infers(host: ObjectHost): Promise<void> {
  const user: Ref<User> = await host.get(User, "ada", () => new User());
  const count: number = await user.count();
  const note: string | undefined = await user.follow(user);
  const names: string[] = [user.id, user.className];
  // @ts-expect-error a state is not reached from elsewhere
  user.friends.length;
  // @ts-expect-error nor a private method
  user.hidden;
  // @ts-expect-error nor one that begins with _
  user._own;
  // @ts-expect-error a method takes what it takes
  await user.follow("ada");
  // @ts-expect-error the object begins as an instance of its class
  await host.get(User, "ada", () => 1);
  // @ts-expect-error an error has one of its kinds
  ((error: CallError) => error.kind === "lost")({} as CallError);
  const greeted: string = await (await host.find(Remote, "r"))!.greet("ada");
  void [count, note, names, greeted];
}

test("options that are wrong are refused, and say why", async () => {
  void infers;
  const refused = (options: object, message: RegExp): Promise<void> => assert.rejects(connectObjects(options as ConnectOptions), message);
  await refused({ classs: [] }, /no option "classs"/);
  await refused({ classes: [class {}] }, /no class of objects/);
  await refused({ classes: [User, User] }, /two classes are called "User"/);
  await refused({ kind: "page" }, /"device" or "server"/);
  await refused({ node: "home" }, /node is a UUID, .* not "home"/);
  await refused({ callMs: 0 }, /callMs/);
  await refused({ url: "ws://127.0.0.1:1/sync", token: 1 }, /token is a text/);
  await refused({}, /needs the url and the token/);
  await refused({ url: "ftp://127.0.0.1", token: "" }, /begins with ws/);
  await refused({ url: "ws://127.0.0.1/app", token: "" }, /ends with \/sync/);
});
