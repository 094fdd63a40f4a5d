/** What people do in the chat, whatever it is kept in. */

import { untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";

export async function say(person: Visitor, text: string): Promise<void> {
  const field = person.page.getByRole("textbox", { name: "Message" });
  await field.fill(text);
  await field.press("Enter");
}

export async function untilLine(person: Visitor, text: string, mark: string): Promise<void> {
  const line = person.page.locator("[data-mark]").filter({ hasText: text });
  await untilEqual(`the line “${text}” at ${person.name}`, () => line.getAttribute("data-mark", { timeout: 1000 }), mark);
}

/** An own line shows that it has got so far. */
export async function untilReached(person: Visitor, text: string, step: string): Promise<void> {
  const icon = person.page.locator("[data-mark]").filter({ hasText: text }).locator("[data-reached]");
  await untilEqual(`how far “${text}” has got`, () => icon.getAttribute("data-reached", { timeout: 1000 }), step);
}

/** Keeps each icon that a line shows from now on. The answer gives them, each as often as it came. */
export async function watchReached(person: Visitor, text: string): Promise<() => Promise<string[]>> {
  const seen = await person.page.evaluateHandle((text) => {
    const steps: string[] = [];
    const look = (): void => {
      const line = [...document.querySelectorAll("[data-mark]")].find((one) => one.textContent?.includes(text));
      const step = line?.querySelector("[data-reached]")?.getAttribute("data-reached");
      if (typeof step === "string" && step !== steps.at(-1)) {
        steps.push(step);
      }
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
    return steps;
  }, text);
  return () => seen.jsonValue();
}

/** All that is said in the open room, in its order. */
export function lines(person: Visitor): Promise<string[]> {
  return person.page.locator("[data-mark] .text").allTextContents();
}

/** Both talk, one is cut off and talks on, and comes back. */
export async function talkWithACut(ada: Visitor, ben: Visitor): Promise<void> {
  await Promise.all([ada.untilOnline(), ben.untilOnline()]);
  await say(ada, "Is anybody here?");
  await untilLine(ben, "Is anybody here?", "sent");
  await say(ben, "I am.");
  await untilLine(ada, "I am.", "sent");

  await ben.cutLink();
  await untilEqual("Ben's connection", async () => (await ben.connection()) === "online", false);
  await say(ben, "Now I am on the train.");
  await untilLine(ben, "Now I am on the train.", "kept");
  await say(ada, "Are you still there?");
  await untilLine(ada, "Are you still there?", "sent");
  await ben.mendLink();
  await untilLine(ben, "Now I am on the train.", "sent");
  await untilLine(ada, "Now I am on the train.", "sent");
  await untilLine(ben, "Are you still there?", "sent");
  await ben.untilPending(0);
}
