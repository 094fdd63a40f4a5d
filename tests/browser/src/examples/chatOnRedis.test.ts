import assert from "node:assert/strict";
import { test } from "node:test";

import { onStageOf } from "../stage.js";
import { untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { lines, talkWithACut } from "./chatters.js";
import { startChatOnRedis } from "./redisChat.js";

/** It needs no Iolite. */
const skip = process.env["IOLITE_CLUSTER"] !== undefined;

/** What the chat on Iolite is compared with works, too. */
test("the same page over Redis: two people talk, one of them without a network for a while", { skip }, () =>
  onStageOf({ start: startChatOnRedis, Person: Visitor }, async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await talkWithACut(ada, ben);
    const said = await lines(ada);
    assert.deepEqual([...said].sort(), ["Are you still there?", "I am.", "Is anybody here?", "Now I am on the train."]);
    await untilEqual("Ben's lines", async () => JSON.stringify(await lines(ben)), JSON.stringify(said));
  }));
