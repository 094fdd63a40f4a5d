/** The README's example: a to-do list that lives in this process, and a call of it from another one. */

// README: begin
import { args, connectObjects, read, sapphire } from "@iolite/objects";
import { z } from "zod";

@sapphire("TodoList", { devices: "hold" })
export class TodoList {
  items: string[] = [];

  @read()
  list(): string[] {
    return this.items;
  }

  @args(z.tuple([z.string().min(1)]))
  add(text: string): number {
    return this.items.push(text);
  }
}

const [url = "ws://127.0.0.1:7777/sync", token = ""] = process.argv.slice(2);
const host = await connectObjects({ url, token, classes: [TodoList] });
const list = await host.get(TodoList, "home", () => new TodoList());
await list.add("milk");
console.log(await list.list());
// README: end
host.close();
